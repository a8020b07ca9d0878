// regex translation: from Oniguruma's (Ruby) syntax and Unicode 16 classes to PCRE2's syntax.
#include <algorithm>
#include <array>

#include "text/regex.h"

// Characters that Oniguruma 6.9.10 (Unicode 16) has in a general category and PCRE2 10.42 (Unicode 14) has not. With a newer PCRE2
// they are there already, and adding them changes nothing.
struct NewerMembers {
  const char* category;
  const char* ranges;  // "FIRST-LAST …", hexadecimal
};
static constexpr NewerMembers kNewer[] = {
    {"Lu", "1C89 A7CB-A7CC A7DA A7DC 10D50-10D65"},
    {"Ll", "1C8A A7CD A7DB 10D70-10D85 1DF25-1DF2A"},
    {"Lm", "10D4E 10D6F 16D40-16D42 16D6B-16D6C 1E030-1E06D 1E4EB"},
    {"Lo", "105C0-105F3 10D4A-10D4D 10D4F 10EC2-10EC4 1123F-11240 11380-11389 1138B 1138E 11390-113B5 113B7 113D1 113D3 11BC0-11BE0 11F02 "
           "11F04-11F10 11F12-11F33 1342F 13441-13446 13460-143FA 16100-1611D 16D43-16D6A 18CFF 1B132 1B155 1E4D0-1E4EA 1E5D0-1E5ED 1E5F0 "
           "2B739 2EBF0-2EE5D 31350-323AF"},
    {"Mn", "897 ECE 10D69-10D6D 10EFC-10EFF 11241 113BB-113C0 113CE 113D0 113D2 113E1-113E2 11F00-11F01 11F36-11F3A 11F40 11F42 11F5A 13440 "
           "13447-13455 1611E-16129 1612D-1612F 1E08F 1E4EC-1E4EF 1E5EE-1E5EF"},
    {"Mc", "CF3 113B8-113BA 113C2 113C5 113C7-113CA 113CC-113CD 113CF 1171E 11F03 11F34-11F35 11F3E-11F3F 11F41 1612A-1612C"},
    {"Nd", "10D40-10D49 116D0-116E3 11BF0-11BF9 11F50-11F59 16130-16139 16D70-16D79 1CCF0-1CCF9 1E4F0-1E4F9 1E5F1-1E5FA"},
    {"No", "1D2C0-1D2D3"},
    {"Pd", "10D6E"},
    {"Po", "1B4E-1B4F 1B7F 113D4-113D5 113D7-113D8 11B00-11B09 11BE1 11F43-11F4F 16D6D-16D6F 1E5FF"},
    {"Sm", "10D8E-10D8F"},
    {"So", "2427-2429 2FFC-2FFF 31E4-31E5 31EF 1CC00-1CCEF 1CD00-1CEB3 1F6DC 1F774-1F776 1F77B-1F77F 1F7D9 1F8B2-1F8BB 1F8C0-1F8C1 1FA75-1FA77 "
           "1FA87-1FA89 1FA8F 1FAAD-1FAAF 1FABB-1FABF 1FAC6 1FACE-1FACF 1FADA-1FADC 1FADF 1FAE8-1FAE9 1FAF7-1FAF8 1FBCB-1FBEF"},
    {"Cf", "13439-1343F"},
    {"Han", "2EBF0-2EE5D 31350-323AF"},
};

// White_Space; PCRE2's \s would also have U+180E.
static constexpr const char* kSpace = R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
static constexpr const char* kNotSpace =
    R"(\x00-\x08\x0e-\x1f\x21-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";

static std::string newer_members(std::string_view property) {
  std::string out;
  for (const NewerMembers& row : kNewer) {
    const std::string_view category = row.category;
    if (category != property && (property.size() != 1 || category.size() != 2 || category[0] != property[0])) continue;
    std::string_view rest = row.ranges;
    while (!rest.empty()) {
      const std::string_view range = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), range.size() + 1));
      const size_t dash = range.find('-');
      out += "\\x{" + std::string(range.substr(0, dash)) + "}";
      if (dash != range.npos) out += "-\\x{" + std::string(range.substr(dash + 1)) + "}";
    }
  }
  return out;
}

static std::string property_members(std::string_view property) { return "\\p{" + std::string(property) + "}" + newer_members(property); }

// Alphabetic, marks, decimal digits and connectors, which is Oniguruma's \w; outside a class also ² ³ ¹ ¼ ½ ¾, because there it
// looks Latin-1 up in another table.
static std::string word_members(bool in_class) {
  std::string out = R"(\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
  if (!in_class) out += R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
  for (const char* property : {"L", "M", "Nd", "Nl", "Pc"}) out += property_members(property);
  return out;
}

