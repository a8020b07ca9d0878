// grammar regex: regular expressions as nodes, over a text or over the value of a JSON string.
#include "text/grammar_regex.h"

#include <algorithm>
#include <utf8proc.h>

#include "text/grammar_parts.h"

using Node = GrammarBuilder::Node;
using Range = GrammarBuilder::Range;
using Kind = RegexTree::Kind;

namespace {
// One side of a part of the pattern: is it an edge of the whole, and may other text still stand between the two.
struct Edge { bool here = false, open = false; };

// An anchor holds at an edge; elsewhere it would need the text around it. Where no anchor closes an open edge, any text may precede or
// follow: a pattern is found anywhere.
class Lowering {
 public:
  Lowering(GrammarBuilder& builder, bool json) : builder_(builder), json_(json) {}
  Result<Node> run(const RegexTree& tree, bool anchored) { return lower(tree, {true, !anchored}, {true, !anchored}); }

 private:
  Result<Node> lower(const RegexTree& tree, Edge left, Edge right);
  Result<Node> lower_sequence(std::span<const RegexTree> terms, Edge left, Edge right);
  Node plain(const RegexTree& tree);
  Node characters(std::span<const Range> ranges);
  Node any_text() { return builder_.repeat(characters(std::array{Range{0, 0x10ffff}}), 0, -1); }

  GrammarBuilder& builder_;
  const bool json_;
};

// Two hexadecimal digits behind \u00, in either case.
Node escaped(GrammarBuilder& builder, char32_t c) {
  std::vector<Node> parts{builder.literal("\\u00")};
  for (const unsigned digit : {c >> 4 & 15u, c & 15u}) {
    ByteSet set;
    set.set(static_cast<uint8_t>("0123456789abcdef"[digit])).set(static_cast<uint8_t>("0123456789ABCDEF"[digit]));
    parts.push_back(builder.bytes(set));
  }
  return builder.sequence(parts);
}

// JSON writes quotes, backslashes and controls as escapes; everything else is spelt as it is.
Node Lowering::characters(std::span<const Range> ranges) {
  if (!json_) return builder_.characters(ranges);
  std::vector<Range> plain;
  std::vector<Node> ways;
  for (const Range r : normal_ranges(ranges, false)) {
    for (char32_t c = r.first; c <= std::min<char32_t>(r.last, '\\'); c++) {
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      static constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
      if (const size_t i = kShort.find(static_cast<char>(c)); i != std::string_view::npos) ways.push_back(builder_.literal(std::string{'\\', kLetters[i]}));
      ways.push_back(escaped(builder_, c));
    }
    for (const Range free : {Range{0x20, 0x21}, Range{0x23, 0x5b}, Range{0x5d, 0x10ffff}})
      if (r.first <= free.last && r.last >= free.first) plain.push_back({std::max(r.first, free.first), std::min(r.last, free.last)});
  }
  if (!plain.empty()) ways.push_back(builder_.characters(plain));
  return builder_.choice(ways);
}

// A part without anchors.
Node Lowering::plain(const RegexTree& tree) {
  if (tree.kind == Kind::characters) return characters(tree.ranges);
  std::vector<Node> nodes;
  for (const RegexTree& c : tree.children) nodes.push_back(plain(c));
  if (tree.kind == Kind::repeat) return builder_.repeat(nodes[0], tree.least, tree.most);
  return tree.kind == Kind::choice ? builder_.choice(nodes) : builder_.sequence(nodes);
}

Result<Node> Lowering::lower(const RegexTree& tree, Edge left, Edge right) {
  if (tree.kind == Kind::choice && tree.has_anchor) {
    std::vector<Node> ways;
    for (const RegexTree& c : tree.children) {
      TRY(const Node way, lower(c, left, right));
      ways.push_back(way);
    }
    return builder_.choice(ways);
  }
  if (tree.kind == Kind::sequence) return lower_sequence(tree.children, left, right);
  return lower_sequence({&tree, 1}, left, right);
}

Result<Node> Lowering::lower_sequence(std::span<const RegexTree> terms, Edge left, Edge right) {
  while (!terms.empty() && left.here && terms.front().kind == Kind::text_begin) terms = terms.subspan(1), left.open = false;
  while (!terms.empty() && right.here && terms.back().kind == Kind::text_end) terms = terms.first(terms.size() - 1), right.open = false;
  if (terms.empty()) return left.open || right.open ? any_text() : builder_.empty();
  std::vector<Node> out;
  for (size_t i = 0; i < terms.size(); i++) {
    const bool first = i == 0, last = i + 1 == terms.size();
    const RegexTree& term = terms[i];
    if (term.has_anchor) {
      const bool can_hold = (first && left.here) || (last && right.here);
      if (!can_hold || (term.kind != Kind::choice && term.kind != Kind::sequence))
        return Error{Code::unsupported, "regular expression: an anchor that is not at the beginning or end, at offset " + std::to_string(term.offset) + ", is not supported"};
      TRY(const Node node, lower(term, first ? left : Edge{}, last ? right : Edge{}));
      out.push_back(node);
      continue;
    }
    if (first && left.open) out.push_back(any_text());
    out.push_back(plain(term));
    if (last && right.open) out.push_back(any_text());
  }
  return builder_.sequence(out);
}

constexpr std::pair<std::string_view, std::string_view> kCategories[] = {
    {"Letter", "L"}, {"Uppercase_Letter", "Lu"}, {"Lowercase_Letter", "Ll"}, {"Titlecase_Letter", "Lt"}, {"Cased_Letter", "LC"}, {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"}, {"Mark", "M"}, {"Nonspacing_Mark", "Mn"}, {"Spacing_Mark", "Mc"}, {"Enclosing_Mark", "Me"}, {"Number", "N"}, {"Decimal_Number", "Nd"},
    {"Letter_Number", "Nl"}, {"Other_Number", "No"}, {"Punctuation", "P"}, {"punct", "P"}, {"Connector_Punctuation", "Pc"}, {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"}, {"Close_Punctuation", "Pe"}, {"Initial_Punctuation", "Pi"}, {"Final_Punctuation", "Pf"}, {"Other_Punctuation", "Po"},
    {"Symbol", "S"}, {"Math_Symbol", "Sm"}, {"Currency_Symbol", "Sc"}, {"Modifier_Symbol", "Sk"}, {"Other_Symbol", "So"}, {"Separator", "Z"},
    {"Space_Separator", "Zs"}, {"Line_Separator", "Zl"}, {"Paragraph_Separator", "Zp"}, {"Other", "C"}, {"Control", "Cc"}, {"Format", "Cf"},
    {"Private_Use", "Co"}, {"Unassigned", "Cn"}, {"digit", "Nd"}};
constexpr std::string_view kShortNames[] = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
                                            "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};  // as utf8proc numbers them

// By utf8proc's number of the category.
const std::vector<std::vector<Range>>& category_ranges() {
  static const std::vector<std::vector<Range>> table = [] {
    std::vector<std::vector<Range>> out(std::size(kShortNames));
    for (char32_t c = 0; c <= 0x10ffff; c++) {
      auto& ranges = out[static_cast<size_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)))];
      if (!ranges.empty() && ranges.back().last + 1 == c) ranges.back().last = c;
      else ranges.push_back({c, c});
    }
    return out;
  }();
  return table;
}
}  // namespace

