// read_ahead: a thread that asks the system for the next bytes of a mapping while the ones before them are being used.
#pragma once
#include <atomic>
#include <thread>
#include <vector>
#include "core/core.h"

class ReadAhead {
 public:
  // The ranges in the order in which they will be used.
  explicit ReadAhead(std::vector<std::span<const std::byte>> ranges);
  ~ReadAhead();
  void used(size_t bytes);  // so many more

 private:
  std::atomic<size_t> used_{0};
  std::jthread thread_;
};
