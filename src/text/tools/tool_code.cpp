// tool code: ```tool_code with a JSON call or with Python's f(k=v) in it, as Gemma 3 writes it when it is told to.
#include "text/tools/call_grammar.h"
#include "text/tools/json_call.h"
#include "text/tools/loose_call.h"
#include "text/tools/syntaxes.h"

namespace {
constexpr char fence[] = "```", mark_code[] = "```tool_code";

class CodeCalls final : public CallReader {
 public:
  Step feed(char c, CallWriter& writer) override {
    if (json_) return json_->feed(c, writer);
    if (call_) {
      const Step step = call_->feed(c, writer);
      if (step != Step::done) return step;
      call_ = nullptr;
      ++calls_;
      return Step::more;
    }
    if (is_json_space(c) && seen_.find('`') == seen_.npos) return Step::more;
    return feed_between(c, writer);
  }
  Step finish(CallWriter& writer) override { return json_ ? json_->finish(writer) : !call_ && calls_ > 0 ? Step::over : Step::bad; }
  std::string_view unread() const override { return json_ ? json_->unread() : std::string_view(); }

 private:
  // Brackets, commas and the closing fence; everything else begins a call.
  Step feed_between(char c, CallWriter& writer) {
    if (c == '{' && calls_ == 0) {
      json_ = JsonCalls::after(seen_.empty() ? '{' : '[', {.close = fence});
      return seen_.empty() ? Step::more : json_->feed(c, writer);
    }
    if (c == '`') return (seen_ += c).ends_with(fence) ? (calls_ > 0 ? Step::done : Step::bad) : Step::more;
    if (seen_.ends_with('`')) return calls_ > 0 ? Step::over : Step::bad;
    if (c == '[' && seen_.empty() && calls_ == 0) return seen_ = "[", Step::more;
    if (calls_ > 0 && (c == ',' || c == ']' || c == ';')) return Step::more;
    call_ = std::make_unique<LooseCall>('(', LooseStyle{.close = ')', .colon = '='});
    return call_->feed(c, writer);
  }

  std::unique_ptr<JsonCalls> json_;
  std::unique_ptr<LooseCall> call_;
  std::string seen_;  // an opening bracket, the closing fence so far
  int calls_ = 0;
};

class ToolCode final : public ToolSyntax {
 public:
  std::string_view name() const override { return "tool_code"; }
  std::unique_ptr<ToolParser> parser(std::span<const ToolSpec> tools) const override {
    std::vector<CallMark> marks = {{mark_code, false, [] { return std::make_unique<CodeCalls>(); }}};
    marks.push_back({"{", true, [] { return JsonCalls::after('{', {.bare = true}); }});
    return std::make_unique<StreamParser>(tools, std::move(marks));
  }
  std::string_view trigger() const override { return mark_code; }
  Result<NodeId> calls(GrammarBuilder& builder, std::span<const ToolSpec> tools, bool parallel) const override {
    TRY(const NodeId object, one_of_tools(builder, tools, [&](const ToolSpec& tool) { return json_call(builder, tool, "parameters"); }));
    const NodeId parts[] = {builder.literal(std::string(mark_code) + "\n"), object, builder.literal(std::string("\n") + fence)};
    return repeated(builder, builder.sequence(parts), "\n", parallel);
  }
};
}  // namespace

const ToolSyntax& tool_code_syntax() {
  static const ToolCode syntax;
  return syntax;
}
