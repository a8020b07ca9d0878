// tools test: every syntax's calls, whole and cut at every byte; what is cut short; what is no call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include "core/json_writer.h"
#include "text/tools/json_scanner.h"
#include "text/tools/loose.h"
#include "text/tools/syntaxes.h"
#include "tool_events.h"

namespace {
constexpr char weather_schema[] = R"({"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"metric":{"type":"boolean"},
 "tags":{"type":"array","items":{"type":"string"}},"place":{"type":"object"},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
 "ratio":{"type":"number"},"unit":{"$ref":"#/$defs/Unit"},"limit":{"type":["integer","null"]}},"required":["city"],
 "$defs":{"Unit":{"enum":["C","F"],"type":"string"}}})";

const std::vector<ToolSpec>& tools() {
  static const std::vector<ToolSpec> all = {{"get_weather", "", weather_schema, false},
                                            {"write_file", "", R"({"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}})", false},
                                            {"ping", "", "", false}};
  return all;
}

struct Example {
  const char* text;
  std::vector<std::string> events;
};

std::vector<std::string> read(const ToolSyntax& syntax, std::vector<std::string_view> pieces) { return merged(events_of(syntax, tools(), pieces)); }

void check_valid(const std::vector<std::string>& events, const std::string& text) {
  std::string arguments;
  for (const std::string& event : events) {
    if (event[0] == 'B') arguments.clear();
    if (event[0] == 'A') arguments = event.substr(event.find(' ') + 1);
    if (event[0] == 'E') {
      EXPECT_TRUE(Json::accept(arguments) && arguments.starts_with('{')) << arguments << " of " << text;
    }
  }
}

// The same events from one piece, from two of any sizes, and from single bytes.
void check(const ToolSyntax& syntax, const std::vector<Example>& examples) {
  for (const Example& example : examples) {
    const std::string_view text = example.text;
    const auto whole = read(syntax, {text});
    EXPECT_THAT(whole, testing::ElementsAreArray(example.events)) << syntax.name() << ": " << text;
    check_valid(whole, example.text);
    std::vector<std::string_view> bytes;
    for (size_t at = 0; at < text.size(); ++at) {
      ASSERT_EQ(read(syntax, {text.substr(0, at), text.substr(at)}), whole) << syntax.name() << " cut at " << at << ": " << text;
      bytes.push_back(text.substr(at, 1));
    }
    EXPECT_EQ(read(syntax, bytes), whole) << syntax.name() << ": " << text;
  }
}

TEST(Tools, QwenXml) {
  check(qwen_xml_syntax(), {
    {"Just an answer, 1 < 2.", {"T Just an answer, 1 < 2."}},
    {"<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
     {"B0 get_weather", R"(A0 {"city": "Paris"})", "E0 "}},
    {"Let me look.\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nNew\nYork\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\n\nDone.",
     {"T Let me look.\n\n", "B0 get_weather", R"(A0 {"city": "New\nYork", "days": 3})", "E0 ", "T \n\nDone."}},
    {"<tool_call>\n<function=ping>\n</function>\n</tool_call>\n<tool_call>\n<function=ping>\n</function>\n</tool_call>\n", {"B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 "}},
    {"\n\n<tool_call><function=ping></function></tool_call>", {"B0 ping", "A0 {}", "E0 "}},
    {"<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>", {"B0 get_weather", R"(A0 {"city": "Oslo"})", "E0 "}},  // no outer tag
    {"<function=ping>\n</function>\n</tool_call>", {"B0 ping", "A0 {}", "E0 "}},
    {"<tool_call>\n<function=ping>\n</function>\n<function=ping>\n</function>\n</tool_call>", {"B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 "}},
    {"<tool_call>\n<function=ping>\n</tool_call>", {"B0 ping", "A0 {}", "E0 "}},  // a closing tag forgotten
    {"<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn\n<parameter=days>\n2\n</function>\n</tool_call>", {"B0 get_weather", R"(A0 {"city": "Bonn", "days": 2})", "E0 "}},
    // The JSON form in the same tags.
    {"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}}\n</tool_call>", {"B0 get_weather", R"(A0 {"city": "Bern"})", "E0 "}},
    {"<tool_call>\n<function=get_weather>{\"city\": \"Bern\"}</function>\n</tool_call> ok", {"B0 get_weather", R"(A0 {"city": "Bern"})", "E0 ", "T  ok"}},
  });
}

