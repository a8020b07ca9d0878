// gemma: call:NAME{key:value} between marks, strings between markers of their own; as Gemma 4 and FunctionGemma write it.
#include "text/tools/loose_call.h"
#include "text/tools/loose_grammar.h"
#include "text/tools/syntaxes.h"

namespace {
struct GemmaMarkup {
  std::string_view name, open, close, quote;
};
constexpr GemmaMarkup gemma4 = {"gemma4", "<|tool_call>", "<tool_call|>", "<|\"|>"};
constexpr GemmaMarkup function_gemma = {"function_gemma", "<start_function_call>", "<end_function_call>", "<escape>"};

class GemmaCall final : public CallReader {
 public:
  explicit GemmaCall(const GemmaMarkup& markup) : markup_(markup), call_('{', {.quote = markup.quote, .bare_strings = true}) {}
  Step feed(char c, CallWriter& writer) override {
    if (state_ == State::prefix) {
      if (tag_.empty() && is_json_space(c)) return Step::more;
      const Match found = match(tag_ += c, "call:");
      if (found == Match::whole) tag_.clear(), state_ = State::call;
      return found == Match::none ? Step::bad : Step::more;
    }
    if (state_ == State::call) {
      const Step step = call_.feed(c, writer);
      if (step == Step::done) state_ = State::closing;
      return step == Step::done ? Step::more : step;
    }
    if (tag_.empty() && is_json_space(c)) return Step::more;
    const Match found = match(tag_ + c, markup_.close);
    if (found == Match::whole) return Step::done;
    if (found == Match::none) return Step::over;
    tag_ += c;
    return Step::more;
  }
  Step finish(CallWriter&) override { return state_ == State::closing ? Step::over : Step::bad; }
  std::string_view unread() const override { return state_ == State::closing ? std::string_view(tag_) : std::string_view(); }

 private:
  enum class State : uint8_t { prefix, call, closing };
  const GemmaMarkup& markup_;
  State state_ = State::prefix;
  LooseCall call_;
  std::string tag_;
};

class Gemma final : public ToolSyntax {
 public:
  explicit Gemma(const GemmaMarkup& markup) : markup_(markup) {}
  std::string_view name() const override { return markup_.name; }
  std::unique_ptr<ToolParser> parser(std::span<const ToolSpec> tools) const override {
    CallMark mark{std::string(markup_.open), false, [this] { return std::make_unique<GemmaCall>(markup_); }};
    return std::make_unique<StreamParser>(tools, std::vector<CallMark>{std::move(mark)});
  }
  std::string_view trigger() const override { return markup_.open; }
  std::vector<std::string_view> control_texts() const override { return {markup_.open, markup_.close, markup_.quote}; }
  Result<NodeId> calls(GrammarBuilder& builder, std::span<const ToolSpec> tools, bool parallel) const override {
    LooseGrammar notation(builder, markup_.quote);
    const auto call = [&](const ToolSpec& tool) -> Result<NodeId> {
      TRY(const NodeId arguments, notation.arguments(tool));
      const NodeId parts[] = {builder.literal(std::string(markup_.open) + "call:" + tool.name), arguments, builder.literal(markup_.close)};
      return builder.sequence(parts);
    };
    TRY(const NodeId one, one_of_tools(builder, tools, call));
    return repeated(builder, one, "", parallel);
  }

 private:
  const GemmaMarkup& markup_;
};
}  // namespace

const ToolSyntax& gemma4_syntax() {
  static const Gemma syntax(gemma4);
  return syntax;
}
const ToolSyntax& function_gemma_syntax() {
  static const Gemma syntax(function_gemma);
  return syntax;
}
