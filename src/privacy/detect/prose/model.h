// prose: the embedded file of word lists and tagger weights (src/privacy/data/prose.bin, made by tools/privacy/).
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

// What public lists say about a word, whatever its case.
enum LexiconBits : uint32_t {
  first_name = 1 << 0, surname = 1 << 1, frequent_name = 1 << 2, place_name = 1 << 3,
  ordinary_word = 1 << 4,   // mostly written in lower case
  frequent_word = 1 << 5, major_place = 1 << 6,
};
struct LexiconEntry {
  uint32_t hash = 0;                     // word_hash; 0: an empty slot
  uint32_t fields = 0;
  uint32_t bits() const { return fields & 127; }
  uint32_t lower_share() const { return fields >> 7 & 7; }     // how often it is written in lower case, 0 never … 7 always
  uint32_t upper_group() const { return fields >> 10 & 1023; } // Brown cluster of the word with a capital; 0: unknown
  uint32_t lower_group() const { return fields >> 20 & 1023; }
};

// Views of the file, which is part of the program; sections that it lacks are empty.
struct ProseModel {
  std::string_view header;             // JSON: data, licences, scores, date, hash of the scripts
  std::span<const LexiconEntry> lexicon;   // open addressing by hash, a power of two of slots
  std::span<const uint32_t> traditional;   // pairs: traditional, simplified; sorted by the first
  std::span<const uint8_t> han_words;      // Bloom filter of ordinary words of two to four simplified characters
  std::span<const int8_t> latin_weights, han_weights;    // rows of n_tags
  std::span<const float> latin_links, han_links;         // scale of a weight, then start, end and n_tags x n_tags transitions

  const LexiconEntry& word(uint32_t hash) const;         // an entry without bits for a word that is not there
  bool han_word(uint64_t key) const;                     // key: han_word_key
};
const ProseModel& prose_model();

constexpr uint64_t han_word_key(const uint32_t* codes, size_t n) {
  uint64_t key = 0x9e3779b97f4a7c15u * n;
  for (size_t i = 0; i < n; ++i) key = (key ^ codes[i]) * 0xff51afd7ed558ccdu, key ^= key >> 29;
  return key;
}