TEST(Tools, QwenXmlCastsBySchema) {
  const auto call = [](const std::string& key, const std::string& value) {
    return "<tool_call>\n<function=get_weather>\n<parameter=" + key + ">\n" + value + "\n</parameter>\n</function>\n</tool_call>";
  };
  const std::tuple<const char*, const char*, const char*> cases[] = {
    {"days", "3", "3"}, {"days", " 3 ", "3"}, {"days", "3.0", "3"}, {"days", "007", "7"}, {"days", "+5", "5"}, {"days", "-12", "-12"}, {"days", "many", "\"many\""},
    {"days", "null", "null"}, {"days", "123456789012345678901234567890", "123456789012345678901234567890"}, {"days", "", "\"\""},
    {"ratio", "1.5", "1.5"}, {"ratio", ".5", "0.5"}, {"ratio", "2", "2"}, {"ratio", "1e3", "1e3"}, {"ratio", "NaN", "\"NaN\""},
    {"metric", "true", "true"}, {"metric", "False", "false"}, {"metric", "yes", "\"yes\""},
    {"tags", "[\"a\", \"b\"]", "[\"a\", \"b\"]"}, {"tags", "['a', \"b\", None]", "[\"a\",\"b\",null]"}, {"tags", "[1,", "\"[1,\""},
    {"place", "{\"x\": {\"y\": [1, 2]}}", "{\"x\": {\"y\": [1, 2]}}"}, {"place", "{'x': True,}", "{\"x\":true}"}, {"place", "here", "\"here\""},
    {"note", "null", "null"}, {"note", "nu", "\"nu\""}, {"note", "nullable", "\"nullable\""}, {"note", "Rain", "\"Rain\""}, {"note", "", "\"\""}, {"note", "5", "\"5\""},
    {"city", "null", "\"null\""}, {"city", "5", "\"5\""}, {"city", "true", "\"true\""}, {"city", "", "\"\""}, {"city", "\n", "\"\\n\""}, {"city", " x ", "\" x \""},
    {"unit", "C", "\"C\""}, {"limit", "4", "4"}, {"limit", "None", "null"},
    {"unknown", "4", "4"}, {"unknown", "{\"a\": 1}", "{\"a\": 1}"}, {"unknown", "some words", "\"some words\""}, {"unknown", "true", "true"},
  };
  for (const auto& [key, value, json] : cases) {
    const std::string text = call(key, value);
    check(qwen_xml_syntax(), {{text.c_str(), {"B0 get_weather", std::string("A0 {\"") + key + "\": " + json + "}", "E0 "}}});
  }
}

