// view: the way from a view's bytes back to the bytes of the original.
#include "privacy/view.h"

#include <algorithm>
#include "privacy/characters.h"

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

const View::Piece& View::piece_at(size_t at) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), at, [](size_t a, const Piece& piece) { return a < piece.at; });
  return after == pieces_.begin() ? pieces_.front() : *(after - 1);
}

View::Origin View::of_byte(size_t at) const {
  const Piece& piece = piece_at(at);
  const size_t begin = piece.source + (at - piece.at) * piece.stride;
  return {begin, begin + piece.width};
}

View::Origin View::origin(size_t begin, size_t end) const {
  if (pieces_.empty()) return {begin, end};
  const Origin first = of_byte(begin);
  if (begin >= end) return {first.begin, first.begin};
  const Origin last = of_byte(end - 1);
  return {std::min(first.begin, last.begin), std::max(first.end, last.end)};  // a reversed view goes backwards
}

bool View::changed(size_t begin, size_t end) const {
  if (pieces_.empty() || begin >= end) return false;
  const Piece& first = piece_at(begin);
  return !first.copied || &first != &piece_at(end - 1);
}

bool View::is_near_change(size_t begin, size_t end, size_t before) const {
  if (pieces_.empty()) return false;
  bool near = false;
  for (const Piece* piece = &piece_at(begin - std::min(begin, before)); piece <= &pieces_.back() && piece->at <= end; ++piece) {
    const bool is_cut = !piece->copied && piece->width == 0;  // what is in front of it stood elsewhere
    if (is_cut && piece->at < begin) near = false;
    near |= !piece->copied && !is_cut;
  }
  return near;
}

size_t View::first_change(size_t begin, size_t end) const {
  if (pieces_.empty()) return begin;
  for (const Piece* piece = &piece_at(begin); piece <= &pieces_.back() && piece->at < end; ++piece) {
    if (!piece->copied) return of_byte(std::max<size_t>(begin, piece->at)).begin;
  }
  return of_byte(begin).begin;
}

void View::append_copy(std::string_view bytes, size_t begin) {
  const size_t at = text.size();
  text += bytes;
  if (!pieces_.empty() && pieces_.back().copied && pieces_.back().source + (at - pieces_.back().at) == begin) return;
  pieces_.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(begin), 1, 1, true});
}

void View::append(std::string_view bytes, size_t begin, size_t end) {
  if (bytes.empty()) return;
  const size_t at = text.size(), width = end - begin;
  text += bytes;
  if (!pieces_.empty() && !pieces_.back().copied && bytes.size() == 1 && pieces_.back().width == width) {  // as far from the last one as those before
    Piece& piece = pieces_.back();
    const size_t length = at - piece.at, step = begin - piece.source;
    if (length == 1 && begin > piece.source && step <= UINT16_MAX) piece.stride = static_cast<uint16_t>(step);
    if (begin > piece.source && step == length * piece.stride) return;
  }
  pieces_.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(begin), static_cast<uint32_t>(width), 0, false});
}

void View::extend_last(size_t end) {
  if (text.empty()) return;
  const size_t at = text.size() - code_point_before(text, text.size()).length;
  const size_t source = pieces_.empty() ? at : of_byte(at).begin;
  const Piece whole{static_cast<uint32_t>(at), static_cast<uint32_t>(source), static_cast<uint32_t>(end - source), 0, false};
  if (!pieces_.empty() && (pieces_.back().at == at || (!pieces_.back().copied && pieces_.back().stride == 0))) pieces_.back() = {pieces_.back().at, whole.source, whole.width, 0, false};
  else pieces_.push_back(whole);
}
