// notation tests: GBNF and Lark grammars, what they accept, and what of them is refused by name.
#include "text/constraint_check.h"

namespace {

struct Row {
  std::string grammar;
  std::vector<std::string> valid, invalid;
};

GrammarMaker gbnf(const std::string& grammar) {
  return [grammar](GrammarBuilder& builder) { return builder.gbnf(grammar); };
}
GrammarMaker lark(const std::string& grammar) {
  return [grammar](GrammarBuilder& builder) { return builder.lark(grammar); };
}

}  // namespace

TEST(Gbnf, notation) {
  const std::vector<Row> rows = {
      {R"(root ::= "yes" | "no")", {"yes", "no"}, {"", "yesno"}},
      {"root ::= a b # comment\na ::= \"x\"\n\n# more\nb ::= \"y\" |\n  \"z\"\n", {"xy", "xz"}, {"x"}},
      {"root ::= \"a\"\n  | \"b\"", {"a", "b"}, {"ab"}},
      {"root ::= (\n \"a\"\n | \"b\" \"c\"\n)+ \"d\"", {"ad", "bcad"}, {"d", "ab"}},
      {R"(root ::= [a-c]* [^a-z] .)", {"abC1", "1\xc3\xa9"}, {"abc", "a1"}},
      {R"(root ::= "\x41\u00e9\U0001F600\n\t\\\"" [\]\-\x30-\x32])", {"A\xc3\xa9\xf0\x9f\x98\x80\n\t\\\"]", "A\xc3\xa9\xf0\x9f\x98\x80\n\t\\\"1"}, {"A"}},
      {R"(root ::= "ab"{2} [0-9]{1,3} "x"{2,} "y"{0,1})", {"abab1xx", "abab123xxxxy"}, {"ab1xx", "abab1234xx", "abab1x"}},
      {R"(root ::= [a-] "-"?)", {"a", "--"}, {"b"}},
      {"root ::= list\nlist ::= \"x\" | list \",x\"", {"x", "x,x,x"}, {"", ","}},
      {"root ::= \"(\" root \")\" | \"\"", {"", "(())"}, {"(", "())"}},
      {"root ::= \"a\"\r\nroot ::= \"b\"\r\n", {"b"}, {"a"}},
      {R"(root ::= ("a" ("b" | "c")?)* )", {"", "abaac"}, {"b"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.grammar);
    expect_language(gbnf(row.grammar), row.valid, row.invalid);
  }
}

TEST(Gbnf, refusals) {
  const std::string start = "cannot constrain to the GBNF grammar: line ";
  const std::vector<std::tuple<std::string, Code, std::string>> rows = {
      {"", Code::invalid_request, "1: a rule named root expected"},
      {"start ::= \"a\"", Code::invalid_request, "1: a rule named root expected"},
      {"root ::= a", Code::invalid_request, "1: a definition of every rule that is referred to expected"},
      {"root ::= \"a", Code::invalid_request, "1: the closing \" of a literal expected"},
      {"root ::= \"a\"\nb := \"c\"", Code::invalid_request, "2: ::= expected"},
      {"root ::= [b-a]", Code::invalid_request, "1: a range in ascending order expected"},
      {"root ::= [a", Code::invalid_request, "1: the closing ] of a set expected"},
      {"root ::= (\"a\"", Code::invalid_request, "1: a closing ) expected"},
      {"root ::= \"\\q\"", Code::invalid_request, "1: one of the escapes \\n \\r \\t \\\\ \\\" \\[ \\] \\x \\u \\U expected"},
      {"root ::= \"\\ud800\"", Code::invalid_request, "1: a character in hexadecimal after \\x, \\u or \\U expected"},
      {"root ::= \"a\"{3,2}", Code::invalid_request, "1: a repetition {m}, {m,} or {m,n} expected"},
      {"root ::= <think>", Code::unsupported, "1: a token in angle brackets is not supported"},
      {"root ::= \"a\" )", Code::invalid_request, "1: the end of the rule expected"},
  };
  for (const auto& [grammar, code, message] : rows) {
    SCOPED_TRACE(grammar);
    expect_refusal(gbnf(grammar), code, start + message);
  }
}

