// value_reader: finds the value that a name introduces.
#include "privacy/detect/secrets/value_reader.h"
#include <re2/re2.h>
#include <algorithm>
#include <array>
#include "privacy/detect/secrets/shape.h"

namespace credential {

namespace {

constexpr size_t window = 200;          // bytes behind a name that are read for a cue
constexpr size_t longest_value = 4096;
struct Quote { std::string_view open, close; };
constexpr Quote quotes[] = {{"\"", "\""},         {"'", "'"},           {"`", "`"},           {"\\\"", "\\\""},
                            {"\\'", "\\'"},       {"\u201c", "\u201d"}, {"\u2018", "\u2019"}, {"\u300c", "\u300d"},
                            {"\u300e", "\u300f"}, {"\u00ab", "\u00bb"}, {"\u201e", "\u201c"}};

bool is_cjk_byte(unsigned char c) { return (c >= 0xE3 && c <= 0xED) || c == 0xEF; }
bool letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

size_t skip_spaces(std::string_view text, size_t at, size_t most = 64) {
  const size_t limit = std::min(text.size(), at + most);
  while (at < limit && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

// Between a name and its value in a sentence. A gap of a few words of place or owner may stand in front ("for the server").
const RE2& sentence_cue() {
  static const RE2 pattern(
      R"((?i)^(?:'s|s)?["'”’」)\]*_]{0,4}(?:\s\([^()\n]{0,40}\))?(?:\s{1,3}(?:for|of|on|to|at|in|from|with|used|here|there|there's|now|today|again|still|currently|and|you|i|we|key|field|value|string|para|del|de|la|du|pour|für|fuer|do|da|på|voor|van|для|от|has|have|had)\b[^.?!;:=\n"'(){}\[\]%<>]{0,48}?)?)"
      R"((?:\s*(?::|=+|->|=>|-->|–|—|\x{2192})\s*|\s-{1,2}\s|'s\s{1,3}(?:still|now|currently|just)\s|\?\s{1,3}(?:it's|it is|its|that's)\s|\s{0,3}(?:\b(?:(?:(?:has been|have been|had been|was|is|been|be|now|got|i|we) )?(?:changed|set|reset|updated|rotated|switched|equal|equals|became)(?: to)?|is|was|are|were|will be|should be|would be|to be|es|est|ist|lautet|war|era|sarà|é|foi|è|är|er|jest|adalah|là|είναι|это|теперь)\b|(?:é|è|är|là|είναι|это)\s|(?:已經|已经|已|也|都|現在|现在|目前|仍|還|还)?(?:設成|设成|換成|换成|變成|变成|變更為|变更为|更改為|更改为|設置為|設爲|改爲|改成|改為|改为|設為|设为)|是|為|为|設為|设为|設定為|设置为|改成|改為|改为|就是|叫|は|が|는|은|이|가|는요))"
      R"((?:\s{1,3}(?:now|still|just|currently|simply|literally|set to|the following|as follows|actually|going to be|ahora|maintenant|jetzt|現在是))*\s*[:=]?\s*))");
  return pattern;
}

// In front of "password": "… is the", "use … as my".
const RE2& reverse_cue() {
  static const RE2 pattern(
      R"((?i)(?:^|[\s"'(:,])([^\s"']{6,64})["']?\s{1,3}(?:is|was|as|will be|=)\s{1,3}(?:(?:the|my|your|our|his|her|their|a|its|this|new|old|current|default|admin|root|temporary|temp|initial|wifi|wi-fi|login|master|user|account|server|db|database)\s{1,3}){0,4}$)");
  return pattern;
}

// ": SecureString = ", ": Optional[str] = ": a type between the name and the value.
const RE2& type_annotation() {
  static const RE2 pattern(R"(^:\s{0,3}[A-Za-z_][\w<>\[\]?.|&*, ]{0,40}?\s{0,3}=\s{0,3})");
  return pattern;
}

size_t unquoted_end(std::string_view text, size_t begin, bool bracketed) {
  const size_t limit = std::min(text.size(), begin + longest_value);
  const bool ascii = begin < limit && static_cast<unsigned char>(text[begin]) < 0x80;
  size_t end = begin;
  for (; end < limit; ++end) {
    const unsigned char c = static_cast<unsigned char>(text[end]);
    if (is_space(c) || c == '"' || c == '\'' || c == '`' || c == '<') break;
    if (c == '\\' && end + 1 < limit && (text[end + 1] == 'n' || text[end + 1] == 'r' || text[end + 1] == 't' || text[end + 1] == '"')) break;
    if (ascii && is_cjk_byte(c)) break;
    if (bracketed && (c == ')' || c == ']')) break;
    if (c == '|' && end > begin && end + 1 < limit && is_space(static_cast<unsigned char>(text[end + 1]))) break;
    if ((c == ';' || c == ',') && end > begin) {
      // The separator of a list or a connection string, rather than a character of the secret.
      const size_t next = end + 1;
      if (next >= limit || is_space(static_cast<unsigned char>(text[next])) || text[next] == '"' || text[next] == '\'' ||
          static_cast<unsigned char>(text[next]) >= 0x80)
        break;
      size_t name = next;
      while (name < limit && (is_alnum(static_cast<unsigned char>(text[name])) || text[name] == '_' || text[name] == ' ' || text[name] == '-')) ++name;
      if (name > next + 1 && name < limit && (text[name] == '=' || text[name] == ':')) break;
    }
    if (c == '&' && end + 1 < limit && letter(text[end + 1]) && text.substr(end, 40).find('=') != std::string_view::npos) break;
  }
  const auto count = [&](char c) { return std::count(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end), c); };
  while (end > begin + 1) {
    const char last = text[end - 1];
    if (last == '.' || last == ',' || last == ';' || last == ':' || (last == ')' && count('(') == 0) || (last == ']' && count('[') == 0) ||
        (last == '}' && count('{') == 0))
      --end;
    else break;
  }
  return end;
}

// The value that begins at `at`, quoted or not.
bool take_value(std::string_view text, size_t at, bool bracketed, Candidate& out) {
  if (at >= text.size()) return false;
  const bool prefixed = at + 1 < text.size() && std::string_view("bBrRuUfFL@").find(text[at]) != std::string_view::npos &&
                        (text[at + 1] == '"' || text[at + 1] == '\'');
  if (prefixed) ++at;
  for (const Quote& quote : quotes) {
    if (!text.substr(at).starts_with(quote.open)) continue;
    size_t begin = at + quote.open.size();
    const bool triple = quote.open.size() == 1 && text.substr(at).starts_with(std::string{quote.open[0], quote.open[0], quote.open[0]});
    if (triple) begin += 2;
    std::string_view line = text.substr(begin, longest_value);
    line = line.substr(0, line.find('\n'));
    size_t close = line.find(quote.close);
    // A backslash hides a quote.
    while (close != std::string_view::npos && quote.close.size() == 1 && close > 0 && line[close - 1] == '\\' &&
           !(close > 1 && line[close - 2] == '\\'))
      close = line.find(quote.close, close + 1);
    if (close == std::string_view::npos) { at = begin; break; }
    if (close == 0) return false;
    out.begin = begin;
    out.end = begin + close;
    out.quote = quote.close.back();
    return true;
  }
  out.quote = 0;
  out.begin = at;
  out.end = unquoted_end(text, at, bracketed);
  out.next = out.end >= text.size() || is_space(static_cast<unsigned char>(text[out.end])) ? '\0' : text[out.end];
  return out.end > out.begin;
}

bool after_operator(std::string_view text, size_t at, Candidate& out) {
  size_t value = skip_spaces(text, at);
  if (value < text.size() && (text[value] == '\n' || text[value] == '\r') && out.cue == Cue::labelled) {
    // A form: the label on a line of its own.
    while (value < text.size() && value < at + 40 && is_space(static_cast<unsigned char>(text[value]))) ++value;
    out.cue = Cue::adjacent;
  }
  if (value < text.size() && (text[value] == '*' || text[value] == '_') && text.substr(value).starts_with("**")) value = skip_spaces(text, value + 2);
  return take_value(text, value, false, out);
}

// Tags: <Pass encoding="base64">value</Pass>.
bool read_markup(std::string_view text, size_t name_begin, size_t name_end, Candidate& out) {
  if (name_begin == 0 || text[name_begin - 1] != '<') return false;
  const size_t close = text.substr(0, std::min(text.size(), name_end + 96)).find('>', name_end);
  if (close == std::string_view::npos || text[close - 1] == '/') return false;
  out.cue = Cue::assigned;
  out.markup = true;
  const size_t end = text.substr(0, std::min(text.size(), close + longest_value)).find('<', close);
  if (end == std::string_view::npos) return false;
  out.begin = skip_spaces(text, close + 1);
  out.end = end;
  out.quote = '<';
  return out.end > out.begin;
}

}  // namespace

bool read_value(std::string_view text, size_t name_begin, size_t name_end, Candidate& out) {
  if (read_markup(text, name_begin, name_end, out)) return true;
  size_t at = name_end;
  bool quoted_name = false;
  // What closes the name: quotes, brackets, emphasis.
  for (size_t n = 0; n < 4 && at < text.size() && std::string_view("\"'`])\\*").find(text[at]) != std::string_view::npos; ++n, ++at) {
    quoted_name = quoted_name || text[at] == '"' || text[at] == '\'';
  }
  const size_t spaced = skip_spaces(text, at);
  const std::string_view rest = text.substr(spaced, 8);
  out.spaced = spaced > at;
  if (re2::StringPiece input(text.data() + spaced, std::min<size_t>(window, text.size() - spaced)), got;
      rest.starts_with(':') && type_annotation().Match(input, 0, input.size(), RE2::ANCHOR_START, &got, 1)) {
    out.cue = Cue::assigned;
    if (after_operator(text, spaced + got.size(), out) && out.quote != 0) return true;
  }
  for (const std::string_view sign : {":==", "!==", "===", ":=", "=>", "==", "!=", "-->", "->", "?=", "+=", "||=", "=", "::", ":"}) {
    if (!rest.starts_with(sign)) continue;
    if (sign == "::" || (sign == ":" && text.substr(spaced + 1).starts_with("//"))) return false;
    out.cue = sign == ":" || sign.ends_with("->") ? Cue::labelled : Cue::assigned;
    const size_t after = spaced + sign.size();
    out.spaced = out.spaced || (after < text.size() && text[after] == ' ');
    return after_operator(text, after, out);
  }
  const std::string_view name = text.substr(name_begin, name_end - name_begin);
  const bool constant = std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });  // setopt(curl, CURLOPT_PASSWORD, "…")
  if ((quoted_name || constant) && rest.starts_with(',')) {
    out.cue = Cue::assigned;
    out.listed = true;
    return after_operator(text, spaced + 1, out) && out.quote != 0;
  }
  if (rest.starts_with('|')) {  // a table: the next cell
    out.cue = Cue::adjacent;
    out.markup = true;
    return take_value(text, skip_spaces(text, spaced + 1), false, out);
  }
  for (const Quote& quote : quotes) {  // 密碼「…」
    if (static_cast<unsigned char>(quote.open[0]) < 0x80 || !text.substr(at).starts_with(quote.open)) continue;
    out.cue = Cue::adjacent;
    return take_value(text, at, false, out);
  }
  {
    re2::StringPiece input(text.data() + name_end, std::min(window, text.size() - name_end)), got;
    if (sentence_cue().Match(input, 0, input.size(), RE2::ANCHOR_START, &got, 1) && !got.empty()) {
      out.cue = Cue::said;
      if (take_value(text, name_end + got.size(), false, out)) return true;
    }
  }
  out.cue = Cue::adjacent;
  if (at == name_end && rest.starts_with('(')) return take_value(text, spaced + 1, true, out);
  if (spaced == at || spaced >= text.size()) return false;
  if (text.substr(spaced).starts_with("to ")) return take_value(text, spaced + 3, false, out);  // "changed the password to …"
  out.flag = name_begin > 0 && text[name_begin - 1] == '-';
  return take_value(text, spaced, false, out);
}

bool read_value_before(std::string_view text, size_t name_begin, Candidate& out) {
  const size_t from = name_begin > 128 ? name_begin - 128 : 0;
  re2::StringPiece input(text.data() + from, name_begin - from), groups[2];
  if (!reverse_cue().Match(input, 0, input.size(), RE2::UNANCHORED, groups, 2)) return false;
  out.begin = static_cast<size_t>(groups[1].data() - text.data());
  out.end = out.begin + groups[1].size();
  out.cue = Cue::adjacent;
  out.quote = 0;
  return true;
}

bool read_phrase(std::string_view text, const Candidate& first, Candidate& out) {
  out = first;
  if (first.quote != 0) return true;
  size_t end = first.begin, words = 0;
  while (end < text.size() && words < 25) {
    const size_t begin = end;
    while (end < text.size() && letter(text[end])) ++end;
    if (end == begin || end - begin > 12) return false;
    ++words;
    if (end + 1 < text.size() && (text[end] == ' ' || text[end] == '-') && letter(text[end + 1])) { ++end; continue; }
    break;
  }
  out.end = end;
  return words >= 4 && (end == text.size() || text[end] == '.' || text[end] == '\n' || text[end] == ',' || text[end] == '"');
}

}  // namespace credential
