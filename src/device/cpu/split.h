// split: takes one block of one stored row apart into integer codes and scales, exactly as stored; the other half of packing.
#pragma once
#include "device/cpu/packed.h"

namespace cpu {

// Up to 256 inputs of one row. Which fields are filled depends on the layout's scales.
struct RowBlock {
  alignas(16) uint8_t codes[256];      // code + nothing: u2..u6 as stored, s8 as two's complement, lut codes as indices
  uint16_t scale16[16], min16[16];     // per scale group: halves or bf16 bits
  float scale32[16], min32[16];        // per scale group
  uint16_t d, dmin;                    // super: halves
  uint8_t sub_scale[16], sub_min[16];  // super: per group; e8m0: the exponent
};

// Where one stored row starts in each plane of its matrix.
struct Row {
  const uint8_t *codes = nullptr, *scale = nullptr, *min = nullptr;
};
Row row_of(const StoredMatrix& matrix, int64_t row);

// Fills one tile, `cols` inputs of up to 16 rows; the lanes of rows beyond those are zero.
using TileFn = void (*)(const PackLayout& layout, std::span<const Row> rows, int64_t cols, uint8_t* tile);

// How a format is packed; tile is null for float layouts that are filled through decode_row.
struct PackPlan { PackLayout layout; TileFn tile = nullptr; };
PackPlan plan_packing(const StoredMatrix& matrix);

}  // namespace cpu
