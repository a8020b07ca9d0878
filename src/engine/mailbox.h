// mailbox: how other threads reach the engine thread: submissions, a nudge, and the end.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>
#include "engine/sequence.h"

// Cancellation needs no entry of its own and so can never find the queue full: Sequence::abandoned is set, then nudge() is called.
class Mailbox {
 public:
  explicit Mailbox(size_t capacity) : capacity_(capacity) {}

  // Threads inside generate(). The engine waits for them before it goes; their number bounds every queue behind this door.
  bool enter() {  // false: too many, or the engine is ending
    std::lock_guard lock(mutex_);
    if (ending_ || inside_ >= capacity_) return false;
    ++inside_;
    return true;
  }
  void leave() {
    std::lock_guard lock(mutex_);
    if (--inside_ == 0) left_.notify_all();
  }
  void wait_until_left() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return inside_ == 0; });
  }

  bool submit(std::shared_ptr<Sequence> sequence) {  // after enter(); false: the engine is ending
    std::lock_guard lock(mutex_);
    if (ending_) return false;
    submitted_.push_back(std::move(sequence));
    nudged_.store(true);
    wake_.notify_one();
    return true;
  }
  void nudge() {
    std::lock_guard lock(mutex_);
    nudged_.store(true);
    wake_.notify_one();
  }
  void end() {
    std::lock_guard lock(mutex_);
    ending_ = true;
    nudged_.store(true);
    wake_.notify_one();
  }

  // Engine thread: moves what was submitted to the end of `out`. False: the engine is ending.
  bool take(std::deque<std::shared_ptr<Sequence>>& out) {
    if (!nudged_.load()) return true;
    std::lock_guard lock(mutex_);
    nudged_.store(false);
    for (auto& sequence : submitted_) out.push_back(std::move(sequence));
    submitted_.clear();
    return !ending_;
  }
  void wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, at_most, [&] { return nudged_.load(); });
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable wake_, left_;
  std::vector<std::shared_ptr<Sequence>> submitted_;
  std::atomic<bool> nudged_{false};
  bool ending_ = false;
  size_t inside_ = 0;
};
