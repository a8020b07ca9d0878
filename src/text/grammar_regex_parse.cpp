// grammar regex parse: the syntax of regular expressions, as JavaScript's engines accept it.
#include <algorithm>
#include <charconv>

#include "text/grammar_parts.h"
#include "text/grammar_regex.h"
#include "text/unicode.h"

using Range = GrammarBuilder::Range;
using Ranges = std::vector<Range>;
using Kind = RegexTree::Kind;

static constexpr size_t kMaxPatternBytes = 64 << 10;
static constexpr int kMaxNesting = 200;
static constexpr int64_t kMaxCount = 1'000'000'000;
static constexpr Range kDigits[] = {{'0', '9'}};
static constexpr Range kWord[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static constexpr Range kSpace[] = {{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
static constexpr Range kLineEnds[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

static Error wrong(std::string_view what, size_t offset, Code code = Code::invalid_request) {
  return Error{code, "regular expression: " + std::string(what) + " at offset " + std::to_string(offset) + (code == Code::unsupported ? " is not supported" : "")};
}

namespace {
class Parser {
 public:
  explicit Parser(std::string_view pattern) : text_(pattern) {}
  Result<RegexTree> run() {
    TRY(RegexTree out, choice(0));
    if (at_ < text_.size()) return wrong("a closing parenthesis without an opening one", at_);
    return out;
  }

 private:
  // What an escape or a member of a class stands for: a set, or one character.
  struct Atom { Ranges set; bool single = false; char32_t character = 0; };

  bool more() const { return at_ < text_.size(); }
  bool next_is(std::string_view s) const { return text_.substr(at_).starts_with(s); }
  bool take(std::string_view s) { return next_is(s) ? at_ += s.size(), true : false; }
  char32_t take_character() {
    const Utf8Step step = utf8_step(text_, at_);
    at_ += step.length;
    return step.code_point;
  }
  static Atom one(char32_t c) { return {{{c, c}}, true, c}; }
  static Atom set(std::span<const Range> ranges, bool negated) { return {normal_ranges(ranges, negated)}; }

  Result<RegexTree> choice(int nesting);
  Result<RegexTree> sequence(int nesting);
  Result<RegexTree> term(int nesting);
  Result<RegexTree> group(int nesting);
  Result<RegexTree> quantified(RegexTree inner);
  bool count(int64_t& least, int64_t& most);
  Result<Atom> escape(bool in_class);
  Result<Atom> hex_escape(size_t begin, char letter);
  bool hex(size_t digits, uint32_t& out);
  Result<Ranges> character_class();

  std::string_view text_;
  size_t at_ = 0;
};

RegexTree tree_of(Kind kind, std::vector<RegexTree> children, size_t offset) {
  if (children.size() == 1 && kind != Kind::repeat) return std::move(children[0]);
  RegexTree out{.kind = kind, .ranges = {}, .children = std::move(children), .offset = offset};
  for (const RegexTree& c : out.children) out.has_anchor |= c.has_anchor;
  return out;
}

Result<RegexTree> Parser::choice(int nesting) {
  if (nesting > kMaxNesting) return wrong("a group nested more than 200 deep", at_, Code::too_large);
  const size_t begin = at_;
  std::vector<RegexTree> ways;
  do {
    TRY(RegexTree way, sequence(nesting));
    ways.push_back(std::move(way));
  } while (take("|"));
  return tree_of(Kind::choice, std::move(ways), begin);
}

Result<RegexTree> Parser::sequence(int nesting) {
  const size_t begin = at_;
  std::vector<RegexTree> terms;
  while (more() && text_[at_] != '|' && text_[at_] != ')') {
    TRY(RegexTree inner, term(nesting));
    TRY(RegexTree whole, quantified(std::move(inner)));
    terms.push_back(std::move(whole));
  }
  return tree_of(Kind::sequence, std::move(terms), begin);
}

Result<RegexTree> Parser::term(int nesting) {
  const size_t begin = at_;
  RegexTree out{.kind = Kind::characters, .ranges = {}, .children = {}, .offset = begin};
  if (take("^") || take("$")) {
    out.kind = text_[begin] == '^' ? Kind::text_begin : Kind::text_end;
    out.has_anchor = true;
  } else if (take("(")) {
    return group(nesting);
  } else if (take("[")) {
    TRY(out.ranges, character_class());
  } else if (take(".")) {
    out.ranges = normal_ranges(kLineEnds, true);
  } else if (take("\\")) {
    TRY(Atom atom, escape(false));
    out.ranges = std::move(atom.set);
  } else if (next_is("*") || next_is("+") || next_is("?")) {
    return wrong("a quantifier with nothing to repeat", begin);
  } else {
    const char32_t c = take_character();
    out.ranges = {{c, c}};
  }
  return out;
}

Result<RegexTree> Parser::group(int nesting) {
  const size_t begin = at_ - 1;
  if (next_is("?=") || next_is("?!")) return wrong("a look-ahead", begin, Code::unsupported);
  if (next_is("?<=") || next_is("?<!")) return wrong("a look-behind", begin, Code::unsupported);
  if (take("?<") || take("?P<")) {
    const size_t end = text_.find('>', at_);
    if (end == std::string_view::npos || end == at_) return wrong("a group's name without an end", begin);
    at_ = end + 1;
  } else if (next_is("?") && !take("?:")) {
    return wrong("a group with flags", begin, Code::unsupported);
  }
  TRY(RegexTree inner, choice(nesting + 1));
  if (!take(")")) return wrong("a group without an end", begin);
  return inner;
}

// {n}, {n,} or {n,m}; anything else behind a brace is text.
bool Parser::count(int64_t& least, int64_t& most) {
  const size_t begin = at_;
  const auto number = [&](int64_t& out) {
    const size_t first = at_;
    for (out = 0; more() && text_[at_] >= '0' && text_[at_] <= '9'; at_++) out = std::min(out * 10 + (text_[at_] - '0'), kMaxCount);
    return at_ > first;
  };
  at_++;
  if (number(least)) {
    most = least;
    if (take(",") && !number(most)) most = -1;
    if (take("}")) return true;
  }
  at_ = begin;
  return false;
}

Result<RegexTree> Parser::quantified(RegexTree inner) {
  const size_t begin = at_;
  int64_t least = 1, most = 1;
  if (take("*")) least = 0, most = -1;
  else if (take("+")) most = -1;
  else if (take("?")) least = 0;
  else if (!next_is("{") || !count(least, most)) return inner;
  take("?");  // a lazy quantifier matches the same texts
  if (most >= 0 && most < least) return wrong("a quantifier with its bounds the wrong way round", begin);
  if (inner.kind == Kind::text_begin || inner.kind == Kind::text_end) return wrong("a quantifier behind an anchor", begin);
  if (next_is("*") || next_is("+") || next_is("?")) return wrong("a quantifier behind a quantifier", at_);
  std::vector<RegexTree> children;
  children.push_back(std::move(inner));
  RegexTree out = tree_of(Kind::repeat, std::move(children), begin);
  out.least = least, out.most = most;
  return out;
}

bool Parser::hex(size_t digits, uint32_t& out) {
  const std::string_view part = text_.substr(at_, digits);
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), out, 16);
  if (part.size() != digits || error != std::errc() || end != part.data() + part.size()) return false;
  at_ += digits;
  return true;
}

// \xHH, \uHHHH (two of them for a character beyond the first plane) or \u{H…}.
Result<Parser::Atom> Parser::hex_escape(size_t begin, char letter) {
  uint32_t c = 0;
  if (letter == 'x') {
    if (!hex(2, c)) return wrong("\\x without two hexadecimal digits", begin);
    return one(c);
  }
  if (take("{")) {
    const size_t end = text_.find('}', at_);
    if (end == std::string_view::npos || end - at_ > 8 || !hex(end - at_, c) || c > 0x10ffff) return wrong("\\u{} without a character's number", begin);
    at_++;
  } else if (!hex(4, c)) {
    return wrong("\\u without four hexadecimal digits", begin);
  }
  uint32_t low = 0;
  if (c >= 0xd800 && c < 0xdc00 && take("\\u") && hex(4, low) && low >= 0xdc00 && low < 0xe000) c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
  if (c >= 0xd800 && c < 0xe000) return wrong("half a surrogate pair", begin, Code::unsupported);
  return one(c);
}

Result<Parser::Atom> Parser::escape(bool in_class) {
  const size_t begin = at_ - 1;
  if (!more()) return wrong("a backslash at the end", begin);
  const char32_t c = take_character();
  switch (c) {
    case 'd': case 'D': return set(kDigits, c == 'D');
    case 'w': case 'W': return set(kWord, c == 'W');
    case 's': case 'S': return set(kSpace, c == 'S');
    case 't': return one('\t');
    case 'n': return one('\n');
    case 'v': return one('\v');
    case 'f': return one('\f');
    case 'r': return one('\r');
    case 'x': case 'u': return hex_escape(begin, static_cast<char>(c));
    case 'b': if (in_class) return one('\b'); return wrong("a word boundary (\\b)", begin, Code::unsupported);
    case 'B': return wrong("a word boundary (\\B)", begin, Code::unsupported);
    case 'k': return wrong("a backreference", begin, Code::unsupported);
    case 'c': {
      const char letter = more() ? text_[at_] : '\0';
      if ((letter | 0x20) < 'a' || (letter | 0x20) > 'z') return wrong("\\c without a letter", begin);
      at_++;
      return one(static_cast<char32_t>(letter & 0x1f));
    }
    case 'p': case 'P': {
      const size_t end = text_.find('}', at_);
      if (!take("{") || end == std::string_view::npos) return wrong("\\p without a name in braces", begin);
      const std::string_view name = text_.substr(at_, end - at_);
      at_ = end + 1;
      TRY(const Ranges ranges, unicode_property(name, begin));
      return set(ranges, c == 'P');
    }
    default: break;
  }
  if (c == '0' && !(more() && text_[at_] >= '0' && text_[at_] <= '9')) return one(0);
  if (c >= '0' && c <= '9') return wrong(in_class || c == '0' ? "an octal escape" : "a backreference", begin, Code::unsupported);
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return wrong("an unknown escape", begin);
  return one(c);
}

Result<Ranges> Parser::character_class() {
  const size_t begin = at_ - 1;
  const bool negated = take("^");
  Ranges all;
  const auto member = [&]() -> Result<Atom> {
    if (take("\\")) return escape(true);
    return one(take_character());
  };
  while (more() && text_[at_] != ']') {
    TRY(const Atom first, member());
    // A hyphen is a range between two characters, and itself anywhere else.
    if (first.single && next_is("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
      const size_t hyphen = at_++;
      TRY(const Atom last, member());
      if (!last.single) {
        for (const Ranges& part : {first.set, Ranges{{'-', '-'}}, last.set}) all.insert(all.end(), part.begin(), part.end());
        continue;
      }
      if (last.character < first.character) return wrong("a range with its bounds the wrong way round", hyphen);
      all.push_back({first.character, last.character});
      continue;
    }
    all.insert(all.end(), first.set.begin(), first.set.end());
  }
  if (!take("]")) return wrong("a class without an end", begin);
  return normal_ranges(all, negated);
}
}  // namespace

Result<RegexTree> parse_regex(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) return Error{Code::too_large, "regular expression: longer than 64 KiB"};
  if (!is_utf8(pattern)) return Error{Code::invalid_request, "regular expression: not UTF-8"};
  return Parser(pattern).run();
}
