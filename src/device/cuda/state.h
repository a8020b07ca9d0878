// state: what sequences remember, in device memory, and the tables that tell a step's kernels where it lies.
#pragma once
#include <cuda_runtime_api.h>
#include <vector>
#include "device/cuda/kernels.h"
#include "device/cuda/sample.h"

namespace cuda {

// Pages of keys and values, and recurrent slots, of all layers.
class DeviceState {
 public:
  ~DeviceState() { release(); }
  Status allocate(std::span<const StateSpec> layers, StatePlan plan, CacheKind kind);
  void describe(std::span<const StateSpec> layers, StatePlan plan, CacheKind kind);  // without memory: nothing may run
  static size_t page_bytes(std::span<const StateSpec> layers, int page_tokens, CacheKind kind);
  static size_t slot_bytes(std::span<const StateSpec> layers);
  const StateSpec& spec(StateRef s) const { return layers_[static_cast<size_t>(s.layer)].spec; }
  CacheOnDevice cache(StateRef s) const;  // without keys for a layer that has none
  int32_t page_tokens() const { return plan_.page_tokens; }
  float* history(StateRef s) const { return layers_[static_cast<size_t>(s.layer)].history; }
  float* delta(StateRef s) const { return layers_[static_cast<size_t>(s.layer)].delta; }
  CacheKind kind(StateRef s) const { return layers_[static_cast<size_t>(s.layer)].kind; }
  KvType kv_type(StateRef s) const { return kind(s) == CacheKind::int8 ? KvType::int8 : KvType::half; }
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
    CacheKind kind = CacheKind::half;
    std::byte *keys = nullptr, *values = nullptr;
    float *history = nullptr, *delta = nullptr;
    size_t key_page = 0, value_page = 0, history_bytes = 0, delta_bytes = 0;
  };
  void release();
  std::vector<Layer> layers_;
  StatePlan plan_;
};

// Host copies of the tables, and the device memory they are sent to before a step runs.
struct Tables {
  std::vector<int32_t> ids, positions, row_sequence, pages, picked;
  std::vector<SequenceOnDevice> sequences;
  std::vector<SampleSpec> specs;
  static constexpr int64_t max_rows = 32768, max_sequences = 4096, max_pages = int64_t{4} << 20;
  int32_t *ids_on_device = nullptr, *positions_on_device = nullptr, *row_sequence_on_device = nullptr, *pages_on_device = nullptr, *picked_on_device = nullptr;
  SequenceOnDevice* sequences_on_device = nullptr;
  SampleSpec* specs_on_device = nullptr;
  SampledIds drawn;                     // by these specs
  uint32_t* turns_on_device = nullptr;  // one a spec, see SampleArgs
  static constexpr int64_t max_fold_heads = 128;
  uint32_t* fold_turns_on_device = nullptr;  // [sequences, heads], see SplitAttentionArgs
  bool fits() const { return std::ssize(ids) <= max_rows && std::ssize(picked) <= max_rows && std::ssize(sequences) <= max_sequences && std::ssize(specs) <= max_sequences && std::ssize(pages) <= max_pages; }
};

}  // namespace cuda
