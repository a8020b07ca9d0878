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
  const Piece& first = piece_at(pieces, begin);
  const size_t source = first.copied ? first.source + (begin - first.at) : first.source;
  if (begin >= end) return {source, source};
  const Piece& last = piece_at(pieces, end - 1);
  const size_t source_end = last.copied ? last.source + (end - last.at) : last.source_end;
  return {std::min(source, last.source), std::max(source_end, first.source_end)};
}

bool View::changed(size_t begin, size_t end) const {
  if (pieces.empty() || begin >= end) return false;
  const Piece& first = piece_at(pieces, begin);
  return !first.copied || &first != &piece_at(pieces, end - 1);
}
