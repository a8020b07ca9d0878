// pretokenize: cutting normalised text into the pieces that byte-pair encoding never crosses.
#pragma once
#include <string>
#include <variant>
#include <vector>
#include "text/regex.h"

// A cut of the text; `first` when it begins where the whole text begins.
struct Piece {
  std::string text;
  bool first = false;
};

enum class SplitBehavior : uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct SplitStep {
  Regex pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
};
// Cuts at characters of a class.
struct CharacterStep {
  bool (*member)(uint32_t code_point);
  SplitBehavior behavior = SplitBehavior::isolated;
};
// Bytes become the 256 letters of the byte-level alphabet.
struct ByteLevelStep {
  bool add_prefix_space = false;
  Regex pattern;             // GPT-2's, when use_pattern
  bool use_pattern = false;
};
struct MetaspaceStep {
  enum class Prepend : uint8_t { first, never, always };
  std::string replacement;
  Prepend prepend = Prepend::always;
  bool split = true;
};
using PreTokenizerStep = std::variant<SplitStep, CharacterStep, ByteLevelStep, MetaspaceStep>;

class PreTokenizer {
 public:
  template <class Step> void add(Step step) { steps_.emplace_back(std::in_place_type<Step>, std::move(step)); }
  void apply(std::vector<Piece>& pieces) const;

 private:
  std::vector<PreTokenizerStep> steps_;
};

inline constexpr const char* kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The byte-level alphabet: byte -> letter (UTF-8), and letter's code point -> byte or -1.
const std::string& byte_letter(uint8_t byte);
int letter_byte(uint32_t code_point);