TEST(Tools, QwenXmlTextThatLooksLikeMarkup) {
  const auto call = [](const std::string& value) { return "<tool_call>\n<function=write_file>\n<parameter=content>\n" + value + "\n</parameter>\n</function>\n</tool_call>"; };
  for (const std::string value : {"a</parameter>b", "<parameter=x>", "</function>", "a\n</parameter>x\n", "</tool_call>", "\"quotes\" \\ back", "tab\tand\x01 control", "日本語 é 🙂",
                                  "<tool_call>\n", "</parameter", "</parameter> and so on", "<", "\n\n", "x\n\n", "\n</function>\nmore", "a\n<parameter=other>\nb", "</parameter>\n\n\nx", "{\"a\": 1}",
                                  "<div>\n  <p>1 < 2</p>\n</div>"}) {
    const std::string text = call(value), expected = "A0 {\"content\": " + Json(value).dump() + "}";
    check(qwen_xml_syntax(), {{text.c_str(), {"B0 write_file", expected, "E0 "}}});
  }
  // Within a JSON value.
  check(qwen_xml_syntax(), {{"<tool_call>\n<function=get_weather>\n<parameter=place>\n{\"a\": \"</parameter></function>\"}\n</parameter>\n</function>\n</tool_call>",
                             {"B0 get_weather", R"(A0 {"place": {"a": "</parameter></function>"}})", "E0 "}}});
  // Twice the same key: both are there, readers take the last.
  check(qwen_xml_syntax(), {{"<function=write_file><parameter=path>a</parameter><parameter=path>b</parameter></function>",
                             {"B0 write_file", R"(A0 {"path": "a", "path": "b"})", "E0 "}}});
  check(qwen_xml_syntax(), {{"<function=write_file><parameter=we\"ird>a</parameter></function>", {"B0 write_file", R"(A0 {"we\"ird": "a"})", "E0 "}}});
}

TEST(Tools, QwenXmlCutAndMalformed) {
  check(qwen_xml_syntax(), {
    {"<tool_call>\n<function=get_weather>\n<parameter=city>\nPar", {"B0 get_weather", "A0 {\"city\": \"Par", "C0 "}},
    {"<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n", {"B0 get_weather", "A0 {\"city\": \"Paris", "C0 "}},
    {"<tool_call>\n<function=get_weather>\n<parameter=ci", {"B0 get_weather", "C0 "}},
    {"<tool_call>\n<function=get_w", {"M <tool_call>\n<function=get_w"}},
    {"<tool_call>\n", {"M <tool_call>\n"}},
    {"\n\n<tool_call>\nhm", {"T \n\n", "M <tool_call>\n", "T hm"}},
    {"Hm <tool_ca", {"T Hm <tool_ca"}},
    {"<tool_call>\n<function=ping>\n</function>\n</tool", {"B0 ping", "A0 {}", "E0 "}},
    {"<tool_call>\n<function=ping>\n</function>\n</toys>", {"B0 ping", "A0 {}", "E0 ", "T \n</toys>"}},
    {"<tool_call>\n<function=rm_rf>\n<parameter=path>\n/\n</parameter>\n</function>\n</tool_call>",
     {"M <tool_call>\n<function=rm_rf", "T >\n<parameter=path>\n/\n</parameter>\n</function>\n</tool_call>"}},
    {"<tool_call> and text", {"M <tool_call> ", "T and text"}},
    {"<tool_call>\n<tool_call>\n<function=ping>\n</function>\n</tool_call>", {"M <tool_call>\n", "B0 ping", "A0 {}", "E0 "}},
    {"The tag <function=ping> is used so.", {"T The tag ", "M <function=ping> ", "T is used so."}},
    {"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": oops}}\n</tool_call>", {"B0 get_weather", "A0 {\"city\": ", "C0 ", "T oops}}\n</tool_call>"}},
    {"<tool_call>\n{'name': 'ping'}\n</tool_call>", {"M <tool_call>\n{", "T 'name': 'ping'}\n</tool_call>"}},
    {"<<tool_call>\n<function=ping>\n</function>\n</tool_call>", {"T <", "B0 ping", "A0 {}", "E0 "}},
  });
}

