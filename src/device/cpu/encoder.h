// encoder: records a step for the CPU; every method takes memory from the arena and pushes operations.
#pragma once
#include <vector>
#include "device/cpu/expert_ops.h"
#include "device/cpu/row_ops.h"
#include "device/cpu/state_ops.h"

namespace cpu {

class CpuEncoder final : public Encoder {
 public:
  CpuEncoder(bool exact, State& state, int members) : step(members), exact_(exact), state_(state) {}
  Step step;
  void reset() {
    step.reset();
    ropes_.clear();
    forget_prepared();
    kept_ = {};
  }

  Tensor embed(const Weight& table, std::span<const TokenId> ids, float scale) override;
  Tensor linear(const Tensor& x, const Weight& w, const Weight* bias) override;
  void linears(const Tensor& x, std::span<const Weight* const> w, std::span<Tensor> out) override;
  Tensor rms_norm(const Tensor& x, const Weight* gain, float eps) override;
  void rope(Tensor& heads, const Batch& b, const Rope& rope) override;
  void append(StateRef s, const Tensor& k, const Tensor& v, const Batch& b) override;
  Tensor attention(const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) override;
  Tensor append_attention(const Tensor& k, const Tensor& v, const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) override;
  Tensor gate(const Tensor& g, const Tensor& u, Activation a) override;
  Tensor sigmoid_gate(const Tensor& x, const Tensor& g) override;
  Tensor add(const Tensor& a, const Tensor& b) override;
  Tensor add_gated(const Tensor& a, const Tensor& b, const Tensor& g) override;
  Tensor scale(const Tensor& x, float factor) override;
  Tensor softcap(const Tensor& x, float cap) override;
  Tensor columns(const Tensor& x, int64_t first, int64_t count) override;
  Tensor rows(const Tensor& x, std::span<const int32_t> which) override;
  Tensor carry(const Tensor& x) override;
  Routes route(const Tensor& scores, int top_k, bool renormalise) override;
  Tensor experts(const Tensor& x, const Routes& r, const Weight& gate, const Weight& up, const Weight& down, Activation a) override;
  Tensor gated_delta(const Tensor& qkv, const Tensor& z, const Tensor& a, const Tensor& b, const DeltaWeights& w, const DeltaDims& d, StateRef s, const Batch& batch) override;

 private:
  Tensor fresh(const Shape& shape) { return {step.take<float>(shape.elements()), shape}; }
  Tensor fresh_shared(const Shape& shape) { return {step.arena.array<float>(shape.elements()), shape}; }  // written by several members
  void forget_prepared() { prepared_[0] = prepared_[1] = {}; }
  Inputs prepare(const Tensor& x, std::span<const PackedMatrix* const> weights);
  void record(const Inputs& in, std::span<const LinearTarget> targets) { record_linears(step, in, targets, exact_); }
  const RopeTable& table_for(const Rope& rope, const Batch& b);
  bool exact_;
  State& state_;
  std::vector<RopeTable> ropes_;
  Inputs prepared_[2];       // of the last two inputs, newest first: matrices that share an input often come soon after one another
  Tensor kept_;              // what carry() returned; lies below layer_begin_
  Arena::Mark layer_begin_;
  size_t own_layer_begin_ = 0;
};

}  // namespace cpu
