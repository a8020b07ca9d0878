// tool templates test: the syntax found for templates in the style of each family, in our own words.
#include <gtest/gtest.h>
#include "core/mapped_file.h"
#include "text/text.h"
#include "text/tools/syntaxes.h"
#include "tool_events.h"

namespace {
const ToolSyntax* found(const std::string& source) {
  const auto compiled = ChatTemplate::compile(source);
  EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().message);
  return compiled ? find_tool_syntax(**compiled, source) : nullptr;
}

// A template in ChatML whose calls are written by `call`, for each `c` of tool_calls.
std::string chat_template(const std::string& call, const std::string& instructions = "Tools: {{ tools | tojson }}", const std::string& before = "", const std::string& after = "") {
  return "{% if tools %}<|im_start|>system\n" + instructions + "<|im_end|>\n{% endif %}"
         "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}{% if m.tool_calls %}" + before + "{% for t in m.tool_calls %}{% set c = t.function %}" + call +
         "{% endfor %}" + after + "{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
}

TEST(ToolTemplates, KnownFamilies) {
  EXPECT_EQ(found(*read_file(CALLA_SOURCE_DIR "/tests/template/qwen36.jinja", 1 << 20)), &qwen_xml_syntax());
  EXPECT_EQ(found(chat_template("<tool_call>\n{\"name\": \"{{ c.name }}\", \"arguments\": {{ c.arguments | tojson }}}\n</tool_call>")), &hermes_syntax());
  EXPECT_EQ(found(chat_template("{\"name\": \"{{ c.name }}\", \"parameters\": {{ c.arguments | tojson }}}")), &llama3_syntax());
  EXPECT_EQ(found(chat_template("{% if t.id | length != 9 %}{{ raise_exception('ids have nine characters') }}{% endif %}{\"name\": \"{{ c.name }}\", \"arguments\": {{ c.arguments | tojson }}}",
                                "[AVAILABLE_TOOLS]{{ tools | tojson }}", "[TOOL_CALLS][", "]")), &mistral_syntax());
  EXPECT_EQ(found(chat_template("[TOOL_CALLS]{{ c.name }}[ARGS]{{ c.arguments | tojson }}")), &mistral_args_syntax());
  EXPECT_EQ(found(chat_template("<|tool_call>call:{{ c.name }}{}<tool_call|>")), &gemma4_syntax());
  EXPECT_EQ(found(chat_template("<start_function_call>call:{{ c.name }}{}<end_function_call>")), &function_gemma_syntax());
  EXPECT_EQ(found(chat_template("```tool_code\n{{ c.name }}()\n```")), &tool_code_syntax());
}

TEST(ToolTemplates, InstructionsDoNotMislead) {
  EXPECT_EQ(found(chat_template("<tool_call>\n{\"name\": \"{{ c.name }}\", \"arguments\": {{ c.arguments | tojson }}}\n</tool_call>", "{{ tools | tojson }} Never write <function=x><parameter=y>.")),
            &hermes_syntax());
}

TEST(ToolTemplates, IgnoredTools) {
  EXPECT_EQ(found("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"), nullptr);
  EXPECT_EQ(found("{{ raise_exception('no') }}"), nullptr);
}

TEST(ToolTemplates, CallsThatAreNotRendered) {
  const std::string plain = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}<|im_end|>\n{% endfor %}";
  EXPECT_EQ(found("{{ tools | tojson }} Answer with <tool_call> and JSON." + plain), &hermes_syntax());
  EXPECT_EQ(found("{{ tools | tojson }}" + plain), &json_syntax({.open = "<tool_call>\n", .close = "\n</tool_call>"}));
  EXPECT_EQ(found("{{ tools | tojson }}{# <|python_tag|> #}" + plain), &llama3_syntax());
  EXPECT_EQ(found(chat_template("{{ c.name }} with {{ c.arguments | tojson }}")), &json_syntax({.open = "<tool_call>\n", .close = "\n</tool_call>"}));
}

// What a template brings along is taken from it.
TEST(ToolTemplates, DerivedMarkup) {
  const std::vector<ToolSpec> tools = {{"f", "", "", false}};
  const std::string json = "{\"name\": \"{{ c.name }}\", \"arguments\": {{ c.arguments | tojson }}}";
  const auto reads = [&](const ToolSyntax* syntax, std::string_view text) {
    EXPECT_EQ(syntax->name(), "json");
    EXPECT_EQ(merged(events_of(*syntax, tools, std::vector{text})), (std::vector<std::string>{"B0 f", "A0 {\"a\": 1}", "E0 "})) << text;
  };
  const ToolSyntax* array = found(chat_template(json, "{{ tools | tojson }}", "<TOOLCALL>[", "]</TOOLCALL>"));
  EXPECT_EQ(array, &json_syntax({.open = "<TOOLCALL>", .close = "</TOOLCALL>", .array = true}));
  reads(array, "<TOOLCALL>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]</TOOLCALL>");
  const ToolSyntax* single = found(chat_template("<|call|>\n" + json + "<|/call|>"));
  EXPECT_EQ(single, &json_syntax({.open = "<|call|>\n", .close = "<|/call|>"}));
  reads(single, "<|call|>{\"name\": \"f\", \"arguments\": {\"a\": 1}}<|/call|>");
  const ToolSyntax* bare = found(chat_template(json));
  EXPECT_EQ(bare, &json_syntax({}));
  reads(bare, "{\"name\": \"f\", \"arguments\": {\"a\": 1}}");
  const ToolSyntax* bare_array = found(chat_template(json, "{{ tools | tojson }}", "[", "]"));
  EXPECT_EQ(bare_array, &json_syntax({.array = true}));
  reads(bare_array, "[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]");
  const ToolSyntax* parameters = found(chat_template("<x>{\"name\": \"{{ c.name }}\", \"parameters\": {{ c.arguments | tojson }}}</x>"));
  EXPECT_EQ(parameters, &json_syntax({.open = "<x>", .close = "</x>", .arguments_key = "parameters"}));
  reads(parameters, "<x>{\"name\": \"f\", \"parameters\": {\"a\": 1}}</x>");
}
}  // namespace
