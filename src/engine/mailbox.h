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

  bool submit(std::shared_ptr<Sequence> sequence) {  // false: full, or the engine is ending
    std::lock_guard lock(mutex_);
    if (ending_ || submitted_.size() >= capacity_) return false;
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

  // Engine thread: moves what was submitted to the end of `out`, up to `limit` in it. False: the engine is ending.
  bool take(std::deque<std::shared_ptr<Sequence>>& out, size_t limit) {
    if (!nudged_.load()) return true;
    std::lock_guard lock(mutex_);
    nudged_.store(false);
    while (!submitted_.empty() && out.size() < limit) {
      out.push_back(std::move(submitted_.front()));
      submitted_.pop_front();
    }
    return !ending_;
  }
  void wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, at_most, [&] { return nudged_.load(); });
  }

  // Threads inside generate(); the engine waits for them before it goes.
  void enter() {
    std::lock_guard lock(mutex_);
    ++inside_;
  }
  void leave() {
    std::lock_guard lock(mutex_);
    if (--inside_ == 0) left_.notify_all();
  }
  void wait_until_left() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return inside_ == 0; });
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable wake_, left_;
  std::deque<std::shared_ptr<Sequence>> submitted_;
  std::atomic<bool> nudged_{false};
  bool ending_ = false;
  int inside_ = 0;
};
