// llama3: a bare {"name": "f", "parameters": {…}} on a line of its own, with or without <|python_tag|> before it; "; " between several.
#include "text/tools/call_grammar.h"
#include "text/tools/syntaxes.h"
#include "text/tools/tagged.h"

namespace {
class Llama3 final : public ToolSyntax {
 public:
  std::string_view name() const override { return "llama3"; }
  std::unique_ptr<ToolParser> parser(std::span<const ToolSpec> tools) const override {
    std::vector<CallMark> marks = tagged_marks();  // <function=f>{…}</function> is Llama 3.1's other way
    marks.push_back({"<|python_tag|>", false, [] { return std::make_unique<JsonCalls>(JsonCalls::Style{.separator = ';'}); }});
    marks.push_back({"{", true, [] { return JsonCalls::after('{', {.separator = ';', .bare = true}); }});
    return std::make_unique<StreamParser>(tools, std::move(marks));
  }
  std::string_view trigger() const override { return "{\"name\": \""; }
  std::vector<std::string_view> control_texts() const override { return {"<|python_tag|>"}; }
  Result<NodeId> calls(GrammarBuilder& builder, std::span<const ToolSpec> tools, bool parallel) const override {
    TRY(const NodeId object, one_of_tools(builder, tools, [&](const ToolSpec& tool) { return json_call(builder, tool, "parameters"); }));
    return repeated(builder, object, "; ", parallel);
  }
};
}  // namespace

const ToolSyntax& llama3_syntax() {
  static const Llama3 syntax;
  return syntax;
}
