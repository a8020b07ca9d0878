// added tokens: a byte trie and the flags' rules.
#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"

void AddedMatcher::add(const AddedToken& token) {
  if (token.content.empty()) return;
  uint32_t node = 0;
  for (const char c : token.content) {
    const auto byte = static_cast<uint8_t>(c);
    auto& children = nodes_[node].children;
    const auto at = std::ranges::lower_bound(children, byte, {}, &std::pair<uint8_t, uint32_t>::first);
    if (at != children.end() && at->first == byte) {
      node = at->second;
      continue;
    }
    const auto made = static_cast<uint32_t>(nodes_.size());
    children.insert(at, {byte, made});
    if (node == 0) first_[byte] = made;
    nodes_.emplace_back();
    node = made;
  }
  nodes_[node].token = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(token);
}

int32_t AddedMatcher::longest_at(std::string_view text, size_t at) const {
  int32_t best = -1;
  uint32_t node = first_[static_cast<uint8_t>(text[at])];
  for (size_t i = at + 1; node != 0; ++i) {
    if (nodes_[node].token >= 0) best = nodes_[node].token;
    if (i >= text.size()) break;
    const auto& children = nodes_[node].children;
    const auto byte = static_cast<uint8_t>(text[i]);
    const auto child = std::ranges::lower_bound(children, byte, {}, &std::pair<uint8_t, uint32_t>::first);
    node = child != children.end() && child->first == byte ? child->second : 0;
  }
  return best;
}

static size_t previous_character(std::string_view text, size_t at) {
  do --at;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80);
  return at;
}

static size_t spaces_before(std::string_view text, size_t at) {
  while (at > 0) {
    const size_t before = previous_character(text, at);
    if (!is_white_space(utf8_step(text, before).code_point)) break;
    at = before;
  }
  return at;
}

static size_t spaces_after(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Step step = utf8_step(text, at);
    if (!is_white_space(step.code_point)) break;
    at += step.length;
  }
  return at;
}

static bool stands_alone(std::string_view text, size_t begin, size_t end) {
  const bool left = begin == 0 || !is_word_character(utf8_step(text, previous_character(text, begin)).code_point);
  return left && (end == text.size() || !is_word_character(utf8_step(text, end).code_point));
}

// As Hugging Face's find_matches: a match that is discarded still moves the search behind it.
std::vector<AddedSplit> AddedMatcher::split(std::string_view text) const {
  std::vector<AddedSplit> out;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const int32_t found = longest_at(text, at);
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(found)];
    size_t begin = at, end = at + token.content.size();
    at = end;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(spaces_before(text, begin), done);
    if (token.rstrip) end = spaces_after(text, end);
    if (done < begin) out.push_back({done, begin, -1});
    out.push_back({begin, end, token.id});
    done = end;
  }
  if (done != text.size()) out.push_back({done, text.size(), -1});
  return out;
}
