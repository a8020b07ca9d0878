// moe_stage: routed experts of few rows as two stages of decoding: gate and up of the chosen ones, then down of all choices with the shared expert and the residual.
// Every block finds the choices for itself from the router's scores: a row of them is quicker read than handed over. The shared expert goes along.
#pragma once
#include "device/cuda/kernels.h"
#include "device/cuda/source.h"
#include "device/cuda/strips.h"

namespace cuda {

inline constexpr int kMostChoices = 15, kMostRouted = 512;  // top_k and experts of these stages

struct RouteSource {
  const float* scores;  // [rows, n_scores]: the first n_experts of a row
  int32_t n_experts, top_k, n_scores;
  bool renormalise;
};
struct ExpertsUpArgs {
  Source source;
  Strips gate, up;      // of one layout and shape
  Strips shared_gate, shared_up;  // the shared expert's, of the same layout and shape; data null: not here
  RouteSource routes;
  float* hidden;        // [rows, top_k, gate.rows], with a shared expert [rows, top_k + 1, gate.rows]
  int32_t rows, each;   // each: chunks of inputs a warp takes
  int32_t share, extra, most_pairs;  // pairs of strips of a thread block, and how many blocks have one more
  Activation activation;
  bool regular;         // rows are whole chunks, one or two a warp
};
struct ExpertsDownArgs {
  Strips down, shared;  // shared.data null: no shared expert; of one layout and shape
  RouteSource routes;
  const float *hidden, *shared_hidden;  // rows of down.cols; one row of the step and the next lie so far apart:
  int64_t hidden_stride, shared_stride;
  const float* shared_gate;             // [rows] before the sigmoid; null: 1
  const float* add;                     // [rows, down.rows]
  float* y;
  int32_t rows, each;                   // each: chunks of inputs a warp takes: half of an expert's
};

// Completes args; shape.shared_bytes 0 when this cannot be done: too wide for shared memory.
struct StageShape { dim3 grid; int threads; size_t shared_bytes; };
StageShape shape_experts_up(ExpertsUpArgs& args, int multiprocessors, size_t most_shared);
StageShape shape_experts_down(ExpertsDownArgs& args, size_t most_shared);
const void* experts_up_stage(const ExpertsUpArgs& args);
const void* experts_down_stage(const ExpertsDownArgs& args);

}  // namespace cuda
