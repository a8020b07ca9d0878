// tool grammar test: whatever the grammar of calls can write is read back as calls whose arguments keep to the schema.
#include <gtest/gtest.h>
#include "core/json_writer.h"
#include "grammar_walk.h"
#include "list_tokenizer.h"
#include "text/tools/syntaxes.h"
#include "tool_events.h"

namespace {
constexpr char order_schema[] = R"({"type":"object","properties":{
  "item":{"type":"string","description":"free text"},"count":{"type":"integer","minimum":1,"maximum":9},"size":{"enum":["S","M","L"]},
  "code":{"type":"string","pattern":"^[A-Z]{2}-[0-9]+$"},"gift":{"type":"boolean"},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
  "tags":{"type":"array","items":{"enum":["new","old"]},"maxItems":3},"mood":{"$ref":"#/$defs/Mood"},"limit":{"type":["integer","null"]}},
  "required":["item","count","size"],"additionalProperties":false,"$defs":{"Mood":{"type":"string","enum":["good","bad"]}}})";

const std::vector<ToolSpec>& strict_tools() {
  static const std::vector<ToolSpec> tools = {{"order", "", order_schema, true}, {"ping", "", R"({"type":"object","properties":{},"additionalProperties":false})", true}};
  return tools;
}

struct Call {
  std::string name;
  Json arguments;
};

// The calls of a text that has nothing else in it.
std::vector<Call> calls_in(const ToolSyntax& syntax, std::span<const ToolSpec> tools, const std::string& text) {
  std::vector<Call> calls;
  std::string arguments;
  for (const ToolEvent& event : events_of(syntax, tools, std::vector<std::string_view>{text})) {
    switch (event.kind) {
      case ToolEvent::Kind::begin: calls.push_back({event.name, {}}), arguments.clear(); break;
      case ToolEvent::Kind::arguments: arguments += event.text; break;
      case ToolEvent::Kind::end: calls.back().arguments = Json::parse(arguments, nullptr, false); break;
      default: ADD_FAILURE() << syntax.name() << " wrote what is no call: " << text; return {};
    }
  }
  return calls;
}

void check_order(const Json& order, const std::string& text) {
  ASSERT_TRUE(order.is_object()) << text;
  for (const auto& [key, value] : order.items()) {
    if (key == "item") EXPECT_TRUE(value.is_string()) << text;
    else if (key == "count") EXPECT_TRUE(value.is_number_integer() && value >= 1 && value <= 9) << text;
    else if (key == "size") EXPECT_TRUE(value == "S" || value == "M" || value == "L") << text;
    else if (key == "code") EXPECT_TRUE(value.is_string() && value.get<std::string>().substr(2, 1) == "-") << text;
    else if (key == "gift") EXPECT_TRUE(value.is_boolean()) << text;
    else if (key == "note") EXPECT_TRUE(value.is_string() || value.is_null()) << text;
    else if (key == "tags") EXPECT_TRUE(value.is_array() && value.size() <= 3) << text;
    else if (key == "mood") EXPECT_TRUE(value == "good" || value == "bad") << text;
    else if (key == "limit") EXPECT_TRUE(value.is_number_integer() || value.is_null()) << text;
    else ADD_FAILURE() << key << " in " << text;
  }
  for (const char* key : {"item", "count", "size"}) EXPECT_TRUE(order.contains(key)) << text;
}

TEST(ToolGrammar, StrictCallsAreReadBack) {
  for (const ToolSyntax* syntax : tool_syntaxes()) {
    for (const bool parallel : {false, true}) {
      GrammarBuilder builder;
      const auto root = syntax->calls(builder, strict_tools(), parallel);
      ASSERT_TRUE(root) << syntax->name() << ": " << root.error().message;
      int written = 0;
      for (uint32_t seed = 0; seed < 150; seed++) {
        std::string text;
        if (!GrammarWalk(builder, seed).write(*root, text)) continue;
        ++written;
        const auto calls = calls_in(*syntax, strict_tools(), text);
        EXPECT_TRUE(parallel ? !calls.empty() : calls.size() == 1) << syntax->name() << ": " << text;
        for (const Call& call : calls) {
          if (call.name == "order") check_order(call.arguments, text);
          else EXPECT_EQ(call.arguments, Json::object()) << text;
        }
      }
      EXPECT_GT(written, 75) << syntax->name();
      EXPECT_TRUE(std::move(builder).build(*root)) << syntax->name();
    }
  }
}

