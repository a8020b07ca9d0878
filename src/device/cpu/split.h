// split: takes one block of one stored row apart into integer codes and scales, exactly as stored; the other half of packing.
#pragma once
#include "device/cpu/packed.h"

namespace cpu {

// Up to 256 inputs of one row. Which fields are filled depends on the layout's scales.
struct RowBlock {
  uint8_t codes[256];                  // code + nothing: u2..u6 as stored, s8 as two's complement, lut codes as indices
  uint16_t scale16[16], min16[16];     // per scale group: halves or bf16 bits
  float scale32[16], min32[16];        // per scale group
  uint16_t d, dmin;                    // super: halves
  uint8_t sub_scale[16], sub_min[16];  // super: per group; e8m0: the exponent
};

// Fills `out` with inputs [k, k + inputs) of row `row` of the matrix.
using SplitFn = void (*)(const StoredMatrix& m, int64_t row, int64_t k, int inputs, RowBlock& out);

// How a format is packed; split is null for float layouts, which are filled through decode_row.
struct PackPlan { PackLayout layout; SplitFn split = nullptr; };
PackPlan plan_packing(const StoredMatrix& matrix);

}  // namespace cpu