TEST(Tools, Hermes) {
  check(hermes_syntax(), {
    {"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"place\": {\"a\": [1, {\"b\": \"}\"}]}}}\n</tool_call>",
     {"B0 get_weather", R"(A0 {"city": "Paris", "place": {"a": [1, {"b": "}"}]}})", "E0 "}},
    {"Sure.\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>\nAll done",
     {"T Sure.\n", "B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 ", "T \nAll done"}},
    {"<tool_call>{\"arguments\": {\"city\": \"Rome\"}, \"name\": \"get_weather\"}</tool_call>", {"B0 get_weather", R"(A0 {"city": "Rome"})", "E0 "}},
    {"<tool_call>\n{\"id\": \"x\", \"name\": \"ping\", \"n\": [1, {\"name\": \"other\"}], \"arguments\": {}}\n</tool_call>", {"B0 ping", "A0 {}", "E0 "}},
    {"<tool_call>\n{\"name\": \"ping\"}\n</tool_call>", {"B0 ping", "A0 {}", "E0 "}},
    {"<tool_call>\n{\"name\": \"ping\", \"arguments\": null}\n</tool_call>", {"B0 ping", "A0 {}", "E0 "}},
    {"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": \"{\\\"city\\\": \\\"Rome\\\"}\"}\n</tool_call>", {"B0 get_weather", R"(A0 {"city": "Rome"})", "E0 "}},
    {"<tool_call>\n{\"type\": \"function\", \"function\": {\"name\": \"ping\", \"arguments\": {}}}\n</tool_call>", {"B0 ping", "A0 {}", "E0 "}},
    {"<tool_call>\n[{\"name\": \"ping\", \"arguments\": {}}, {\"name\": \"ping\", \"arguments\": {}}]\n</tool_call>", {"B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 "}},
    {"<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>", {"B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 "}},
    {"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"\\u00e9\\ud83d\\ude42 日本\"}}\n</tool_call>", {"B0 get_weather", "A0 {\"city\": \"\\u00e9\\ud83d\\ude42 日本\"}", "E0 "}},
    {"<tool_call>\n{\"name\": \"ping\", \"arguments\": {}\n</tool_call>", {"B0 ping", "A0 {}", "E0 "}},  // the last brace forgotten
    {"<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}", {"B0 ping", "A0 {}", "E0 "}},
    {"<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}}\n</tool_call>", {"B0 ping", "A0 {}", "E0 ", "T }\n</tool_call>"}},
    {"<tool_call>\n<function=get_weather>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>", {"B0 get_weather", R"(A0 {"days": 2})", "E0 "}},  // drifted
    {"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Pa", {"B0 get_weather", "A0 {\"city\": \"Pa", "C0 "}},
    {"<tool_call>\n{\"name\": \"get_weather\", \"argum", {"M <tool_call>\n{\"name\": \"get_weather\", \"argum"}},
    {"<tool_call>\n{\"name\": \"nobody\", \"arguments\": {}}\n</tool_call>", {"M <tool_call>\n{\"name\": \"nobody", "T \", \"arguments\": {}}\n</tool_call>"}},
    {"<tool_call>\n{\"arguments\": {\"a\": 1}, \"name\": \"nobody\"}\n</tool_call>", {"M <tool_call>\n{\"arguments\": {\"a\": 1}, \"name\": \"nobody", "T \"}\n</tool_call>"}},
    {"<tool_call>\n{\"name\": \"ping\", \"arguments\": [1]}\n</tool_call>", {"M <tool_call>\n{\"name\": \"ping\", \"arguments\": ", "T [1]}\n</tool_call>"}},
    {"<tool_call>\n{\"name\": 5}\n</tool_call>", {"M <tool_call>\n{\"name\": ", "T 5}\n</tool_call>"}},
    {"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"a\nb\"}}", {"B0 get_weather", "A0 {\"city\": \"a", "C0 ", "T \nb\"}}"}},
  });
}

TEST(Tools, Llama3) {
  check(llama3_syntax(), {
    {"{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}", {"B0 get_weather", R"(A0 {"city": "Paris"})", "E0 "}},
    {"<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}", {"B0 get_weather", R"(A0 {"city": "Paris"})", "E0 "}},
    {"{\"type\": \"function\", \"name\": \"ping\", \"parameters\": {}}", {"B0 ping", "A0 {}", "E0 "}},
    {"{\"name\": \"ping\", \"parameters\": {}}; {\"name\": \"ping\", \"arguments\": {}}", {"B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 "}},
    {"I will ask.\n{\"name\": \"ping\", \"parameters\": {}}\nThere.", {"T I will ask.\n", "B0 ping", "A0 {}", "E0 ", "T \nThere."}},
    {"<function=get_weather>{\"city\": \"Paris\"}</function>", {"B0 get_weather", R"(A0 {"city": "Paris"})", "E0 "}},
    // Answers in JSON that are no calls stay text.
    {"{\"name\": \"John\", \"age\": 5}", {"T {\"name\": \"John\", \"age\": 5}"}},
    {"{\"answer\": {\"name\": \"ping\"}}", {"T {\"answer\": {\"name\": \"ping\"}}"}},
    {"{\"type\": \"object\"}", {"T {\"type\": \"object\"}"}},
    {"{\"na", {"T {\"na"}},
    {"int main() { return 0; }\n{\n}\n", {"T int main() { return 0; }\n{\n}\n"}},
    {"{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Pa", {"B0 get_weather", "A0 {\"city\": \"Pa", "C0 "}},
    {"{\"name\": \"get_weather\", \"par", {"M {\"name\": \"get_weather\", \"par"}},
    {"<|python_tag|>print(1)", {"M <|python_tag|>", "T print(1)"}},
  });
}

