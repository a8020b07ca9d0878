// prose: a linear-chain tagger (conditional random field) over hashed features, one for Latin words and one for Chinese characters.
#pragma once
#include <array>
#include <cstddef>
#include <vector>
#include "privacy/detect/prose/model.h"
#include "privacy/detect/prose/spans.h"

inline constexpr size_t n_tags = 9;  // outside, then begin and inside of person, org, place, address
enum Tag : uint8_t { outside = 0, begin_person = 1, begin_org = 3, begin_place = 5, begin_address = 7 };
inline constexpr size_t latin_rows = size_t{1} << 17, han_rows = size_t{1} << 16;  // of weights, one per hashed feature
inline constexpr size_t most_features = 48;

// A text with what the lexicon says about each token; training changes the entries to teach unknown words.
struct TaggedText {
  TaggedText(std::string_view text, const Tokens& tokens);
  std::string_view text;
  const Tokens& tokens;
  std::vector<LexiconEntry> entries;   // of words
  std::vector<uint8_t> covers;         // of characters: bit n - 2: an ordinary word of n characters begins here
};
struct TokenRange { size_t first, last; };
// Stretches that may hold a name; elsewhere every tag is `outside`.
std::vector<TokenRange> latin_windows(const TaggedText& text);
std::vector<TokenRange> han_windows(const TaggedText& text);

struct Features {
  std::array<uint32_t, most_features> rows;
  size_t n = 0;
};
void latin_features(const TaggedText& text, size_t at, Features& out);
void han_features(const TaggedText& text, size_t at, Features& out);

// What both taggers find, by begin; scores are probabilities.
void find_tagged(std::string_view text, const Tokens& tokens, NamedSpans& out);
