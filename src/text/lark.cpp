// lark: a subset of Lark's grammar language.
//
// Texts are matched without a lexer: a terminal is what its expression matches, not the longest such piece, and priorities change nothing about
// which texts belong to the language. What %ignore names may stand before any terminal of a rule and at the end.
#include <algorithm>
#include <map>
#include <set>

#include "text/lark_parts.h"
#include "text/unicode.h"

using Node = GrammarBuilder::Node;

static constexpr size_t kMostBytes = 1 << 20;
static constexpr int kMostDepth = 200;  // of parentheses

namespace {

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool is_terminal(std::string_view name) {
  const size_t letter = name.find_first_not_of('_');
  return letter != name.npos && name[letter] >= 'A' && name[letter] <= 'Z';
}

class LarkReader {
 public:
  LarkReader(GrammarBuilder& builder, std::string_view text) : builder_(builder), in_("Lark", text), gap_(builder.declare("ignored")) {}
  Result<Node> run();

 private:
  struct Rule {
    Node node = -1;
    std::optional<Node> body{};
    size_t met_at = 0;
  };
  void space(bool lines);
  bool next_alternative();
  Rule& rule(std::string_view name);
  Status statement();
  Status directive();
  Status import_names();
  Status import_name(std::string_view name, std::string_view alias);
  Result<Node> alternatives(bool terminal, int depth);
  Result<Node> sequence(bool terminal, int depth);
  Result<std::optional<Node>> item(bool terminal, int depth);
  Result<Node> repeated(Node node);
  Result<Node> string_or_range();
  Result<std::string> string();
  Result<Node> expression();
  Node placed(Node terminal_node, bool terminal) { return terminal ? terminal_node : builder_.sequence(std::array<Node, 2>{gap_, terminal_node}); }

