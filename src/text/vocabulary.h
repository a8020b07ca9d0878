// vocabulary: token texts by id and ids by text, in two flat tables.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"

class Vocabulary {
 public:
  static constexpr int kMaxTokens = 1 << 22;           // 16 times the largest vocabulary known
  static constexpr size_t kMaxTokenBytes = 64 << 10;

  // Fails on ids out of range, on an id or a text given twice (an identical pair is fine), and on absurd lengths.
  Status add(std::string_view text, int64_t id);
  std::optional<TokenId> find(std::string_view text) const;
  std::string_view text(TokenId id) const;  // "" when absent
  bool has(TokenId id) const;
  int size() const { return static_cast<int>(entries_.size()); }  // largest id + 1
  void reserve(size_t tokens, size_t bytes);

 private:
  struct Entry {
    size_t begin = 0;
    uint32_t length = 0;
    bool present = false;
  };
  void grow(size_t tokens);
  std::string arena_;
  std::vector<Entry> entries_;
  std::vector<TokenId> slots_;  // open addressing, -1 free; never more than half full
  size_t used_ = 0;
};
