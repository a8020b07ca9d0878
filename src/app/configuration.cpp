// configuration: a TOML file in the words of the options table: [server] takes every option of serve, each [local] those of one model;
// [upstream.*], [privacy] and [audit] are the privacy gate's to read.
#include <fmt/format.h>
#include <toml++/toml.h>
#include <algorithm>
#include <set>
#include <tuple>
#include "app/options.h"
#include "core/mapped_file.h"
#include "core/one_line.h"

namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

struct Entry { std::string key; const toml::node* node; };

// In the order of the file.
std::vector<Entry> entries_of(const toml::table& table) {
  std::vector<Entry> entries;
  for (const auto& [key, node] : table) entries.push_back({std::string(std::string_view(key)), &node});
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::tuple(e.node->source().begin.line, e.node->source().begin.column, std::string_view(e.key)); });
  return entries;
}

const OptionSpec* find_key(uint32_t groups, const std::string& key) {
  for (const OptionSpec& spec : option_table())
    if ((spec.groups & groups) != 0 && std::ranges::count(configuration_keys(spec), key) != 0) return &spec;
  return nullptr;
}

bool is_switch(const OptionSpec& spec) { return *spec.value == 0; }
bool repeats(const OptionSpec& spec) { return std::string_view(spec.help).ends_with("several times"); }

class Reader {
 public:
  Reader(std::string path, const GivenOptions& given) : path_(std::move(path)), given_(given) {}

  Status read(const toml::table& file, Options& options) const {
    for (const Entry& e : entries_of(file)) {
      const std::string host = options.host;
      const int port = options.port;
      if (e.key == "server") TRY_STATUS(section(e, "server", kConfigurable, options));
      if (is_given(find_key(kServe, "host"))) options.host = host;  // `listen` says both
      if (is_given(find_key(kServe, "port"))) options.port = port;
    }
    for (const Entry& e : entries_of(file)) {
      if (e.key == "server") continue;
      if (e.key == "upstream" || e.key == "privacy" || e.key == "audit") {
        options.gated = true;
        continue;
      }
      if (e.key != "local") return unknown(*e.node, "", e.key, {"server", "local", "upstream", "privacy", "audit"});
      TRY_STATUS(locals(e, options));
    }
    return ok_status();
  }

 private:
  bool is_given(const OptionSpec* spec) const { return std::ranges::count(given_, spec) != 0; }
  Error error(const toml::node& node, const std::string& key, const std::string& message) const {
    return {Code::invalid_request, fmt::format("{}:{}: {}: {}", path_, node.source().begin.line, key, message)};
  }
  Error unknown(const toml::node& node, const std::string& prefix, const std::string& key, const std::vector<std::string>& known) const {
    const std::string near = nearest(key, known);
    return error(node, prefix + key, near.empty() ? "no such key" : "no such key, did you mean " + prefix + near + "?");
  }

  Status section(const Entry& e, const std::string& name, uint32_t groups, Options& options) const {
    const toml::table* table = e.node->as_table();
    if (table == nullptr) return error(*e.node, name, "a table expected");
    for (const Entry& one : entries_of(*table)) TRY_STATUS(value(one, name + ".", groups, options));
    return ok_status();
  }

  Status locals(const Entry& e, Options& options) const {
    std::vector<const toml::node*> nodes;
    if (const toml::array* list = e.node->as_array()) {
      for (const toml::node& node : *list) nodes.push_back(&node);
    } else {
      nodes.push_back(e.node);
    }
    std::set<std::string> names;
    for (const toml::node* node : nodes) {
      Options one = options;
      one.locals.clear();
      one.model.clear(), one.served_name.clear();
      one.fetch = false;
      one.pinned.reset();
      one.gated = false;
      TRY_STATUS(section({"local", node}, "local", kLocalKeys, one));
      if (one.model.empty()) return error(*node, "local.model", "missing");
      if (!one.served_name.empty() && !names.insert(one.served_name).second) return error(*node, "local.name", "another model has this name");
      options.locals.push_back(std::move(one));
    }
    return ok_status();
  }

  Status value(const Entry& e, const std::string& prefix, uint32_t groups, Options& options) const {
    const OptionSpec* spec = find_key(groups, e.key);
    const OptionSpec* opposite = find_key(groups, "no_" + e.key);  // key = false: what --no-key does
    if (spec == nullptr && opposite == nullptr) {
      std::vector<std::string> known;
      for (const OptionSpec& s : option_table())
        if ((s.groups & groups) != 0) std::ranges::move(configuration_keys(s), std::back_inserter(known));
      return unknown(*e.node, prefix, e.key, known);
    }
    const OptionSpec& any = spec != nullptr ? *spec : *opposite;
    const bool identity = groups == kLocalKeys && (e.key == "model" || e.key == "name" || e.key == "hf_repo" || e.key == "pinned");
    if (!identity && (is_given(&any) || is_given(opposite) || (is_given(find_key(kServe, "listen")) && (e.key == "host" || e.key == "port")))) return ok_status();
    if (is_switch(any)) {
      const auto on = e.node->value_exact<bool>();
      if (!on) return error(*e.node, prefix + e.key, "true or false expected");
      if (const OptionSpec* chosen = *on ? spec : opposite) chosen->set(options, "");
      return ok_status();
    }
    if (!repeats(any) || e.node->is_value()) return set(any, *e.node, prefix + e.key, "", options);
    if (const toml::array* list = e.node->as_array())
      for (const toml::node& node : *list) TRY_STATUS(set(any, node, prefix + e.key, "", options));
    if (const toml::table* table = e.node->as_table())  // alias = { asked = "model" }
      for (const Entry& pair : entries_of(*table)) TRY_STATUS(set(any, *pair.node, prefix + e.key + "." + pair.key, pair.key + "=", options));
    return ok_status();
  }

  Status set(const OptionSpec& spec, const toml::node& node, const std::string& key, const std::string& in_front, Options& options) const {
    std::string text;
    if (const auto s = node.value_exact<std::string>()) text = *s;
    else if (const auto i = node.value_exact<int64_t>()) text = std::to_string(*i);
    else if (const auto d = node.value_exact<double>()) text = fmt::format("{}", *d);
    else return error(node, key, std::string(spec.expected) + " expected");
    if (!spec.set(options, in_front + text)) return error(node, key, fmt::format("'{}': {} expected", text, spec.expected));
    return ok_status();
  }

  const std::string path_;
  const GivenOptions& given_;
};

}  // namespace

Status read_configuration(const std::string& path, const GivenOptions& given, Options& options) {
  const auto text = read_file(path, kMaxBytes);
  if (!text) return Error{Code::invalid_request, "cannot read the configuration: " + text.error().message};
  try {  // the library as distributions build it throws
    return Reader(path, given).read(toml::parse(std::string_view(*text), path), options);
  } catch (const toml::parse_error& error) {
    return Error{Code::invalid_request, fmt::format("{}:{}: {}", path, error.source().begin.line, one_line(error.description()))};
  }
}
