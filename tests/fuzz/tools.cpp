// fuzz: answers cut into any pieces, read by every syntax: the same events as in one piece, ended calls with valid JSON, nothing lost to text.
#include <cstdint>
#include <cstdlib>
#include "core/json_writer.h"
#include "text/tools/syntaxes.h"

namespace {
// Neighbours of one kind as one: how an answer is cut changes nothing else.
void merge(std::vector<ToolEvent>& events) {
  std::vector<ToolEvent> out;
  for (ToolEvent& event : events) {
    const bool flows = event.kind == ToolEvent::Kind::text || event.kind == ToolEvent::Kind::arguments;
    if (flows && !out.empty() && out.back().kind == event.kind && out.back().index == event.index) out.back().text += event.text;
    else out.push_back(std::move(event));
  }
  events = std::move(out);
}

void check_calls(const std::vector<ToolEvent>& events) {
  std::string arguments;
  bool open = false;
  for (const ToolEvent& event : events) {
    switch (event.kind) {
      case ToolEvent::Kind::begin:
        if (open) std::abort();
        open = true;
        arguments.clear();
        break;
      case ToolEvent::Kind::arguments: arguments += event.text; [[fallthrough]];
      case ToolEvent::Kind::cut:
      case ToolEvent::Kind::end:
        if (!open) std::abort();
        if (event.kind == ToolEvent::Kind::end && !(arguments.starts_with('{') && Json::accept(arguments))) std::abort();
        open = event.kind == ToolEvent::Kind::arguments;
        break;
      default:
        if (open) std::abort();
    }
  }
  if (open) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::vector<ToolSpec> tools = {{"f", "", R"({"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":["string","null"]},"o":{"type":"object"}}})", false},
                                       {"g", "", "", false}};
  const auto syntaxes = tool_syntaxes();
  const ToolSyntax& syntax = *syntaxes[data[0] % syntaxes.size()];
  uint32_t random = data[1] + 1u;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);

  std::vector<ToolEvent> whole, pieces;
  const auto one = syntax.parser(tools), many = syntax.parser(tools);
  one->push(text, whole);
  one->flush(whole);
  for (size_t at = 0, n; at < text.size(); at += n) {
    random = random * 1664525u + 1013904223u;
    many->push(text.substr(at, n = 1 + (random >> 24) % 7), pieces);
  }
  many->flush(pieces);
  merge(whole);
  merge(pieces);
  if (whole.size() != pieces.size()) std::abort();
  for (size_t i = 0; i < whole.size(); ++i)
    if (whole[i].kind != pieces[i].kind || whole[i].text != pieces[i].text || whole[i].name != pieces[i].name || whole[i].index != pieces[i].index) std::abort();
  check_calls(whole);
  return 0;
}
