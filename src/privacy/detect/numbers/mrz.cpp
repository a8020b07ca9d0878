// mrz: runs of capitals, digits and "<" of the lengths that the standard gives, found by their "<".
#include "privacy/detect/numbers/mrz.h"

#include <array>
#include <string>

namespace numbers {
namespace {

struct Span { size_t begin, end; };

// One layout: where its fields and their check digits stand in its lines written one after another.
struct Layout {
  std::string_view kind;
  size_t width, lines;
  std::string_view first;                       // letters that its first line may begin with
  size_t number, birth, expiry;                 // check digits of number (9 before it), birth and expiry (6 before each)
  size_t composite;                             // its check digit; 0: none
  std::array<Span, 4> covered;                  // by the composite
};
constexpr Layout layouts[] = {
    {"mrz_td3", 44, 2, "P", 53, 63, 71, 87, {{{44, 54}, {57, 64}, {65, 87}, {0, 0}}}},
    {"mrz_td2", 36, 2, "ACIP", 45, 55, 63, 71, {{{36, 46}, {49, 56}, {57, 71}, {0, 0}}}},
    {"mrz_td1", 30, 3, "ACIP", 14, 36, 44, 59, {{{5, 30}, {30, 37}, {38, 45}, {48, 59}}}},
    {"mrz_visa_a", 44, 2, "V", 53, 63, 71, 0, {}},
    {"mrz_visa_b", 36, 2, "V", 45, 55, 63, 0, {}},
};
constexpr size_t narrowest = 30;

bool is_mrz(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '<'; }

int value(char c) { return c == '<' ? 0 : c <= '9' ? c - '0' : c - 'A' + 10; }

class CheckSum {
 public:
  void add(std::string_view text) {
    static constexpr int weights[] = {7, 3, 1};
    for (const char c : text) sum_ += weights[place_++ % 3] * value(c);
  }
  bool is(char check) const { return check != '<' ? check == '0' + sum_ % 10 : sum_ == 0; }

 private:
  int sum_ = 0;
  size_t place_ = 0;
};

bool field(std::string_view text, size_t check, size_t length) {
  CheckSum sum;
  sum.add(text.substr(check - length, length));
  return sum.is(text[check]);
}

// 0 to 4.
int checks_passed(const Layout& layout, std::string_view text) {
  const int fields = field(text, layout.number, 9) + field(text, layout.birth, 6) + field(text, layout.expiry, 6);
  if (layout.composite == 0) return fields == 3 ? 4 : fields;
  CheckSum sum;
  for (const Span& span : layout.covered) sum.add(text.substr(span.begin, span.end - span.begin));
  return fields + sum.is(text[layout.composite]);
}

size_t run_end(std::string_view text, size_t at) {
  while (at < text.size() && is_mrz(text[at])) ++at;
  return at;
}

// Where the next line begins: after a line break, written out or real, and blanks; `at` itself when the lines are joined.
size_t next_line(std::string_view text, size_t at) {
  size_t blanks = 0;
  while (at < text.size() && blanks < 8) {
    const bool escaped = text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == 'n' || text[at + 1] == 'r');
    if (!escaped && std::string_view(" \t\r\n").find(text[at]) == std::string_view::npos) break;
    at += escaped ? 2 : 1;
    ++blanks;
  }
  return at;
}

struct Zone { std::string text; size_t end; };

// The lines from `begin` on, if all have the layout's width.
bool read_zone(std::string_view text, size_t begin, size_t end, const Layout& layout, Zone& zone) {
  zone = {std::string(text.substr(begin, layout.width)), begin + layout.width};
  if (end - begin == layout.width * layout.lines) {
    zone = {std::string(text.substr(begin, end - begin)), end};
    return true;
  }
  if (end - begin != layout.width) return false;
  for (size_t line = 1; line < layout.lines; ++line) {
    const size_t from = next_line(text, zone.end);
    if (run_end(text, from) - from != layout.width) return false;
    zone.text += text.substr(from, layout.width);
    zone.end = from + layout.width;
  }
  return true;
}

// The second line of a passport or card by itself: number, birth and expiry must all fit.
size_t read_alone(std::string_view text, size_t begin, size_t end, std::vector<Hit>& out) {
  for (const Layout& layout : layouts) {
    if (layout.lines != 2 || layout.composite == 0 || end - begin != layout.width) continue;
    const std::string padded = std::string(layout.width, '<') + std::string(text.substr(begin, end - begin));
    if (checks_passed(layout, padded) < 4) continue;
    out.push_back({.cls = PrivacyClass::gov_id, .kind = layout.kind, .begin = begin, .end = end, .score = 0.98f, .validated = true});
    return end;
  }
  return end;
}

// Reads the run [begin, end) and the lines that belong to it; gives the place after them.
size_t read_run(std::string_view text, size_t begin, size_t end, std::vector<Hit>& out) {
  Zone zone;
  for (const Layout& layout : layouts) {
    if (layout.first.find(text[begin]) == std::string_view::npos || !read_zone(text, begin, end, layout, zone)) continue;
    const int passed = checks_passed(layout, zone.text);
    const float score = passed == 4 ? 0.99f : passed >= 2 ? 0.8f : 0.6f;  // the shape alone is like nothing else
    out.push_back({.cls = PrivacyClass::gov_id, .kind = layout.kind, .begin = begin, .end = zone.end, .score = score, .validated = passed == 4});
    return zone.end;
  }
  return read_alone(text, begin, end, out);
}

}  // namespace

void MrzDetector::find(const Page& page, std::vector<Hit>& out) const {
  const std::string_view text = page.text;
  for (size_t at = text.find('<'); at != std::string_view::npos && at < text.size(); at = text.find('<', at)) {
    size_t begin = at;
    while (begin > 0 && at - begin < 3 * narrowest && is_mrz(text[begin - 1])) --begin;
    const size_t end = run_end(text, at);
    at = end - begin >= narrowest ? read_run(text, begin, end, out) : end;
  }
}

}  // namespace numbers
