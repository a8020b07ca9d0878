// parse: the words of the command line against the table of options, and near misses.
#include <algorithm>
#include "app/options.h"

namespace {

constexpr const char* kAttempt = "cannot read the command line: ";

Error usage(const std::string& text) { return {Code::invalid_request, kAttempt + text}; }

bool accepts(const OptionSpec& spec, uint32_t groups) { return (spec.groups & (groups | kGeneral)) != 0; }

const OptionSpec* find_option(uint32_t groups, std::string_view name) {
  for (const OptionSpec& spec : option_table()) {
    if (!accepts(spec, groups)) continue;
    for (const std::string& known : option_names(spec))
      if (known == name) return &spec;
  }
  return nullptr;
}

Status apply(Options& options, const OptionSpec& spec, std::string_view name, std::string_view value) {
  if (spec.set(options, value)) {
    if ((spec.groups & kFamiliar) != 0) options.notes.push_back(std::string(name) + " has no effect: " + spec.help);
    return ok_status();
  }
  return usage(std::string(name) + ": '" + std::string(value) + "': " + spec.expected + " expected");
}

bool is_choice(std::string_view word) { return word == "on" || word == "off" || word == "auto" || word == "0" || word == "1"; }

Error unknown_option(uint32_t groups, std::string_view name) {
  std::vector<std::string> known;
  for (const OptionSpec& spec : option_table())
    if (accepts(spec, groups)) std::ranges::move(option_names(spec), std::back_inserter(known));
  const std::string near = nearest(name, known);
  return usage(std::string(name) + ": no such option here" + (near.empty() ? ", --help lists them" : ", did you mean " + near + "?"));
}

// "--name=value", "-n5" and "--name value"; a switch takes no value.
struct Reader {
  const Command& command;
  std::span<const std::string_view> words;
  size_t at = 0;
  GivenOptions given = {};

  Status read(Options& options) {
    bool only_arguments = false;
    for (; at < words.size(); at++) {
      const std::string_view word = words[at];
      if (!only_arguments && word == "--") {
        only_arguments = true;
      } else if (only_arguments || word.size() < 2 || word[0] != '-') {
        options.arguments.emplace_back(word);
      } else {
        TRY_STATUS(option(options, word));
      }
    }
    return ok_status();
  }

