// token_channel: the bounded queue of events between the engine thread and the one thread that waits for a request.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>
#include "chat/chat.h"
#include "core/core.h"

// Everything is allocated at construction: the engine thread only fills places. The writer asks for room first and pauses the sequence
// when there is none; it never blocks here.
class TokenChannel {
 public:
  struct Event {
    bool is_prompt = false;  // logits of a prompt position, or a sampled token
    TokenId id = 0;
    int32_t index = 0;       // position in the prompt, or index of the token
    std::span<float> logits;
  };
  enum class Next : uint8_t { event, progress, closed };

  TokenChannel(int capacity, size_t logits_row) : events_(static_cast<size_t>(capacity)), logits_(events_.size() * logits_row) {
    for (size_t i = 0; i < events_.size(); ++i) events_[i].logits = std::span(logits_).subspan(i * logits_row, logits_row);
  }

  // Engine thread.
  int room() const {
    std::lock_guard lock(mutex_);
    return static_cast<int>(events_.size() - (written_ - read_));
  }
  Event& place() { return events_[written_ % events_.size()]; }  // needs room() > 0; only the engine thread changes written_
  void publish() {
    std::lock_guard lock(mutex_);
    ++written_;
    wake_.notify_one();
  }
  void set_progress(int done) {
    std::lock_guard lock(mutex_);
    progress_ = done;
    wake_.notify_one();
  }
  void close(std::optional<Error> error) {
    std::lock_guard lock(mutex_);
    closed_ = true;
    error_ = std::move(error);
    wake_.notify_one();
  }

  // Reader thread. Events come first, then progress, then the end.
  Next wait() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return written_ != read_ || progress_ != seen_progress_ || closed_; });
    if (progress_ != seen_progress_) return Next::progress;
    return written_ != read_ ? Next::event : Next::closed;
  }
  const Event& front() const { return events_[read_ % events_.size()]; }  // stays valid until pop
  bool pop() {  // true: there was too little room for a step (which writes up to two events a row), the engine may be waiting for this
    std::lock_guard lock(mutex_);
    const bool was_short = written_ - read_ + 1 >= events_.size();
    ++read_;
    return was_short;
  }
  int take_progress() {
    std::lock_guard lock(mutex_);
    return seen_progress_ = progress_;
  }
  const std::optional<Error>& error() const { return error_; }  // after closed

 private:
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Event> events_;
  std::vector<float> logits_;
  size_t written_ = 0, read_ = 0;
  int progress_ = 0, seen_progress_ = 0;
  bool closed_ = false;
  std::optional<Error> error_;
};
