// prose: what the tagger sees of a Latin word: itself, its neighbours, their letters, lists and clusters.
#include <algorithm>
#include "privacy/detect/prose/features.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr uint32_t edge = 0xffffffff;
constexpr uint32_t name_bits = first_name | surname | place_name;

struct Look {
  const TaggedText& text;
  bool has(size_t at) const { return at < text.tokens.size(); }
  const Token& token(size_t at) const { return text.tokens[at]; }
  // Words that mean the same in every text keep their identity; names and rare words are known by their looks only.
  uint32_t identity(size_t at) const {
    if (!has(at)) return edge;
    const Token& t = token(at);
    if (t.kind == TokenKind::number || t.kind == TokenKind::han) return static_cast<uint32_t>(t.shape) + 1;
    if (t.kind != TokenKind::word || t.classes != 0) return t.hash;
    const LexiconEntry& entry = text.entries[at];
    const bool known = entry.hash != 0 && ((entry.bits() & name_bits) == 0 || (entry.bits() & (ordinary_word | frequent_word)) != 0);
    return known ? t.hash : 2 + 16 * static_cast<uint32_t>(t.shape);
  }
  uint32_t shape(size_t at) const {
    if (!has(at)) return edge;
    const Token& t = token(at);
    return static_cast<uint32_t>(t.kind == TokenKind::mark ? 64 + (t.hash & 0xffff) : static_cast<uint32_t>(t.shape)) << 2 | (t.spaced ? 1 : 0) | (t.opens ? 2 : 0);
  }
  uint32_t bits(size_t at) const { return has(at) ? text.entries[at].bits() | (text.entries[at].hash == 0 ? 128 : 0) : edge; }
  uint32_t classes(size_t at) const { return has(at) && token(at).kind == TokenKind::word ? token(at).classes : 0; }
  uint32_t group(size_t at) const {
    if (!has(at) || token(at).kind != TokenKind::word) return 0;
    return capitalised(token(at)) ? 1024 + text.entries[at].upper_group() : text.entries[at].lower_group();
  }
};

uint32_t piece_hash(std::string_view piece) {
  uint32_t h = 2166136261u;
  for (const char c : piece) h = (h ^ (static_cast<unsigned char>(c) | (c >= 'A' && c <= 'Z' ? 32u : 0u))) * 16777619u;
  return h;
}

// The label a line begins with, "Name:", for words of the same line; 0: none.
uint32_t line_label(const Look& look, size_t at) {
  size_t first = at;
  while (first > 0 && at - first < 8 && look.token(first - 1).kind != TokenKind::line) --first;
  if (first > 0 && look.token(first - 1).kind != TokenKind::line) return 0;
  for (size_t i = first; i < at && i < first + 4; ++i) {
    if (is_mark(look.text.text, look.token(i), ':') && i > first) return look.token(i - 1).hash;
  }
  return 0;
}

}  // namespace

void latin_features(const TaggedText& text, size_t at, Features& out) {
  const Look look{text};
  FeatureWriter f(out, latin_rows);
  const size_t before = at - 1, before2 = at - 2;  // beyond the first token they wrap and count as edges
  const std::string_view word = text_of(text.text, text.tokens[at]);
  const uint32_t w = look.identity(at), wa = look.identity(before), wz = look.identity(at + 1), wa2 = look.identity(before2), wz2 = look.identity(at + 2);
  const uint32_t s = look.shape(at), sa = look.shape(before), sz = look.shape(at + 1), sz2 = look.shape(at + 2);
  const uint32_t b = look.bits(at), ba = look.bits(before), bz = look.bits(at + 1);
  const uint32_t c = look.classes(at), ca = look.classes(before), cz = look.classes(at + 1), ca2 = look.classes(before2), cz2 = look.classes(at + 2);
  const uint32_t g = look.group(at), ga = look.group(before), gz = look.group(at + 1), ga2 = look.group(before2), gz2 = look.group(at + 2);
  const uint32_t share = text.entries[at].lower_share() | (text.entries[at].hash == 0 ? 8 : 0);
  f.add(w);
  f.add(wa);
  f.add(wz);
  f.add(wa2);
  f.add(wz2);
  f.add(wa, w);
  f.add(w, wz);
  f.add(wa2, wa);
  f.add(s);
  f.add(sa, s);
  f.add(s, sz);
  f.add(sa, s, sz);
  f.add(s, sz, sz2);
  f.add(b, s);
  f.add(ba, b);
  f.add(b, bz);
  f.add(ba, b, bz);
  f.add(b, share, s);
  f.add(c, s & 63);
  f.add(ca, c);
  f.add(c, cz);
  f.add(ca2, ca);
  f.add(cz, cz2);
  f.add(ca, b, s);
  f.add(cz, b, s);
  f.add(g);
  f.add(g & 63, s);
  f.add(ga);
  f.add(gz);
  f.add(ga2, ga & 255);
  f.add(gz & 255, gz2);
  f.add(ga & 63, g & 63, gz & 63);
  f.add(piece_hash(word.substr(word.size() - std::min<size_t>(word.size(), 2))), s & 63);
  f.add(piece_hash(word.substr(word.size() - std::min<size_t>(word.size(), 3))), s & 63);
  f.add(piece_hash(word.substr(word.size() - std::min<size_t>(word.size(), 4))), s & 63);
  f.add(piece_hash(word.substr(0, 2)), s & 63);
  f.add(piece_hash(word.substr(0, 3)), s & 63);
  f.add(line_label(look, at), s & 63);
  f.add(wa, s, b);
  f.add(wz, s, b);
}
