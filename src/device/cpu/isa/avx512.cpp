// avx512: the kernels in AVX-512 with VNNI (lane words: avx512.inl).
#include "device/cpu/isa/common.h"
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")
#endif

namespace cpu::avx512 {
namespace {
constexpr int kBlockTiles = 2, kBlockRows = 4, kDirectRows = 4, kPanelRows = 32, kDotChains = 8, kWideExactTokens = 8, kSignedBias = 128, kPrefetchBytes = kAheadBytes;
constexpr int kDots = 16, kTileQueries = 12, kTileVectors = 2, kDeltaVectors = 2;
#include "device/cpu/isa/avx512.inl"
#include "device/cpu/linear.inl"
#include "device/cpu/elementwise.inl"
#include "device/cpu/attention.inl"
#include "device/cpu/delta.inl"

// As peak.inl, but in instructions by name: gcc 12 moves every accumulator twice around the intrinsic.
static int64_t int8_peak(int64_t rounds, float* sink) {
  constexpr int kChains = 16;
  const I codes = set1_i(0x03020105), x = set1_i(0x01fe02fd);
  I acc[kChains];
#pragma GCC unroll 16
  for (int t = 0; t < kChains; t++) acc[t] = set1_i(0);
  for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 16
    for (int t = 0; t < kChains; t++) asm volatile("vpdpbusd %2, %1, %0" : "+v"(acc[t]) : "v"(codes), "v"(x));
  }
#pragma GCC unroll 16
  for (int t = 1; t < kChains; t++) acc[0] = add_i(acc[0], acc[t]);
  *sink = hsum(to_float(acc[0]));
  return rounds * kChains * 64;
}
#include "device/cpu/isa/table.inl"
}  // namespace
}  // namespace cpu::avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace cpu {
const Kernels avx512_kernels = avx512::make_table("avx512");
}
