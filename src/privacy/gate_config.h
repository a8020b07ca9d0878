// gate_config: the sections of a configuration file that are the gate's, one function each.
#pragma once
#include "privacy/policy.h"
#include "privacy/toml_reader.h"

// What sections share while a file is read.
struct GateReading {
  GateConfig config;
  std::string folder;                                 // relative paths count from here
  void note(const TomlPlace& place, std::string_view what) { config.notes.push_back(place.where() + ": " + std::string(what)); }
  std::string path(const std::string& written) const; // as the program has to open it
};

Status read_upstreams(const TomlPlace& place, GateReading& reading);
Status read_privacy(const TomlPlace& place, GateReading& reading);
Status read_class_rules(const TomlPlace& place, Policy& policy);
Status read_rules(const TomlPlace& place, GateReading& reading);
Status read_terms(const TomlPlace& place, GateReading& reading);
Status read_consent(const TomlPlace& place, GateReading& reading);
Status read_audit(const TomlPlace& place, GateReading& reading);

Result<Action> read_action(const TomlPlace& place);
Result<std::vector<PrivacyClass>> read_classes(const TomlPlace& place, const std::string& name);  // a class or a group
// Letters, digits, "." "_" and "-": what may stand in headers and names of models.
bool is_policy_name(std::string_view text);
Result<std::string> read_name(const TomlPlace& place);
TomlHandler into_name(std::string& out);
TomlHandler into_path(std::string& out, const GateReading& reading);
TomlHandler into_variable(std::string& out);          // the name of an environment variable
// "" when `url` may be a base address, else what is wrong with it. Plain HTTP reaches loopback hosts only.
std::string wrong_with_url(std::string_view url);
