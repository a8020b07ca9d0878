// normalise: the table of volatile lines, and where they are looked for.
#include "wire/normalise.h"

#include <algorithm>
#include "wire/table.h"

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

bool may_be_there(std::string_view messages) {
  return std::any_of(std::begin(volatile_lines), std::end(volatile_lines), [&](const VolatileLine& line) { return messages.find(line.beginning) != std::string_view::npos; });
}

void take(std::string& text, std::vector<std::string>& taken) {
  while (const VolatileLine* line = volatile_at(text)) {
    const size_t end = text.find('\n');
    text.erase(0, end == std::string::npos ? end : text.find_first_not_of("\r\n", end));
    if (std::find(taken.begin(), taken.end(), line->name) == taken.end()) taken.emplace_back(line->name);
  }
}

}  // namespace

std::vector<std::string> take_volatile_prefix(ChatRequest& request) {
  std::vector<std::string> taken;
  if (!may_be_there(request.messages_json)) return taken;
  Json messages = Json::parse(request.messages_json, nullptr, false);
  if (!messages.is_array() || messages.empty() || messages[0].value("role", "") != "system" || !messages[0]["content"].is_string()) return taken;
  std::string& text = messages[0]["content"].get_ref<std::string&>();
  take(text, taken);
  if (taken.empty()) return taken;
  if (text.empty() && messages.size() > 1) messages.erase(0);
  request.messages_json = text_of(messages);
  return taken;
}

void announce_normalised(Exchange& exchange, const std::vector<std::string>& taken) {
  std::string names;
  for (const std::string& name : taken) names += (names.empty() ? "removed " : ", removed ") + name;
  if (!names.empty()) exchange.add_header("X-Calla-Normalised", names);
}
