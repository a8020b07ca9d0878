// emails: addresses of mail, also internationalised ones and those spelled out ("name [at] host [dot] tld").
#include <re2/re2.h>
#include <algorithm>
#include <array>
#include "privacy/aho_corasick.h"
#include "privacy/characters.h"
#include "privacy/detect/contact/contact.h"

namespace contact {
namespace {

constexpr size_t longest_local = 64, longest_domain = 253;
constexpr std::string_view local_signs = "!#$%&'*+/=?^_`{|}~.-";

bool local_byte(char c) { return alnum(c) || static_cast<unsigned char>(c) >= 0x80 || local_signs.find(c) != std::string_view::npos; }
bool domain_byte(char c) { return alnum(c) || c == '-' || c == '.' || static_cast<unsigned char>(c) >= 0x80; }

// The end of a host name with a top-level domain that begins at `at`; 0: there is none.
size_t domain_end(std::string_view text, size_t at) {
  size_t end = at, last_dot = 0, label = at;
  while (end < text.size() && end - at < longest_domain && domain_byte(text[end])) {
    if (text[end] == '.') {
      if (end == label || end - label > 63 || text[end - 1] == '-') break;
      last_dot = end;
      label = end + 1;
    } else if (static_cast<unsigned char>(text[end]) >= 0x80) {
      // Letters of other scripts, but no punctuation of theirs: a Han sentence goes on behind an ASCII domain.
      const CodePoint point = code_point_at(text, end);
      const bool after_ascii = end > at && static_cast<unsigned char>(text[end - 1]) < 0x80 && text[end - 1] != '.';
      if (!(is_han(point.value) || is_latin(point.value) || (point.value >= 0x370 && point.value < 0x2000) ||
            (point.value >= 0x3040 && point.value < 0x3100) || (point.value >= 0xac00 && point.value < 0xd7b0)) ||
          (after_ascii && !is_latin(point.value)))
        break;
      end += point.length;
      continue;
    }
    ++end;
  }
  while (end > at && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
  last_dot = text.substr(at, end - at).rfind('.');
  if (last_dot == std::string_view::npos || last_dot == 0) return 0;
  const std::string_view top = text.substr(at + last_dot + 1, end - at - last_dot - 1);
  const bool latin = std::all_of(top.begin(), top.end(), [](char c) { return letter(c); });
  const bool coded = top.starts_with("xn--") && top.size() <= 63;
  const bool other = static_cast<unsigned char>(top[0]) >= 0x80 && top.size() <= 48;
  return (latin && top.size() >= 2 && top.size() <= 24) || coded || other ? end : 0;
}

// Where the local part that ends before `sign` begins.
size_t local_begin(std::string_view text, size_t sign) {
  if (sign > 1 && text[sign - 1] == '"') {  // "john doe"@example.org
    const size_t from = sign > longest_local ? sign - longest_local : 0, near = text.substr(from, sign - 1 - from).rfind('"');
    const size_t open = near == std::string_view::npos ? near : from + near;
    const bool plain = open != std::string_view::npos && (open == 0 || !alnum(text[open - 1])) &&
                       std::all_of(text.begin() + static_cast<std::ptrdiff_t>(open) + 1, text.begin() + static_cast<std::ptrdiff_t>(sign) - 1,
                                   [](char c) { return alnum(c) || c == ' ' || c == '.' || c == '_'; });
    return plain ? open : sign;
  }
  size_t begin = sign;
  while (begin > 0 && sign - begin < longest_local && local_byte(text[begin - 1])) --begin;
  while (begin < sign && continues(text[begin])) ++begin;
  // Of Han right before Latin letters only the letters belong: "信箱jane@…".
  for (size_t at = begin; at < sign;) {
    const CodePoint point = code_point_at(text, at);
    const size_t next = at + point.length;
    if (point.value >= 0x80 && !is_latin(point.value) && next < sign && static_cast<unsigned char>(text[next]) < 0x80) begin = next;
    if (point.value >= 0x2000 && point.value < 0x3040) begin = next;  // punctuation
    at = next;
  }
  while (begin < sign && local_signs.find(text[begin]) != std::string_view::npos && text[begin] != '_' && text[begin] != '+' && text[begin] != '#') ++begin;
  // "name=jane@…", "mailto'jane@…": what stands before a sign that names rarely hold.
  for (size_t at = sign; at-- > begin;) {
    if (text[at] == '=' || text[at] == '\'' || text[at] == '`' || text[at] == '|' || text[at] == '/' || text[at] == '{' || text[at] == '}' ||
        text[at] == '&' || text[at] == '?' || text[at] == '*') {
      if (text[at] == '\'' && at > begin && letter(text[at - 1])) continue;  // o'brien
      return at + 1;
    }
  }
  return begin;
}

class EmailDetector final : public Detector {
 public:
  EmailDetector() {
    for (const std::string_view word : {"at", "小老鼠", "arroba"}) spelled_.add(word, static_cast<uint32_t>(word.size()));
    spelled_.build();
  }
  std::string_view name() const override { return "email"; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    const std::string_view text = page.text;
    size_t done = 0;
    for (size_t sign = text.find('@'); sign != std::string_view::npos; sign = text.find('@', sign + 1)) {
      if (sign < done) continue;
      done = std::max(done, find_plain(text, sign, out));
    }
    spelled_.scan(text, [&](uint32_t size, size_t end) { find_spelled(text, end - size, end, out); });
  }

 private:
  static size_t find_plain(std::string_view text, size_t sign, std::vector<Hit>& out) {
    if (sign == 0 || sign + 3 >= text.size()) return 0;
    const size_t end = domain_end(text, sign + 1);
    if (end == 0) return 0;
    size_t begin = std::max(local_begin(text, sign), sign > longest_local ? sign - longest_local : 0);
    if (begin >= sign || end - begin > 254 || text[sign - 1] == '.') return 0;
    const std::string_view local = text.substr(begin, sign - begin);
    // git@host:path, ssh://git@host/…: a remote; "@scope/package" has no local part.
    if (end < text.size() && text[end] == ':' && end + 1 < text.size() && (letter(text[end + 1]) || text[end + 1] == '~' || text[end + 1] == '/') &&
        text.substr(end, 80).find('/') != std::string_view::npos)
      return end;
    if (begin >= 3 && text.substr(begin - 3, 3) == "://") return end;  // a login of a URL
    if (local == "git" && begin >= 2 && text[begin - 1] == '/') return end;
    const std::string_view domain = text.substr(sign + 1, end - sign - 1);
    if (is_file_of_image(domain) || (end < text.size() && text[end] == '(')) return end;  // icon@2x.png, decorator calls
    if (end < text.size() && (text[end] == '@' || text[end] == '_')) return 0;
    out.push_back({PrivacyClass::email, "email", begin, end, 0.95F, true});
    return end;
  }

  static bool is_file_of_image(std::string_view domain) {
    for (const std::string_view ending : {".png", ".jpg",     ".jpeg",  ".gif", ".svg", ".webp", ".css",    ".js",     ".json", ".html",
                                          ".py",  ".service", ".timer", ".so",  ".cpp", ".md",   ".target", ".socket", ".conf", ".plist"}) {
      if (domain.ends_with(ending)) return true;
    }
    return false;
  }

  // jane [at] example [dot] org, jane(at)example.org, jane 小老鼠 example.org, "jane at example dot org".
  static void find_spelled(std::string_view text, size_t begin, size_t end, std::vector<Hit>& out) {
    static const RE2 tail(
        R"(^\s?[\])}>*]{0,2}\s{0,2}((?:[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\s{0,2}[\[({<_*-]\s?(?i:dot|punto|punkt|點|点)\s?[\])}>_*-]\s{0,2}|\s(?i:dot|punto|punkt|點|点)\s|\s?(?:點|点|\x{3002})\s?|\.)){1,4}(?:[A-Za-z]{2,24}))\b)");
    const bool han = static_cast<unsigned char>(text[begin]) >= 0x80;
    if (!han && ((begin > 0 && alnum(text[begin - 1])) || (end < text.size() && alnum(text[end])))) return;
    size_t left = begin;
    bool marked = false;
    while (left > 0 && begin - left < 4 && (text[left - 1] == ' ' || std::string_view("[({<*").find(text[left - 1]) != std::string_view::npos))
      marked = marked || text[left - 1] != ' ', --left;
    size_t local = left;
    while (local > 0 && left - local < longest_local &&
           (alnum(text[local - 1]) || text[local - 1] == '.' || text[local - 1] == '_' || text[local - 1] == '-' || text[local - 1] == '+'))
      --local;
    while (local < left && !alnum(text[local])) ++local;
    if (local == left) return;
    re2::StringPiece rest(text.data() + end, std::min<size_t>(text.size() - end, 320)), groups[2];
    if (!tail.Match(rest, 0, rest.size(), RE2::ANCHOR_START, groups, 2)) return;
    const std::string_view domain(groups[1].data(), groups[1].size());
    const bool dotted = domain.find("dot") != std::string_view::npos || domain.find("DOT") != std::string_view::npos ||
                        domain.find('[') != std::string_view::npos || domain.find("\u9ede") != std::string_view::npos ||
                        domain.find("\u70b9") != std::string_view::npos;
    if (!marked && !han && !dotted) return;  // "look at example.org"
    if (!marked && !han && domain.find('.') != std::string_view::npos) return;
    const size_t stop = static_cast<size_t>(domain.data() + domain.size() - text.data());
    out.push_back({PrivacyClass::email, "spelled", local, stop, 0.85F, true});
  }

  AhoCorasick spelled_{AhoCorasick::lower_case()};
};

}  // namespace

std::unique_ptr<Detector> make_email_detector() { return std::make_unique<EmailDetector>(); }

}  // namespace contact