TEST(Tools, Mistral) {
  for (const ToolSyntax* syntax : {&mistral_syntax(), &mistral_args_syntax()})
    check(*syntax, {
      {"[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]", {"B0 get_weather", R"(A0 {"city": "Paris"})", "E0 "}},
      {"Yes. [TOOL_CALLS] [{\"name\": \"ping\", \"arguments\": {}, \"id\": \"abc123456\"}, {\"name\": \"ping\", \"arguments\": {}}] ok",
       {"T Yes. ", "B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 ", "T  ok"}},
      {"[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Paris\"}", {"B0 get_weather", R"(A0 {"city": "Paris"})", "E0 "}},
      {"[TOOL_CALLS]ping[CALL_ID]abc123456[ARGS]{}[TOOL_CALLS]ping{}", {"B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 "}},
      {"[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Pa", {"B0 get_weather", "A0 {\"city\": \"Pa", "C0 "}},
      {"[TOOL_CALLS][{\"name\": \"ping\", \"arguments\": {}}, ", {"B0 ping", "A0 {}", "E0 "}},
      {"[TOOL_CALLS][{\"name\": \"ping\", \"arguments\": {}}, {\"name\": \"no", {"B0 ping", "A0 {}", "E0 ", "M , {\"name\": \"no"}},
      {"[TOOL_CALLS]nobody[ARGS]{}", {"M [TOOL_CALLS]nobody[ARGS]", "T {}"}},
      {"[TOOL_CALLS][1]", {"M [TOOL_CALLS][", "T 1]"}},
      {"[1] and [TOOL", {"T [1] and [TOOL"}},
    });
}

TEST(Tools, Gemma) {
  check(gemma4_syntax(), {
    {"<|tool_call>call:get_weather{city:<|\"|>Paris<|\"|>,days:3,metric:true,tags:[<|\"|>a<|\"|>,<|\"|>b<|\"|>],place:{x:1.5,y:null}}<tool_call|>",
     {"B0 get_weather", R"(A0 {"city":"Paris","days":3,"metric":true,"tags":["a","b"],"place":{"x":1.5,"y":null}})", "E0 "}},
    {"Hm.<|tool_call>call:ping{}<tool_call|><|tool_call>call:ping{}<tool_call|>", {"T Hm.", "B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 "}},
    {"<|tool_call>call:write_file{content:<|\"|>say \"hi\", {a}\n<| \\<|\"|>}<tool_call|>", {"B0 write_file", R"(A0 {"content":"say \"hi\", {a}\n<| \\"})", "E0 "}},
    {"<|tool_call>call:get_weather{\"city\": \"Pa\\\"ris\", days: None, note: two words}<tool_call|>", {"B0 get_weather", R"(A0 {"city":"Pa\"ris","days":null,"note":"two words"})", "E0 "}},
    {"<|tool_call>call:get_weather{city:<|\"|>Par", {"B0 get_weather", "A0 {\"city\":\"Par", "C0 "}},
    {"<|tool_call>call:nobody{}<tool_call|>", {"M <|tool_call>call:nobody", "T {}<tool_call|>"}},
    {"<|tool_call>help", {"M <|tool_call>", "T help"}},
    {"<|tool_call>call:ping{a b}", {"B0 ping", "A0 {\"a\"", "C0 ", "T b}"}},
  });
  check(function_gemma_syntax(), {
    {"<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}<end_function_call>", {"B0 get_weather", R"(A0 {"city":"Paris","days":3})", "E0 "}},
  });
  check(tool_code_syntax(), {
    {"```tool_code\n{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}\n```", {"B0 get_weather", R"(A0 {"city": "Paris"})", "E0 "}},
    {"```tool_code\nget_weather(city='Pa\"ris', days=3, metric=True, tags=['a', 'b'], place={'x': None})\n```\nNow wait.",
     {"B0 get_weather", R"(A0 {"city":"Pa\"ris","days":3,"metric":true,"tags":["a","b"],"place":{"x":null}})", "E0 ", "T \nNow wait."}},
    {"```tool_code\n[ping(), get_weather(city=\"Rome\")]\n```", {"B0 ping", "A0 {}", "E0 ", "B1 get_weather", R"(A1 {"city":"Rome"})", "E1 "}},
    {"```tool_code\n[{\"name\": \"ping\", \"parameters\": {}}]\n```", {"B0 ping", "A0 {}", "E0 "}},
    {"```python\nprint(1)\n```", {"T ```python\nprint(1)\n```"}},
    {"```tool_code\nprint(1)\n```", {"M ```tool_code\nprint", "T (1)\n```"}},
    {"{\"name\": \"ping\", \"parameters\": {}}", {"B0 ping", "A0 {}", "E0 "}},
  });
}

