// normalise: the table of volatile lines, and where they are looked for.
#include "wire/normalise.h"

#include <algorithm>

namespace {

// A line of this beginning says nothing to a model. Only the first lines of a system text are looked at: elsewhere they may be quoted.
struct VolatileLine {
  std::string_view name;
  std::string_view beginning;
};
constexpr VolatileLine volatile_lines[] = {
    {"x-anthropic-billing-header", "x-anthropic-billing-header:"},  // Claude Code: version and a hash of the request
};

const VolatileLine* volatile_at(std::string_view text) {
  const auto found = std::find_if(std::begin(volatile_lines), std::end(volatile_lines), [&](const VolatileLine& line) { return text.starts_with(line.beginning); });
  return found == std::end(volatile_lines) ? nullptr : found;
}

bool is_system(const Json& message) {
  const auto role = message.is_object() ? message.find("role") : message.end();
  return message.is_object() && role != message.end() && (*role == "system" || *role == "developer");
}

// Of a message's content, text or a list of parts. True when nothing is left of what was there.
bool take_from_content(Json& content, std::vector<std::string>& taken) {
  if (content.is_string()) {
    std::string& text = content.get_ref<std::string&>();
    const bool had_text = !text.empty();
    take_volatile_prefix(text, taken);
    return had_text && text.empty();
  }
  if (!content.is_array() || content.empty()) return false;
  for (size_t i = 0; i < content.size();) {
    const bool has_text = content[i].is_object() && content[i].contains("text") && content[i]["text"].is_string();
    const bool emptied = has_text && take_from_content(content[i]["text"], taken);
    if (emptied) content.erase(i);
    else ++i;
  }
  return content.empty();
}

}  // namespace

void take_volatile_prefix(std::string& system_text, std::vector<std::string>& taken) {
  while (const VolatileLine* line = volatile_at(system_text)) {
    const size_t end = system_text.find('\n');
    system_text.erase(0, end == std::string::npos ? end : system_text.find_first_not_of("\r\n", end));
    if (std::find(taken.begin(), taken.end(), line->name) == taken.end()) taken.emplace_back(line->name);
  }
}

void take_volatile_prefix(Json& messages, std::vector<std::string>& taken) {
  if (!messages.is_array()) return;
  for (size_t i = 0; i < messages.size();) {
    Json& message = messages[i];
    const bool emptied = is_system(message) && message.contains("content") && take_from_content(message["content"], taken);
    if (emptied) messages.erase(i);
    else ++i;
  }
}

void announce_normalised(Exchange& exchange, const std::vector<std::string>& taken) {
  std::string names;
  for (const std::string& name : taken) names += (names.empty() ? "removed " : ", removed ") + name;
  if (!names.empty()) exchange.add_header("X-Calla-Normalised", names);
}
