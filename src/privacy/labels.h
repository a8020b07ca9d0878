// labels: words near a candidate that say what it is ("card no", 卡號) or is not ("order", ISBN): one pass of Aho-Corasick for all rules.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using LabelSet = uint16_t;  // one rule's words

// Filled once by all detectors, then built.
class LabelBook {
 public:
  LabelBook();
  ~LabelBook();
  // Words in lower case, folded; Latin ones match whole words only, a space in them any run of spaces, "_" or "-". Equal lists give equal sets.
  LabelSet add(std::span<const std::string_view> words);
  LabelSet add(std::initializer_list<std::string_view> words) { return add(std::span(words.begin(), words.size())); }
  void build();

 private:
  friend class Labels;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Where the words of a book stand in one text.
class Labels {
 public:
  Labels(const LabelBook& book, std::string_view text);
  ~Labels();
  // Privacy.md 2.2: within 40 code points before `begin` or 15 after `end`.
  bool near(LabelSet set, size_t begin, size_t end) const { return before(set, begin, 40) || after(set, end, 15); }
  bool before(LabelSet set, size_t begin, size_t code_points = 40) const;
  bool after(LabelSet set, size_t end, size_t code_points = 15) const;
  // Only spaces, punctuation and short words ("is", "no.", 是, 為) between the label's end and `begin`: "card no.: 4000…".
  bool introduces(LabelSet set, size_t begin) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};
