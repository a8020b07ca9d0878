// fakes: a device and a model whose logits are a hash of the token history read back out of pages and slots, and the same hash without them.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#include "engine/engine.h"

namespace fake {
constexpr int vocab = 97, n_valid = 90;  // rows 90 … 96 are padding, with the largest logits of all
constexpr int hidden_dim = 2;

inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
inline uint64_t paged_hash(uint64_t h, TokenId id, int position) { return mix(h + static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(position)); }
inline uint64_t slot_hash(uint64_t h, TokenId id) { return mix(h ^ (static_cast<uint64_t>(id) + 0x51ed27u)); }
inline void fill_logits(uint64_t paged, uint64_t slot, float* out) {
  for (int i = 0; i < vocab; ++i)
    out[i] = static_cast<float>(mix(mix(paged ^ (slot * 3)) + static_cast<uint64_t>(i)) >> 40) * 0x1p-24f * 8 + (i >= n_valid ? 100.0f : 0.0f);
}

struct Kind { bool paged = true, recurrent = false; };

// What the model says after `tokens`, computed without any state.
inline std::vector<float> logits_after(Kind kind, std::span<const TokenId> tokens) {
  uint64_t paged = 0, slot = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (kind.paged) paged = paged_hash(paged, tokens[i], static_cast<int>(i));
    if (kind.recurrent) slot = slot_hash(slot, tokens[i]);
  }
  std::vector<float> row(vocab);
  fill_logits(paged, slot, row.data());
  return row;
}

// What tests see of the steps; shared, because the engine owns the device.
struct Watch {
  std::mutex mutex;
  struct Step { std::vector<int> rows; };     // rows of each sequence
  std::vector<Step> steps;                    // when `record`
  bool record = false;
  std::atomic<int> delay_us{0};
  std::atomic<int> fail_step{-1};             // finish() or await() of this step fails
  std::atomic<int> refuse_step{-1};           // submit() of this step fails
  std::atomic<int> die_at_step{-1};           // as fail_step, and whatever comes behind it
  std::atomic<bool> give_nan{false};
  std::atomic<uint64_t> n_steps{0}, slot_errors{0}, page_copies{0};
  std::atomic<uint64_t> n_followed{0};        // steps submitted while another one was under way
  uint64_t (*count_allocations)() = nullptr;  // of the calling thread
  std::vector<uint64_t> allocations_at_step;  // reserved by the test
};

class FakeDevice;
class FakeEncoder final : public Encoder {
 public:
  Tensor embed(const Weight&, std::span<const TokenId>, float) override { return {}; }
  Tensor linear(const Tensor&, const Weight&, const Weight*) override { return {}; }
  void linears(const Tensor&, std::span<const Weight* const>, std::span<Tensor>) override {}
  Tensor rms_norm(const Tensor&, const Weight*, float) override { return {}; }
  void rope(Tensor&, const Batch&, const Rope&) override {}
  void append(StateRef, const Tensor&, const Tensor&, const Batch&) override {}
  Tensor attention(const Tensor&, StateRef, const Batch&, const AttentionOptions&) override { return {}; }
  Tensor gate(const Tensor&, const Tensor&, Activation) override { return {}; }
  Tensor sigmoid_gate(const Tensor&, const Tensor&) override { return {}; }
  Tensor add(const Tensor&, const Tensor&) override { return {}; }
  Tensor add_gated(const Tensor&, const Tensor&, const Tensor&) override { return {}; }
  Tensor scale(const Tensor&, float) override { return {}; }
  Tensor softcap(const Tensor&, float) override { return {}; }
  Tensor columns(const Tensor&, int64_t, int64_t) override { return {}; }
  Tensor rows(const Tensor&, std::span<const int32_t>) override { return {}; }
  Routes route(const Tensor&, int, bool) override { return {}; }
  Tensor experts(const Tensor&, const Routes&, const Weight&, const Weight&, const Weight&, Activation) override { return {}; }
  Tensor gated_delta(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const DeltaWeights&, const DeltaDims&, StateRef, const Batch&) override { return {}; }
  void sample(const Tensor&, std::span<const SampleSpec> wanted) override { specs = wanted; }
  Batch batch;  // what finish() or submit() will run
  std::span<const SampleSpec> specs;
  float* arena = nullptr;
};

