// packed: the layout that every stored matrix is repacked into once, at load, and that all linear kernels read.
//
// A matrix is cut into tiles of 16 output rows. A tile is one contiguous stream of blocks along the input dimension k; a block is
// its scales followed by its codes. Codes come in chunks of 32 inputs, cut into 8 quads: byte 4 * row + i of a quad is input
// 4 * quad + i of that row, so that one 64-byte register feeds a u8 x s8 dot product of 16 rows at once and no horizontal sum is
// ever needed.
//
//   chunk of 32 inputs   layout
//   u4, iq4, e2m1        4 x 64 B: low nibbles are quad 2j, high nibbles quad 2j + 1
//   u2                   2 x 64 B: bits 2q..2q+1 are quad 4j + q
//   u3, u5, u6           u2 or u4, then one or two bit planes of 64 B: bit (4 * row + i) of 8-byte word `quad`
//   s8                   8 x 64 B
//   f32, f16, bf16       no chunks: 16 values per input, rows adjacent
//
//   scales               block   layout (16 rows adjacent in each vector)
//   f16                  64      per group of 16 or 32: 16 halves
//   f16_min, bf16_min    64      per group: 16 scales, 16 mins (f16_min: halves)
//   bf16_min, f32_min    group   for groups of 64 and 128
//   e8m0                 64      per group: 16 bytes; 2 groups, padded to 64 B
//   super, super_min     256     16 halves d (and 16 dmin), to 64 B; then 16 bytes of sub-scale per group; then 16 bytes of sub-min per group
//
// The last block of a row may hold 32 inputs instead of 64. Nothing is re-quantised: value = scale * (code - offset) + min exactly as stored.
#pragma once
#include <memory>
#include "core/core.h"
#include "device/device.h"

namespace cpu {

enum class PackCodes : uint8_t { u2, u3, u4, u5, u6, s8, iq4, e2m1, f32, f16, bf16 };
enum class PackScales : uint8_t { none, f16, f16_min, bf16_min, f32_min, e8m0, super, super_min };

constexpr int kTileRows = 16;

// Values of IQ4_NL and IQ4_XS codes, and twice the values of E2M1 codes.
alignas(16) inline constexpr int8_t kIq4Table[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
alignas(16) inline constexpr int8_t kE2m1Table[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

struct PackLayout {
  PackCodes codes = PackCodes::f32;
  PackScales scales = PackScales::none;
  int group = 0;          // inputs per kernel group: 16, 32 or 64 (0 for floats)
  int scale_group = 0;    // inputs that share a stored scale: group, or 128
  int block = 0;          // inputs per block: 64, 128 or 256
  int offset = 0;         // code value that means zero
  bool signed_scales = false;  // sub-scales of `super` are signed bytes
};
constexpr bool is_float(PackCodes c) { return c >= PackCodes::f32; }
constexpr size_t chunk_bytes(PackCodes c) {  // of 32 inputs x 16 rows
  switch (c) {
    case PackCodes::u2: return 128;
    case PackCodes::u3: return 192;
    case PackCodes::u4: case PackCodes::iq4: case PackCodes::e2m1: return 256;
    case PackCodes::u5: return 320;
    case PackCodes::u6: return 384;
    case PackCodes::s8: return 512;
    case PackCodes::f32: return 2048;
    case PackCodes::f16: case PackCodes::bf16: return 1024;
  }
  return 0;
}
// Bytes of the scales of a block of `inputs` (the last block may be shorter).
constexpr size_t scale_bytes(const PackLayout& l, int inputs) {
  const size_t groups = l.scale_group ? static_cast<size_t>((inputs + l.scale_group - 1) / l.scale_group) : 0;
  switch (l.scales) {
    case PackScales::none: return 0;
    case PackScales::f16: return groups * 32;
    case PackScales::f16_min: case PackScales::bf16_min: return groups * 64;
    case PackScales::f32_min: return groups * 128;
    case PackScales::e8m0: return 64;
    case PackScales::super: return 64 + groups * 16;
    case PackScales::super_min: return 64 + groups * 32;
  }
  return 0;
}

// How activations are quantised: sums are per kernel group of 16, 32 or 64 inputs, scales per 32 inputs (64 for groups of 64), in the
// wide forms per 256. Rows are kept in one such set per variant.
enum class Variant : uint8_t { g16, g32, g64, wide16, wide32, wide64, exact };
constexpr int kVariants = 6;
constexpr bool is_wide(Variant v) { return v >= Variant::wide16 && v != Variant::exact; }
constexpr int group_of(Variant v) { return 16 << static_cast<int>(v) % 3; }
constexpr int scale_inputs(Variant v) { return is_wide(v) ? 256 : v == Variant::g64 ? 64 : 32; }  // that share a scale

class PackedMatrix final : public Weight {
 public:
  PackLayout layout;
  const char* format_name = "";
  int64_t rows = 0, cols = 0;       // of one expert
  int64_t n_experts = 1, tiles = 0; // tiles of one expert
  size_t tile_bytes = 0;            // multiple of 64
  float post_scale = 1;             // NVFP4's per-tensor factor
  bool precise = false;             // always computed with float32 activations
  bool wide = false;                // reads the wide forms of activations
  bool fine = false;                // integer kernels take 16-bit activations: two planes of int8
  int kernel = -1;                  // index into the kernel table, the same for every ISA
  const std::byte* data = nullptr;  // 64-byte aligned
  size_t bytes = 0;
  std::shared_ptr<const std::byte> memory;  // keeps data alive: a piece of a slab, or the mapping of a packed file
  const std::byte* tile(int64_t expert, int64_t t) const { return data + static_cast<size_t>(expert * tiles + t) * tile_bytes; }
  Variant variant() const {
    if (layout.group == 0) return Variant::exact;
    return static_cast<Variant>((layout.group == 16 ? 0 : layout.group == 32 ? 1 : 2) + (wide ? 3 : 0));
  }
};

class VectorWeight final : public Weight {
 public:
  std::vector<float> values;
};

// A matrix of one row, as floats: every member computes its products for itself.
class RowWeight final : public Weight {
 public:
  std::vector<float> values;
};

// A table that is only looked up: borrows the mapping.
class LookupWeight final : public Weight {
 public:
  StoredMatrix table;
};

// The matrix that `source` becomes, but for its bytes.
PackedMatrix plan_matrix(const MatrixSource& source);
class Slabs;
class Team;
// Fills any stretch of a matrix's tiles; those of all experts are numbered in a row.
class Packer {
 public:
  explicit Packer(const MatrixSource& source);  // borrowed
  const PackedMatrix& matrix() const { return matrix_; }
  Status fill(int64_t first_tile, int64_t last_tile, std::byte* to, Team& team) const;  // refuses scales that are NaN or infinite

 private:
  const MatrixSource& source_;
  const PackedMatrix matrix_;
};
// Refuses scales that are NaN or infinite.
Result<std::unique_ptr<PackedMatrix>> pack(const MatrixSource& source, Team& team, Slabs& slabs);
Result<std::unique_ptr<PackedMatrix>> pack(const MatrixSource& source, Team& team);  // in slabs of its own
void unpack_row(const PackedMatrix& m, int64_t row, float* out);  // expert 0's rows come first; slow, exact

}  // namespace cpu
