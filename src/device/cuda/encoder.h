// encoder: the words of models as a list of kernel launches, with everything that changes from step to step in tables on the device.
#pragma once
#include <cuda_runtime_api.h>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>
#include "device/cuda/arena.h"
#include "device/cuda/kernels.h"

namespace cuda {

class DeviceMatrix final : public Weight {
 public:
  ~DeviceMatrix() override { cudaFree(const_cast<uint8_t*>(matrix.data)); }
  Matrix matrix;
  const char* format_name = "";
  bool precise = false, fine = false;  // fine: activations of 16 bits
  int64_t n_experts = 1;
};
class DeviceVector final : public Weight {
 public:
  ~DeviceVector() override { cudaFree(data); }
  float* data = nullptr;
  int64_t size = 0;
};

// Pages of keys and values, and recurrent slots, of all layers.
class DeviceState {
 public:
  ~DeviceState() { release(); }
  Status allocate(std::span<const StateSpec> layers, StatePlan plan, CacheKind kind);
  static size_t page_bytes(std::span<const StateSpec> layers, int page_tokens, CacheKind kind);
  static size_t slot_bytes(std::span<const StateSpec> layers);
  const StateSpec& spec(StateRef s) const { return layers_[static_cast<size_t>(s.layer)].spec; }
  CacheOnDevice cache(StateRef s) const;  // without keys for a layer that has none
  int32_t page_tokens() const { return plan_.page_tokens; }
  float* history(StateRef s) const { return layers_[static_cast<size_t>(s.layer)].history; }
  float* delta(StateRef s) const { return layers_[static_cast<size_t>(s.layer)].delta; }
  CacheKind kind() const { return kind_; }
  // visit(device memory, bytes) for every part of a page or slot, layer by layer.
  template <class Visit> void visit_page(int32_t page, Visit&& visit) const {
    for (const Layer& l : layers_) {
      if (!l.keys) continue;
      visit(l.keys + static_cast<size_t>(page) * l.key_page, l.key_page);
      visit(l.values + static_cast<size_t>(page) * l.value_page, l.value_page);
    }
  }
  template <class Visit> void visit_slot(int32_t slot, Visit&& visit) const {
    for (const Layer& l : layers_) {
      if (!l.delta) continue;
      visit(reinterpret_cast<std::byte*>(l.history) + static_cast<size_t>(slot) * l.history_bytes, l.history_bytes);
      visit(reinterpret_cast<std::byte*>(l.delta) + static_cast<size_t>(slot) * l.delta_bytes, l.delta_bytes);
    }
  }

 private:
  struct Layer {
    StateSpec spec;
    std::byte *keys = nullptr, *values = nullptr;
    float *history = nullptr, *delta = nullptr;
    size_t key_page = 0, value_page = 0, history_bytes = 0, delta_bytes = 0;
  };
  void release();
  std::vector<Layer> layers_;
  StatePlan plan_;
  CacheKind kind_ = CacheKind::half;
};

// One kernel of a step; its arguments are `bytes` of Recording::arguments from `at` on.
struct Launch { const char* name; const void* kernel; dim3 grid, block; uint32_t shared_bytes, at, bytes, unused; };  // unused: so that no byte is left undefined: steps are told apart by their bytes
struct Recording {
  std::vector<Launch> launches;
  std::vector<std::byte> arguments;
  template <class Args> void push(const char* name, const void* kernel, dim3 grid, int block, size_t shared_bytes, const Args& args) {
    static_assert(std::is_trivially_copyable_v<Args>);
    const auto at = static_cast<uint32_t>((arguments.size() + 15) / 16 * 16);
    arguments.resize(at + sizeof args);
    Args defined = args;
    __builtin_clear_padding(&defined);
    std::memcpy(arguments.data() + at, static_cast<const void*>(&defined), sizeof args);
    launches.push_back({name, kernel, grid, dim3(static_cast<unsigned>(block)), static_cast<uint32_t>(shared_bytes), at, sizeof args, 0});
  }
  // The arguments of a launch that is not run yet: what follows it may be folded into it.
  template <class Args> Args arguments_of(size_t launch) const {
    Args args;
    std::memcpy(static_cast<void*>(&args), arguments.data() + launches[launch].at, sizeof args);
    return args;
  }
  template <class Args> void change(size_t launch, const Args& args) {
    Args defined = args;
    __builtin_clear_padding(&defined);
    std::memcpy(arguments.data() + launches[launch].at, static_cast<const void*>(&defined), sizeof args);
  }
};

// Host copies of the tables, and the device memory they are sent to before a step runs.
struct Tables {
  std::vector<int32_t> ids, positions, row_sequence, pages, picked;
  std::vector<SequenceOnDevice> sequences;
  static constexpr int64_t max_rows = 32768, max_sequences = 4096, max_pages = int64_t{4} << 20;
  int32_t *ids_on_device = nullptr, *positions_on_device = nullptr, *row_sequence_on_device = nullptr, *pages_on_device = nullptr, *picked_on_device = nullptr;
  SequenceOnDevice* sequences_on_device = nullptr;
  bool fits() const { return std::ssize(ids) <= max_rows && std::ssize(picked) <= max_rows && std::ssize(sequences) <= max_sequences && std::ssize(pages) <= max_pages; }
};

class CudaEncoder final : public Encoder {
 public:
  CudaEncoder(bool exact, DeviceState& state, Tables& tables) : exact_(exact), state_(state), tables_(tables) {}
  void reset();
  Recording recording;
  Arena arena;
  const char* refusal = nullptr;  // what this device cannot record

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

 private:
  Tensor fresh(const Shape& shape) { return {arena.array<float>(shape.elements()), shape}; }
  Tensor elementwise(const char* name, Elementwise op, const Tensor& a, const float* b, float factor = 0);
  // The last launch, when it is an addition that left its result in `sum` and has not been given a norm yet.
  std::optional<AddNormArgs> addition_of(const float* sum) const;
  Tensor push_addition(const Tensor& a, const Tensor& b, const float* g);
  void push_linear(const Tensor& x, const DeviceMatrix& weight, const float* bias, float* y, int32_t rows);
  bool takes_few(const DeviceMatrix& weight, int64_t rows) const;
  void push_few(const Tensor& x, std::span<const FewTarget> targets, const DeviceMatrix& like, int32_t rows);
  Acts acts_of(const float* x, int64_t n, bool fine);  // n floats as integers, of 16 bits when `fine`, made by whoever makes x where that can be
  Acts fresh_acts(int64_t n, bool fine);
  template <class Args> void remember(const float* data);  // the last launch makes `data` and can make its integers: Args has a member acts
  StepTables tables_of(const Batch& b);
  void refuse(const char* why) { refusal = refusal ? refusal : why; }
  struct RopeOnDevice { const Rope* rope; float* inverse_frequencies; };
  const float* frequencies(const Rope& rope);

  const bool exact_;
  DeviceState& state_;
  Tables& tables_;
  std::vector<RopeOnDevice> ropes_;  // for the life of the device: models own them longer than any step
  bool has_batch_ = false;
  struct Maker { const float* data; size_t launch; bool used; void (*want)(Recording&, size_t, const Acts&); };
  std::vector<Maker> makers_;        // of this layer's tensors
  struct Ready { const float* data; int64_t n; bool fine; Acts acts; };
  std::vector<Ready> ready_;
  Tensor kept_;                      // what carry() returned; lies below layer_begin_
  Arena::Mark layer_begin_;
};

}  // namespace cuda
