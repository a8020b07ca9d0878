// mistral: [TOOL_CALLS][{"name": "f", "arguments": {…}}, …] and, since 2025, [TOOL_CALLS]f[ARGS]{…} for each call.
#include "text/tools/call_grammar.h"
#include "text/tools/json_call.h"
#include "text/tools/syntaxes.h"

namespace {
constexpr char mark_calls[] = "[TOOL_CALLS]", mark_arguments[] = "[ARGS]", mark_id[] = "[CALL_ID]";
constexpr size_t kNameBytes = 256;

// Both forms: the first byte after the mark tells them apart. [CALL_ID]… may stand before [ARGS], and [ARGS] may be missing.
class MistralCalls final : public CallReader {
 public:
  Step feed(char c, CallWriter& writer) override {
    if (list_) return list_->feed(c, writer);
    if (in_arguments_) return arguments_.feed(c, writer);
    if (name_.empty() && is_json_space(c)) return Step::more;
    if (name_.empty() && (c == '[' || c == '{')) {
      list_ = std::make_unique<JsonCalls>(JsonCalls::Style{});
      return list_->feed(c, writer);
    }
    return feed_name(c, writer);
  }
  Step finish(CallWriter& writer) override { return list_ ? list_->finish(writer) : Step::bad; }
  std::string_view unread() const override { return list_ ? list_->unread() : std::string_view(); }

 private:
  Step feed_name(char c, CallWriter& writer) {
    if (c == '{' && (tag_.empty() || tag_ == mark_arguments)) return start_arguments(c, writer);
    if (!tag_.empty() || c == '[') return feed_tag(c);
    name_ += c;
    return c == '\n' || name_.size() > kNameBytes ? Step::bad : Step::more;
  }
  Step feed_tag(char c) {
    if (tag_ == mark_arguments) return is_json_space(c) ? Step::more : Step::bad;
    if (tag_.starts_with(mark_id)) {  // the id, up to the next mark
      if (c == '[') tag_.clear();
      tag_ += c;
      return tag_.size() > kNameBytes ? Step::bad : Step::more;
    }
    tag_ += c;
    return match(tag_, mark_arguments) == Match::none && match(tag_, mark_id) == Match::none ? Step::bad : Step::more;
  }
  Step start_arguments(char c, CallWriter& writer) {
    while (!name_.empty() && is_json_space(name_.back())) name_.pop_back();
    if (!writer.find(name_)) return Step::bad;
    writer.begin(name_);
    in_arguments_ = true;
    return arguments_.feed(c, writer);
  }

  std::unique_ptr<JsonCalls> list_;
  JsonArguments arguments_;
  std::string name_, tag_;
  bool in_arguments_ = false;
};

class Mistral : public ToolSyntax {
 public:
  std::string_view name() const override { return "mistral"; }
  std::unique_ptr<ToolParser> parser(std::span<const ToolSpec> tools) const override {
    return std::make_unique<StreamParser>(tools, std::vector<CallMark>{{mark_calls, false, [] { return std::make_unique<MistralCalls>(); }}});
  }
  std::string_view trigger() const override { return mark_calls; }
  std::vector<std::string_view> control_texts() const override { return {mark_calls, mark_arguments, mark_id}; }
  Result<NodeId> calls(GrammarBuilder& builder, std::span<const ToolSpec> tools, bool parallel) const override {
    TRY(const NodeId object, one_of_tools(builder, tools, [&](const ToolSpec& tool) { return json_call(builder, tool, "arguments"); }));
    const NodeId parts[] = {builder.literal(mark_calls), builder.optional(builder.literal(" ")), builder.literal("["),
                                 repeated(builder, object, ", ", parallel), builder.literal("]")};
    return builder.sequence(parts);
  }
};

class MistralArgs final : public Mistral {
 public:
  std::string_view name() const override { return "mistral_args"; }
  Result<NodeId> calls(GrammarBuilder& builder, std::span<const ToolSpec> tools, bool parallel) const override {
    const auto call = [&](const ToolSpec& tool) -> Result<NodeId> {
      TRY(const NodeId arguments, arguments_object(builder, tool));
      const NodeId parts[] = {builder.literal(mark_calls + tool.name + mark_arguments), arguments};
      return builder.sequence(parts);
    };
    TRY(const NodeId one, one_of_tools(builder, tools, call));
    return repeated(builder, one, "", parallel);
  }
};
}  // namespace

const ToolSyntax& mistral_syntax() {
  static const Mistral syntax;
  return syntax;
}
const ToolSyntax& mistral_args_syntax() {
  static const MistralArgs syntax;
  return syntax;
}
