// lower: decides which kernels serve the ops of a layer: neighbours become one stage where a kernel can do both, and what only feeds such a stage is not run at all.
#pragma once
#include <algorithm>
#include <optional>
#include "device/cuda/arena.h"
#include "device/cuda/gemm.h"
#include "device/cuda/ops.h"
#include "device/cuda/recording.h"
#include "device/cuda/source.h"
#include "device/cuda/state.h"

namespace cuda {

struct ExpertsUpArgs;
// Stages take as much time for each row; products of many rows, for all of them. They are level at some 16 rows, and at 64 stages take 2.6 times as long (H200).
inline constexpr int64_t kFewRows = 16, kMostFewRows = 64;

struct Limits {  // of the GPU, and what is asked of it
  bool exact = false;
  int multiprocessors = 1, capability = 80;  // 10 * major + minor
  size_t most_shared = 48 << 10;             // bytes a thread block may have
  int64_t few_rows = kFewRows;               // up to here stages serve, whose results have the same bits for a row alone and among others
};

class Lowering {
 public:
  struct Places {
    Recording& recording;
    Arena& arena;
    DeviceState& state;
    Tables& tables;
    const Limits& limits;
  };
  explicit Lowering(const Places& places) : p_(places) {}
  void reset() { refusal_ = nullptr; }
  const char* refusal() const { return refusal_; }
  // Records launches for these ops. `result`, when there is one, ends up in `kept`. whole: nothing else they write is read by later ops, but what no op reads.
  void lower(std::span<const Op> ops, const float* result, float* kept, bool whole);

 private:
  enum class Standing : uint8_t { waiting, deferred, done };  // deferred: its readers make it for themselves
  struct Node {
    Op op;
    Standing standing = Standing::waiting;
  };
  void refuse(const char* why) { refusal_ = refusal_ ? refusal_ : why; }
  void redirect(const float* result, float* kept);
  Node* writer_of(const void* tensor);
  int readers_of(const void* tensor) const;
  template <class T> T* waiting_reader(const void* tensor) {  // the only reader, when it is a waiting T
    if (!whole_ || tensor == result_ || readers_of(tensor) != 1) return nullptr;
    for (Node& n : nodes_)
      if (n.standing == Standing::waiting && reads(n.op, tensor)) return std::get_if<T>(&n.op);
    return nullptr;
  }
  template <class T> void serve(const T* op) {  // a launch for something else does this as well
    for (Node& n : nodes_)
      if (std::get_if<T>(&n.op) == op) n.standing = Standing::done;
  }
  bool ready(const void* tensor);                            // written already, or not by these ops
  StepTables tables() const;

  void run(Node& node);
  bool defer(Node& node);
  bool can_defer(const AppendOp& op);
  bool can_defer(const RopeOp& op);
  bool can_defer(const RouteOp& op);
  bool can_defer(const NormOp& op);
  bool can_defer(const ElementwiseOp& op);
  bool can_defer(const LinearOp& op);
  template <class T> bool can_defer(const T&) { return false; }
  const ExpertsOp* goes_with_experts(const LinearOp& op);
  bool feeds_shared_expert(const LinearOp& op);
  bool join_shared_expert(const LinearOp& down, ExpertsUpArgs& up);
  Source source_of(const float* x, int32_t cols);
  void demand(const void* tensor);  // it is wanted in memory

  // lower_linear.cpp
  void linear(Node& first);
  void experts(ExpertsOp& op);
  void exact_linear(const LinearOp& op);
  void exact_experts(const ExpertsOp& op, const RouteOp& route);
  float* fold_addition(const float* y, const float** add);

  // lower_many.cpp
  bool many(int64_t rows) const;
  bool takes_halves(const Op& op, const float* x) const;
  bool only_as_halves(const float* x) const;
  Halves fresh_halves(int64_t rows, int64_t cols);
  Halves promise_halves(const float* x, int64_t rows, int64_t cols, float unit = 1);  // the launch that comes next fills them, with x / unit
  Halves halves_of(const float* x, int64_t rows, int64_t cols, float* unit);
  void many_norm(const NormOp& op);
  void many_gate(const ElementwiseOp& op);
  void many_floats(const LinearOp& op, std::span<Node* const> group);
  void many_linear(const LinearOp& op, std::span<Node* const> group, const ElementwiseOp* gate);
  void many_experts(ExpertsOp& op, const RouteOp& route);
  void push_gemm(const char* name, const GemmLaunch& launch, const GemmArgs& args);

  // lower_mixers.cpp
  struct StepShape { int32_t singles = 0, runs = 0, delta_chunks = 0; };  // sequences of one row, of more
  StepShape step_shape() const;
  struct Prepared {
    const float* x = nullptr;
    const RopeOp* rope = nullptr;
    const NormOp* norm = nullptr;
  };
  Prepared prepared(const float* heads);
  bool fast_attention(const AttentionOp& op, const AppendOp* append);
  void attention(const AttentionOp& op);
  void plain_delta(const DeltaArgs& args, const DeltaOp& op);
  void delta(Node& node);
  bool delta_feeds_stages(const DeltaOp& op) const;

  void operator()(const EmbedOp& op);
  void operator()(const NormOp& op);
  void operator()(const RopeOp& op);
  void operator()(const AppendOp& op);
  void operator()(const ElementwiseOp& op);
  void operator()(const AddOp& op);
  void operator()(const ColumnsOp& op);
  void operator()(const RowsOp& op);
  void operator()(const RouteOp& op);

  const Places p_;
  std::vector<Node> nodes_;
  struct HalvesOf { const float* x; Halves halves; float unit; };
  std::vector<HalvesOf> halves_;  // of these ops' tensors
  const float *result_ = nullptr, *kept_ = nullptr;  // kept_: where the result goes, once its writer writes there
  bool whole_ = false;
  const char* refusal_ = nullptr;
};

constexpr unsigned ceil_div(int64_t n, int64_t d) { return static_cast<unsigned>((n + d - 1) / d); }

}  // namespace cuda
