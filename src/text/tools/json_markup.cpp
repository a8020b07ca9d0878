// json markup: calls as JSON objects between whatever marks a template renders around them; the fallback for templates that no file knows.
#include <list>
#include <mutex>
#include "text/tools/call_grammar.h"
#include "text/tools/json_call.h"
#include "text/tools/syntaxes.h"

namespace {
class JsonSyntax final : public ToolSyntax {
 public:
  explicit JsonSyntax(JsonMarkup markup)
      : markup_(std::move(markup)), open_(trimmed(markup_.open)), close_(trimmed(markup_.close)),
        trigger_(!open_.empty() ? open_ : markup_.array ? "[{\"name\": \"" : "{\"name\": \"") {}
  const JsonMarkup& markup() const { return markup_; }
  std::string_view name() const override { return "json"; }
  std::string_view trigger() const override { return trigger_; }
  std::vector<std::string_view> control_texts() const override {
    std::vector<std::string_view> texts;
    for (const std::string* text : {&open_, &close_})
      if (!text->empty()) texts.push_back(*text);
    return texts;
  }
  std::unique_ptr<ToolParser> parser(std::span<const ToolSpec> tools) const override {
    const JsonCalls::Style style{.close = close_, .separator = 0, .bare = open_.empty()};
    if (!style.bare) return std::make_unique<StreamParser>(tools, std::vector<CallMark>{{open_, false, [style] { return std::make_unique<JsonCalls>(style); }}});
    std::vector<CallMark> marks;
    for (const char opener : {'{', '['}) marks.push_back({{opener}, true, [=] { return JsonCalls::after(opener, style); }});
    return std::make_unique<StreamParser>(tools, std::move(marks));
  }
  Result<NodeId> calls(GrammarBuilder& builder, std::span<const ToolSpec> tools, bool parallel) const override {
    TRY(const NodeId object, one_of_tools(builder, tools, [&](const ToolSpec& tool) { return json_call(builder, tool, markup_.arguments_key); }));
    const bool array = markup_.array;
    const NodeId parts[] = {builder.literal(markup_.open + (array ? "[" : "")), array ? repeated(builder, object, ", ", parallel) : object,
                                 builder.literal((array ? "]" : "") + markup_.close)};
    const NodeId one = builder.sequence(parts);
    return array ? one : repeated(builder, one, "\n", parallel);
  }

 private:
  static std::string trimmed(std::string_view text) {
    while (!text.empty() && is_json_space(text.back())) text.remove_suffix(1);
    while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
    return std::string(text);
  }

  const JsonMarkup markup_;
  const std::string open_, close_, trigger_;  // of the marks without the white space around them
};
}  // namespace

const ToolSyntax& json_syntax(const JsonMarkup& markup) {
  static std::mutex mutex;
  static std::list<JsonSyntax> known;
  const std::lock_guard lock(mutex);
  for (const JsonSyntax& syntax : known)
    if (syntax.markup() == markup) return syntax;
  return known.emplace_back(markup);
}
