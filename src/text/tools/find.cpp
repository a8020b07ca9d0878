// find: which syntax a template was written for, judged by how it renders a call of a made-up tool.
#include <algorithm>
#include <optional>
#include "core/json.h"
#include "text/text.h"
#include "text/tools/json_scanner.h"
#include "text/tools/syntaxes.h"

namespace {
constexpr std::string_view probe_tool = "calla_probe", probe_answer = "calla answered";
constexpr char tools_json[] = R"([{"type":"function","function":{"name":"calla_probe","description":"A probe.","parameters":{"type":"object",)"
                              R"("properties":{"probe_key":{"type":"string","description":"A key."}},"required":["probe_key"]}}}])";
constexpr char user[] = R"({"role":"user","content":"Hello"})";
// Identifiers of nine letters and digits, which Mistral's templates insist on.
constexpr char call[] = R"("tool_calls":[{"id":"callaprb1","type":"function","function":{"name":"calla_probe","arguments":{"probe_key":"probe value"}}}]})";
constexpr size_t kMarkBytes = 64;  // longer texts around a call are no marks

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string rendered(const ChatTemplate& chat_template, const std::string& messages, bool generation_prompt) {
  TemplateInput input;
  input.messages_json = "[" + messages + "]";
  input.tools_json = tools_json;
  input.add_generation_prompt = generation_prompt;
  auto text = chat_template.render(input);
  return text ? *text : "";
}

// What a template shows of a conversation with tools.
struct Probe {
  std::string question, prompt, answered, called;  // up to the user's turn; with the opening of an answer; with an answer; with a call
};

std::optional<Probe> probe(const ChatTemplate& chat_template) {
  for (const std::string& opening : {std::string(user), R"({"role":"system","content":"Be kind."},)" + std::string(user)}) {
    Probe p{rendered(chat_template, opening, false), rendered(chat_template, opening, true), {}, {}};
    if (!contains(p.question, probe_tool) && !contains(p.prompt, probe_tool)) continue;
    p.answered = rendered(chat_template, opening + R"(,{"role":"assistant","content":")" + std::string(probe_answer) + "\"}", false);
    for (const char* content : {R"(,{"role":"assistant","content":"",)", R"(,{"role":"assistant","content":null,)", R"(,{"role":"assistant",)"}) {
      p.called = rendered(chat_template, opening + content + call, false);
      if (!p.called.empty()) break;
    }
    return p;
  }
  return std::nullopt;
}

size_t common_prefix(std::string_view a, std::string_view b) { return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin()); }

const ToolSyntax* known_syntax(std::string_view text) {
  if (contains(text, "<function=") && contains(text, "<parameter=")) return &qwen_xml_syntax();
  if (contains(text, "[TOOL_CALLS]")) return contains(text, "[ARGS]") || contains(text, "[TOOL_CALLS]calla_probe") ? &mistral_args_syntax() : &mistral_syntax();
  if (contains(text, "<|tool_call>")) return &gemma4_syntax();
  if (contains(text, "<start_function_call>")) return &function_gemma_syntax();
  if (contains(text, "```tool_code")) return &tool_code_syntax();
  return contains(text, "<tool_call>") ? &hermes_syntax() : nullptr;
}

// The end of the JSON object that begins at `start`; npos for none.
size_t object_end(std::string_view text, size_t start) {
  JsonScanner scanner;
  for (size_t at = start; at < text.size(); ++at) {
    if (!scanner.feed(text[at])) return text.npos;
    if (scanner.done()) return at + 1;
  }
  return text.npos;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_json_space(text.back())) text.remove_suffix(1);
  return text;
}

// The marks around a JSON object that holds the made-up name and its arguments.
std::optional<JsonMarkup> derived_markup(const Probe& p) {
  const std::string_view text = p.called;
  const size_t name = text.rfind(probe_tool), turn = std::min(common_prefix(p.prompt, text), name);
  if (name == text.npos) return std::nullopt;
  JsonMarkup markup;
  for (size_t start = text.rfind('{', name); start != text.npos && start >= turn; start = start == 0 ? text.npos : text.rfind('{', start - 1)) {
    const size_t end = object_end(text, start);
    if (end == text.npos || end < name) continue;
    const auto object = JsonDocument::parse("a call", text.substr(start, end - start));
    if (!object || find_string(object->root(), "name") != probe_tool) continue;
    if (find(object->root(), "parameters")) markup.arguments_key = "parameters";
    else if (!find(object->root(), "arguments")) continue;
    std::string_view before = text.substr(turn, start - turn), after = text.substr(end);
    const size_t said = p.answered.rfind(probe_answer);
    const std::string_view ending = said == std::string::npos ? "" : std::string_view(p.answered).substr(said + probe_answer.size());
    if (after.ends_with(ending)) after.remove_suffix(ending.size());
    if (trim(before).ends_with('[') && trim(after).starts_with(']')) {
      markup.array = true;
      before = before.substr(0, before.rfind('['));
      after = after.substr(after.find(']') + 1);
    }
    if (trim(before).size() > kMarkBytes || trim(after).size() > kMarkBytes) return std::nullopt;
    while (!before.empty() && is_json_space(before.front())) before.remove_prefix(1);
    while (!after.empty() && is_json_space(after.back())) after.remove_suffix(1);
    markup.open = before, markup.close = after;
    return markup;
  }
  return std::nullopt;
}
}  // namespace

const ToolSyntax* find_tool_syntax(const ChatTemplate& chat_template, std::string_view source) {
  const std::optional<Probe> shown = probe(chat_template);
  if (!shown) return nullptr;
  // Instructions name marks that are no part of a call, so the call itself is asked first.
  const std::string_view called = std::string_view(shown->called).substr(common_prefix(shown->question, shown->called));
  if (contains(called, probe_tool)) {
    if (const ToolSyntax* known = known_syntax(called)) return known;
    if (const auto markup = derived_markup(*shown)) {
      const bool bare = markup->open.empty() && !markup->array;
      return bare && markup->arguments_key == "parameters" ? &llama3_syntax() : &json_syntax(*markup);
    }
  }
  for (const std::string_view text : {std::string_view(shown->prompt), source})
    if (const ToolSyntax* known = known_syntax(text)) return known;
  if (contains(source, "<|python_tag|>")) return &llama3_syntax();
  return &json_syntax({.open = "<tool_call>\n", .close = "\n</tool_call>"});  // nothing is known: what most models have seen
}
