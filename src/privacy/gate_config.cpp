// gate_config: a configuration file becomes a GateConfig, or one error that names file, line and key.
#include "privacy/gate_config.h"

#include <algorithm>
#include <filesystem>
#include "core/mapped_file.h"
#include "core/one_line.h"

namespace {

constexpr size_t max_file_bytes = size_t{4} << 20;

bool is_variable(std::string_view text) {
  return is_policy_name(text) && text.find_first_of("-.") == std::string_view::npos && (text[0] < '0' || text[0] > '9');
}

std::string log_without_ending(const std::string& path) { return std::filesystem::path(path).replace_extension().string(); }

// Where a request could leave, something has to be written about it.
Status check_audit(const toml::table& file, const TomlPlace& root, const GateConfig& config) {
  if (config.upstreams.empty() || !config.audit.path.empty()) return ok_status();
  const toml::node* upstream = file.get("upstream");
  return TomlPlace{root.file, upstream != nullptr ? upstream : root.node, "audit"}.error("missing, an upstream is configured: [audit] with path = \"FILE\" expected");
}

Result<GateConfig> read_file_table(const std::string& path, const toml::table& file) {
  GateReading reading;
  reading.folder = std::filesystem::path(path).parent_path().string();
  const TomlPlace root{&path, &file, ""};
  std::optional<TomlPlace> privacy;  // read last: its rules name upstreams
  const auto others = [](const TomlPlace&) { return ok_status(); };
  TRY_STATUS(read_table(root, {{"server", others},
                               {"local", others},
                               {"upstream", [&](const TomlPlace& place) { return read_upstreams(place, reading); }},
                               {"privacy", [&](const TomlPlace& place) { return privacy = place, ok_status(); }},
                               {"audit", [&](const TomlPlace& place) { return read_audit(place, reading); }}}));
  if (privacy) TRY_STATUS(read_privacy(*privacy, reading));
  TRY_STATUS(check_audit(file, root, reading.config));
  reading.config.policy.sha256 = policy_sha256(reading.config.policy, reading.config.upstreams);
  return std::move(reading.config);
}

}  // namespace

std::string GateReading::path(const std::string& written) const {
  const std::filesystem::path path(written);
  return path.is_absolute() || folder.empty() ? written : (std::filesystem::path(folder) / path).string();
}

bool is_policy_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
}

Result<std::string> read_name(const TomlPlace& place) {
  TRY(const std::string text, read_text(place));
  if (!is_policy_name(text)) return place.error("at most 64 letters, digits, '.', '_' and '-' expected");
  return text;
}

TomlHandler into_name(std::string& out) {
  return [&out](const TomlPlace& place) -> Status {
    TRY(out, read_name(place));
    return ok_status();
  };
}

TomlHandler into_path(std::string& out, const GateReading& reading) {
  return [&out, &reading](const TomlPlace& place) -> Status {
    TRY(const std::string written, read_text(place));
    out = reading.path(written);
    return ok_status();
  };
}

TomlHandler into_variable(std::string& out) {
  return [&out](const TomlPlace& place) -> Status {
    TRY(const std::string name, read_text(place));
    if (!is_variable(name)) return place.error("the name of an environment variable expected, not a key itself");
    out = name;
    return ok_status();
  };
}

Result<Action> read_action(const TomlPlace& place) {
  TRY(const std::string word, read_text(place));
  if (const auto action = action_named(word)) return *action;
  std::vector<std::string> known;
  for (const Action action : {Action::allow, Action::mask, Action::ask, Action::local, Action::refuse}) known.emplace_back(name_of(action));
  return unknown_word(place, "action", word, known);
}

Result<std::vector<PrivacyClass>> read_classes(const TomlPlace& place, const std::string& name) {
  auto classes = classes_named(name);
  if (!classes.empty()) return classes;
  std::vector<std::string> known;
  for (size_t i = 0; i < n_privacy_classes; ++i) {
    for (const std::string_view word : {name_of(static_cast<PrivacyClass>(i)), group_of(static_cast<PrivacyClass>(i))})
      if (std::ranges::find(known, word) == known.end()) known.emplace_back(word);
  }
  return unknown_word(place, "class", name, known);
}

Status read_audit(const TomlPlace& place, GateReading& reading) {
  AuditOptions& audit = reading.config.audit;
  TRY_STATUS(read_table(place, {{"path", into_path(audit.path, reading)},
                                {"key_file", into_path(audit.key_file, reading)},
                                {"fsync", into_choice(audit.fsync_lines, {"interval", "line"})},
                                {"checkpoint_lines", into(audit.checkpoint_lines, 1, 1'000'000)},
                                {"rotate_bytes", into(audit.rotate_bytes, 0, int64_t{1} << 40)},
                                {"retention_days", into(audit.retention_days, 0, 36500)}}));
  if (audit.path.empty()) return place.error("path is missing");
  if (audit.key_file.empty()) audit.key_file = log_without_ending(audit.path) + ".key";
  if (audit.key_file == audit.path) return place.error("key_file and path are the same file");
  return ok_status();
}

Result<GateConfig> parse_gate_config(const std::string& path, std::string_view text) {
  try {  // the library as distributions build it throws
    return read_file_table(path, toml::parse(text, path));
  } catch (const toml::parse_error& error) {
    return Error{Code::invalid_request, path + ":" + std::to_string(error.source().begin.line) + ": syntax: " + one_line(error.description())};
  }
}

Result<GateConfig> read_gate_config(const std::string& path) {
  const auto text = read_file(path, max_file_bytes);
  if (!text) return Error{Code::invalid_request, "cannot read the configuration: " + text.error().message};
  return parse_gate_config(path, *text);
}