TEST(Tools, JsonMarkup) {
  check(json_syntax({.open = "<TOOLCALL>", .close = "</TOOLCALL>", .array = true}), {
    {"Yes <TOOLCALL>[{\"name\": \"ping\", \"arguments\": {}}, {\"name\": \"ping\", \"arguments\": {}}]</TOOLCALL> so",
     {"T Yes ", "B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 ", "T  so"}},
    {"<TOOLCALL>[]</TOOLCALL>", {"M <TOOLCALL>[", "T ]</TOOLCALL>"}},
  });
  check(json_syntax({.array = true}), {
    {"[{\"name\": \"ping\", \"arguments\": {}}, {\"name\": \"ping\", \"arguments\": {}}]", {"B0 ping", "A0 {}", "E0 ", "B1 ping", "A1 {}", "E1 "}},
    {"[1, 2]", {"T [1, 2]"}},
    {"[{\"a\": 1}]", {"T [{\"a\": 1}]"}},
    {"[a link](there)", {"T [a link](there)"}},
  });
  EXPECT_EQ(&json_syntax({.open = "<A>"}), &json_syntax({.open = "<A>"}));
  EXPECT_NE(&json_syntax({.open = "<A>"}), &json_syntax({.open = "<B>"}));
}

TEST(Tools, ArgumentsStreamAsTheyCome) {
  const auto parser = qwen_xml_syntax().parser(tools());
  std::vector<ToolEvent> events;
  parser->push("<tool_call>\n<function=write_file>\n<parameter=content>\nfirst words", events);
  ASSERT_EQ(merged(events), (std::vector<std::string>{"B0 write_file", "A0 {\"content\": \"first words"}));
  EXPECT_TRUE(parser->inside_call());
  events.clear();
  parser->push(" and more\n", events);
  EXPECT_EQ(merged(events), std::vector<std::string>{"A0  and more"});  // the newline may belong to the closing tag
  events.clear();
  parser->push("</parameter>\n</function>\n</tool_call>", events);
  EXPECT_EQ(merged(events), (std::vector<std::string>{"A0 \"}", "E0 "}));
  EXPECT_FALSE(parser->inside_call());

  const auto json = hermes_syntax().parser(tools());
  events.clear();
  json->push("<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Pa", events);
  EXPECT_EQ(merged(events), (std::vector<std::string>{"B0 get_weather", "A0 {\"city\": \"Pa"}));
}

TEST(Tools, BytesThatAreNoTextBecomeText) {
  const std::string text = "<function=write_file><parameter=content>a\xff\xc3</parameter></function>\xe6\x97";
  const auto events = read(qwen_xml_syntax(), {text});
  EXPECT_EQ(events, (std::vector<std::string>{"B0 write_file", "A0 {\"content\": \"a\xef\xbf\xbd\xef\xbf\xbd\"}", "E0 ", "T \xef\xbf\xbd"}));
}