  Status option(Options& options, std::string_view word) {
    std::string_view name = word;
    std::optional<std::string_view> value;
    if (const size_t equals = word.find('='); word.starts_with("--") && equals != std::string_view::npos) {
      name = word.substr(0, equals);
      value = word.substr(equals + 1);
    }
    const OptionSpec* spec = find_option(command.groups, name);
    if (spec == nullptr && !word.starts_with("--") && word.size() > 2) {
      spec = find_option(command.groups, word.substr(0, 2));
      if (spec != nullptr && *spec->value == 0) spec = nullptr;
      if (spec != nullptr) {
        name = word.substr(0, 2);
        value = word.substr(2);
      }
    }
    if (spec == nullptr) return unknown_option(command.groups, name);
    given.push_back(spec);
    if (*spec->value == 0) {
      if (value) return usage(std::string(name) + ": '" + std::string(*value) + "': no value expected");
      return apply(options, *spec, name, "");
    }
    const bool may_follow = *spec->value == '[';
    if (may_follow && !value) value = at + 1 < words.size() && is_choice(words[at + 1]) ? words[++at] : "on";
    if (may_follow && !is_choice(*value)) return usage(std::string(name) + ": '" + std::string(*value) + "': " + spec->expected + " expected");
    if (!value) {
      if (at + 1 >= words.size()) return usage(std::string(name) + ": nothing after it: " + spec->expected + " expected");
      value = words[++at];
    }
    return apply(options, *spec, name, *value);
  }
};

// Ollama's count for serving only.
std::vector<std::string> variables_of(const OptionSpec& spec, const Command& command) {
  std::vector<std::string> names = split_names(spec.environment);
  if ((command.groups & kServe) == 0) std::erase_if(names, [](const std::string& name) { return name.starts_with("OLLAMA_"); });
  return names;
}

// Ollama's port is another one, and its variable may leave it out.
std::string with_ollama_port(std::string value) {
  const size_t host = value.find("://") == std::string::npos ? 0 : value.find("://") + 3;
  const size_t colon = value.rfind(':');
  if (colon == std::string::npos || colon < host || value.ends_with(']')) value += ":11434";
  return value;
}

Status read_environment(Options& options, const Command& command, GivenOptions& given, const GetEnvironment& environment) {
  const bool place_given = std::ranges::any_of(given, [](const OptionSpec* spec) { return std::string_view(spec->names) == "--host" || std::string_view(spec->names) == "--port"; });
  for (const OptionSpec& spec : option_table()) {
    if (!accepts(spec, command.groups) || std::ranges::count(given, &spec) != 0) continue;
    for (const std::string& name : variables_of(spec, command)) {
      const char* value = environment(name.c_str());
      if (value == nullptr || *value == 0 || (name == "OLLAMA_HOST" && place_given)) continue;
      TRY_STATUS(apply(options, spec, name, name == "OLLAMA_HOST" ? with_ollama_port(value) : value));
      given.push_back(&spec);
      if (name.starts_with("OLLAMA_") && (spec.groups & kFamiliar) == 0) options.notes.push_back(option_names(spec).front() + " is " + value + ", as " + name + " says");
      break;
    }
  }
  const auto text = [&](const char* name) -> std::string { const char* v = environment(name); return v == nullptr ? "" : v; };
  options.color = text("NO_COLOR").empty() && text("TERM") != "dumb";
  if (const std::string state = text("XDG_STATE_HOME"); state.starts_with('/')) {
    options.state_dir = state + "/calla";
  } else if (const std::string home = text("HOME"); !home.empty()) {
    options.state_dir = home + "/.local/state/calla";
  }
  const std::string calla = text("CALLA_CACHE"), caches = text("XDG_CACHE_HOME"), home = text("HOME");
  if (!calla.empty()) options.state_cache_dir = calla + "/state";
  else if (caches.starts_with('/') || !home.empty()) options.state_cache_dir = (caches.starts_with('/') ? caches : home + "/.cache") + "/calla/state";
  return ok_status();
}

Status check_arguments(Options& options, const Command& command, bool model_given) {
  const int given = static_cast<int>(options.arguments.size()), taken = (command.groups & kModel) && model_given ? 1 : 0;
  const auto expected = [&] { return ": 'calla " + std::string(command.name) + " " + command.arguments + "' expected"; };
  if (given < command.min_arguments - taken) return usage(std::string(command.name) + ": too few arguments" + expected());
  if (given > command.max_arguments - taken) return usage(std::string(command.name) + ": '" + options.arguments.back() + "' is too much" + expected());
  if ((command.groups & kModel) && !taken && given > 0) {
    options.model = options.arguments.front();
    options.arguments.erase(options.arguments.begin());
  }
  return ok_status();
}

}  // namespace

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t end = std::min(list.find(", "), list.size());
    names.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return names;
}

std::vector<std::string> option_names(const OptionSpec& spec) { return split_names(spec.names); }

std::vector<std::string> configuration_keys(const OptionSpec& spec) {
  std::vector<std::string> keys;
  for (std::string name : option_names(spec)) {
    if (!name.starts_with("--")) continue;
    name.erase(0, 2);
    std::ranges::replace(name, '-', '_');
    if (name != "help" && name != "config") keys.push_back(std::move(name));
  }
  return keys;
}

Status set_option(Options& options, uint32_t groups, std::string_view name, std::string_view value) {
  std::string wanted(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::ranges::replace(wanted, '_', '-');
  std::vector<std::string> known;
  for (const OptionSpec& spec : option_table()) {
    if ((spec.groups & groups) == 0) continue;
    for (const std::string& option : option_names(spec)) {
      const std::string plain = option.substr(option.find_first_not_of('-'));
      if (plain == wanted) {
        if (spec.set(options, value)) return ok_status();
        return Error{Code::invalid_request, "cannot set " + wanted + ": '" + std::string(value) + "': " + spec.expected + " expected"};
      }
      known.push_back(plain);
    }
  }
  const std::string near = nearest(wanted, known);
  return Error{Code::invalid_request, "cannot set " + wanted + ": no such setting" + (near.empty() ? "" : ", did you mean " + near + "?")};
}

Result<Options> parse_options(const Command& command, std::span<const std::string_view> words, const GetEnvironment& environment) {
  Options options;
  Reader reader{command, words};
  TRY_STATUS(reader.read(options));
  if (options.help) return options;
  const bool model_given = !options.model.empty();
  TRY_STATUS(read_environment(options, command, reader.given, environment));
  if (!options.config_file.empty()) TRY_STATUS(read_configuration(options.config_file, reader.given, options));
  const int given = static_cast<int>(options.arguments.size());
  // CALLA_MODEL stands in for a model that is missing; it never shifts the meaning of an argument that is there.
  TRY_STATUS(check_arguments(options, command, model_given || (!options.model.empty() && given < std::max(1, command.min_arguments))));
  return options;
}
