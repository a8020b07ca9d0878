// state: what sequences remember, on the CPU: pages of keys and values, and recurrent slots. Memory is touched only when used.
#pragma once
#include <memory>
#include <vector>
#include "device/cpu/kernels.h"
#include "device/device.h"

namespace cpu {

class State {
 public:
  ~State();
  Status allocate(std::span<const StateSpec> layers, StatePlan plan, CacheType type);
  static size_t page_bytes(std::span<const StateSpec> layers, int page_tokens, CacheType type);
  static size_t slot_bytes(std::span<const StateSpec> layers);
  const StateSpec& spec(StateRef s) const { return layers_[static_cast<size_t>(s.layer)].spec; }
  CacheView cache(StateRef s) const;
  float* conv_rows(StateRef s, int32_t slot) const;  // [kernel - 1, channels]
  float* delta(StateRef s, int32_t slot) const;      // [heads, delta_slices, delta_slice_floats]
  void copy_page(int32_t from, int32_t to);
  void copy_slot(int32_t from, int32_t to);
  void clear_slot(int32_t slot);
  void read_page(int32_t page, std::span<std::byte> out) const;  // layer by layer: keys, values, scales of both
  void write_page(int32_t page, std::span<const std::byte> in);
  void read_slot(int32_t slot, std::span<std::byte> out) const;  // layer by layer
  void write_slot(int32_t slot, std::span<const std::byte> in);

 private:
  struct Layer { StateSpec spec; std::byte *keys = nullptr, *values = nullptr, *scales = nullptr; float* slots = nullptr; };
  std::byte* map(size_t bytes);
  template <class Visit> void visit_page(int32_t page, Visit visit) const;  // visit(std::byte* part, size_t bytes)
  template <class Visit> void visit_slot(int32_t slot, Visit visit) const;
  void release();
  std::vector<Layer> layers_;
  std::vector<std::pair<void*, size_t>> mappings_;
  StatePlan plan_;
  CacheType type_ = CacheType::half;
};

}  // namespace cpu
