// attention_hopper: flash attention with Hopper's warpgroup products. Two warpgroups have 64 rows each; a third brings tiles of keys and values through a
// ring. Scores of the next tile are on their way while the softmax of one and the values of the one before are worked on.
#include "device/cuda/attention.cuh"
#include "device/cuda/wgmma.cuh"

namespace cuda {
namespace {
using namespace attention;

constexpr int kConsumers = 256, kProducers = 128, kSlots = 4;

template <int D> struct Layout {
  static constexpr int kKeys = D == 256 ? 64 : 128, kTileBytes = kKeys * D * 2, kQueryBytes = kFlashRows * D * 2;
  static constexpr int shared_bytes(bool int8) { return 1024 + kQueryBytes + kSlots * kTileBytes + 2 * kSlots * 8 + (int8 ? 2 * kKeys * D : 0); }
};

// Address of 16 bytes in a tile of `Rows` rows: blocks of 64 columns, each row of one 128 bytes.
template <int Rows> __device__ __forceinline__ uint32_t swizzled_piece(uint32_t base, int row, int piece) { return base + piece / 8 * (Rows * 128) + row * 128 + (((piece ^ row) & 7) << 4); }


// Item 2 j is tile j of the keys, 2 j + 1 of the values; item i lies in slot i % kSlots.
template <int D> struct Ring {
  uint32_t tiles, barriers;
  __device__ uint32_t tile(int item) const { return tiles + item % kSlots * Layout<D>::kTileBytes; }
  __device__ uint32_t full(int item) const { return barriers + item % kSlots * 8; }
  __device__ uint32_t empty(int item) const { return barriers + (kSlots + item % kSlots) * 8; }
  __device__ void wait_full(int item) const {
    wait_for(full(item), item / kSlots & 1);
    make_visible();  // what came by ordinary copies to the products
  }
  __device__ void wait_empty(int item) const {
    if (item >= kSlots) wait_for(empty(item), (item / kSlots - 1) & 1);
  }
  __device__ void release(int item) const {
    if ((threadIdx.x & 31) == 0) arrive(empty(item));
  }
};

// Which 16 bytes of a tile a thread brings: piece `thread` % kPieces of every kSpan-th row.
template <int D, bool Int8> struct Share {
  static constexpr int kKeys = Layout<D>::kKeys, kPieces = D * CacheRows<Int8>::kBytes / 16, kSpan = kProducers / kPieces, kSteps = kKeys / kSpan;
  const CacheRows<Int8> rows;
  const int32_t* pages;
  int32_t end;
  int thread;
  // take(step, row, valid, page, token); 16 keys in a line lie in one page.
  template <class Take> __device__ __forceinline__ void visit(int32_t first, Take&& take) const {
    const int mine = thread / kPieces;
    const bool wanted = thread % kPieces * 16 < rows.dim * CacheRows<Int8>::kBytes;
    int32_t page = 0, token = 0;
#pragma unroll
    for (int i = 0; i < kSteps; i++) {
      const int row = i * kSpan + mine, slab = first + (kSpan < 16 ? i * kSpan / 16 : row / 16) * 16;
      if (i * kSpan % 16 == 0) page = pages[min(slab, end - 1) / rows.page_tokens], token = slab % rows.page_tokens;
      take(i, row, wanted && first + row < end, page, token + row % 16);
    }
  }
};

// Halves go where they are wanted; a tile announces itself.
template <int D> __device__ __forceinline__ void produce(const Share<D, false>& share, const CacheOnDevice& cache, const Ring<D>& ring, int32_t begin, int n_items) {
  const int piece = share.thread % Share<D, false>::kPieces;
  for (int item = 0; item < n_items; item++) {
    ring.wait_empty(item);
    void* data = item % 2 ? cache.values : cache.keys;
    share.visit(begin + item / 2 * Layout<D>::kKeys, [&](int, int row, bool valid, int32_t page, int32_t token) {
      copy16(swizzled_piece<Layout<D>::kKeys>(ring.tile(item), row, piece), share.rows.row(data, page, token) + piece * 16, valid);
    });
    arrive_when_copied(ring.full(item));
  }
}

// Integers come into a stage of their own, one item ahead, and become halves from there: each thread those that it has brought.
template <int D> __device__ __forceinline__ void produce(const Share<D, true>& share, const CacheOnDevice& cache, const Ring<D>& ring, uint32_t stage, int32_t begin, int n_items) {
  using S = Share<D, true>;
  const int piece = share.thread % S::kPieces;
  const auto mine = [&](int item, int step) { return stage + item % 2 * (Layout<D>::kKeys * D) + (step * kProducers + share.thread) * 16; };
  float scale[S::kSteps], next[S::kSteps];
  const auto fetch = [&](int item) {
    void* data = item % 2 ? cache.values : cache.keys;
    share.visit(begin + item / 2 * Layout<D>::kKeys, [&](int i, int, bool valid, int32_t page, int32_t token) {
      copy16(mine(item, i), share.rows.row(data, page, token) + piece * 16, valid);
      next[i] = valid ? *share.rows.scale(data, page, token) : 0.0f;
    });
  };
  fetch(0);
  commit_copies();
  for (int item = 0; item < n_items; item++) {
#pragma unroll
    for (int i = 0; i < S::kSteps; i++) scale[i] = next[i];
    if (item + 1 < n_items) fetch(item + 1);
    commit_copies();
    ring.wait_empty(item);
    wait_copies<1>();
#pragma unroll
    for (int i = 0; i < S::kSteps; i++) {
      uint4 codes;
      asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(codes.x), "=r"(codes.y), "=r"(codes.z), "=r"(codes.w) : "r"(mine(item, i)) : "memory");
      const int row = i * S::kSpan + share.thread / S::kPieces;
      put_codes(codes.x, codes.y, scale[i], swizzled_piece<S::kKeys>(ring.tile(item), row, 2 * piece)), put_codes(codes.z, codes.w, scale[i], swizzled_piece<S::kKeys>(ring.tile(item), row, 2 * piece + 1));
    }
    make_visible();
    arrive(ring.full(item));
  }
}

template <int D> __device__ __forceinline__ void start_scores(float (&s)[Layout<D>::kKeys / 2], uint32_t queries, uint32_t keys) {
  begin_products();
#pragma unroll
  for (int k = 0; k < D / 16; k++)
    multiply_tiles(s, swizzled_tile(queries + k / 4 * (kFlashRows * 128) + k % 4 * 32, 16), swizzled_tile(keys + k / 4 * (Layout<D>::kKeys * 128) + k % 4 * 32, 16), k > 0);
  commit_products();
}
template <int D> __device__ __forceinline__ void start_sums(float (&sums)[D / 2], const uint32_t (&p)[Layout<D>::kKeys / 4], uint32_t values) {
  begin_products();
#pragma unroll
  for (int k = 0; k < Layout<D>::kKeys / 16; k++) multiply_rows(sums, p + 4 * k, swizzled_tile(values + k * 2048, Layout<D>::kKeys * 128));
  commit_products();
}

// Peaks and sums of a lane's two rows, in powers of two.
struct Softmax {
  float scale, peak[2], sum[2];
  int32_t low[2], high[2], clear_from, clear_to;  // keys that count for each row; where all rows see all keys
  // Scores of keys from `first` on become weights; `keep`: what is left of what was summed before.
  template <int N> __device__ __forceinline__ void weigh(float (&s)[N], int32_t first, float (&keep)[2]) {
    if (first < clear_from || first + 2 * N > clear_to) {
#pragma unroll
      for (int i = 0; i < N; i++) {
        const int32_t key = first + i / 4 * 8 + static_cast<int>(threadIdx.x & 3) * 2 + i % 2;
        if (key < low[i / 2 % 2] || key >= high[i / 2 % 2]) s[i] = -INFINITY;
      }
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float top = -INFINITY;
#pragma unroll
      for (int i = 0; i < N; i += 4) top = fmaxf(top, fmaxf(s[i + 2 * r], s[i + 2 * r + 1]));
      top = fmaxf(top, __shfl_xor_sync(kFull, top, 1)), top = fmaxf(top, __shfl_xor_sync(kFull, top, 2));
      top = fmaxf(peak[r], top * scale);
      const float base = top == -INFINITY ? 0.0f : top;
      keep[r] = exp2_of(peak[r] - base), peak[r] = top;
      float more = 0;
#pragma unroll
      for (int i = 0; i < N; i += 4) {
        s[i + 2 * r] = exp2_of(fmaf(s[i + 2 * r], scale, -base)), s[i + 2 * r + 1] = exp2_of(fmaf(s[i + 2 * r + 1], scale, -base));
        more += s[i + 2 * r] + s[i + 2 * r + 1];
      }
      sum[r] = sum[r] * keep[r] + more;
    }
  }
};
template <int N> __device__ __forceinline__ void pack_weights(const float (&s)[N], uint32_t (&p)[N / 2]) {
#pragma unroll
  for (int i = 0; i < N / 2; i++) p[i] = pack(s[2 * i], s[2 * i + 1]);
}

template <int D> __device__ __forceinline__ void consume(const FlashAttentionArgs& a, const FlashTile& t, int kv_head, const Ring<D>& ring, uint32_t queries, int32_t begin, int n_tiles, int thread) {
  constexpr int keys = Layout<D>::kKeys;
  const int group = a.n_heads / a.cache.n_kv_heads, dim = a.cache.key_dim, lane = thread & 31, first_row = thread / 32 * 16 + lane / 4;
  for (int i = thread; i < kFlashRows * (D / 8); i += kConsumers) {
    const int r = i / (D / 8), piece = i % (D / 8), position = r / group;
    copy16(swizzled_piece<kFlashRows>(queries, r, piece), a.q + (static_cast<int64_t>(t.sequence.first_row + t.first + position) * a.n_heads + kv_head * group + r % group) * dim + piece * 8, position < t.n && piece * 8 < dim);
  }
  commit_copies();
  Softmax softmax{a.scale * kLog2e, {-INFINITY, -INFINITY}, {}, {}, {}, a.window > 0 ? max(0, t.index(t.n) - a.window) : 0, a.causal ? t.index(0) + 1 : t.end};
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int32_t index = t.index(min((first_row + 8 * i) / group, t.n - 1));
    softmax.low[i] = a.window > 0 ? max(0, index + 1 - a.window) : 0, softmax.high[i] = a.causal ? index + 1 : t.end;
  }
  wait_copies<0>();
  make_visible();
  asm volatile("bar.sync 1, %0;" ::"n"(kConsumers) : "memory");
  queries += thread / 128 * 64 * 128;
  float sums[D / 2] = {}, s[keys / 2], keep[2];
  uint32_t p[keys / 4];
  ring.wait_full(0);
  start_scores<D>(s, queries, ring.tile(0));
  wait_products<0>();
  ring.release(0);
  softmax.weigh(s, begin, keep);
  pack_weights(s, p);
  for (int j = 0; j + 1 < n_tiles; j++) {
    ring.wait_full(2 * j + 2);
    start_scores<D>(s, queries, ring.tile(2 * j + 2));
    ring.wait_full(2 * j + 1);
    start_sums<D>(sums, p, ring.tile(2 * j + 1));
    wait_products<1>();
    ring.release(2 * j + 2);
    softmax.weigh(s, begin + (j + 1) * keys, keep);
    wait_products<0>();
    ring.release(2 * j + 1);
#pragma unroll
    for (int i = 0; i < D / 2; i++) sums[i] *= keep[i / 2 % 2];
    pack_weights(s, p);
  }
  ring.wait_full(2 * n_tiles - 1);
  start_sums<D>(sums, p, ring.tile(2 * n_tiles - 1));
  wait_products<0>();
#pragma unroll
  for (int i = 0; i < 2; i++) {
    float sum = softmax.sum[i];
    sum += __shfl_xor_sync(kFull, sum, 1), sum += __shfl_xor_sync(kFull, sum, 2);
    const int r = first_row + 8 * i, position = r / group;
    if (position >= t.n) continue;
    put_row(a, sums, i, 1.0f / sum, t.sequence.first_row + t.first + position, kv_head * group + r % group);
  }
}

