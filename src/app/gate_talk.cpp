// gate_talk: the notes of a request, the screen that asks for consent, and what is said of a route.
#include "app/gate_talk.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <random>
#include "app/console.h"
#include "wire/wire.h"

namespace {

struct ChoiceWords { const char* name; const char* words; };
constexpr ChoiceWords choice_words[] = {
    {"local", "answer locally"},          {"mask_once", "send what is shown, this once"}, {"mask_session", "send masked for the rest of this conversation"},
    {"send_once", "send it UNMASKED, this once"}, {"cancel", "do not answer"},
};

std::string words_of(const std::string& choice) {
  for (const ChoiceWords& row : choice_words)
    if (choice == row.name) return row.words;
  return choice;
}

std::string text_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// A message's text as it is; what else it holds as JSON.
std::string shown(const Json& message) {
  std::string text;
  for (const auto& [name, value] : message.items()) {
    if (name == "role" || value.is_null()) continue;
    if (!text.empty()) text += '\n';
    text += name == "content" && value.is_string() ? value.get<std::string>() : name + ": " + text_of(value);
  }
  return text;
}

std::string indented(std::string_view text) {
  std::string out = "    ";
  for (const char c : printable(text)) out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return out;
}

std::string counts(const std::vector<std::pair<std::string, int>>& classes) {
  std::string out;
  for (const auto& [name, count] : classes) out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, count);
  return out;
}

std::vector<std::pair<std::string, int>> classes_of(const Json& privacy) {
  std::vector<std::pair<std::string, int>> out;
  const auto classes = privacy.find("classes");
  if (classes == privacy.end() || !classes->is_object()) return out;
  for (const auto& [name, count] : classes->items())
    if (count.is_number_integer()) out.emplace_back(name, count.get<int>());
  return out;
}

std::string fresh_name() {
  std::random_device random;
  return fmt::format("terminal-{:08x}{:08x}", random(), random());
}

}  // namespace

std::optional<ConsentQuestion> read_question(const std::string& privacy_json) {
  const Json privacy = Json::parse(privacy_json, nullptr, false);
  if (!privacy.is_object() || !privacy.contains("consent") || !privacy["consent"].is_object()) return std::nullopt;
  const Json& consent = privacy["consent"];
  ConsentQuestion question{text_member(consent, "id"), text_member(consent, "destination"), text_member(consent, "model"), {"local"}, classes_of(privacy), {}};
  if (question.id.empty()) return std::nullopt;
  for (const Json& choice : consent.value("choices", Json::array()))
    if (choice.is_string() && choice != "local") question.choices.push_back(choice);
  for (const Json& message : consent.value("preview", Json::array()))
    if (message.is_object()) question.preview.emplace_back(text_member(message, "role"), shown(message));
  return question;
}

std::string question_text(const ConsentQuestion& question, const std::map<std::string, std::string>& hosts) {
  const auto host = hosts.find(question.destination);
  std::string out = fmt::format("This would leave your machine:\n  to      {}{}, model {}\n", question.destination, host == hosts.end() ? "" : " (" + host->second + ")", question.model);
  if (!question.classes.empty()) out += fmt::format("  found   {}\n", counts(question.classes));
  for (const auto& [role, text] : question.preview) out += fmt::format("  {}:\n{}\n", printable(role), indented(text));
  for (size_t i = 0; i < question.choices.size(); ++i) out += fmt::format("  [{}] {}{}\n", i + 1, words_of(question.choices[i]), i == 0 ? "  (Enter)" : "");
  return out;
}

std::string chosen(const ConsentQuestion& question, const std::string& line) {
  const size_t first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t\r");
  const std::string word = first == std::string::npos ? "" : line.substr(first, last - first + 1);
  size_t number = 0;
  const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (wrong == std::errc() && end == word.data() + word.size() && number >= 1 && number <= question.choices.size()) return question.choices[number - 1];
  return std::find(question.choices.begin(), question.choices.end(), word) != question.choices.end() ? word : "local";
}

std::string route_line(const RouteReport& report) {
  std::string out = report.route;
  if (!report.model.empty()) out += ": " + report.model;
  if (!report.classes.empty()) out += ", masked " + counts(report.classes);
  return out;
}

Error with_reasons(const Error& error, const RouteReport& report) {
  const Json privacy = Json::parse(report.privacy_json, nullptr, false);
  if (report.code.empty() || !privacy.is_object()) return error;
  Error out = error;
  if (const std::string found = counts(classes_of(privacy)); !found.empty()) out.message += "; found: " + found;
  std::string fields;
  for (const Json& field : privacy.value("fields", Json::array()))
    if (field.is_string()) fields += (fields.empty() ? " in " : ", ") + field.get<std::string>();
  out.message += printable(fields);
  if (!report.audit_id.empty()) out.message += "; audit line " + report.audit_id;
  return out;
}

GateTalk::GateTalk(std::string endpoint, std::map<std::string, std::string> hosts, Ask ask)
    : endpoint_(std::move(endpoint)), conversation_(fresh_name()), hosts_(std::move(hosts)), ask_(std::move(ask)) {}

void GateTalk::prepare(ChatRequest& request) {
  report_ = {};
  const std::string body = text_of(Json{{"model", request.model}, {"messages", Json::parse(request.messages_json, nullptr, false)}});
  if (auto same = read_chat_request(body)) request.gate = std::move(same->gate);
  request.gate.endpoint = endpoint_;
  request.gate.conversation = conversation_;
  request.gate.consent = ask_ ? "" : "none";
  request.gate.routed = [this](const RouteReport& report) { report_ = report; };
}

bool GateTalk::ask_again(ChatRequest& request) {
  if (report_.code != "consent_required" || !ask_) return false;
  const auto question = read_question(report_.privacy_json);
  if (!question) return false;
  std::fputs((question_text(*question, hosts_) + std::string(kConsentPrompt)).c_str(), stdout);
  std::fflush(stdout);
  const auto line = ask_();
  request.gate.consent = question->id + "; decision=" + chosen(*question, line.value_or(""));
  report_ = {};
  return true;
}
