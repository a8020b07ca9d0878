// breaker: keeps an upstream that is down from being asked, and lets one request try now and then whether it is back.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>

class Breaker {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Outcome : uint8_t { good, bad, unknown };  // unknown: the asker left before it showed

  explicit Breaker(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}
  bool closed() const;                // whether a request would be let through
  bool enter();                       // false: do not ask now; true: leave() must follow
  void leave(Outcome outcome);

 private:
  static constexpr int tolerated = 5;                                       // failures in a row
  static constexpr std::chrono::milliseconds first_rest{1000}, longest_rest{60'000};  // doubled with each failed try
  bool may_pass() const { return failures_ < tolerated || (!probing_ && now_() >= rest_until_); }

  const std::function<Clock::time_point()> now_;
  mutable std::mutex mutex_;
  int failures_ = 0;
  std::chrono::milliseconds rest_ = first_rest;
  Clock::time_point rest_until_{};
  bool probing_ = false;              // one request is finding out whether it is back
};
