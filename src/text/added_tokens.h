// added tokens: finding literal tokens in text, leftmost and longest first, with their stripping rules.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#include "core/core.h"

struct AddedToken {
  std::string content;  // as matched: normalised when `normalized`
  TokenId id = 0;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

// One part of a text: a token's match, or (id < 0) the plain text between two.
struct AddedSplit {
  size_t begin, end;
  TokenId id;
};

class AddedMatcher {
 public:
  void add(const AddedToken& token);  // a later one with the same content replaces it
  bool empty() const { return tokens_.empty(); }
  std::vector<AddedSplit> split(std::string_view text) const;  // covers the text

 private:
  struct Node {
    std::vector<std::pair<uint8_t, uint32_t>> children;  // sorted
    int32_t token = -1;
  };
  int32_t longest_at(std::string_view text, size_t at) const;  // index of a token, or -1

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_{Node{}};
  std::vector<uint32_t> first_ = std::vector<uint32_t>(256, 0);  // children of the root; 0 none
};
