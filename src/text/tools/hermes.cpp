// hermes: <tool_call>\n{"name": "f", "arguments": {…}}\n</tool_call>, as Hermes 2, Qwen 2.5 and Qwen 3 write it.
#include "text/tools/call_grammar.h"
#include "text/tools/syntaxes.h"
#include "text/tools/tagged.h"

namespace {
class Hermes final : public ToolSyntax {
 public:
  std::string_view name() const override { return "hermes"; }
  std::unique_ptr<ToolParser> parser(std::span<const ToolSpec> tools) const override { return std::make_unique<StreamParser>(tools, tagged_marks()); }
  std::string_view trigger() const override { return "<tool_call>"; }
  std::vector<std::string_view> control_texts() const override { return {"<tool_call>", "</tool_call>"}; }
  Result<NodeId> calls(GrammarBuilder& builder, std::span<const ToolSpec> tools, bool parallel) const override {
    TRY(const NodeId object, one_of_tools(builder, tools, [&](const ToolSpec& tool) { return json_call(builder, tool, "arguments"); }));
    const NodeId parts[] = {builder.literal("<tool_call>\n"), object, builder.literal("\n</tool_call>")};
    return repeated(builder, builder.sequence(parts), "\n", parallel);
  }
};
}  // namespace

const ToolSyntax& hermes_syntax() {
  static const Hermes syntax;
  return syntax;
}
