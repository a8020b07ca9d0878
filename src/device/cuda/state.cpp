// state: what sequences remember, in device memory: one allocation for each layer's pages, one for its slots.
#include "device/cuda/state.h"

#include "device/cuda/attention.h"
#include "device/cuda/calls.h"

namespace cuda {
namespace {

// What a layer keeps when `wanted` was asked for: heads of odd widths are not kept as integers.
CacheKind kind_of(const StateSpec& s, int page_tokens, CacheKind wanted) {
  const CacheOnDevice shape{nullptr, nullptr, page_tokens, s.n_kv_heads, s.key_dim, s.value_dim};
  return wanted == CacheKind::int8 && !attends_fast(shape, KvType::int8) ? CacheKind::half : wanted;
}
size_t part_bytes(const StateSpec& s, int page_tokens, CacheKind kind, int32_t dim) {
  if (kind == CacheKind::f32) return static_cast<size_t>(page_tokens) * static_cast<size_t>(s.n_kv_heads) * static_cast<size_t>(dim) * sizeof(float);
  return static_cast<size_t>(page_stride(kind == CacheKind::int8 ? KvType::int8 : KvType::half, page_tokens, s.n_kv_heads, dim));
}
size_t key_bytes(const StateSpec& s, int page_tokens, CacheKind kind) { return part_bytes(s, page_tokens, kind_of(s, page_tokens, kind), s.key_dim); }
size_t value_bytes(const StateSpec& s, int page_tokens, CacheKind kind) { return part_bytes(s, page_tokens, kind_of(s, page_tokens, kind), s.value_dim); }
// A ring, see delta.h.
size_t history_bytes(const StateSpec& s) { return static_cast<size_t>(s.conv_kernel) * static_cast<size_t>(s.conv_channels) * sizeof(float); }
size_t delta_bytes(const StateSpec& s) { return static_cast<size_t>(s.n_heads) * static_cast<size_t>(s.head_key_dim) * static_cast<size_t>(s.head_value_dim) * sizeof(float); }

template <class T> bool take(T*& to, size_t bytes) {
  void* data = nullptr;
  if (cudaMalloc(&data, std::max<size_t>(bytes, 256)) != cudaSuccess) return cudaGetLastError(), false;
  to = static_cast<T*>(data);
  return true;
}

}  // namespace

size_t DeviceState::page_bytes(std::span<const StateSpec> layers, int page_tokens, CacheKind kind) {
  size_t sum = 0;
  for (const StateSpec& s : layers)
    if (s.kind == StateSpec::Kind::paged_kv) sum += key_bytes(s, page_tokens, kind) + value_bytes(s, page_tokens, kind);
  return sum;
}
size_t DeviceState::slot_bytes(std::span<const StateSpec> layers) {
  size_t sum = 0;
  for (const StateSpec& s : layers)
    if (s.kind == StateSpec::Kind::recurrent) sum += history_bytes(s) + delta_bytes(s);
  return sum;
}

Status DeviceState::allocate(std::span<const StateSpec> layers, StatePlan plan, CacheKind kind) {
  release();
  plan_ = plan;
  const size_t pages = static_cast<size_t>(plan.n_pages), slots = static_cast<size_t>(plan.n_slots);
  const auto refused = [&] {
    const size_t wanted = pages * page_bytes(layers, plan.page_tokens, kind) + slots * slot_bytes(layers);
    Error error = no_memory("the state of sequences", wanted, cudaErrorMemoryAllocation);
    release();
    return error;
  };
  for (const StateSpec& s : layers) {
    Layer& l = layers_.emplace_back();
    l.spec = s;
    if (s.kind == StateSpec::Kind::paged_kv) {
      l.kind = kind_of(s, plan.page_tokens, kind);
      l.key_page = key_bytes(s, plan.page_tokens, kind), l.value_page = value_bytes(s, plan.page_tokens, kind);
      if (!take(l.keys, pages * l.key_page) || !take(l.values, pages * l.value_page)) return refused();
    }
    if (s.kind == StateSpec::Kind::recurrent) {
      l.history_bytes = history_bytes(s), l.delta_bytes = delta_bytes(s);
      if (!take(l.history, slots * l.history_bytes) || !take(l.delta, slots * l.delta_bytes)) return refused();
    }
  }
  return ok_status();
}

void DeviceState::describe(std::span<const StateSpec> layers, StatePlan plan, CacheKind kind) {
  release();
  plan_ = plan;
  for (const StateSpec& s : layers) {
    Layer& l = layers_.emplace_back();
    l.spec = s, l.kind = kind_of(s, plan.page_tokens, kind);
  }
}

void DeviceState::release() {
  for (const Layer& l : layers_) cudaFree(l.keys), cudaFree(l.values), cudaFree(l.history), cudaFree(l.delta);
  layers_.clear();
}

CacheOnDevice DeviceState::cache(StateRef s) const {
  const Layer& l = layers_[static_cast<size_t>(s.layer)];
  return {l.keys, l.values, plan_.page_tokens, l.spec.n_kv_heads, l.spec.key_dim, l.spec.value_dim};
}

}  // namespace cuda
