// project_shared: where things lie in the shared memory of a project block; host and device agree through it.
#pragma once
#include "device/cuda/project.h"

namespace cuda {

constexpr int kInputPad = 8;  // halves behind each row of inputs, so that eight rows lie in different banks

struct ProjectShared {
  int inputs, sums, tables, squares, zeros, barriers;  // offsets in bytes; strips come first
  int input_stride;                                    // halves
  size_t bytes;
  CALLA_BOTH constexpr ProjectShared(const ProjectArgs& a, int rows, int slots, int group) {
    int at = static_cast<int>(a.strip_bytes) * slots;
    input_stride = a.each * kBlockInputs + kInputPad;
    inputs = at, at += kStageWarps * rows * input_stride * 2;
    sums = at, at += 2 * group * kStageWarps * rows * kStripRows * 4;  // two groups, in turns
    tables = at, at += kStageWarps * a.each * (a.layout.groups > 0 ? a.layout.groups : 1) * 8 * 4 * 2;
    squares = at, at += kStageWarps * rows * 4;
    zeros = at, at += 16;
    barriers = at, at += 8 * (slots > 0 ? slots : 1);
    bytes = static_cast<size_t>(at + 15) / 16 * 16;
  }
};

}  // namespace cuda
