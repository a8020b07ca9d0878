// tool events: the events of one answer as one line of text each, however it was cut into pieces.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "text/tools.h"

// T text, B begin, A arguments, E end, C cut, M malformed; neighbours of one kind are one.
inline std::vector<std::string> merged(const std::vector<ToolEvent>& events) {
  std::vector<std::string> out;
  for (const ToolEvent& event : events) {
    const bool text = event.kind == ToolEvent::Kind::text, arguments = event.kind == ToolEvent::Kind::arguments, malformed = event.kind == ToolEvent::Kind::malformed;
    std::string head(1, "TBAECM"[static_cast<size_t>(event.kind)]);
    if (!text && !malformed) head += std::to_string(event.index);
    head += ' ';
    if ((text || arguments) && !out.empty() && out.back().starts_with(head)) out.back() += event.text;
    else out.push_back(head + event.name + event.text);
  }
  return out;
}

inline std::vector<ToolEvent> events_of(const ToolSyntax& syntax, std::span<const ToolSpec> tools, std::span<const std::string_view> pieces) {
  const auto parser = syntax.parser(tools);
  std::vector<ToolEvent> events;
  for (const std::string_view piece : pieces) parser->push(piece, events);
  parser->flush(events);
  return events;
}

// Every character that went in, the markup of complete calls aside.
inline std::string texts_of(const std::vector<ToolEvent>& events) {
  std::string out;
  for (const ToolEvent& event : events)
    if (event.kind == ToolEvent::Kind::text || event.kind == ToolEvent::Kind::malformed) out += event.text;
  return out;
}
