// view: the way from a view's bytes back to the bytes of the original.
#include "privacy/view.h"

#include <algorithm>

namespace {

const View::Piece& piece_at(const std::vector<View::Piece>& pieces, size_t at) {
  const auto after = std::upper_bound(pieces.begin(), pieces.end(), at, [](size_t a, const View::Piece& piece) { return a < piece.at; });
  return after == pieces.begin() ? pieces.front() : *(after - 1);
}

}  // namespace

std::string_view name_of(ViewKind kind) {
  switch (kind) {
    case ViewKind::folded: return "folded";
    case ViewKind::numerals: return "numerals";
    case ViewKind::squeezed: return "squeezed";
    case ViewKind::base64: return "base64";
    case ViewKind::hex: return "hex";
    case ViewKind::percent: return "percent";
    case ViewKind::escapes: return "escapes";
    case ViewKind::entities: return "entities";
    case ViewKind::quoted_printable: return "quoted_printable";
    case ViewKind::gzip: return "gzip";
    case ViewKind::reversed: return "reversed";
  }
  return "folded";
}

View::Origin View::origin(size_t begin, size_t end) const {
  if (pieces.empty()) return {begin, end};
  const auto of_byte = [&](size_t at) {
    const Piece& piece = piece_at(pieces, at);
    return piece.copied ? Origin{piece.source + (at - piece.at), piece.source + (at - piece.at) + 1} : Origin{piece.source, piece.source_end};
  };
  const Origin first = of_byte(begin);
  if (begin >= end) return {first.begin, first.begin};
  const Origin last = of_byte(end - 1);
  return {std::min(first.begin, last.begin), std::max(first.end, last.end)};  // a reversed view goes backwards
}

bool View::changed(size_t begin, size_t end) const {
  if (pieces.empty() || begin >= end) return false;
  const Piece& first = piece_at(pieces, begin);
  return !first.copied || &first != &piece_at(pieces, end - 1);
}

size_t View::first_change(size_t begin, size_t end) const {
  if (pieces.empty()) return begin;
  for (const Piece* piece = &piece_at(pieces, begin); piece <= &pieces.back() && piece->at < end; ++piece) {
    if (!piece->copied) return piece->source;
  }
  return origin(begin, end).begin;
}