TEST(Lark, notation) {
  const std::vector<Row> rows = {
      {R"(start: "a" | "b" -> named)", {"a", "b"}, {"", "ab"}},
      {"// comment\n?start: sum\n?sum: product | sum \"+\" product\n!product: NUMBER (\"*\" NUMBER)*\nNUMBER.2: /[0-9]+/\n", {"1", "1+2*3"}, {"1+", "a"}},
      {"start: word (\",\" word)*\nword: WORD\n%import common.WORD\n%ignore \" \"", {"a", "a , b,c ", " a"}, {",", "a b"}},
      {"start: A ~ 2 B~1..3 [C] D?\nA: \"a\"\nB: \"b\"..\"c\"\nC: \"c\"i \"d\"\nD: /x/i", {"aab", "aabcbCdX", "aabx"}, {"ab", "aabbbbb", "aaby"}},
      {"start: KEY \"=\" value\n\n| \"none\"\nvalue: INT | STRING\nKEY: (\"a\"..\"z\" | \"_\")+\n%import common (INT, ESCAPED_STRING)\n%import common.ESCAPED_STRING -> STRING\n", {"none", "a_b=12", "k=\"x\\\"y\""}, {"=1", "k=x", "K=1"}},
      {R"(start: "\n\t\"\\\x41\u00e9")", {"\n\t\"\\A\xc3\xa9"}, {}},
      {R"(start: /a.c/ /[^\/]+/s)", {"abc-", "a\"cxy"}, {"a\ncx", "abc/", "abc"}},
      {R"(start: /(?P<n>ab)|[c-d]/i)", {"ab", "AB", "aB", "C", "d"}, {"abc", "e"}},
      {"start: \"(\" start \")\" | _x\n_x: \"x\"", {"x", "((x))"}, {"(x", ""}},
      {"start: expr\nexpr: expr \"-\" expr | NUMBER\n%import common.NUMBER\n%import common.WS\n%ignore WS", {"1", "1 - 2.5e3-\n.5"}, {"- 1", "1 2"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.grammar);
    expect_language(lark(row.grammar), row.valid, row.invalid);
  }
}

TEST(Lark, refusals) {
  const std::string start = "cannot constrain to the Lark grammar: line ";
  const std::vector<std::tuple<std::string, Code, std::string>> rows = {
      {"x: \"a\"", Code::invalid_request, "1: a rule named start expected"},
      {"start: a", Code::invalid_request, "1: a definition of every rule that is referred to expected"},
      {"start: \"a\"\nstart: \"b\"", Code::invalid_request, "2: one definition of each rule expected"},
      {"start: \"a\"\n%declare X", Code::unsupported, "2: %declare is not supported"},
      {"start: pair{\"a\"}", Code::unsupported, "1: a template of rules is not supported"},
      {"%import python.NAME\nstart: NAME", Code::unsupported, "1: an %import from another module than common is not supported"},
      {"%import common.NOTHING\nstart: NOTHING", Code::unsupported, "1: an %import of something that is not among common's terminals is not supported"},
      {"start: /a/x", Code::unsupported, "1: the flag x of a regular expression is not supported"},
      {"start: T\nT: \"a\" other\nother: \"b\"", Code::invalid_request, "2: terminals only within a terminal expected"},
      {"start: \"b\"..\"a\"", Code::invalid_request, "1: a range between two characters in ascending order expected"},
      {"start: (\"a\"", Code::invalid_request, "1: a closing ) expected"},
      {"start: \"a", Code::invalid_request, "1: the closing \" of a string expected"},
  };
  for (const auto& [grammar, code, message] : rows) {
    SCOPED_TRACE(grammar);
    expect_refusal(lark(grammar), code, start + message);
  }
  GrammarBuilder builder;
  const auto look_around = builder.lark("start: /a(?=b)/");
  ASSERT_FALSE(look_around);
  EXPECT_EQ(look_around.error().code, Code::unsupported);
}
