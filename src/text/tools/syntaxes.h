// syntaxes: every known way of writing calls, one file each; found by what a template renders (find.cpp).
#pragma once
#include "text/tools.h"

const ToolSyntax& qwen_xml_syntax();      // <tool_call> <function=f> <parameter=k>
const ToolSyntax& hermes_syntax();        // <tool_call> {"name": "f", "arguments": {…}}
const ToolSyntax& llama3_syntax();        // {"name": "f", "parameters": {…}}, after <|python_tag|> or not
const ToolSyntax& mistral_syntax();       // [TOOL_CALLS][{"name": "f", "arguments": {…}}]
const ToolSyntax& mistral_args_syntax();  // [TOOL_CALLS]f[ARGS]{…}
const ToolSyntax& gemma4_syntax();        // <|tool_call>call:f{k:<|"|>v<|"|>}<tool_call|>
const ToolSyntax& function_gemma_syntax();  // <start_function_call>call:f{k:<escape>v<escape>}<end_function_call>
const ToolSyntax& tool_code_syntax();     // ```tool_code with JSON or Python's f(k=v)

// JSON objects with a name and arguments between marks that a template brings along. Never freed: one for each markup ever seen.
struct JsonMarkup {
  std::string open{}, close{}, arguments_key = "arguments";
  bool array = false;  // the objects stand in one
  bool operator==(const JsonMarkup&) const = default;
};
const ToolSyntax& json_syntax(const JsonMarkup& markup);
