// template render: the front door: compiles a checkpoint's template and renders conversations with it.
#include "core/json.h"
#include "text/template_machine.h"
#include "text/template_parser.h"
#include "text/text.h"

namespace {

using namespace tmpl;

// One line, of bounded length, that ends in whole characters.
std::string one_line(std::string message) {
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (message.size() <= 400) return message;
  size_t end = 400;
  while (end > 0 && (message[end] & 0xc0) == 0x80) end--;
  return message.substr(0, end) + "…";
}

Error describe(const char* attempt, const Failure& failure, int line, int column) {
  return Error{failure.code, one_line(std::string(attempt) + failure.message) + " (line " + std::to_string(line) + ", column " + std::to_string(column) + ")"};
}

// OpenAI's clients send the arguments of calls as JSON text; templates expect the object. Text that is no JSON stays text.
void parse_arguments(Heap& heap, const Value& messages) {
  if (!messages.is(Kind::list)) return;
  for (const Value& message : list_of(messages).items) {
    const Value* calls = message.is(Kind::dict) ? dict_of(message).find("tool_calls") : nullptr;
    if (!calls || !calls->is(Kind::list)) continue;
    for (const Value& call : list_of(*calls).items) {
      const Value* function = call.is(Kind::dict) ? dict_of(call).find("function") : nullptr;
      const Value* arguments = function && function->is(Kind::dict) ? dict_of(*function).find("arguments") : nullptr;
      if (!arguments || !arguments->is_string()) continue;
      auto document = JsonDocument::parse("tool call arguments", arguments->str());
      if (document && document->root().is_object()) dict_of(*function).set(heap.string("arguments"), from_json(heap, "tool call arguments", arguments->str()));
    }
  }
}

class Compiled final : public ChatTemplate {
 public:
  Compiled(std::string_view source, Program program) : source_(source), program_(std::move(program)) {}
  std::string_view source() const override { return source_; }

  Result<std::string> render(const TemplateInput& input) const override {
    Machine machine;
    ScopePtr scope;
    try {
      scope = variables(machine, input);
    } catch (const Failure& failure) {
      return Error{failure.code, one_line("cannot read the variables of a chat template: " + failure.message)};
    }
    try {
      return machine.run(program_, scope);
    } catch (const Failure& failure) {
      const char* attempt = failure.code == Code::invalid_request ? "cannot render the chat template: it refuses the messages: " : "cannot render the chat template: ";
      return describe(attempt, failure, machine.line(), machine.column());
    }
  }

 private:
  // The names of extra variables live in the dict that the heap owns.
  static ScopePtr variables(Machine& machine, const TemplateInput& input) {
    ScopePtr scope = inner(builtin_scope(machine));
    const Value messages = from_json(machine.heap, "the messages", input.messages_json);
    parse_arguments(machine.heap, messages);
    scope->set("messages", messages);
    scope->set("tools", input.tools_json.empty() ? Value::none() : from_json(machine.heap, "the tools", input.tools_json));
    scope->set("documents", Value::none());
    scope->set("add_generation_prompt", Value::boolean(input.add_generation_prompt));
    scope->set("bos_token", machine.heap.string(input.bos_token));
    scope->set("eos_token", machine.heap.string(input.eos_token));
    if (input.kwargs_json.empty()) return scope;
    const Value extra = from_json(machine.heap, "the template's arguments", input.kwargs_json);
    if (!extra.is(Kind::dict)) fail("an object expected as the template's arguments", Code::invalid_request);
    for (const auto& [name, value] : dict_of(extra).entries) scope->set(name.str(), value);
    return scope;
  }

  const std::string source_;
  Program program_;
};

}  // namespace

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::compile(std::string_view source) {
  if (static_cast<int64_t>(source.size()) > max_template_bytes) {
    return Error{Code::too_large, "cannot read a chat template: at most 1 MB expected, " + std::to_string(source.size()) + " bytes found"};
  }
  try {
    return std::shared_ptr<const ChatTemplate>(std::make_shared<Compiled>(source, parse(source)));
  } catch (const Failure& failure) {
    return describe("cannot read a chat template: ", failure, failure.line, failure.column);
  }
}
