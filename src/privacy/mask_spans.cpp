// mask_spans: growing spans to the edges of runs, and joining them.
#include "privacy/mask_spans.h"

#include <algorithm>
#include "privacy/characters.h"
#include "privacy/placeholder.h"

namespace {

// Where a run goes on behind `end`, past what cannot be seen; `end` when it does not.
size_t further(std::string_view text, size_t begin, size_t end) {
  const bool in_run = end > begin && joins_run(code_point_before(text, end).value);
  size_t at = end;
  while (at < text.size()) {
    const CodePoint next = code_point_at(text, at);
    at += next.length;
    if (joins_run(next.value)) return at;
    if (!in_run || !is_invisible(next.value)) break;
  }
  return end;
}
size_t further_back(std::string_view text, size_t begin, size_t end) {
  const bool in_run = end > begin && joins_run(code_point_at(text, begin).value);
  size_t at = begin;
  while (at > 0) {
    const CodePoint before = code_point_before(text, at);
    at -= before.length;
    if (joins_run(before.value)) return at;
    if (!in_run || !is_invisible(before.value)) break;
  }
  return begin;
}

void join(MaskSpan& span, const MaskSpan& other, bool same_span) {
  const bool other_wins = other.known != span.known ? other.known : !same_span && other.end - other.begin > span.end - span.begin;
  const bool look_alike = span.look_alike && other.look_alike;
  if (other_wins || (span.look_alike && !other.look_alike)) span.cls = other.cls;
  span.exact = span.exact || other.exact;
  span.known = span.known || other.known;
  span.look_alike = look_alike;
  span.begin = std::min(span.begin, other.begin);
  span.end = std::max(span.end, other.end);
}

}  // namespace

void grow(std::string_view text, MaskSpan& span) {
  for (size_t end = further(text, span.begin, span.end); end != span.end; end = further(text, span.begin, span.end)) span.end = end;
  for (size_t begin = further_back(text, span.begin, span.end); begin != span.begin; begin = further_back(text, span.begin, span.end)) span.begin = begin;
}

std::vector<MaskSpan> settled(std::string_view text, std::vector<MaskSpan> spans) {
  for (MaskSpan& span : spans) grow(text, span);
  std::sort(spans.begin(), spans.end(), [](const MaskSpan& a, const MaskSpan& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  std::vector<MaskSpan> out;
  for (const MaskSpan& span : spans) {
    if (!out.empty() && span.begin <= out.back().end) join(out.back(), span, span.begin == out.back().begin && span.end == out.back().end);
    else out.push_back(span);
  }
  return out;
}
