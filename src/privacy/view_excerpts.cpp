// view_excerpts: rewritten parts of a page between the words around them.
#include <algorithm>
#include "privacy/characters.h"
#include "privacy/view_derive.h"

namespace {

// Bytes kept around a rewrite: 40 Han before it and 15 after it, where labels count.
constexpr size_t kept_before = 160, kept_after = 64;

size_t border_at_or_before(std::string_view page, size_t at) {
  while (at > 0 && at < page.size() && continues(page[at])) --at;
  return at;
}

void copy(std::string_view page, size_t begin, size_t end, View& view) {
  if (begin == end) return;
  const bool goes_on = !view.pieces.empty() && view.pieces.back().copied && view.pieces.back().source + (view.text.size() - view.pieces.back().at) == begin;
  if (!goes_on) view.pieces.push_back({view.text.size(), begin, end, true});
  view.text.append(page.substr(begin, end - begin));
}

// Between excerpts that are not neighbours; it stands for nothing.
void part(size_t at, View& view) {
  if (view.text.empty()) return;
  view.pieces.push_back({view.text.size(), at, at, false});
  view.text.append("\n\n");
}

void put(const Rewrite& rewrite, View& view) {
  const size_t at = view.text.size();
  if (rewrite.pieces.empty() && !rewrite.text.empty()) view.pieces.push_back({at, rewrite.begin, rewrite.end, false});
  for (View::Piece piece : rewrite.pieces) {
    piece.at += at;
    view.pieces.push_back(piece);
  }
  view.text += rewrite.text;
}

}  // namespace

View excerpts(std::string_view page, ViewKind kind, const Rewrites& rewrites) {
  View view;
  view.kind = kind;
  size_t done = 0;  // of the page
  for (size_t i = 0; i < rewrites.size(); ++i) {
    const Rewrite& rewrite = rewrites[i];
    const size_t from = std::max(done, border_at_or_before(page, rewrite.begin - std::min(rewrite.begin, kept_before)));
    if (from > done) part(done, view);
    copy(page, from, rewrite.begin, view);
    put(rewrite, view);
    const size_t next = i + 1 < rewrites.size() ? rewrites[i + 1].begin : page.size();
    done = std::min(next, border_at_or_before(page, std::min(page.size(), rewrite.end + kept_after)));
    done = std::max(done, rewrite.end);
    copy(page, rewrite.end, done, view);
  }
  return view;
}
