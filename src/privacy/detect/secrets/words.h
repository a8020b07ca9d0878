// words: lists of whole words that are no secrets. A value that merely contains one of them may be a secret.
#pragma once
#include <string>
#include <string_view>
#include <unordered_set>

namespace credential {

struct WordHash {
  using is_transparent = void;
  size_t operator()(std::string_view word) const { return std::hash<std::string_view>{}(word); }
};
using WordSet = std::unordered_set<std::string, WordHash, std::equal_to<>>;

const WordSet& stand_in_words();   // what stand-ins are made of: "your", "key", "here"
const WordSet& plain_words();      // what follows "password is" in sentences, types, states, field names
const WordSet& file_endings();

}  // namespace credential
