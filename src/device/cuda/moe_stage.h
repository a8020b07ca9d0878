// moe_stage: routed experts of few rows as two stages of decoding: gate and up of the chosen ones, then down of all choices with the shared expert and the residual.
// Every block finds the choices for itself from the router's scores: a row of them is quicker read than handed over.
#pragma once
#include "device/cuda/kernels.h"
#include "device/cuda/source.h"
#include "device/cuda/strips.h"

namespace cuda {

inline constexpr int kMostChoices = 15, kMostRouted = 512;  // top_k and experts of these stages

struct RouteSource {
  const float* scores;  // [rows, n_experts]
  int32_t n_experts, top_k;
  bool renormalise;
};
struct ExpertsUpArgs {
  Source source;
  Strips gate, up;      // of one layout and shape
  RouteSource routes;
  float* hidden;        // [rows, top_k, gate.rows]
  int32_t rows, each, most_pairs;  // each: chunks of inputs a warp takes; most_pairs: of strips that a thread block takes
  Activation activation;
  bool regular;         // rows are whole chunks, one or two a warp
};
struct ExpertsDownArgs {
  Strips down, shared;  // shared.data null: no shared expert; of one layout and shape
  RouteSource routes;
  const float *hidden, *shared_hidden;  // [rows, top_k, down.cols], [rows, shared.cols]
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
