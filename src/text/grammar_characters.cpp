// grammar characters: sets of characters, and text up to a stop string, spelt as the UTF-8 bytes that encode them.
#include <algorithm>
#include <map>

#include "text/grammar_parts.h"

using Node = GrammarBuilder::Node;
using Range = GrammarBuilder::Range;

static constexpr char32_t kLast = 0x10ffff, kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff;

std::vector<Range> normal_ranges(std::span<const Range> ranges, bool negated) {
  std::vector<Range> sorted(ranges.begin(), ranges.end());
  std::erase_if(sorted, [](Range r) { return r.first > r.last || r.first > kLast; });
  if (negated) sorted.push_back({kFirstSurrogate, kLastSurrogate});
  std::sort(sorted.begin(), sorted.end(), [](Range a, Range b) { return a.first < b.first; });
  std::vector<Range> merged;
  for (Range r : sorted) {
    r.last = std::min(r.last, kLast);
    if (!merged.empty() && r.first <= merged.back().last + 1) merged.back().last = std::max(merged.back().last, r.last);
    else merged.push_back(r);
  }
  std::vector<Range> out;
  if (negated) {
    char32_t from = 0;
    for (const Range r : merged) {
      if (r.first > from) out.push_back({from, static_cast<char32_t>(r.first - 1)});
      from = r.last + 1;
    }
    if (from <= kLast) out.push_back({from, kLast});
    return out;
  }
  for (const Range r : merged) {
    if (r.first < kFirstSurrogate) out.push_back({r.first, std::min<char32_t>(r.last, kFirstSurrogate - 1)});
    if (r.last > kLastSurrogate) out.push_back({std::max<char32_t>(r.first, kLastSurrogate + 1), r.last});
  }
  return out;
}

namespace {
// Spells sets of numbers as continuation bytes, six bits each. Equal tails become one node, so the result is as small as an automaton.
struct Speller {
  GrammarBuilder& builder;
  std::array<Node, 4> every{-1, -1, -1, -1};  // all numbers of so many bytes

  static std::vector<Range> clip(std::span<const Range> ranges, char32_t first, char32_t last) {
    std::vector<Range> out;
    for (const Range r : ranges)
      if (r.last >= first && r.first <= last) out.push_back({std::max(r.first, first) - first, std::min(r.last, last) - first});
    return out;
  }
  // Numbers of n_bytes * 6 bits.
  Node tail(std::span<const Range> ranges, int n_bytes) {
    if (ranges.size() == 1 && ranges[0].first == 0 && ranges[0].last + 1 == char32_t{1} << (6 * n_bytes)) {
      if (every[static_cast<size_t>(n_bytes)] < 0) {
        ByteSet set;
        for (size_t b = 0x80; b < 0xc0; b++) set.set(b);
        every[static_cast<size_t>(n_bytes)] = n_bytes == 1 ? builder.bytes(set) : builder.sequence(std::array{builder.bytes(set), tail(std::array{Range{0, static_cast<char32_t>((1 << (6 * n_bytes - 6)) - 1)}}, n_bytes - 1)});
      }
      return every[static_cast<size_t>(n_bytes)];
    }
    if (n_bytes == 1) {
      ByteSet set;
      for (const Range r : ranges)
        for (char32_t v = r.first; v <= r.last; v++) set.set(0x80 + v);
      return builder.bytes(set);
    }
    return lead(ranges, n_bytes - 1, 0x80, 64);
  }
  // A first byte `base` + the bits above n_tail * 6, then n_tail continuation bytes.
  Node lead(std::span<const Range> ranges, int n_tail, unsigned base, unsigned count) {
    const char32_t span = char32_t{1} << (6 * n_tail);
    std::map<Node, ByteSet> by_tail;
    for (unsigned v = 0; v < count; v++)
      if (const auto inside = clip(ranges, v * span, (v + 1) * span - 1); !inside.empty()) by_tail[tail(inside, n_tail)].set(base + v);
    std::vector<Node> out;
    for (const auto& [rest, set] : by_tail) out.push_back(builder.sequence(std::array{builder.bytes(set), rest}));
    return builder.choice(out);
  }
};
}  // namespace