namespace {
class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}
  Result<std::string> run();

 private:
  Error unsupported(std::string_view what) const {
    return {Code::unsupported, "tokenizer: the regular expression construct " + std::string(what) + " at offset " + std::to_string(at_) + " is not supported"};
  }
  bool starts(std::string_view text) const { return in_.substr(at_).starts_with(text); }
  void copy(size_t n) { out_.append(in_, at_, n), at_ += n; }
  void emit_class(const std::string& members, bool negated) {
    if (in_class_) out_ += members;
    else out_ += (negated ? "[^" : "[") + members + "]";
  }
  Status escape();
  Status property();
  Status group();
  Status open_class();
  Status quantifier();

  std::string_view in_;
  size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};
}  // namespace

Result<std::string> Translator::run() {
  while (at_ < in_.size()) {
    const char c = in_[at_];
    if (c == '\\') {
      TRY_STATUS(escape());
    } else if (in_class_) {
      if (c == '[') return unsupported("nested class");
      if (starts("&&")) return unsupported("&&");
      if (c == ']') in_class_ = false;
      copy(1);
    } else if (c == '[') {
      TRY_STATUS(open_class());
    } else if (c == '(') {
      TRY_STATUS(group());
    } else if (c == '{') {
      TRY_STATUS(quantifier());
    } else {
      copy(1);
    }
  }
  if (in_class_) return unsupported("unclosed class");
  return std::move(out_);
}

Status Translator::open_class() {
  copy(1);
  if (starts("^")) copy(1);
  if (starts("]")) return unsupported("']' first in a class");
  in_class_ = true;
  return ok_status();
}

// (?m) means something else in Ruby, so only the harmless openers pass.
Status Translator::group() {
  if (!starts("(?")) return copy(1), ok_status();
  static constexpr std::string_view kPlain[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?i)", "(?-i:", "(?-i)"};
  for (std::string_view opener : kPlain)
    if (starts(opener)) return copy(opener.size()), ok_status();
  return unsupported(in_.substr(at_, 4));
}

// {n}, {n,} and {n,m} are alike; {,m} and a following + (not possessive in Ruby) are not.
Status Translator::quantifier() {
  const size_t close = in_.find('}', at_);
  const std::string_view inside = close == in_.npos ? std::string_view() : in_.substr(at_ + 1, close - at_ - 1);
  if (inside.empty() || inside[0] < '0' || inside[0] > '9' || !std::ranges::all_of(inside, [](char c) { return (c >= '0' && c <= '9') || c == ','; }))
    return unsupported("'{'");
  if (close + 1 < in_.size() && in_[close + 1] == '+') return unsupported("{}+");
  copy(close + 1 - at_);
  return ok_status();
}

Status Translator::property() {
  const bool upper = in_[at_ + 1] == 'P';
  const size_t close = in_.find('}', at_);
  if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || close == in_.npos) return unsupported("\\p without braces");
  std::string_view name = in_.substr(at_ + 3, close - at_ - 3);
  bool negated = upper;
  if (name.starts_with('^')) negated = !negated, name.remove_prefix(1);
  if (name.empty() || !std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }))
    return unsupported("\\p{" + std::string(name) + "}");
  // A negated property inside a class keeps PCRE2's own members: a class cannot subtract.
  if (in_class_ && negated) out_ += "\\P{" + std::string(name) + "}";
  else emit_class(property_members(name), negated);
  at_ = close + 1;
  return ok_status();
}

Status Translator::escape() {
  if (at_ + 1 >= in_.size()) return unsupported("'\\' at the end");
  const char c = in_[at_ + 1];
  switch (c) {
    case 'p': case 'P': return property();
    case 's': emit_class(kSpace, false); break;
    case 'S': emit_class(kNotSpace, false); break;
    case 'w': emit_class(word_members(in_class_), false); break;
    case 'd': emit_class(property_members("Nd"), false); break;
    case 'W': case 'D':
      if (in_class_) return unsupported(std::string("\\") + c + " in a class");
      emit_class(c == 'W' ? word_members(false) : property_members("Nd"), true);
      break;
    case 'v': out_ += "\\x0b"; break;
    case 'u':
      if (at_ + 6 > in_.size()) return unsupported("\\u");
      out_ += "\\x{" + std::string(in_.substr(at_ + 2, 4)) + "}", at_ += 4;
      break;
    case 'n': case 'r': case 't': case 'f': case 'a': case 'e': copy(2); return ok_status();
    case 'x': {
      const size_t close = starts("\\x{") ? in_.find('}', at_) : in_.npos;
      copy(close == in_.npos ? 2 : close + 1 - at_);
      return ok_status();
    }
    case 'A': case 'z':
      if (in_class_) return unsupported(std::string("\\") + c + " in a class");
      copy(2);
      return ok_status();
    default:
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return unsupported(std::string("\\") + c);
      copy(2);
      return ok_status();
  }
  at_ += 2;
  return ok_status();
}

Result<std::string> translate_regex(std::string_view pattern) { return Translator(pattern).run(); }
