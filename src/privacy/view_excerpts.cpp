// view_excerpts: rewritten parts of a page between the words around them.
#include <algorithm>
#include "privacy/characters.h"
#include "privacy/view_derive.h"

namespace {

// Bytes kept around a rewrite: 40 Han before it and 15 after it, where labels count; a word that began there is kept to its end.
constexpr size_t kept_before = 160, kept_after = 64, max_word = 4096;

size_t border_at_or_before(std::string_view page, size_t at) {
  while (at > 0 && at < page.size() && continues(page[at])) --at;
  return at;
}

// Where the copy behind a rewrite ends; the next rewrite is at `most`.
size_t end_after(std::string_view page, size_t rewrite_end, size_t most) {
  size_t end = std::min(most, rewrite_end + kept_after);
  const size_t last = std::min(most, rewrite_end + max_word);
  while (end < last && page[end] != ' ' && page[end] != '\n') ++end;
  return border_at_or_before(page, end);
}

}  // namespace

void Rewrites::sort() {
  const auto before = [](const One& a, const One& b) { return a.begin < b.begin; };
  if (!std::is_sorted(all_.begin(), all_.end(), before)) std::sort(all_.begin(), all_.end(), before);
  size_t end = 0;
  std::erase_if(all_, [&](const One& one) {
    if (one.begin < end) return true;
    end = one.end;
    return false;
  });
}

View excerpts(std::string_view page, ViewKind kind, const Rewrites& rewrites) {
  View view;
  view.kind = kind;
  size_t done = 0;  // of the page
  const std::vector<Rewrites::One>& all = rewrites.all();
  for (size_t i = 0; i < all.size(); ++i) {
    const Rewrites::One& rewrite = all[i];
    const size_t from = std::max(done, border_at_or_before(page, rewrite.begin - std::min<size_t>(rewrite.begin, kept_before)));
    if (from > done && !view.text.empty()) view.append("\n\n", done, done);  // between excerpts that are not neighbours; it stands for nothing
    if (from < rewrite.begin) view.append_copy(page.substr(from, rewrite.begin - from), from);
    view.append(rewrites.text(rewrite), rewrite.begin, rewrite.end);
    const size_t next = i + 1 < all.size() ? all[i + 1].begin : page.size();
    done = end_after(page, rewrite.end, next);
    done = std::max<size_t>(done, rewrite.end);
    if (rewrite.end < done) view.append_copy(page.substr(rewrite.end, done - rewrite.end), rewrite.end);
  }
  return view;
}
