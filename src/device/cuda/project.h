// project: the product of few rows with some matrices that share an input, as one stage of decoding: the input is made on the way in (source.h), a bias or
// a residual is added on the way out.
#pragma once
#include "device/cuda/kernels.h"
#include "device/cuda/source.h"
#include "device/cuda/strips.h"

namespace cuda {

inline constexpr int kStageWarps = 16, kStageRows = 8;  // rows: what one instruction takes

struct ProjectTarget {
  const uint8_t* data;
  float* y;           // [rows of the step, y_stride]
  const float *bias;  // [rows]
  const float* add;   // [rows of the step, y_stride]; y = add + product
  int64_t y_stride;
  int32_t rows, first_strip;
  float factor;
};
struct FloatTarget {  // a small precise matrix, float32 [rows, cols]
  const float *data, *bias;
  float* y;           // [rows of the step, rows]
  int32_t rows, first_row;
};
inline constexpr int kMostTargets = 4, kFloatRows = 4;  // the most rows of float matrices that a block takes
inline constexpr int kMostEach = 4;                     // chunks a warp may take in the kernel of one row

// Where things lie in shared memory, in bytes; strips come first.
struct ProjectPlaces {
  int32_t inputs, sums, squares, floats, barriers, bytes;
  int32_t operand_row;  // bytes between the rows of a warp's operands
};

struct ProjectArgs {
  Source source;
  StripLayout layout;
  ProjectTarget targets[kMostTargets];
  FloatTarget floats[kMostTargets];
  int64_t strip_bytes;
  int32_t cols, blocks, n_strips, n_targets, n_floats, n_float_rows;
  int32_t rows, rows_each;      // of the step, and of one thread block
  int32_t strip_blocks;         // thread blocks that take strips
  int32_t float_from, floats_each;  // thread blocks from float_from on take float rows, so many each
  int32_t slots, group;         // strips that shared memory holds, and that are multiplied between two barriers of the block
  int32_t each;                 // chunks of inputs a warp takes
  int32_t share, extra;         // units (strips or pairs) of a thread block; the first `extra` of them have one more
  ProjectPlaces places;
  bool pair;                    // two targets of one shape: y of the first = activation(first) * second; strips alternate
  Activation activation;
};

// Completes what depends on these: from rows_each on. One row of whole chunks, not gated, has a kernel of its own. False when this cannot be done in shared memory: too wide.
struct ProjectShape { unsigned grid_x = 0, grid_y = 0; size_t shared_bytes = 0; };
bool has_one_row_kernel(const ProjectArgs& args);
bool shape_project(ProjectArgs& args, int multiprocessors, size_t most_shared, ProjectShape& shape);
const void* project_kernel(const ProjectArgs& args);  // for a shape that is complete

}  // namespace cuda