TEST(ToolGrammar, AnyArgumentsAreReadBack) {
  const std::vector<ToolSpec> tools = {{"order", "", order_schema, false}, {"any", "", "", false}};
  for (const ToolSyntax* syntax : tool_syntaxes()) {
    GrammarBuilder builder;
    const auto root = syntax->calls(builder, tools, true);
    ASSERT_TRUE(root) << syntax->name() << ": " << root.error().message;
    for (uint32_t seed = 0; seed < 80; seed++) {
      std::string text;
      if (!GrammarWalk(builder, seed).write(*root, text)) continue;
      for (const Call& call : calls_in(*syntax, tools, text)) EXPECT_TRUE(call.arguments.is_object()) << syntax->name() << ": " << text;
    }
  }
}

bool matches(const std::shared_ptr<const Grammar>& grammar, const std::string& text) {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; byte++) bytes.emplace_back(1, static_cast<char>(byte));
  static const ListTokenizer tokenizer(bytes);
  static const auto tokens = TokenTrie::make(tokenizer, std::vector{tokenizer.end()});
  const auto matcher = GrammarMatcher::make(grammar, tokens);
  return matcher->accept_bytes(text) && matcher->may_end();
}

TEST(ToolGrammar, QwenXmlByHand) {
  const std::vector<ToolSpec> tools = {{"f", "", R"({"type":"object","properties":{"s":{"type":"string"},"b":{"type":"boolean"}},"required":["s"]})", true}};
  const auto one = [](const std::string& parameters) { return "<tool_call>\n<function=f>\n" + parameters + "</function>\n</tool_call>"; };
  const std::string s = "<parameter=s>\nsome\ntext\n</parameter>\n", b = "<parameter=b>\ntrue\n</parameter>\n";
  std::shared_ptr<const Grammar> grammars[2];
  for (const bool parallel : {false, true}) {
    GrammarBuilder builder;
    const auto root = qwen_xml_syntax().calls(builder, tools, parallel);
    ASSERT_TRUE(root);
    auto built = std::move(builder).build(*root);
    ASSERT_TRUE(built);
    grammars[parallel] = *built;
  }
  const auto fits = [&](const std::string& text, bool parallel = false) { return matches(grammars[parallel], text); };
  EXPECT_TRUE(fits(one(s)));
  EXPECT_TRUE(fits(one(s + b)));
  EXPECT_FALSE(fits(one(b)));      // s is required
  EXPECT_FALSE(fits(one(b + s)));  // in their order
  EXPECT_FALSE(fits(one(s + "<parameter=b>\nyes\n</parameter>\n")));
  EXPECT_FALSE(fits(one(s + "<parameter=c>\n1\n</parameter>\n")));
  EXPECT_FALSE(fits("text " + one(s)));
  EXPECT_FALSE(fits(one(s) + "\n" + one(s)));
  EXPECT_TRUE(fits(one(s) + "\n" + one(s + b), true));
  EXPECT_TRUE(fits(one("<parameter=s>\na</parameter>b\n</parameter>\n")));
  EXPECT_FALSE(fits(one("<parameter=s>\na\n</parameter>\n</function>\n</tool_call>\n</parameter>\n")));
}

TEST(ToolGrammar, WhatCannotBeEnforcedIsNamed) {
  const auto refusal = [](const ToolSyntax& syntax, const char* property) {
    const std::vector<ToolSpec> tools = {{"f", "", std::string(R"({"type":"object","properties":{"p":)") + property + "}}", true}};
    GrammarBuilder builder;
    const auto root = syntax.calls(builder, tools, false);
    return root ? std::string() : std::string(root.error().code == Code::unsupported ? "" : "not unsupported: ") + root.error().message;
  };
  EXPECT_NE(refusal(qwen_xml_syntax(), R"({"type":"string","pattern":"a","maxLength":5})").find("pattern"), std::string::npos);
  EXPECT_NE(refusal(qwen_xml_syntax(), R"({"type":"string","not":{"const":"x"}})").find("not"), std::string::npos);
  EXPECT_NE(refusal(gemma4_syntax(), R"({"type":"array","uniqueItems":true})").find("uniqueItems"), std::string::npos);
  EXPECT_EQ(refusal(qwen_xml_syntax(), R"({"type":"string","title":"a title","default":"x"})"), "");
  GrammarBuilder builder;
  EXPECT_FALSE(hermes_syntax().calls(builder, {}, false));
}
}  // namespace
