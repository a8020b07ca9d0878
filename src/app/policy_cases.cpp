// policy_cases: reading them, and holding the gate's explanation against what they expect.
#include "app/policy_cases.h"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <algorithm>
#include <set>
#include "app/dry_run.h"
#include "core/json.h"
#include "core/mapped_file.h"
#include "core/nearest.h"
#include "privacy/policy.h"

namespace {

constexpr size_t most_bytes = size_t{64} << 20;
const std::vector<std::string> keys = {"name", "text", "system", "model", "privacy", "action", "route", "classes"};

std::string* member(PolicyCase& one, std::string_view key) {
  if (key == "name") return &one.name;
  if (key == "text") return &one.text;
  if (key == "system") return &one.system;
  if (key == "model") return &one.model;
  if (key == "privacy") return &one.privacy;
  if (key == "action") return &one.action;
  return key == "route" ? &one.route : nullptr;
}

Error wrong(const std::string& where, std::string_view key, std::string_view message) { return {Code::invalid_request, fmt::format("{}: {}: {}", where, key, message)}; }

Error unknown(const std::string& where, const std::string& key) {
  const std::string near = nearest(key, keys);
  return wrong(where, key, near.empty() ? "no such key" : fmt::format("no such key, did you mean {}?", near));
}

Status check_words(const PolicyCase& one) {
  static const std::set<std::string> routes = {"local", "cloud", "cloud-masked", "refused", "ask"};
  if (!one.action.empty() && !action_named(one.action)) return wrong(one.where, "action", "allow, mask, ask, local or refuse expected");
  if (!one.route.empty() && !routes.contains(one.route)) return wrong(one.where, "route", "local, cloud, cloud-masked, refused or ask expected");
  for (const std::string& cls : one.classes.value_or(std::vector<std::string>()))
    if (!class_named(cls)) return wrong(one.where, "classes", "names of classes expected");
  if (one.action.empty() && one.route.empty() && !one.classes) return wrong(one.where, "case", "action, route or classes expected");
  return ok_status();
}

Result<PolicyCase> case_of(const std::string& path, const toml::node& node, size_t number) {
  PolicyCase one;
  one.where = fmt::format("{}:{}", path, node.source().begin.line);
  one.name = fmt::format("case {}", number);
  const toml::table* table = node.as_table();
  if (table == nullptr) return wrong(one.where, "case", "a table expected");
  for (const auto& [name, value] : *table) {
    const std::string key(std::string_view{name}), where = fmt::format("{}:{}", path, value.source().begin.line);
    if (std::string* out = member(one, key)) {
      const auto text = value.value_exact<std::string>();
      if (!text) return wrong(where, key, "a text in quotes expected");
      *out = *text;
    } else if (const toml::array* list = key == "classes" ? value.as_array() : nullptr) {
      one.classes.emplace();
      for (const toml::node& entry : *list) one.classes->push_back(entry.value_exact<std::string>().value_or("?"));
    } else {
      return key == "classes" ? wrong(where, key, "a list expected") : unknown(where, key);
    }
  }
  TRY_STATUS(check_words(one));
  return one;
}

Result<std::vector<PolicyCase>> cases_of(const std::string& path, const toml::table& file) {
  std::vector<PolicyCase> out;
  for (const auto& [name, node] : file) {
    const std::string key(std::string_view{name}), where = fmt::format("{}:{}", path, node.source().begin.line);
    const toml::array* list = node.as_array();
    if (key != "case" || list == nullptr) return wrong(where, key, "[[case]] expected");
    for (const toml::node& entry : *list) {
      TRY(PolicyCase one, case_of(path, entry, out.size() + 1));
      out.push_back(std::move(one));
    }
  }
  return out;
}

Result<PolicyCase> case_of_line(const std::string& where, size_t number, std::string_view line) {
  PolicyCase one;
  one.where = where, one.name = fmt::format("case {}", number);
  const auto document = JsonDocument::parse("a case", line, most_bytes);
  simdjson::dom::object members;
  if (!document || document->root().get_object().get(members) != simdjson::SUCCESS) return wrong(where, "case", "a JSON object expected");
  for (const auto& [name, value] : members) {
    const std::string key(name);
    std::string_view text;
    simdjson::dom::array list;
    if (std::string* out = member(one, key)) {
      if (value.get_string().get(text) != simdjson::SUCCESS) return wrong(where, key, "a text expected");
      *out = text;
    } else if (key == "classes" && value.get_array().get(list) == simdjson::SUCCESS) {
      one.classes.emplace();
      for (const JsonView entry : list) one.classes->emplace_back(entry.is_string() ? entry.get_string().value_unsafe() : std::string_view("?"));
    } else {
      return key == "classes" ? wrong(where, key, "a list expected") : unknown(where, key);
    }
  }
  TRY_STATUS(check_words(one));
  return one;
}

Result<std::vector<PolicyCase>> cases_of_lines(const std::string& path, std::string_view text) {
  std::vector<PolicyCase> out;
  size_t number = 1;
  for (size_t at = 0; at < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    TRY(PolicyCase one, case_of_line(fmt::format("{}:{}", path, number), out.size() + 1, line));
    out.push_back(std::move(one));
  }
  return out;
}

std::string joined(const std::set<std::string>& words) { return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", ")); }

// Classes that counted: those whose rules do not say "below the score".
std::set<std::string> found_classes(const Json& explained) {
  std::set<std::string> low, out;
  for (const Json& finding : explained["findings"]) out.insert(finding["class"].get<std::string>());
  std::set<std::string> counted;
  for (const Json& rule : explained["rules"]) {
    std::string name = rule["rule"].get<std::string>();
    if (!name.starts_with("classes.")) continue;
    name.erase(0, 8);
    if (name.ends_with(".min_score")) low.insert(name.substr(0, name.size() - 10));
    else counted.insert(name.substr(0, name.find('.')));
  }
  std::erase_if(out, [&](const std::string& name) { return low.contains(name) && !counted.contains(name); });
  return out;
}

}  // namespace

Result<std::vector<PolicyCase>> read_policy_cases(const std::string& path) {
  TRY(const std::string text, read_file(path, most_bytes));
  if (path.ends_with(".jsonl")) return cases_of_lines(path, text);
  try {  // the library as distributions build it throws
    return cases_of(path, toml::parse(std::string_view(text), path));
  } catch (const toml::parse_error& error) {
    return Error{Code::invalid_request, fmt::format("{}:{}: syntax: {}", path, error.source().begin.line, error.description())};
  }
}

std::string run_policy_case(Gate& gate, const PolicyCase& one) {
  ChatRequest request = request_of_text(one.text, one.model, one.system);
  request.gate.stricter = one.privacy;
  const auto explained = gate.explain(request);
  if (!explained) return explained.error().message;
  const std::string action = explained->value("action", std::string()), route = explained->value("route", std::string());
  if (!one.action.empty() && action != one.action) return fmt::format("action {} expected, it is {}", one.action, action);
  if (!one.route.empty() && route != one.route) return fmt::format("route {} expected, it is {}", one.route, route);
  if (!one.classes) return "";
  const std::set<std::string> expected(one.classes->begin(), one.classes->end()), found = found_classes(*explained);
  return expected == found ? "" : fmt::format("classes {} expected, found are {}", joined(expected), joined(found));
}
