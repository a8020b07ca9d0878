// gbnf: llama.cpp's notation for grammars.
#include <algorithm>
#include <map>

#include "text/notation.h"
#include "text/unicode.h"

using Node = GrammarBuilder::Node;

static constexpr size_t kMostBytes = 1 << 20;
static constexpr int kMostDepth = 200;  // of parentheses

namespace {

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

// rule ::= name "::=" alternatives, up to the end of the line; inside parentheses and after "|" lines go on.
class GbnfReader {
 public:
  GbnfReader(GrammarBuilder& builder, std::string_view text) : builder_(builder), in_("GBNF", text) {}
  Result<Node> run();

 private:
  struct Rule {
    Node node = -1;
    std::optional<Node> body{};
    size_t met_at = 0;  // where it was first referred to
  };
  void space(bool lines);
  void line_of_alternative();
  Rule& rule(std::string_view name);
  Status definition();
  Result<Node> alternatives(int depth);
  Result<Node> sequence(int depth);
  Result<std::optional<Node>> item(int depth);
  Result<Node> repeated(Node node);
  Result<char32_t> character(std::string_view inside);
  Result<Node> literal();
  Result<Node> set();

  GrammarBuilder& builder_;
  NotationCursor in_;
  std::map<std::string, Rule, std::less<>> rules_;
};

void GbnfReader::space(bool lines) {
  while (true) {
    in_.take_while([&](char c) { return c == ' ' || c == '\t' || (lines && (c == '\r' || c == '\n')); });
    if (in_.peek() != '#') return;
    in_.take_while([](char c) { return c != '\r' && c != '\n'; });
  }
}

// A line may begin with the "|" of the rule above it.
void GbnfReader::line_of_alternative() {
  const size_t here = in_.offset();
  space(true);
  if (in_.peek() != '|') in_.move_to(here);
}

GbnfReader::Rule& GbnfReader::rule(std::string_view name) {
  const auto known = rules_.find(name);
  if (known != rules_.end()) return known->second;
  return rules_[std::string(name)] = {.node = builder_.declare(name), .met_at = in_.offset()};
}

Result<char32_t> GbnfReader::character(std::string_view inside) {
  if (!in_.take("\\")) {
    const auto value = in_.character();
    if (!value) return in_.invalid("UTF-8 in " + std::string(inside));
    return *value;
  }
  const char kind = in_.peek();
  in_.skip();
  std::optional<char32_t> value;
  switch (kind) {
    case 'n': return U'\n';
    case 'r': return U'\r';
    case 't': return U'\t';
    case '\\': case '"': case '[': case ']': case '-': case '^': return static_cast<char32_t>(kind);
    case 'x': value = in_.hex(2); break;
    case 'u': value = in_.hex(4); break;
    case 'U': value = in_.hex(8); break;
    default: return in_.invalid("one of the escapes \\n \\r \\t \\\\ \\\" \\[ \\] \\x \\u \\U");
  }
  if (!value) return in_.invalid("a character in hexadecimal after \\x, \\u or \\U");
  return *value;
}

Result<Node> GbnfReader::literal() {
  std::string text;
  while (!in_.take("\"")) {
    if (in_.done() || in_.peek() == '\n') return in_.invalid("the closing \" of a literal");
    TRY(const char32_t value, character("a literal"));
    append_utf8(value, text);
  }
  return builder_.literal(text);
}

Result<Node> GbnfReader::set() {
  std::vector<GrammarBuilder::Range> ranges;
  const bool negated = in_.take("^");
  while (!in_.take("]")) {
    if (in_.done()) return in_.invalid("the closing ] of a set");
    TRY(const char32_t first, character("a set"));
    char32_t last = first;
    if (in_.peek() == '-' && in_.peek(1) != ']' && in_.take("-")) {
      if (in_.done()) return in_.invalid("the closing ] of a set");
      TRY(last, character("a set"));
    }
    if (last < first) return in_.invalid("a range in ascending order");
    ranges.push_back({first, last});
  }
  return builder_.characters(ranges, negated);
}

Result<std::optional<Node>> GbnfReader::item(int depth) {
  std::optional<Node> none;
  if (in_.take("\"")) {
    TRY(const Node node, literal());
    return std::optional(node);
  }
  if (in_.take("[")) {
    TRY(const Node node, set());
    return std::optional(node);
  }
  if (in_.take("(")) {
    if (depth > kMostDepth) return in_.unsupported("nesting this deep");
    space(true);
    TRY(const Node node, alternatives(depth + 1));
    space(true);
    if (!in_.take(")")) return in_.invalid("a closing )");
    return std::optional(node);
  }
  if (in_.take(".")) return std::optional(builder_.characters({}, true));
  if (in_.peek() == '<' || in_.starts("!<")) return in_.unsupported("a token in angle brackets");
  const size_t here = in_.offset();
  const std::string_view name = in_.take_while(is_name);
  if (name.empty()) return none;
  // The next rule of the text begins here.
  const size_t end = in_.offset();
  space(true);
  if (in_.starts("::=")) {
    in_.move_to(here);
    return none;
  }
  in_.move_to(end);
  return std::optional(rule(name).node);
}

Result<Node> GbnfReader::repeated(Node node) {
  while (true) {
    const size_t here = in_.offset();
    space(false);
    if (in_.take("*")) node = builder_.repeat(node, 0, -1);
    else if (in_.take("+")) node = builder_.repeat(node, 1, -1);
    else if (in_.take("?")) node = builder_.optional(node);
    else if (in_.take("{")) {
      space(false);
      const auto least = in_.number();
      auto most = least;
      space(false);
      if (in_.take(",")) {
        space(false);
        most = in_.peek() == '}' ? -1 : in_.number();
        space(false);
      }
      if (!least || !most || !in_.take("}") || (*most >= 0 && *most < *least)) return in_.invalid("a repetition {m}, {m,} or {m,n}");
      node = builder_.repeat(node, *least, *most);
    } else {
      in_.move_to(here);
      return node;
    }
  }
}

Result<Node> GbnfReader::sequence(int depth) {
  std::vector<Node> nodes;
  while (true) {
    space(depth > 0);
    TRY(const auto node, item(depth));
    if (!node) return builder_.sequence(nodes);
    TRY(const Node many, repeated(*node));
    nodes.push_back(many);
  }
}

Result<Node> GbnfReader::alternatives(int depth) {
  std::vector<Node> ways;
  do {
    space(true);
    TRY(const Node one, sequence(depth));
    ways.push_back(one);
    line_of_alternative();
  } while (in_.take("|"));
  return builder_.choice(ways);
}

Status GbnfReader::definition() {
  const std::string name(in_.take_while(is_name));
  if (name.empty()) return in_.invalid("the name of a rule");
  space(true);
  if (!in_.take("::=")) return in_.invalid("::=");
  TRY(const Node body, alternatives(0));
  rule(name).body = body;  // of rules with one name the last counts
  space(false);
  if (!in_.done() && in_.peek() != '\n' && in_.peek() != '\r') return in_.invalid("the end of the rule");
  return ok_status();
}

Result<Node> GbnfReader::run() {
  for (space(true); !in_.done(); space(true)) TRY_STATUS(definition());
  for (auto& [name, rule] : rules_) {
    if (!rule.body) {
      in_.move_to(rule.met_at);
      return in_.invalid("a definition of every rule that is referred to");
    }
    builder_.define(rule.node, *rule.body);
  }
  const auto root = rules_.find("root");
  if (root == rules_.end()) return in_.invalid("a rule named root");
  return root->second.node;
}

}  // namespace

Result<Node> GrammarBuilder::gbnf(std::string_view grammar) {
  if (grammar.size() > kMostBytes) return Error{Code::too_large, "cannot constrain to the GBNF grammar: at most 1 MiB expected, " + std::to_string(grammar.size()) + " bytes found"};
  return GbnfReader(*this, grammar).run();
}