TEST(Tools, LongAnswersTakeLinearTime) {
  std::string text = "<tool_call>\n<function=write_file>\n<parameter=content>\n";
  for (int i = 0; i < 10000; i++) text += "</parameter>            \n\n\n<tool_call>{\"<function=<<<";
  for (int i = 0; i < 10000; i++) text += "<tool_call>\n{\"name\":{\"{{{";
  for (const ToolSyntax* syntax : tool_syntaxes()) {
    const auto start = std::chrono::steady_clock::now();
    (void)read(*syntax, {text});
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << syntax->name();
  }
}

TEST(Tools, RandomPiecesOfMarkup) {
  static constexpr std::string_view parts[] = {"<tool_call>", "</tool_call>", "<function=ping>", "<function=get_weather>", "</function>", "<parameter=city>", "<parameter=days>", "</parameter>", "\n", " ",
    "{", "}", "[", "]", "\"", ":", ",", "\"name\"", "\"ping\"", "\"arguments\"", "{}", "[TOOL_CALLS]", "ping", "[ARGS]", "<|python_tag|>", "<|tool_call>", "call:", "<tool_call|>", "<|\"|>", "```tool_code\n", "```",
    "(", ")", "=", "'", "x", "5", "true", "\\", "{\"name\": \"ping\", \"arguments\": {", "{\"name\": \"ping\", \"arguments\": {}}", "é", "<|tool_call>call:ping{", "a:"};
  std::mt19937 random(7);
  for (int round = 0; round < 4000; round++) {
    std::string text;
    for (size_t n = random() % 30; n > 0; n--) text += parts[random() % std::size(parts)];
    for (const ToolSyntax* syntax : tool_syntaxes()) {
      const auto whole = read(*syntax, {text});
      check_valid(whole, text);
      if (std::ranges::none_of(whole, [](const std::string& event) { return event[0] == 'B'; })) {  // no call: every byte is there
        std::string all;
        for (const std::string& event : whole) all += event.substr(2);
        ASSERT_EQ(all, text) << syntax->name();
      }
      std::vector<std::string_view> pieces;
      for (size_t at = 0, n; at < text.size(); at += n) pieces.push_back(std::string_view(text).substr(at, n = 1 + random() % 9));
      ASSERT_EQ(read(*syntax, pieces), whole) << syntax->name() << ": " << text;
    }
  }
}

TEST(Tools, ReadsTools) {
  const auto tools = read_tools(R"([{"type":"function","function":{"name":"a","description":"d","parameters":{"type":"object","properties":{"z":{},"b":{}}},"strict":true}},
                                    {"type":"function","name":"b.c-d"}])");
  ASSERT_TRUE(tools);
  EXPECT_EQ((*tools)[0].parameters_json, R"({"type":"object","properties":{"z":{},"b":{}}})");
  EXPECT_TRUE((*tools)[0].strict);
  EXPECT_EQ((*tools)[1].name, "b.c-d");
  EXPECT_TRUE(read_tools("")->empty());
  for (const char* bad : {"{}", "[1]", R"([{"type":"web_search"}])", R"([{"type":"function","function":{}}])", R"([{"function":{"name":"a b"}}])", R"([{"function":{"name":"<x>"}}])",
                          R"([{"function":{"name":"a"}},{"function":{"name":"a"}}])", R"([{"function":{"name":"a","parameters":[]}}])", "["}) {
    const auto refused = read_tools(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::invalid_request) << bad;
  }
}

TEST(Tools, JsonScanner) {
  for (const char* good : {"{}", "[]", " [1, -0.5e+3, 0, \"\\u00e9\\ud83d\\ude00\", true, null] ", "5", "-0", "\"a\"", "{\"a\": {\"b\": []}}", "false"}) EXPECT_TRUE(is_json(good)) << good;
  for (const char* bad : {"", " ", "{", "[1,]", "{\"a\" 1}", "{a: 1}", "01", "1.", ".5", "+1", "1e", "\"\\x\"", "\"\\ud800\"", "\"\\udc00\"", "tru", "truex", "[1] 2", "{,}", "{\"a\":1,}", "\"\n\"", "]"}) {
    EXPECT_FALSE(is_json(bad)) << bad;
    EXPECT_FALSE(Json::accept(bad)) << bad;
  }
  EXPECT_FALSE(is_json(std::string(100000, '[')));
}
}  // namespace