Result<std::vector<Range>> unicode_property(std::string_view name, size_t offset) {
  for (const std::string_view prefix : {"gc=", "General_Category="})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (name == "Any") return std::vector<Range>{{0, 0x10ffff}};
  if (name == "ASCII") return std::vector<Range>{{0, 0x7f}};
  if (name == "White_Space" || name == "space")
    return std::vector<Range>{{'\t', '\r'}, {' ', ' '}, {0x85, 0x85}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
  for (const auto& [long_name, short_name] : kCategories)
    if (name == long_name) name = short_name;
  std::vector<Range> out;
  const bool assigned = name == "Assigned";
  for (size_t i = 0; i < std::size(kShortNames); i++) {
    const bool cased = name == "LC" && i >= 1 && i <= 3;
    if (kShortNames[i] == name || (name.size() == 1 && kShortNames[i][0] == name[0]) || cased || (assigned && i > 0))
      out.insert(out.end(), category_ranges()[i].begin(), category_ranges()[i].end());
  }
  if (out.empty()) return Error{Code::unsupported, "regular expression: this Unicode property, at offset " + std::to_string(offset) + ", is not supported (general categories are)"};
  return normal_ranges(out, false);
}

Result<Node> GrammarBuilder::regex(std::string_view pattern, bool anchored) {
  TRY(const RegexTree tree, parse_regex(pattern));
  return Lowering(*this, false).run(tree, anchored);
}

Result<Node> GrammarBuilder::json_string_of(std::string_view pattern) {
  TRY(const RegexTree tree, parse_regex(pattern));
  TRY(const Node value, Lowering(*this, true).run(tree, false));
  return sequence(std::array{literal("\""), value, literal("\"")});
}
