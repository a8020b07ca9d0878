// pretokenize: running the steps.
#include "text/pretokenize.h"

#include <algorithm>
#include <array>

#include "text/unicode.h"

namespace {
struct Cut {
  size_t begin, end;
  bool match;
};
struct Alphabet {
  std::array<std::string, 256> letters;
  std::array<int16_t, 324> bytes;  // by code point; the alphabet ends at U+0143
  Alphabet() {
    bytes.fill(-1);
    uint32_t spare = 256;  // the 68 bytes that are not printable Latin-1 get U+0100 and up, in order
    for (uint32_t b = 0; b < 256; ++b) {
      const bool own = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      const uint32_t letter = own ? b : spare++;
      append_utf8(letter, letters[b]);
      bytes[letter] = static_cast<int16_t>(b);
    }
  }
};
}  // namespace

static const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}
const std::string& byte_letter(uint8_t byte) { return alphabet().letters[byte]; }
int letter_byte(uint32_t c) { return c < alphabet().bytes.size() ? alphabet().bytes[c] : -1; }

// Matches and the gaps between them, covering the text.
static std::vector<Cut> regex_cuts(const Regex& pattern, std::string_view text) {
  std::vector<Cut> cuts;
  size_t from = 0;
  for (const TextRange match : pattern.matches(text)) {
    if (from != match.begin) cuts.push_back({from, match.begin, false});
    cuts.push_back({match.begin, match.end, true});
    from = match.end;
  }
  if (from != text.size()) cuts.push_back({from, text.size(), false});
  return cuts;
}

static std::vector<Cut> character_cuts(bool (*member)(uint32_t), std::string_view text) {
  std::vector<Cut> cuts;
  size_t from = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step c = utf8_step(text, at);
    if (member(c.code_point)) {
      if (from < at) cuts.push_back({from, at, false});
      from = at + c.length;
      cuts.push_back({at, from, true});
    }
    at += c.length;
  }
  if (from < text.size()) cuts.push_back({from, text.size(), false});
  return cuts;
}

static std::vector<Cut> literal_cuts(std::string_view literal, std::string_view text) {
  std::vector<Cut> cuts;
  size_t from = 0;
  for (size_t at; (at = text.find(literal, from)) != text.npos; from = at + literal.size()) {
    if (from < at) cuts.push_back({from, at, false});
    cuts.push_back({at, at + literal.size(), true});
  }
  if (from < text.size()) cuts.push_back({from, text.size(), false});
  return cuts;
}

// Joins the cuts that belong together, with the folds of Hugging Face's NormalizedString::split.
static std::vector<Cut> join(std::vector<Cut> cuts, SplitBehavior behavior) {
  if (behavior == SplitBehavior::isolated) return cuts;
  if (behavior == SplitBehavior::removed) {
    std::erase_if(cuts, [](const Cut& cut) { return cut.match; });
    return cuts;
  }
  const bool backwards = behavior == SplitBehavior::merged_with_next;
  if (backwards) std::ranges::reverse(cuts);
  std::vector<Cut> out;
  bool previous = false;
  for (const Cut& cut : cuts) {
    const bool extend = behavior == SplitBehavior::contiguous ? cut.match == previous : cut.match && !previous;
    if (!extend || out.empty()) out.push_back(cut);
    else if (backwards) out.back().begin = cut.begin;
    else out.back().end = cut.end;
    previous = cut.match;
  }
  if (backwards) std::ranges::reverse(out);
  return out;
}

static void append_cuts(const Piece& piece, const std::vector<Cut>& cuts, std::vector<Piece>& out) {
  for (const Cut& cut : cuts)
    if (cut.begin != cut.end) out.push_back({piece.text.substr(cut.begin, cut.end - cut.begin), piece.first && cut.begin == 0});
}

namespace {
struct Run {
  std::vector<Piece>& pieces;
  void operator()(const SplitStep& step) const {
    rewrite([&](Piece& piece, std::vector<Piece>& out) {
      auto cuts = regex_cuts(step.pattern, piece.text);
      if (step.invert)
        for (Cut& cut : cuts) cut.match = !cut.match;
      append_cuts(piece, join(std::move(cuts), step.behavior), out);
    });
  }
  void operator()(const CharacterStep& step) const {
    rewrite([&](Piece& piece, std::vector<Piece>& out) { append_cuts(piece, join(character_cuts(step.member, piece.text), step.behavior), out); });
  }
  void operator()(const ByteLevelStep& step) const {
    if (step.add_prefix_space)
      for (Piece& piece : pieces)
        if (!piece.text.starts_with(' ')) piece.text.insert(piece.text.begin(), ' ');
    if (step.use_pattern) (*this)(SplitStep{step.pattern});
    for (Piece& piece : pieces) {
      std::string letters;
      letters.reserve(piece.text.size() + 4);
      for (const char c : piece.text) letters += byte_letter(static_cast<uint8_t>(c));
      piece.text = std::move(letters);
    }
  }
  void operator()(const MetaspaceStep& step) const {
    rewrite([&](Piece& piece, std::vector<Piece>& out) {
      piece.text = replace_spaces(piece.text, step.replacement);
      const bool wanted = step.prepend == MetaspaceStep::Prepend::always || (step.prepend == MetaspaceStep::Prepend::first && piece.first);
      if (wanted && !piece.text.starts_with(step.replacement)) piece.text.insert(0, step.replacement);
      if (step.split) append_cuts(piece, join(literal_cuts(step.replacement, piece.text), SplitBehavior::merged_with_next), out);
      else out.push_back(std::move(piece));
    });
  }

 private:
  static std::string replace_spaces(const std::string& text, const std::string& replacement) {
    std::string out;
    for (const char c : text) c == ' ' ? out += replacement : out += c;
    return out;
  }
  template <class F> void rewrite(F f) const {
    std::vector<Piece> out;
    out.reserve(pieces.size());
    for (Piece& piece : pieces) f(piece, out);
    pieces = std::move(out);
  }
};
}  // namespace

void PreTokenizer::apply(std::vector<Piece>& pieces) const {
  for (const PreTokenizerStep& step : steps_) std::visit(Run{pieces}, step);
}
