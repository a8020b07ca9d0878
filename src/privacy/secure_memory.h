// secure_memory: strings in pages that are locked, left out of core dumps and wiped when given back.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include "core/core.h"

// A string in locked memory. Small ones share pages, so that thousands fit the usual limit of 8 MiB a process.
class Secret {
 public:
  Secret() = default;
  static Result<Secret> of(std::string_view text);  // fails when no more memory can be locked
  static Result<Secret> random(size_t bytes);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();
  std::string_view view() const { return {data_, size_}; }
  size_t size() const { return size_; }

 private:
  static Result<Secret> blank(size_t bytes);
  char* data_ = nullptr;
  size_t size_ = 0;
};

size_t locked_bytes();  // of this process, by this file

// Overwrites a string of ordinary memory before it is given back.
void wipe(std::string& text);
