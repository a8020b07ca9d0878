// encoder: writes the words of models down, a layer at a time, and has each layer lowered to kernel launches.
#pragma once
#include "device/cuda/cost.h"
#include "device/cuda/lower.h"

namespace cuda {

class CudaEncoder final : public Encoder {
 public:
  CudaEncoder(DeviceState& state, Tables& tables, const Limits& limits, bool dry = false) : arena(dry), state_(state), tables_(tables), lowering_({recording, arena, state, tables, limits}) {}
  void reset();
  void end();  // lowers what is left: call before the recording is run
  // In the place of words: fills the tables of a step that is recorded elsewhere.
  void fill(const Batch& b, std::span<const int32_t> picked, std::span<const SampleSpec> specs);
  Recording recording;
  Arena arena;
  Costs* costs = nullptr;  // where what is recorded is counted; null: nowhere
  const char* refusal() const { return refusal_ ? refusal_ : lowering_.refusal(); }  // what this device cannot record; null: nothing

  Tensor embed(const Weight& table, std::span<const TokenId> ids, float scale) override;
  Tensor linear(const Tensor& x, const Weight& w, const Weight* bias) override;
  void linears(const Tensor& x, std::span<const Weight* const> w, std::span<Tensor> out) override;
  Tensor rms_norm(const Tensor& x, const Weight* gain, float eps) override;
  void rope(Tensor& heads, const Batch& b, const Rope& rope) override;
  void append(StateRef s, const Tensor& k, const Tensor& v, const Batch& b) override;
  Tensor attention(const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) override;
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
  void sample(const Tensor& logits, std::span<const SampleSpec> specs) override;

 private:
  void lower(const float* result, float* kept, bool whole);  // what has been written down since the last time
  Tensor fresh(const Shape& shape) { return {arena.array<float>(shape.elements()), shape}; }
  Tensor elementwise(Elementwise op, const Tensor& a, const float* b, float factor = 0);
  void use(const Batch& b);  // fills the tables, once a step
  void refuse(const char* why) { refusal_ = refusal_ ? refusal_ : why; }
  struct RopeOnDevice { const Rope* rope; float* inverse_frequencies; };
  const float* frequencies(const Rope& rope);

  DeviceState& state_;
  Tables& tables_;
  Lowering lowering_;
  const char* refusal_ = nullptr;
  std::vector<Op> ops_;              // since the last carry
  std::vector<RopeOnDevice> ropes_;  // for the life of the device: models own them longer than any step
  bool has_batch_ = false;
  Tensor kept_;                      // what carry() returned; lies below layer_begin_
  Arena::Mark layer_begin_;
};

}  // namespace cuda
