// isa: what every ISA file needs before it opens its target region. Headers of the standard library must come from here, never
// from inside the region: a function of theirs compiled for AVX-512 could be the copy that baseline code calls.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include "core/half.h"
#include "device/cpu/isa/workspace.h"
#include "device/cpu/kernels.h"

#if defined(__GNUC__) && !defined(__clang__)
// gcc 12 mistakes the undefined operands inside _mm512_max_ps, _mm512_castps512_ps256 and their like for ours.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#define INLINE inline __attribute__((always_inline))
#define INLINE_LAMBDA __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 32")
