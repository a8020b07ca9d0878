// qwen xml: <tool_call>\n<function=f>\n<parameter=k>\nv\n</parameter>\n</function>\n</tool_call>, as Qwen3-Coder, 3.5 and 3.6 write it.
#include <algorithm>
#include "text/tools/raw_text.h"
#include "text/tools/syntaxes.h"
#include "text/tools/tagged.h"

namespace {
constexpr char close_parameter[] = "</parameter>";

// Parameters of one tool, each with its closing tag and newline.
class Parameters {
 public:
  explicit Parameters(GrammarBuilder& builder) : builder_(builder), text_(any_text()) {}

  // Any of the declared ones in any order, any text in them.
  Result<NodeId> loose(const Json& schema) {
    std::vector<NodeId> choices;
    if (schema.contains("properties") && schema["properties"].is_object())
      for (auto it = schema["properties"].begin(); it != schema["properties"].end(); ++it) {
        TRY_STATUS(check_name(it.key()));
        choices.push_back(parameter(builder_.literal(it.key()), text_));
      }
    if (choices.empty()) choices.push_back(parameter(any_name(), text_));
    return builder_.repeat(builder_.choice(choices), 0, -1);
  }

  // In their declared order, the required ones always there.
  Result<NodeId> strict(const Json& root) {
    const Json* schema = follow_references(root, root);
    if (!schema || !schema->is_object()) return unsupported_keyword("$ref without an end");
    static constexpr std::string_view known[] = {"type", "properties", "required", "additionalProperties", "$ref"};
    for (auto it = schema->begin(); it != schema->end(); ++it)
      if (!is_schema_annotation(it.key()) && std::ranges::find(known, std::string_view(it.key())) == std::end(known)) return unsupported_keyword(it.key());
    RawValues values(builder_, root, text_, std::string("\n") + close_parameter + "\n");
    const Json none = Json::object();
    const Json& properties = schema->contains("properties") && (*schema)["properties"].is_object() ? (*schema)["properties"] : none;
    std::vector<std::string> required;
    if (schema->contains("required") && (*schema)["required"].is_array())
      for (const Json& name : (*schema)["required"])
        if (name.is_string()) required.push_back(name);
    std::vector<NodeId> all;
    for (auto it = properties.begin(); it != properties.end(); ++it) {
      TRY_STATUS(check_name(it.key()));
      TRY(const NodeId value, values.value(it.value()));
      const NodeId one = parameter(builder_.literal(it.key()), value);
      all.push_back(std::ranges::find(required, it.key()) != required.end() ? one : builder_.optional(one));
    }
    const Json any = schema->contains("additionalProperties") ? (*schema)["additionalProperties"] : Json(true);
    for (const std::string& name : required)
      if (!properties.contains(name)) {
        TRY_STATUS(check_name(name));
        TRY(const NodeId value, values.value(any));
        all.push_back(parameter(builder_.literal(name), value));
      }
    if (properties.empty() && any != Json(false)) {
      TRY(const NodeId value, values.value(any));
      all.push_back(builder_.repeat(parameter(any_name(), value), 0, -1));
    }
    return builder_.sequence(all);
  }

 private:
  // Any text and its closing tag. A closing tag that white space or another tag follows ends the value, as for the parser (TaggedValue).
  NodeId any_text() {
    static constexpr GrammarBuilder::Range ends[] = {{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}, {'<', '<'}};
    const NodeId text = builder_.until(close_parameter);
    const NodeId again[] = {builder_.literal(close_parameter), builder_.characters(ends, true), text};
    const NodeId all[] = {text, builder_.repeat(builder_.sequence(again), 0, -1), builder_.literal(std::string(close_parameter) + "\n")};
    return builder_.sequence(all);
  }
  NodeId any_name() {
    ByteSet set;
    for (int c = 0; c < 128; c++) set[static_cast<size_t>(c)] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
    return builder_.repeat(builder_.bytes(set), 1, 64);
  }
  NodeId parameter(NodeId name, NodeId value) {
    const NodeId parts[] = {builder_.literal("<parameter="), name, builder_.literal(">\n"), value};
    return builder_.sequence(parts);
  }
  static Status check_name(std::string_view name) {
    if (!name.empty() && name.size() <= 256 && name.find_first_of(">\n") == name.npos) return ok_status();
    return Error{Code::unsupported, "cannot constrain an argument: its name has characters that this model's calls cannot carry"};
  }

  GrammarBuilder& builder_;
  const NodeId text_;
};

class QwenXml final : public ToolSyntax {
 public:
  std::string_view name() const override { return "qwen_xml"; }
  std::unique_ptr<ToolParser> parser(std::span<const ToolSpec> tools) const override { return std::make_unique<StreamParser>(tools, tagged_marks()); }
  std::string_view trigger() const override { return "<tool_call>"; }
  std::vector<std::string_view> control_texts() const override { return {"<tool_call>", "</tool_call>"}; }
  Result<NodeId> calls(GrammarBuilder& builder, std::span<const ToolSpec> tools, bool parallel) const override {
    Parameters parameters(builder);
    const auto call = [&](const ToolSpec& tool) -> Result<NodeId> {
      TRY(const Json schema, parameters_schema(tool));
      TRY(const NodeId arguments, tool.strict ? parameters.strict(schema) : parameters.loose(schema));
      const NodeId parts[] = {builder.literal("<tool_call>\n<function=" + tool.name + ">\n"), arguments, builder.literal("</function>\n</tool_call>")};
      return builder.sequence(parts);
    };
    TRY(const NodeId one, one_of_tools(builder, tools, call));
    return repeated(builder, one, "\n", parallel);
  }
};
}  // namespace

const ToolSyntax& qwen_xml_syntax() {
  static const QwenXml syntax;
  return syntax;
}
