// prose: Chinese addresses: 省 市 區 levels, then road, section, lane, number, floor; at least two levels, one of them with a number.
#include <algorithm>
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/spans.h"

namespace {

constexpr size_t longest_level = 7, longest_left = 32;

class HanAddresses {
 public:
  HanAddresses(std::string_view text, const Tokens& tokens, NamedSpans& out) : text_(text), tokens_(tokens), out_(out) {}

  void find() {
    size_t floor = 0;  // first token that no address has taken
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (!numbered(i)) continue;
      const size_t last = right(i);
      size_t levels = 0;
      const size_t first = left(i, floor, levels);
      if (levels == 0) continue;
      out_.push_back({PrivacyClass::address, "street", first, last, levels >= 2 ? 0.95f : 0.8f});
      floor = last;
      i = last - 1;
    }
  }

 private:
  bool has(size_t at) const { return at < tokens_.size(); }
  bool digits(size_t at) const {
    if (!has(at)) return false;
    if (tokens_[at].kind == TokenKind::number) return tokens_[at].end - tokens_[at].begin <= 5;
    return (tokens_[at].kind == TokenKind::han && (tokens_[at].classes & han_digit) != 0) ||
           (tokens_[at].shape == WordShape::code && tokens_[at].end - tokens_[at].begin <= 6) || tokens_[at].shape == WordShape::capital;
  }
  bool dash(size_t at) const { return has(at) && (is_mark(text_, tokens_[at], '-') || tokens_[at].hash == 0x4e4b || is_mark(text_, tokens_[at], '~')); }
  // The end of a number at `at`: 12, 十二, 12-3, 12之3, B1.
  size_t number_end(size_t at) const {
    size_t end = at;
    while (digits(end) && end < at + 5) ++end;
    if (end > at && dash(end) && digits(end + 1)) {
      ++end;
      while (digits(end)) ++end;
    }
    return end;
  }
  // A number with its unit, 12號; the unit's end, or `at`.
  size_t unit_end(size_t at) const {
    const size_t number = number_end(at);
    if (number == at) return at;
    if (const HanTerm term = han_term(tokens_, number); (term.classes & han_number_unit) != 0) return number + term.n;
    return is_han(tokens_, number) && (tokens_[number].classes & (han_number_unit | han_road_unit)) != 0 ? number + 1 : at;
  }
  // Whether a number with 號, 号, 楼, 室, 巷, 弄 begins at `at`, not inside another number.
  bool numbered(size_t at) const {
    if (!digits(at) || (at > 0 && digits(at - 1)) || (at > 0 && dash(at - 1))) return false;
    const size_t end = unit_end(at);
    if (end == at) return false;
    const uint32_t unit = tokens_[end - 1].hash;
    return unit == 0x53f7 || unit == 0x5df7 || unit == 0x5f04 || unit == 0x6bb5 || unit == 0x680b || unit == 0x697c || unit == 0x5ba4 || unit == 0x5e62 || unit == 0x7247;  // 号巷弄段栋楼室
  }
  size_t right(size_t at) const {
    size_t end = unit_end(at);
    while (has(end)) {
      size_t next = end;
      if (is_mark(text_, tokens_[next], ',') || is_mark(text_, tokens_[next], ' ')) next += 1;
      if (dash(next) && digits(next + 1)) {  // 12號之3, 5樓-2
        next += 1;
        while (digits(next)) ++next;
        const size_t unit = unit_end(end + 1);
        end = std::max(next, unit > end + 1 ? unit : next);
        continue;
      }
      if (unit_end(next) > next) end = unit_end(next);
      else if (digits(next) && next == end && is_han(tokens_, end - 1) && tokens_[end - 1].hash == 0x5ba4) break;
      else if (named_unit(next) > next) end = named_unit(next);
      else break;
    }
    // 5栋1单元302: a bare number ends it.
    if (digits(end) && !tokens_[end].spaced && is_han(tokens_, end - 1) && tokens_[end].kind == TokenKind::number && !is_han(tokens_, end + 1)) end += 1;
    return end;
  }
  // 東段, 地下室, 三單元 without digits are rare: the names of estates between number and building, 阳光花园3栋.
  size_t named_unit(size_t at) const {
    for (size_t n = 2; n <= 6; ++n) {
      if (!is_han(tokens_, at + n - 1) || (tokens_[at + n - 1].classes & han_function) != 0) return at;
      if (digits(at + n) && unit_end(at + n) > at + n) return n >= 2 && is_estate(at, n) ? at + n : at;
    }
    return at;
  }
  bool is_estate(size_t at, size_t n) const {
    const uint32_t last = tokens_[at + n - 1].hash;
    return last == 0x56ed || last == 0x533a || last == 0x82d1 || last == 0x57ce || last == 0x53a6 || last == 0x697c || last == 0x6751 || last == 0x5e9c;  // 园区苑城厦楼村府
  }
  static bool stop(const Token& token) { return token.kind != TokenKind::han && token.kind != TokenKind::number; }
  // Where the address around `at` begins; counts the named levels to the left.
  size_t left(size_t at, size_t floor, size_t& levels) const {
    const size_t limit = std::max(floor, at > longest_left ? at - longest_left : 0);
    size_t first = at, end = at;
    while (end > limit) {
      const size_t begin = level_before(end, limit);
      if (begin == end) break;
      levels += 1;
      first = end = begin;
    }
    if (const HanTerm term = han_term_before(tokens_, first, han_province); term.n > 0 && first - term.n >= limit) {
      first -= term.n;
      levels += 1;
    }
    if (levels > 0 && first > limit && tokens_[first - 1].kind == TokenKind::number) {  // postcode
      const size_t digits = tokens_[first - 1].end - tokens_[first - 1].begin;
      if (digits == 3 || digits == 5 || digits == 6) first -= 1;
    }
    return first;
  }
  // A level that ends at `end`, 信義路 or 中山區 or 3段; its begin, or `end`.
  size_t level_before(size_t end, size_t limit) const {
    if (end == 0 || !is_han(tokens_, end - 1)) return end;
    const Token& unit = tokens_[end - 1];
    const bool road = (unit.classes & han_road_unit) != 0 || (han_term_before(tokens_, end, han_road_unit).n > 0), region = (unit.classes & han_region_unit) != 0;
    if (!road && !region && !is_estate(end - 1, 1)) return end;
    size_t begin = end - 1;
    if (begin > limit && digits(begin - 1)) {  // 3段, 五鄰
      while (begin > limit && digits(begin - 1)) --begin;
      if (tokens_[begin].kind != TokenKind::han || begin == limit || !name_character(begin - 1)) return begin;
    }
    while (begin > limit && end - begin < longest_level && name_character(begin - 1) && !level_end(begin)) --begin;
    return cut(begin, end, region);
  }
  bool name_character(size_t at) const {
    return is_han(tokens_, at) && (tokens_[at].classes & han_function) == 0 && tokens_[at].hash != 0x4f4f && tokens_[at].hash != 0x5740 && tokens_[at].hash != 0x5bc4;  // 住址寄
  }
  // Whether the token before `at` ends another level.
  bool level_end(size_t at) const {
    if (at == 0 || !is_han(tokens_, at - 1)) return true;
    const uint32_t classes = tokens_[at - 1].classes;
    const bool unit = (classes & (han_region_unit | han_road_unit)) != 0 && tokens_[at - 1].hash != 0x6751 && tokens_[at - 1].hash != 0x91cc && tokens_[at - 1].hash != 0x80e1;
    return unit && at >= 2 && is_han(tokens_, at - 2) && (tokens_[at - 2].classes & han_region_unit) == 0;  // 信義區|市府路
  }
  // Drops words that introduce an address, 地址 住在 寄到, from its first level.
  size_t cut(size_t begin, size_t end, bool region) const {
    for (size_t at = begin; at + 2 < end; ++at) {
      const HanTerm term = han_term(tokens_, at);
      if ((term.classes & han_address_label) != 0 && at + term.n < end) begin = at + term.n;
      if ((term.classes & han_province) != 0 && at > begin) begin = at;
    }
    if (region && end - begin > 5) begin = end - 4;
    return end - begin >= 2 ? begin : end;
  }

  std::string_view text_;
  const Tokens& tokens_;
  NamedSpans& out_;
};

}  // namespace

void find_han_addresses(std::string_view text, const Tokens& tokens, NamedSpans& out) { HanAddresses(text, tokens, out).find(); }
