// chat_input: where lines come from and how they become a message.
#include "app/chat_input.h"

#include <unistd.h>
#include <iostream>

namespace {

constexpr std::string_view kQuotes = "\"\"\"";

// After an opening """: everything up to the closing one.
std::optional<std::string> read_quoted(const LineSource& source, std::string text) {
  size_t close;
  while ((close = text.find(kQuotes)) == std::string::npos) {
    bool cancelled = false;
    const auto line = source("... ", cancelled);
    if (cancelled) return "";
    if (!line) break;
    text += "\n" + *line;
  }
  if (close != std::string::npos) text.resize(close);
  if (text.starts_with('\n')) text.erase(0, 1);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::optional<std::string> read_message(const LineSource& source) {
  bool cancelled = false;
  auto line = source(">>> ", cancelled);
  if (cancelled) return "";
  if (!line) return std::nullopt;
  if (line->starts_with(kQuotes)) return read_quoted(source, line->substr(kQuotes.size()));
  std::string text = *line;
  while (text.ends_with('\\')) {
    text.back() = '\n';
    line = source("... ", cancelled);
    if (cancelled) return "";
    if (!line) break;
    text += *line;
  }
  return text;
}

LineSource plain_lines() {
  return [](const std::string&, bool&) -> std::optional<std::string> {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    if (line.ends_with('\r')) line.pop_back();
    return line;
  };
}

LineSource edited_lines(const History& history) {
  return [&history](const std::string& prompt, bool& cancelled) -> std::optional<std::string> {
    const auto terminal = open_raw_terminal();
    const auto reading = LineEditor(*terminal, history).read(prompt);
    cancelled = reading.end == LineEditor::End::cancelled;
    if (reading.end == LineEditor::End::closed) return std::nullopt;
    return reading.text;
  };
}
