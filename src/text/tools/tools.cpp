// tools: the functions of a request, and the list of syntaxes.
#include <set>
#include "core/json.h"
#include "text/tools.h"
#include "text/tools/syntaxes.h"

namespace {
constexpr size_t kTools = 1024, kNameBytes = 128;

// Names go into the markup of calls as they are.
bool is_tool_name(std::string_view name) {
  for (const char c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || std::string_view("<>{}[]()\"'`\\=,").find(c) != std::string_view::npos) return false;
  return !name.empty() && name.size() <= kNameBytes;
}

Error wrong(size_t index, std::string_view what) {
  return {Code::invalid_request, "cannot read tools[" + std::to_string(index) + "]: " + std::string(what)};
}

// {"type":"function","function":{…}}, or the same without the inner object.
Result<ToolSpec> read_tool(JsonView entry, size_t index) {
  if (!entry.is_object()) return wrong(index, "an object was expected");
  if (const auto type = find_string(entry, "type"); type && *type != "function") return wrong(index, "its type is not \"function\"");
  const JsonView function = find(entry, "function").value_or(entry);
  ToolSpec tool;
  const auto name = find_string(function, "name");
  if (!name) return wrong(index, "it has no name");
  if (!is_tool_name(*name)) return wrong(index, "its name is empty, longer than 128 bytes, or has white space, quotes or brackets");
  tool.name = *name;
  tool.description = find_string(function, "description").value_or("");
  tool.strict = find_bool(function, "strict").value_or(false);
  if (const auto parameters = find(function, "parameters")) {
    if (!parameters->is_object()) return wrong(index, "its parameters are not an object");
    tool.parameters_json = simdjson::minify(*parameters);
  }
  return tool;
}
}  // namespace

Result<std::vector<ToolSpec>> read_tools(std::string_view tools_json) {
  std::vector<ToolSpec> tools;
  if (tools_json.empty()) return tools;
  const auto document = JsonDocument::parse("tools", tools_json);
  if (!document) return Error{Code::invalid_request, document.error().message};
  simdjson::dom::array entries;
  if (document->root().get(entries) != simdjson::SUCCESS) return Error{Code::invalid_request, "cannot read tools: an array was expected"};
  if (entries.size() > kTools) return Error{Code::invalid_request, "cannot read tools: at most 1024 are possible"};
  std::set<std::string> names;
  for (JsonView entry : entries) {
    TRY(ToolSpec tool, read_tool(entry, tools.size()));
    if (!names.insert(tool.name).second) return wrong(tools.size(), "an earlier tool has the same name");
    tools.push_back(std::move(tool));
  }
  return tools;
}

std::span<const ToolSyntax* const> tool_syntaxes() {
  static const ToolSyntax* const all[] = {&qwen_xml_syntax(), &hermes_syntax(),         &llama3_syntax(),    &mistral_syntax(), &mistral_args_syntax(),
                                          &gemma4_syntax(),   &function_gemma_syntax(), &tool_code_syntax(), &json_syntax({.open = "<tool_call>\n", .close = "\n</tool_call>"})};
  return all;
}
