// breaker: counting failures in a row, resting longer after each failed try.
#include "privacy/breaker.h"

#include <algorithm>

bool Breaker::closed() const {
  const std::lock_guard lock(mutex_);
  return may_pass();
}

bool Breaker::enter() {
  const std::lock_guard lock(mutex_);
  if (!may_pass()) return false;
  if (failures_ >= tolerated) probing_ = true;
  return true;
}

void Breaker::leave(Outcome outcome) {
  const std::lock_guard lock(mutex_);
  if (outcome == Outcome::good) failures_ = 0, rest_ = first_rest;
  if (outcome == Outcome::bad && (++failures_ == tolerated || probing_)) {
    rest_until_ = now_() + rest_;
    rest_ = std::min(rest_ * 2, longest_rest);
  }
  probing_ = false;
}
