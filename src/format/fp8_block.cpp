// fp8_block: official FP8 checkpoints, E4M3 bytes with one scale per 128 x 128 block (`weight_scale_inv`, which multiplies).
#include "format/codes.h"

namespace {
constexpr int64_t side = 128;

// scale plane: [.., ceil(out / 128), ceil(in / 128)]; edge blocks are smaller
void decode_planar(const StoredMatrix& m, int64_t row, float* out) {
  const int64_t cols = m.shape.back(), rows = m.shape.rank > 1 ? m.shape[m.shape.rank - 2] : 1;  // rows of one expert
  const int64_t across = (cols + side - 1) / side, down = (rows + side - 1) / side;
  const int64_t first = (row / rows * down + row % rows / side) * across;
  const std::byte* codes_of_row = m.codes.data() + row * cols;
  for (int64_t i = 0; i < cols; i++)
    out[i] = e4m3_to_float(codes::load<uint8_t>(codes_of_row + i)) * codes::plane_value(m.scale, m.scale_type, first + i / side);
}
}  // namespace

extern const std::array<Format, 1> fp8_block_formats;
const std::array<Format, 1> fp8_block_formats = {{{"fp8_block", Codes::e4m3, Scales::block, 128, 1, 1, -1, nullptr, decode_planar}}};
