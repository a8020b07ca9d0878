// state: sizes, lazily touched mappings, copies.
#include "device/cpu/state.h"

#include <cstring>
#include <sys/mman.h>

namespace cpu {
namespace {

size_t rows_per_page(const StateSpec& s, int page_tokens) { return static_cast<size_t>(page_tokens) * static_cast<size_t>(s.n_kv_heads); }
size_t key_page(const StateSpec& s, int page_tokens, CacheType type) {
  return rows_per_page(s, page_tokens) * static_cast<size_t>(s.key_dim * CacheView::width(type));
}
size_t value_page(const StateSpec& s, int page_tokens, CacheType type) {
  return rows_per_page(s, page_tokens) * static_cast<size_t>(s.value_dim * CacheView::width(type));
}
size_t scale_page(const StateSpec& s, int page_tokens, CacheType type) {  // of the keys; as many again for the values
  return type == CacheType::int8 ? rows_per_page(s, page_tokens) * sizeof(float) : 0;
}
size_t conv_floats(const StateSpec& s) { return static_cast<size_t>(s.conv_kernel > 0 ? s.conv_kernel - 1 : 0) * static_cast<size_t>(s.conv_channels); }
size_t slot_floats(const StateSpec& s) {
  return conv_floats(s) + static_cast<size_t>(s.n_heads * delta_slices(s.head_value_dim) * delta_slice_floats(s.head_key_dim));
}

}  // namespace

State::~State() { release(); }

void State::release() {
  for (const auto& [p, bytes] : mappings_) ::munmap(p, bytes);
  mappings_.clear();
  layers_.clear();
}

std::byte* State::map(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  mappings_.emplace_back(p, bytes);
  return static_cast<std::byte*>(p);
}

Status State::allocate(std::span<const StateSpec> layers, StatePlan plan, CacheType type) {
  release();
  plan_ = plan;
  type_ = type;
  for (const StateSpec& spec : layers) {
    Layer layer;
    layer.spec = spec;
    size_t wanted = 0;
    bool taken = true;
    const auto take = [&](size_t bytes) {
      wanted += bytes;
      std::byte* p = map(bytes);
      taken = taken && (p != nullptr || bytes == 0);
      return p;
    };
    if (spec.kind == StateSpec::Kind::paged_kv) {
      layer.keys = take(static_cast<size_t>(plan.n_pages) * key_page(spec, plan.page_tokens, type));
      layer.values = take(static_cast<size_t>(plan.n_pages) * value_page(spec, plan.page_tokens, type));
      layer.scales = take(static_cast<size_t>(plan.n_pages) * scale_page(spec, plan.page_tokens, type) * 2);
    } else if (spec.kind == StateSpec::Kind::recurrent) {
      layer.slots = reinterpret_cast<float*>(take(static_cast<size_t>(plan.n_slots) * slot_floats(spec) * 4));
    }
    if (!taken) {
      release();
      return Error{Code::device, "cannot take " + std::to_string(wanted) + " bytes for the state of one layer: the system refused"};
    }
    layers_.push_back(layer);
  }
  return ok_status();
}

size_t State::page_bytes(std::span<const StateSpec> layers, int page_tokens, CacheType type) {
  size_t bytes = 0;
  for (const StateSpec& s : layers)
    if (s.kind == StateSpec::Kind::paged_kv) bytes += key_page(s, page_tokens, type) + value_page(s, page_tokens, type) + 2 * scale_page(s, page_tokens, type);
  return bytes;
}
size_t State::slot_bytes(std::span<const StateSpec> layers) {
  size_t bytes = 0;
  for (const StateSpec& s : layers)
    if (s.kind == StateSpec::Kind::recurrent) bytes += slot_floats(s) * 4;
  return bytes;
}

CacheView State::cache(StateRef s) const {
  const Layer& l = layers_[static_cast<size_t>(s.layer)];
  float* scales = reinterpret_cast<float*>(l.scales);  // of all keys, then of all values
  float* value_scales = scales ? scales + static_cast<size_t>(plan_.n_pages) * rows_per_page(l.spec, plan_.page_tokens) : nullptr;
  return {l.keys, l.values, scales, value_scales, type_, plan_.page_tokens, l.spec.n_kv_heads, l.spec.key_dim, l.spec.value_dim};
}
float* State::conv_rows(StateRef s, int32_t slot) const {
  const Layer& l = layers_[static_cast<size_t>(s.layer)];
  return l.slots + static_cast<size_t>(slot) * slot_floats(l.spec);
}
float* State::delta(StateRef s, int32_t slot) const { return conv_rows(s, slot) + conv_floats(spec(s)); }

template <class Visit> void State::visit_page(int32_t page, Visit visit) const {
  const auto part = [&](std::byte* base, size_t bytes) {
    if (bytes > 0) visit(base + static_cast<size_t>(page) * bytes, bytes);
  };
  for (const Layer& l : layers_) {
    if (l.spec.kind != StateSpec::Kind::paged_kv) continue;
    const size_t scales = scale_page(l.spec, plan_.page_tokens, type_);
    part(l.keys, key_page(l.spec, plan_.page_tokens, type_));
    part(l.values, value_page(l.spec, plan_.page_tokens, type_));
    part(l.scales, scales);
    if (scales > 0) part(l.scales + static_cast<size_t>(plan_.n_pages) * scales, scales);
  }
}
template <class Visit> void State::visit_slot(int32_t slot, Visit visit) const {
  for (const Layer& l : layers_) {
    const size_t n = slot_floats(l.spec);
    if (l.slots) visit(reinterpret_cast<std::byte*>(l.slots + static_cast<size_t>(slot) * n), n * sizeof(float));
  }
}

void State::copy_page(int32_t from, int32_t to) {
  visit_page(from, [&](std::byte* part, size_t bytes) {
    std::memcpy(part + (static_cast<std::ptrdiff_t>(to) - from) * static_cast<std::ptrdiff_t>(bytes), part, bytes);
  });
}
void State::copy_slot(int32_t from, int32_t to) {
  visit_slot(from, [&](std::byte* part, size_t bytes) {
    std::memcpy(part + (static_cast<std::ptrdiff_t>(to) - from) * static_cast<std::ptrdiff_t>(bytes), part, bytes);
  });
}
void State::clear_slot(int32_t slot) {
  visit_slot(slot, [](std::byte* part, size_t bytes) { std::memset(part, 0, bytes); });
}
void State::read_page(int32_t page, std::span<std::byte> out) const {
  visit_page(page, [at = out.data()](const std::byte* part, size_t bytes) mutable { std::memcpy(at, part, bytes), at += bytes; });
}
void State::write_page(int32_t page, std::span<const std::byte> in) {
  visit_page(page, [at = in.data()](std::byte* part, size_t bytes) mutable { std::memcpy(part, at, bytes), at += bytes; });
}
void State::read_slot(int32_t slot, std::span<std::byte> out) const {
  visit_slot(slot, [at = out.data()](const std::byte* part, size_t bytes) mutable { std::memcpy(at, part, bytes), at += bytes; });
}
void State::write_slot(int32_t slot, std::span<const std::byte> in) {
  visit_slot(slot, [at = in.data()](std::byte* part, size_t bytes) mutable { std::memcpy(part, at, bytes), at += bytes; });
}

}  // namespace cpu
