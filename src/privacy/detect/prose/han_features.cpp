// prose: what the tagger sees of a Chinese character: itself, its neighbours, ordinary words across it, our terms beside it.
#include "privacy/detect/prose/features.h"
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr uint32_t edge = 0xffffffff;

struct Look {
  const TaggedText& text;
  bool has(size_t at) const { return at < text.tokens.size(); }
  uint32_t code(size_t at) const {
    if (!has(at)) return edge;
    const Token& t = text.tokens[at];
    if (t.kind == TokenKind::han || t.kind == TokenKind::mark) return t.hash;
    return t.kind == TokenKind::line ? 10 : 0x110000 + static_cast<uint32_t>(t.shape);
  }
  uint32_t classes(size_t at) const { return has(at) && text.tokens[at].kind == TokenKind::han ? text.tokens[at].classes : 0; }
  uint32_t covers(size_t at, uint32_t mask) const { return has(at) ? text.covers[at] & mask : 0; }
  // Which ordinary words lie over the character: as their first, middle and last.
  uint32_t cover(size_t at) const {
    return covers(at, 7) | (covers(at - 1, 1) != 0 ? 8 : 0) | (covers(at - 1, 6) != 0 ? 16 : 0) | (covers(at - 2, 2) != 0 ? 32 : 0) | (covers(at - 2, 4) != 0 ? 64 : 0) | (covers(at - 3, 4) != 0 ? 128 : 0);
  }
  uint32_t spaces(size_t at) const { return has(at) ? (text.tokens[at].spaced ? 1 : 0) | (text.tokens[at].opens ? 2 : 0) : 4; }
};

constexpr uint32_t seen_before = han_introducer | han_role | han_title | han_address_label | han_speech | han_province | han_care;

}  // namespace

void han_features(const TaggedText& text, size_t at, Features& out) {
  const Look look{text};
  FeatureWriter f(out, han_rows);
  const uint32_t c = look.code(at), a = look.code(at - 1), z = look.code(at + 1), a2 = look.code(at - 2), z2 = look.code(at + 2);
  const uint32_t k = look.classes(at), ka = look.classes(at - 1), kz = look.classes(at + 1), kz2 = look.classes(at + 2), ka2 = look.classes(at - 2);
  const uint32_t cover = look.cover(at), cover_a = look.cover(at - 1), cover_z = look.cover(at + 1), cover_z2 = look.cover(at + 2);
  const uint32_t here = han_term(text.tokens, at).classes, next = han_term(text.tokens, at + 1).classes, after = han_term(text.tokens, at + 2).classes, later = han_term(text.tokens, at + 3).classes;
  const uint32_t term = han_term_before(text.tokens, at, seen_before).classes, term2 = at > 0 ? han_term_before(text.tokens, at - 1, seen_before).classes : 0;
  const uint32_t sp = look.spaces(at), spz = look.spaces(at + 1), spz2 = look.spaces(at + 2);
  f.add(c);
  f.add(a);
  f.add(z);
  f.add(a2);
  f.add(z2);
  f.add(a, c);
  f.add(c, z);
  f.add(a2, a);
  f.add(z, z2);
  f.add(a, z);
  f.add(k, cover);
  f.add(ka, k);
  f.add(k, kz);
  f.add(ka, k, kz);
  f.add(k, kz, kz2);
  f.add(ka2, ka, k);
  f.add(cover, cover_z);
  f.add(cover_a, cover);
  f.add(k & han_surname, cover, cover_z);
  f.add(k & (han_surname | han_given), kz & han_given, kz2 & (han_given | han_function));
  f.add(cover, cover_z, cover_z2 & 7);
  f.add(term, k & han_surname);
  f.add(term2, ka & han_surname, k & han_given);
  f.add(term, a, sp);
  f.add(here, k);
  f.add(next, k);
  f.add(after, k & han_surname, kz & han_given);
  f.add(later, k & han_surname);
  f.add(sp, k, look.has(at + 1) ? static_cast<uint32_t>(text.tokens[at + 1].kind) : 9);
  f.add(sp << 4 | spz << 2 | spz2, k & han_surname, static_cast<uint32_t>(look.has(at + 2) ? text.tokens[at + 2].kind : TokenKind::line));
}