class FakeDevice : public Device {
 public:
  FakeDevice(Kind kind, std::shared_ptr<Watch> watch) : kind_(kind), watch_(std::move(watch)) {}
  std::string name() const override { return "fake"; }
  Precision precision() const override { return Precision::exact; }
  Result<std::unique_ptr<Weight>> upload(const MatrixSource&) override { return std::make_unique<Weight>(); }
  Result<std::unique_ptr<Weight>> upload_lookup(const StoredMatrix&) override { return std::make_unique<Weight>(); }
  Result<std::unique_ptr<Weight>> upload_vector(std::span<const float>) override { return std::make_unique<Weight>(); }
  size_t weight_bytes() const override { return 0; }
  Status allocate_state(std::span<const StateSpec>, StatePlan plan) override {
    plan_ = plan;
    pages_.assign(static_cast<size_t>(plan.n_pages) * static_cast<size_t>(plan.page_tokens), -1);
    slots_.assign(static_cast<size_t>(plan.n_slots), {0xdeadu, -1});
    arena_.resize(size_t{1} << 20);
    return ok_status();
  }
  size_t page_bytes(std::span<const StateSpec>, int page_tokens) const override { return kind_.paged ? static_cast<size_t>(page_tokens) * 64 : 0; }
  size_t slot_bytes(std::span<const StateSpec>) const override { return kind_.recurrent ? 4096 : 0; }
  void copy_page(int32_t from, int32_t to) override {
    const auto n = static_cast<size_t>(plan_.page_tokens);
    std::copy_n(pages_.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(from) * n), n, pages_.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(to) * n));
    ++watch_->page_copies;
  }
  void copy_slot(int32_t from, int32_t to) override { slots_.at(static_cast<size_t>(to)) = slots_.at(static_cast<size_t>(from)); }
  void clear_slot(int32_t slot) override { slots_.at(static_cast<size_t>(slot)) = {}; }
  void read_page(int32_t page, std::span<std::byte> out) const override {
    const auto n = static_cast<size_t>(plan_.page_tokens);
    if (kind_.paged) std::memcpy(out.data(), pages_.data() + static_cast<size_t>(page) * n, n * sizeof(TokenId));
  }
  void write_page(int32_t page, std::span<const std::byte> in) override {
    const auto n = static_cast<size_t>(plan_.page_tokens);
    if (kind_.paged) std::memcpy(pages_.data() + static_cast<size_t>(page) * n, in.data(), n * sizeof(TokenId));
  }
  void read_slot(int32_t slot, std::span<std::byte> out) const override { std::memcpy(out.data(), &slots_.at(static_cast<size_t>(slot)), sizeof(Slot)); }
  void write_slot(int32_t slot, std::span<const std::byte> in) override { std::memcpy(&slots_.at(static_cast<size_t>(slot)), in.data(), sizeof(Slot)); }

  Encoder& begin() override {
    if (watch_->count_allocations && watch_->allocations_at_step.size() < watch_->allocations_at_step.capacity())
      watch_->allocations_at_step.push_back(watch_->count_allocations());
    encoder_.arena = arena_.data();
    encoder_.specs = {};
    return encoder_;
  }
  Status finish() override { return run(encoder_.batch); }
  const Error* dead() const override { return dead_ ? &death_ : nullptr; }
  std::span<const float> host(const Tensor& t) override { return {t.data, static_cast<size_t>(t.shape.elements())}; }

 protected:
  struct Slot { uint64_t hash = 0; int32_t count = 0; };

  Status run(const Batch& batch) {
    const int step = static_cast<int>(watch_->n_steps++);
    if (const int us = watch_->delay_us; us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
    if (watch_->die_at_step >= 0 && step >= watch_->die_at_step) dead_ = true;
    if (dead_) return death_;
    if (step == watch_->fail_step) return Error{Code::device, "fake: told to fail"};
    if (watch_->record) note(batch);
    int logit = 0;
    for (const SequenceRows& s : batch.sequences)
      for (int32_t r = 0; r < s.n_rows; ++r) run_row(batch, s, r, logit);
    return ok_status();
  }
  void run_row(const Batch& b, const SequenceRows& s, int32_t r, int& logit) {
    const int32_t row = s.first_row + r, index = s.past + r;
    const TokenId id = b.ids[static_cast<size_t>(row)];
    if (b.positions[static_cast<size_t>(row)] != index) ++watch_->slot_errors;
    if (kind_.paged) cell(s, index) = id;
    if (kind_.recurrent) {
      Slot& slot = slots_.at(static_cast<size_t>(s.slot));
      if (slot.count != index) ++watch_->slot_errors;
      slot = {slot_hash(slot.hash, id), index + 1};
    }
    if (static_cast<size_t>(logit) >= b.logit_rows.size() || b.logit_rows[static_cast<size_t>(logit)] != row) return;
    uint64_t paged = 0;
    if (kind_.paged)
      for (int32_t i = 0; i <= index; ++i) paged = paged_hash(paged, cell(s, i), i);
    if (b.hidden) {  // the row's id and its position
      float* two = arena_.data() + static_cast<size_t>(logit++) * hidden_dim;
      two[0] = static_cast<float>(id), two[1] = static_cast<float>(index);
      return;
    }
    float* out = arena_.data() + static_cast<size_t>(logit++) * vocab;
    fill_logits(paged, kind_.recurrent ? slots_[static_cast<size_t>(s.slot)].hash : 0, out);
    if (watch_->give_nan) out[3] = std::numeric_limits<float>::quiet_NaN();
  }
  TokenId& cell(const SequenceRows& s, int32_t i) {
    const int32_t n = plan_.page_tokens;
    return pages_.at(static_cast<size_t>(s.pages[i / n]) * static_cast<size_t>(n) + static_cast<size_t>(i % n));
  }
  void note(const Batch& b) {
    std::lock_guard lock(watch_->mutex);
    watch_->steps.emplace_back();
    for (const SequenceRows& s : b.sequences) watch_->steps.back().rows.push_back(s.n_rows);
  }

  Kind kind_;
  std::shared_ptr<Watch> watch_;
  StatePlan plan_;
  std::vector<TokenId> pages_;
  std::vector<Slot> slots_;
  std::vector<float> arena_;
  const Error death_{Code::device, "fake: out of order"};
  std::atomic<bool> dead_{false};
  FakeEncoder encoder_;
};

class FakeModel final : public Model {
 public:
  FakeModel(Kind kind, int max_positions) {
    config_.architecture = "fake";
    config_.vocab_size = vocab;
    config_.hidden_dim = hidden_dim;
    config_.max_positions = max_positions;
    if (kind.paged) states_.push_back({.kind = StateSpec::Kind::paged_kv, .n_kv_heads = 1, .key_dim = 1, .value_dim = 1});
    if (kind.recurrent) states_.push_back({.kind = StateSpec::Kind::recurrent, .n_heads = 1, .head_key_dim = 1, .head_value_dim = 1});
  }
  const ModelConfig& config() const override { return config_; }
  std::span<const StateSpec> states() const override { return states_; }
  Tensor forward(Encoder& e, const Batch& b) const override {
    auto& encoder = static_cast<FakeEncoder&>(e);
    encoder.batch = b;
    return {encoder.arena, Shape{static_cast<int64_t>(b.logit_rows.size()), b.hidden ? hidden_dim : vocab}};
  }

 private:
  ModelConfig config_;
  std::vector<StateSpec> states_;
};
}  // namespace fake