template <int D, bool Int8> __global__ void __launch_bounds__(kConsumers + kProducers, 1) hopper_attention(const FlashAttentionArgs a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const uint32_t queries = (shared_address(bytes) + 1023) / 1024 * 1024;
  const Ring<D> ring{queries + Layout<D>::kQueryBytes, queries + Layout<D>::kQueryBytes + kSlots * Layout<D>::kTileBytes};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kSlots; i++) init_barrier(ring.full(i), kProducers), init_barrier(ring.empty(i), kConsumers / 32);
    publish_barriers();
  }
  let_next_start();
  wait_for_input();
  __syncthreads();
  FlashTile t;
  if (!find_tile(a, kFlashRows / (a.n_heads / a.cache.n_kv_heads), t)) return;
  const int32_t begin = t.begin / Layout<D>::kKeys * Layout<D>::kKeys;
  const int n_tiles = (t.end - begin + Layout<D>::kKeys - 1) / Layout<D>::kKeys;
  if (threadIdx.x < kProducers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    const Share<D, Int8> share{{a.cache, static_cast<int32_t>(blockIdx.x)}, a.step.pages + t.sequence.pages, t.end, static_cast<int>(threadIdx.x)};
    if constexpr (Int8) produce<D>(share, a.cache, ring, ring.barriers + 2 * kSlots * 8, begin, 2 * n_tiles);
    else produce<D>(share, a.cache, ring, begin, 2 * n_tiles);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
    consume<D>(a, t, blockIdx.x, ring, queries, begin, n_tiles, static_cast<int>(threadIdx.x) - kProducers);
  }
#endif
}

template <int D> AttentionKernel kernel_of(KvType type) {
  return {type == KvType::int8 ? reinterpret_cast<const void*>(hopper_attention<D, true>) : reinterpret_cast<const void*>(hopper_attention<D, false>), kConsumers + kProducers, Layout<D>::shared_bytes(type == KvType::int8)};
}

}  // namespace

AttentionKernel hopper_attention_kernel(const CacheOnDevice& cache, KvType type) {
  if (cache.key_dim <= 64) return kernel_of<64>(type);
  return cache.key_dim <= 128 ? kernel_of<128>(type) : kernel_of<256>(type);
}

}  // namespace cuda