  GrammarBuilder& builder_;
  NotationCursor in_;
  Node gap_;  // any number of ignored texts
  std::vector<Node> ignored_;
  std::map<std::string, Rule, std::less<>> rules_;
};

void LarkReader::space(bool lines) {
  while (true) {
    in_.take_while([&](char c) { return c == ' ' || c == '\t' || (lines && (c == '\r' || c == '\n')); });
    if (in_.peek() != '#' && !in_.starts("//")) return;
    in_.take_while([](char c) { return c != '\r' && c != '\n'; });
  }
}

// "|" here, or at the beginning of the next line.
bool LarkReader::next_alternative() {
  const size_t here = in_.offset();
  space(true);
  if (!in_.take("|")) return in_.move_to(here), false;
  space(true);
  return true;
}

LarkReader::Rule& LarkReader::rule(std::string_view name) {
  const auto known = rules_.find(name);
  if (known != rules_.end()) return known->second;
  return rules_[std::string(name)] = {.node = builder_.declare(name), .met_at = in_.offset()};
}

Result<std::string> LarkReader::string() {
  std::string out;
  while (!in_.take("\"")) {
    if (in_.done() || in_.peek() == '\n') return in_.invalid("the closing \" of a string");
    if (!in_.take("\\")) {
      const auto value = in_.character();
      if (!value) return in_.invalid("UTF-8 in a string");
      append_utf8(*value, out);
      continue;
    }
    const char kind = in_.peek();
    in_.skip();
    const std::string_view named = "nrtfvab\\\"/'", values = "\n\r\t\f\v\a\b\\\"/'";
    std::optional<char32_t> value;
    if (const size_t at = named.find(kind); at != named.npos && kind != '\0') value = static_cast<char32_t>(values[at]);
    else if (kind == 'x') value = in_.hex(2);
    else if (kind == 'u') value = in_.hex(4);
    else if (kind == 'U') value = in_.hex(8);
    if (!value) return in_.invalid("a known escape in a string");
    append_utf8(*value, out);
  }
  return out;
}

Result<Node> LarkReader::string_or_range() {
  TRY(const std::string first, string());
  if (in_.peek() == '.' && in_.peek(1) == '.' && in_.peek(2) == '"') {
    in_.skip(3);
    TRY(const std::string last, string());
    NotationCursor low("Lark", first), high("Lark", last);
    const auto from = low.character(), to = high.character();
    if (!from || !to || !low.done() || !high.done() || *to < *from) return in_.invalid("a range between two characters in ascending order");
    return builder_.characters(std::array<GrammarBuilder::Range, 1>{{{*from, *to}}});
  }
  if (in_.peek() != 'i' || is_name(in_.peek(1))) return builder_.literal(first);
  in_.skip();
  std::vector<Node> letters;
  for (const char c : first) {
    if (static_cast<uint8_t>(c) >= 0x80) return in_.unsupported("a string with the flag i and letters beyond ASCII");
    ByteSet set;
    set.set(static_cast<uint8_t>(c));
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') set.set(static_cast<uint8_t>(c ^ 0x20));
    letters.push_back(builder_.bytes(set));
  }
  return builder_.sequence(letters);
}

Result<Node> LarkReader::expression() {
  const size_t begin = in_.offset();
  bool in_class = false;
  for (; !in_.done() && (in_.peek() != '/' || in_class); in_.skip()) {
    if (in_.peek() == '\n') return in_.invalid("the closing / of a regular expression");
    if (in_.peek() == '\\') in_.skip();
    else if (in_.peek() == '[') in_class = true;
    else if (in_.peek() == ']') in_class = false;
  }
  const std::string_view pattern = in_.since(begin);
  if (!in_.take("/")) return in_.invalid("the closing / of a regular expression");
  const std::string_view flags = in_.take_while([](char c) { return c >= 'a' && c <= 'z'; });
  TRY(const std::string translated, regex_of_python(pattern, flags, in_));
  auto node = builder_.regex(translated, true);
  if (!node) return node.error().code == Code::invalid_request ? in_.invalid("a regular expression (" + node.error().message + ")") : in_.unsupported("a regular expression (" + node.error().message + ")");
  return node;
}

Result<std::optional<Node>> LarkReader::item(bool terminal, int depth) {
  std::optional<Node> none;
  const bool group = in_.peek() == '(', maybe = in_.peek() == '[';
  if (group || maybe) {
    if (depth > kMostDepth) return in_.unsupported("nesting this deep");
    in_.skip();
    TRY(const Node node, alternatives(terminal, depth + 1));
    space(true);
    if (!in_.take(group ? ")" : "]")) return in_.invalid(group ? "a closing )" : "a closing ]");
    return std::optional(maybe ? builder_.optional(node) : node);
  }
  if (in_.take("\"")) {
    TRY(const Node node, string_or_range());
    return std::optional(placed(node, terminal));
  }
  if (in_.peek() == '/') {
    in_.skip();
    TRY(const Node node, expression());
    return std::optional(placed(node, terminal));
  }
  if (in_.peek() == '<') return in_.unsupported("a token in angle brackets");
  if (in_.peek() == '%') return in_.unsupported("a directive within a rule");
  const std::string_view name = in_.take_while(is_name);
  if (name.empty()) return none;
  if (in_.peek() == '{') return in_.unsupported("a template of rules");
  if (in_.peek() == ':' || (in_.peek() == '.' && in_.peek(1) != '.')) return in_.invalid("a new line before the next rule");
  if (terminal && !is_terminal(name)) return in_.invalid("terminals only within a terminal");
  const Node node = rule(name).node;
  return std::optional(is_terminal(name) ? placed(node, terminal) : node);
}

Result<Node> LarkReader::repeated(Node node) {
  space(false);
  if (in_.take("*")) return builder_.repeat(node, 0, -1);
  if (in_.take("+")) return builder_.repeat(node, 1, -1);
  if (in_.take("?")) return builder_.optional(node);
  if (!in_.take("~")) return node;
  space(false);
  const auto least = in_.number();
  auto most = least;
  const size_t here = in_.offset();
  space(false);
  if (in_.take("..")) {
    space(false);
    most = in_.number();
  } else {
    in_.move_to(here);
  }
  if (!least || !most || *most < *least) return in_.invalid("a repetition ~ n or ~ n..m");
  return builder_.repeat(node, *least, *most);
}

Result<Node> LarkReader::sequence(bool terminal, int depth) {
  std::vector<Node> nodes;
  while (true) {
    space(depth > 0);
    TRY(const auto node, item(terminal, depth));
    if (!node) break;
    TRY(const Node many, repeated(*node));
    nodes.push_back(many);
  }
  if (in_.take("->")) {  // a name for the tree that nobody builds here
    space(false);
    if (in_.take_while(is_name).empty()) return in_.invalid("a name after ->");
  }
  return builder_.sequence(nodes);
}

Result<Node> LarkReader::alternatives(bool terminal, int depth) {
  std::vector<Node> ways;
  do {
    TRY(const Node one, sequence(terminal, depth));
    ways.push_back(one);
  } while (next_alternative());
  return builder_.choice(ways);
}

Status LarkReader::import_name(std::string_view name, std::string_view alias) {
  const std::string_view pattern = common_terminal(name);
  if (pattern.empty()) return in_.unsupported("an %import of something that is not among common's terminals");
  TRY(const Node node, builder_.regex(pattern, true));
  rule(alias.empty() ? name : alias).body = node;
  return ok_status();
}

Status LarkReader::import_names() {
  space(false);
  if (!in_.take("common")) return in_.unsupported("an %import from another module than common");
  if (in_.take(".")) {
    const std::string_view name = in_.take_while(is_name);
    std::string_view alias;
    space(false);
    if (in_.take("->")) {
      space(false);
      alias = in_.take_while(is_name);
      if (alias.empty() || !is_terminal(alias)) return in_.invalid("the name of a terminal after ->");
    }
    return import_name(name, alias);
  }
  space(false);
  if (!in_.take("(")) return in_.invalid("common.NAME or common (NAME, ...)");
  do {
    space(true);
    TRY_STATUS(import_name(in_.take_while(is_name), ""));
    space(true);
  } while (in_.take(","));
  return in_.take(")") ? ok_status() : Status(in_.invalid("a closing )"));
}

Status LarkReader::directive() {
  if (in_.take("%import")) return import_names();
  if (in_.take("%ignore")) {
    TRY(const Node node, alternatives(true, 0));
    ignored_.push_back(node);
    return ok_status();
  }
  for (const char* name : {"%declare", "%override", "%extend"})
    if (in_.starts(name)) return in_.unsupported(name);
  return in_.invalid("%import or %ignore");
}

// [?!] name [. priority] ":" alternatives
Status LarkReader::statement() {
  if (in_.peek() == '%') {
    TRY_STATUS(directive());
  } else {
    while (in_.take("?") || in_.take("!")) {}
    const std::string name(in_.take_while(is_name));
    if (name.empty()) return in_.invalid("the name of a rule");
    if (in_.peek() == '{') return in_.unsupported("a template of rules");
    if (in_.take(".")) {
      in_.take("-");
      if (!in_.number()) return in_.invalid("a priority after the .");
    }
    space(false);
    if (!in_.take(":")) return in_.invalid("a : after the name of a rule");
    if (rule(name).body) return in_.invalid("one definition of each rule");
    space(true);
    TRY(const Node body, alternatives(is_terminal(name), 0));
    rule(name).body = body;
  }
  space(false);
  if (!in_.done() && in_.peek() != '\n' && in_.peek() != '\r') return in_.invalid("the end of the line");
  return ok_status();
}

Result<Node> LarkReader::run() {
  for (space(true); !in_.done(); space(true)) TRY_STATUS(statement());
  for (auto& [name, rule] : rules_) {
    if (!rule.body) {
      in_.move_to(rule.met_at);
      return in_.invalid("a definition of every rule that is referred to");
    }
    builder_.define(rule.node, *rule.body);
  }
  builder_.define(gap_, builder_.repeat(builder_.choice(ignored_), 0, -1));
  const auto start = rules_.find("start");
  if (start == rules_.end()) return in_.invalid("a rule named start");
  return builder_.sequence(std::array<Node, 2>{start->second.node, gap_});
}

}  // namespace

Result<Node> GrammarBuilder::lark(std::string_view grammar) {
  if (grammar.size() > kMostBytes) return Error{Code::too_large, "cannot constrain to the Lark grammar: at most 1 MiB expected, " + std::to_string(grammar.size()) + " bytes found"};
  return LarkReader(*this, grammar).run();
}
