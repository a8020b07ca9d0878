// strips: how the GPU keeps matrices for its fast kernels: strips of 16 output rows, each one contiguous stream of blocks of 64 inputs, with codes in
// the order in which tensor cores take them.
//
// A block is its scales, then its codes. Codes lie as the A operand of mma.m16n8k16 wants them: lane l = 4 * r + c holds rows r and r + 8, and of slab
// s (inputs 16 s to 16 s + 15 of the block, s = 0 to 3) inputs 2c, 2c + 1, 2c + 8 and 2c + 9. Inputs keep their natural order: activations are not permuted.
//
//   u4      512 B: 16 B a lane: words (slabs 0 and 1, row r), (slabs 0 and 1, row r + 8), (slabs 2 and 3, row r), (slabs 2 and 3, row r + 8).
//           A word has the even slab in its low nibbles and the odd one in its high nibbles; its bytes 0, 2, 1, 3 are inputs 2c, 2c + 1, 2c + 8, 2c + 9,
//           so that (w & 0x000f000f) | 0x64006400 is a pair of halves 1024 + code (high nibbles: 1024 + 16 * code), and w >> 8 gives the other pair.
//   u5, u6  u4, then one or two planes of 4 B a lane (128 B). Pair t = 4 * word + {0: low nibbles, 1: low of w >> 8, 2: high, 3: high of w >> 8}:
//           bit t belongs to the pair's first code, bit 16 + t to its second. Plane 0 is bit 4 of the code, plane 1 bit 5.
//   s8      2 x 512 B: half h has slabs 2h and 2h + 1: 16 B a lane: words (slab 2h, row r), (2h, r + 8), (2h + 1, r), (2h + 1, r + 8); bytes 0 to 3 are
//           inputs 2c, 2c + 1, 2c + 8, 2c + 9.
//   f16     4 x 512 B: slab s: 16 B a lane: pairs (row r, inputs 2c and 2c + 1), (r + 8, same), (r, inputs 2c + 8 and 2c + 9), (r + 8, same): registers a0 to a3.
//
//   scales     per group of 64, 32 or 16 inputs (1, 2 or 4 groups a block), for r = 0 to 7
//   f16        halves scale[r], scale[r + 8]                                                  32 B a group
//   f16_min, bf16_min   scale[r], scale[r + 8], min[r], min[r + 8]                            64 B a group
//   f32_min    the same as floats                                                             128 B a group
//   super      halves d[r], d[r + 8]: 32 B once; then per group signed bytes sub[r], sub[r + 8]                   16 B a group
//   super_min  halves d[r], d[r + 8], dmin[r], dmin[r + 8]: 64 B once; then per group bytes sub[r], sub[r + 8], submin[r], submin[r + 8]   32 B a group
//
// value = factor * (scale * (code - offset) + min), scale = d * sub and min = -dmin * submin for super forms. Rows beyond the last and inputs beyond the last
// have scale 0 and min 0, so cols may be anything: a strip holds ceil(cols / 64) blocks. `unit` is a power of two that brings the largest scale of the
// matrix near 1, for kernels that multiply by it in half precision (they divide their result by it); f16 codes are stored multiplied by it already,
// and factor has been divided by it.
#pragma once
#include <cstdint>

namespace cuda {

enum class Codes : uint8_t { u4, u5, u6, s8, f16 };
enum class Scales : uint8_t { none, f16, f16_min, bf16_min, f32_min, super, super_min };

constexpr int kStripRows = 16, kBlockInputs = 64, kSlabs = 4;

struct StripLayout {
  Codes codes = Codes::f16;
  Scales scales = Scales::none;
  int32_t groups = 0;  // a block
  int32_t offset = 0;  // code that means zero
  bool operator==(const StripLayout&) const = default;
};
constexpr int code_bytes(Codes c) { return c == Codes::u4 ? 512 : c == Codes::u5 ? 640 : c == Codes::u6 ? 768 : c == Codes::s8 ? 1024 : 2048; }
constexpr int scale_bytes(Scales s, int groups) {
  switch (s) {
    case Scales::none: return 0;
    case Scales::f16: return 32 * groups;
    case Scales::f16_min: case Scales::bf16_min: return 64 * groups;
    case Scales::f32_min: return 128 * groups;
    case Scales::super: return 32 + 16 * groups;
    case Scales::super_min: return 64 + 32 * groups;
  }
  return 0;
}
constexpr int block_bytes(Codes c, Scales s, int groups) { return scale_bytes(s, groups) + code_bytes(c); }  // a multiple of 16
constexpr bool has_min(Scales s) { return s == Scales::f16_min || s == Scales::bf16_min || s == Scales::f32_min || s == Scales::super_min; }

// A matrix in device memory, or several experts of one shape.
struct Strips {
  const uint8_t* data = nullptr;
  int64_t strip_bytes = 0, expert_bytes = 0;  // block_bytes * blocks, strip_bytes * strips
  int32_t rows = 0, cols = 0, blocks = 0, strips = 0;
  float factor = 1, unit = 1;
  StripLayout layout;
};

// What fast kernels are made for: X(codes, scales, groups). Every other format is brought into (s8, f32_min, 4) or (f16) when it is uploaded.
#define CALLA_STRIP_KINDS(X)                                                                                                                   \
  X(u4, f16, 2) X(u4, f16_min, 2) X(u4, bf16_min, 1) X(u4, bf16_min, 2) X(u4, super_min, 2) X(u5, super_min, 2) X(u6, super, 4) X(s8, f16, 2)    \
  X(s8, bf16_min, 1) X(s8, bf16_min, 2) X(s8, f32_min, 4) X(f16, none, 0)

// What one of these is, as a type; and f(Kind<...>{}) for the kind this layout is: its result, or R{} for a kind without kernels.
template <Codes C, Scales S, int G> struct Kind {
  static constexpr Codes codes = C;
  static constexpr Scales scales = S;
  static constexpr int groups = G;
};
template <class R, class F> R for_kind(const StripLayout& l, F&& f) {
#define CALLA_STRIP_KIND(c, s, g) \
  if (l.codes == Codes::c && l.scales == Scales::s && l.groups == g) return f(Kind<Codes::c, Scales::s, g>{});
  CALLA_STRIP_KINDS(CALLA_STRIP_KIND)
#undef CALLA_STRIP_KIND
  return R{};
}

// Activations of many rows as halves, for tensor cores: [ceil(cols / 64)][padded_rows / 8][8 pieces of 8 inputs][8 rows][8 inputs]: each 128 bytes are a
// core matrix of wgmma without swizzle, and 64 inputs of 8 n rows in a line are n KiB without a gap. Rows are padded to a multiple of 8.
struct Halves {
  uint16_t* data = nullptr;  // __half
  int32_t rows = 0, padded_rows = 0, cols = 0;
};
#ifdef __CUDACC__
#define CALLA_BOTH __host__ __device__
#else
#define CALLA_BOTH
#endif
CALLA_BOTH constexpr int64_t half_at(int32_t padded_rows, int32_t row, int32_t k) {  // index of an element
  return ((static_cast<int64_t>(k / 64) * (padded_rows / 8) + row / 8) * 8 + k % 64 / 8) * 64 + row % 8 * 8 + k % 8;
}

}  // namespace cuda