Node GrammarBuilder::characters(std::span<const Range> ranges, bool negated) {
  const std::vector<Range> normal = normal_ranges(ranges, negated);
  std::string content("characters");
  content.append(reinterpret_cast<const char*>(normal.data()), normal.size() * sizeof(Range));
  if (const auto it = parts_->known.find(content); it != parts_->known.end()) return it->second;
  Speller speller{*this, {-1, -1, -1, -1}};
  std::vector<Node> out;
  ByteSet ascii;
  for (const Range r : Speller::clip(normal, 0, 0x7f))
    for (char32_t v = r.first; v <= r.last; v++) ascii.set(v);
  if (ascii.any()) out.push_back(bytes(ascii));
  struct Length { char32_t first, last; int n_tail; unsigned base, count; };
  for (const Length l : {Length{0x80, 0x7ff, 1, 0xc0, 32}, Length{0x800, 0xffff, 2, 0xe0, 16}, Length{0x10000, kLast, 3, 0xf0, 5}}) {
    std::vector<Range> inside;
    for (const Range r : normal)
      if (r.last >= l.first && r.first <= l.last) inside.push_back({std::max(r.first, l.first), std::min(r.last, l.last)});
    if (!inside.empty()) out.push_back(speller.lead(inside, l.n_tail, l.base, l.count));
  }
  return parts_->known[content] = choice(out);
}

int utf8_next(int state, uint8_t byte) {
  enum { whole, one, two, three, after_e0, after_ed, after_f0, after_f4 };
  const auto within = [&](int first, int last, int next) { return byte >= first && byte <= last ? next : -1; };
  switch (state) {
    case whole:
      if (byte < 0x80) return whole;
      if (byte < 0xc2 || byte > 0xf4) return -1;
      if (byte < 0xe0) return one;
      if (byte < 0xf0) return byte == 0xe0 ? after_e0 : byte == 0xed ? after_ed : two;
      return byte == 0xf0 ? after_f0 : byte == 0xf4 ? after_f4 : three;
    case one: return within(0x80, 0xbf, whole);
    case two: return within(0x80, 0xbf, one);
    case three: return within(0x80, 0xbf, two);
    case after_e0: return within(0xa0, 0xbf, one);
    case after_ed: return within(0x80, 0x9f, one);
    case after_f0: return within(0x90, 0xbf, two);
    default: return within(0x80, 0x8f, two);
  }
}

// A rule for every pair of a decoder state and a length of the stop string's prefix that was just seen (Knuth, Morris, Pratt).
Node GrammarBuilder::until(std::string_view stop) {
  if (stop.empty()) return choice({});
  std::vector<std::array<size_t, 256>> seen(stop.size());  // length of the prefix after one more byte
  for (size_t n = 0, fallback = 0; n < stop.size(); n++) {
    const auto next = static_cast<uint8_t>(stop[n]);
    seen[n] = n == 0 ? std::array<size_t, 256>{} : seen[fallback];
    if (n > 0) fallback = seen[fallback][next];
    seen[n][next] = n + 1;
  }
  std::map<std::pair<int, size_t>, Node> rules;
  std::vector<std::pair<int, size_t>> open{{0, 0}};
  rules[open[0]] = declare();
  while (!open.empty() && !parts_->too_large) {
    const auto [state, n] = open.back();
    open.pop_back();
    std::map<Node, ByteSet> steps;
    for (unsigned byte = 0; byte < 256; byte++) {
      const int next = utf8_next(state, static_cast<uint8_t>(byte));
      if (next < 0 || seen[n][byte] == stop.size()) continue;
      const std::pair key{next, seen[n][byte]};
      const auto [it, is_new] = rules.try_emplace(key, 0);
      if (is_new) it->second = declare(), open.push_back(key);
      steps[it->second].set(byte);
    }
    std::vector<Node> alternatives;
    if (state == 0) alternatives.push_back(empty());
    for (const auto& [rule, set] : steps) alternatives.push_back(sequence(std::array{bytes(set), rule}));
    define(rules[{state, n}], choice(alternatives));
  }
  return rules[{0, 0}];
}
