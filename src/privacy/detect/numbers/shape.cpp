// shape: reading the notation of shapes and groupings.
#include "privacy/detect/numbers/shape.h"

#include <algorithm>

namespace numbers {
namespace {

size_t read_number(std::string_view text, size_t& at) {
  size_t out = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) out = out * 10 + static_cast<size_t>(text[at] - '0');
  return out;
}

void append(Shape& shape, char what, size_t times) {
  for (size_t i = 0; i < times; ++i) {
    if (what == '9') shape.digits |= uint64_t{1} << shape.length;
    if (what == 'A') shape.letters |= uint64_t{1} << shape.length;
    ++shape.length;
  }
}

// All lengths of one alternative: every one so far, longer by each permitted number of repeats.
std::vector<Shape> lengths_of(std::string_view pattern) {
  std::vector<Shape> out(1);
  for (size_t at = 0; at < pattern.size();) {
    const char what = pattern[at++];
    size_t least = 1, most = 1;
    if (at < pattern.size() && pattern[at] == '{') {
      least = most = read_number(pattern, ++at);
      if (pattern[at] == ',') most = read_number(pattern, ++at);
      ++at;
    }
    std::vector<Shape> longer;
    for (const Shape& shape : out) {
      for (size_t times = least; times <= most; ++times) append(longer.emplace_back(shape), what, times);
    }
    out = std::move(longer);
  }
  return out;
}

Grouping grouping_of(std::string_view written, char separator) {
  Grouping out;
  for (size_t at = 0; at < written.size();) {
    const size_t length = read_number(written, at);
    const char link = at < written.size() ? written[at++] : '\0';
    out.add(length, link == '~' ? separator : link);
  }
  return out;
}

}  // namespace

void Grouping::add(size_t length, char link) {
  ++groups_;
  if (length > 15 || groups_ > 9 || (groups_ > 1 && bits_ == 0)) {
    bits_ = 0;
    return;
  }
  const uint64_t code = link == ' ' ? 1 : link == '-' ? 2 : link == '.' ? 3 : link == '/' ? 4 : link == '(' ? 5 : link == '\0' ? 0 : 7;
  bits_ = bits_ << 7 | length << 3 | code;
}

std::vector<std::string_view> alternatives(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('|'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<Shape> shapes_of(std::string_view pattern) {
  std::vector<Shape> out;
  for (const std::string_view alternative : alternatives(pattern)) {
    for (const Shape& shape : lengths_of(alternative)) out.push_back(shape);
  }
  return out;
}

std::vector<Grouping> groupings_of(std::string_view written) {
  std::vector<Grouping> out;
  for (const std::string_view alternative : alternatives(written)) {
    const bool any = alternative.find('~') != std::string_view::npos;
    for (const char separator : any ? std::string_view(" -.") : std::string_view(" ")) out.push_back(grouping_of(alternative, separator));
  }
  return out;
}

}  // namespace numbers
