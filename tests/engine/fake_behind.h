// fake_behind: the fake device as one that runs behind the host: a thread of its own does everything in order and draws the ids.
#pragma once
#include <array>
#include <condition_variable>
#include "engine/draw.h"
#include "engine/fakes.h"

namespace fake {
class BehindDevice final : public FakeDevice {
 public:
  BehindDevice(Kind kind, std::shared_ptr<Watch> watch) : FakeDevice(kind, std::move(watch)), thread_([this] { work(); }) {}
  ~BehindDevice() override {
    push({Op::Kind::end});
    thread_.join();
  }
  bool samples() const override { return true; }
  void copy_page(int32_t from, int32_t to) override { push({Op::Kind::copy_page, from, to}); }
  void copy_slot(int32_t from, int32_t to) override { push({Op::Kind::copy_slot, from, to}); }
  void clear_slot(int32_t slot) override { push({Op::Kind::clear_slot, slot}); }
  void read_page(int32_t page, std::span<std::byte> out) const override { drain(), FakeDevice::read_page(page, out); }
  void write_page(int32_t page, std::span<const std::byte> in) override { drain(), FakeDevice::write_page(page, in); }
  void read_slot(int32_t slot, std::span<std::byte> out) const override { drain(), FakeDevice::read_slot(slot, out); }
  void write_slot(int32_t slot, std::span<const std::byte> in) override { drain(), FakeDevice::write_slot(slot, in); }

  Status finish() override {
    TRY_STATUS(submit());
    TRY(const auto ids, await());
    (void)ids;
    return ok_status();
  }
  Status submit() override {
    CHECK(submitted_ - awaited_ < 2);
    if (int step = static_cast<int>(submitted_); watch_->refuse_step.compare_exchange_strong(step, -1)) return Error{Code::device, "fake: told to refuse"};
    if (submitted_ > awaited_) ++watch_->n_followed;
    steps_[submitted_ % 2].take(encoder_.batch, encoder_.specs, plan_.page_tokens);
    push({Op::Kind::step, static_cast<int32_t>(submitted_++ % 2)});
    return ok_status();
  }
  Result<std::span<const TokenId>> await() override {
    std::unique_lock lock(mutex_);
    const size_t wanted = ++awaited_;
    done_.wait(lock, [&] { return n_run_ >= wanted; });
    const Step& step = steps_[(wanted - 1) % 2];
    if (!step.status) return step.status.error();
    return std::span<const TokenId>(step.drawn);
  }

 private:
  struct Op {
    enum class Kind { copy_page, copy_slot, clear_slot, step, end } kind = Kind::end;
    int32_t a = 0, b = 0;
  };
  // What a step needs after the host has gone on; nothing of it lies in the host's tables.
  struct Step {
    std::vector<TokenId> ids, drawn;
    std::vector<int32_t> positions, logit_rows, pages;
    std::vector<SequenceRows> sequences;
    std::vector<SampleSpec> specs;
    bool hidden = false;
    Status status = ok_status();
    void take(const Batch& b, std::span<const SampleSpec> wanted, int32_t page_tokens) {
      ids.assign(b.ids.begin(), b.ids.end());
      positions.assign(b.positions.begin(), b.positions.end());
      logit_rows.assign(b.logit_rows.begin(), b.logit_rows.end());
      sequences.assign(b.sequences.begin(), b.sequences.end());
      specs.assign(wanted.begin(), wanted.end());
      hidden = b.hidden;
      pages.clear();
      pages.reserve(4096);
      for (SequenceRows& s : sequences) {
        const auto first = static_cast<std::ptrdiff_t>(pages.size());
        pages.insert(pages.end(), s.pages, s.pages + (s.past + s.n_rows + page_tokens - 1) / page_tokens);
        s.pages = pages.data() + first;
      }
      CHECK(pages.size() <= 4096);
    }
  };

  void push(Op op) {
    std::lock_guard lock(mutex_);
    CHECK(n_pushed_ - n_done_ < ops_.size());
    ops_[n_pushed_++ % ops_.size()] = op;
    wake_.notify_one();
  }
  void drain() const {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return n_done_ == n_pushed_; });
  }
  void work() {
    for (;;) {
      Op op;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return n_done_ < n_pushed_; });
        op = ops_[n_done_ % ops_.size()];
      }
      if (op.kind == Op::Kind::end) return;
      if (op.kind == Op::Kind::copy_page) FakeDevice::copy_page(op.a, op.b);
      if (op.kind == Op::Kind::copy_slot) FakeDevice::copy_slot(op.a, op.b);
      if (op.kind == Op::Kind::clear_slot) FakeDevice::clear_slot(op.a);
      if (op.kind == Op::Kind::step) run_step(steps_[static_cast<size_t>(op.a)]);
      std::lock_guard lock(mutex_);
      ++n_done_;
      if (op.kind == Op::Kind::step) ++n_run_;
      done_.notify_all();
    }
  }
  void run_step(Step& step) {
    for (TokenId& id : step.ids)
      if (id < 0) id = std::max(0, last_drawn_.at(static_cast<size_t>(sampled_before(id))));
    step.status = run({step.ids, step.positions, step.sequences, step.logit_rows, step.hidden});
    step.drawn.clear();
    for (const SampleSpec& s : step.specs) step.drawn.push_back(sorted_draw({arena_.data() + static_cast<size_t>(s.row) * vocab, vocab}, s));
    last_drawn_ = step.drawn;
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable wake_, done_;
  std::array<Op, 1024> ops_;
  size_t n_pushed_ = 0, n_done_ = 0, n_run_ = 0, submitted_ = 0, awaited_ = 0;
  std::array<Step, 2> steps_;
  std::vector<TokenId> last_drawn_;
  std::thread thread_;
};
}  // namespace fake
