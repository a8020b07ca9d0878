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
constexpr int kBlockTiles = 2, kBlockRows = 4, kDirectRows = 4, kPanelRows = 32, kDotChains = 8, kWideExactTokens = 8, kSignedBias = 128, kPrefetchBytes = 4608;
constexpr int kDots = 16, kTileQueries = 12, kTileVectors = 2, kDeltaVectors = 2;
#include "device/cpu/isa/avx512.inl"
#include "device/cpu/linear.inl"
#include "device/cpu/elementwise.inl"
#include "device/cpu/attention.inl"
#include "device/cpu/delta.inl"
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
