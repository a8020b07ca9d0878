// hopper: barriers in shared memory, bulk copies that complete on them, and products of a warpgroup (sm_90a).
#pragma once
#include <cstdint>

namespace cuda {

__device__ __forceinline__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void copy16(uint32_t to, const void* from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory"); }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)); }
__device__ __forceinline__ void barrier_arrive(uint32_t barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(barrier), "r"(parity) : "memory");
}
// `bytes` and both addresses are multiples of 16.
__device__ __forceinline__ void bulk_copy(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

// This thread's copies of 16 bytes arrive at the barrier when they are complete.
__device__ __forceinline__ void copies_arrive(uint32_t barrier) { asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory"); }
// What was written by threads and copies of 16 bytes is seen by wgmma after this.
__device__ __forceinline__ void shared_is_written() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Registers of each thread of the warpgroup from here on: more, taken from what others gave up, or fewer.
template <int N, bool More> __device__ __forceinline__ void keep_registers() {
  if constexpr (More) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
  else asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

__device__ __forceinline__ void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Left> __device__ __forceinline__ void products_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory"); }

// B without swizzle: core matrices of 8 rows x 16 bytes; those of the next inputs 128 bytes on, those of the next 8 rows 1024 bytes on (struct Halves).
__device__ __forceinline__ uint64_t halves_descriptor(uint32_t address) { return static_cast<uint64_t>((address & 0x3ffff) >> 4) | 8ull << 16 | 64ull << 32; }

#define CALLA_D0 "%0,%1,%2,%3,%4,%5,%6,%7"
#define CALLA_D1 CALLA_D0 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define CALLA_D2 CALLA_D1 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define CALLA_D3 CALLA_D2 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define CALLA_D4 CALLA_D3 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define CALLA_D5 CALLA_D4 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define CALLA_D6 CALLA_D5 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define CALLA_D7 CALLA_D6 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define CALLA_F(i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3]), "+f"(d[i + 1][0]), "+f"(d[i + 1][1]), "+f"(d[i + 1][2]), "+f"(d[i + 1][3])
#define CALLA_F0 CALLA_F(0)
#define CALLA_F1 CALLA_F0, CALLA_F(2)
#define CALLA_F2 CALLA_F1, CALLA_F(4)
#define CALLA_F3 CALLA_F2, CALLA_F(6)
#define CALLA_F4 CALLA_F3, CALLA_F(8)
#define CALLA_F5 CALLA_F4, CALLA_F(10)
#define CALLA_F6 CALLA_F5, CALLA_F(12)
#define CALLA_F7 CALLA_F6, CALLA_F(14)
#define CALLA_WGMMA(n, outs, sums, a0, a1, a2, a3, b)                                                                                       \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" outs "}, {" a0 "," a1 "," a2 "," a3 "}, " b ", 1, 1, 1, 0;"       \
               : sums                                                                                                                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor))

// d[n][i] += A B for 64 outputs and N rows: d as of mma.m16n8k16, 8 rows an n; a warp's 16 outputs of 16 inputs in its registers `a`, the rows behind `descriptor`.
template <int N> __device__ __forceinline__ void multiply_group(float (&d)[N / 8][4], const uint32_t (&a)[4], uint64_t descriptor) {
  if constexpr (N == 16) CALLA_WGMMA(16, CALLA_D0, CALLA_F0, "%8", "%9", "%10", "%11", "%12");
  if constexpr (N == 32) CALLA_WGMMA(32, CALLA_D1, CALLA_F1, "%16", "%17", "%18", "%19", "%20");
  if constexpr (N == 48) CALLA_WGMMA(48, CALLA_D2, CALLA_F2, "%24", "%25", "%26", "%27", "%28");
  if constexpr (N == 64) CALLA_WGMMA(64, CALLA_D3, CALLA_F3, "%32", "%33", "%34", "%35", "%36");
  if constexpr (N == 80) CALLA_WGMMA(80, CALLA_D4, CALLA_F4, "%40", "%41", "%42", "%43", "%44");
  if constexpr (N == 96) CALLA_WGMMA(96, CALLA_D5, CALLA_F5, "%48", "%49", "%50", "%51", "%52");
  if constexpr (N == 112) CALLA_WGMMA(112, CALLA_D6, CALLA_F6, "%56", "%57", "%58", "%59", "%60");
  if constexpr (N == 128) CALLA_WGMMA(128, CALLA_D7, CALLA_F7, "%64", "%65", "%66", "%67", "%68");
}
#endif

}  // namespace cuda
