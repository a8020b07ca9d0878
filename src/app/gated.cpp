// gated: a shelf, and the gate in front of it.
#include "app/gated.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <algorithm>
#include "app/library.h"
#include "app/span_model.h"

Result<std::unique_ptr<Gate>> open_gate(const std::string& config_file, Completer& local, std::vector<UpstreamOptions>& upstreams) {
  const rlimit none{1, 1};  // bytes: below the least that makes a file, and the one limit that also holds for a core piped to a program (core(5))
  setrlimit(RLIMIT_CORE, &none);
  TRY(GateConfig config, read_gate_config(config_file));
  upstreams = config.upstreams;
  TRY(auto model, open_span_model(config.model));
  return Gate::make(std::move(config), local, std::move(model));
}

Result<GatedModels> open_gated(const Options& options) {
  Options own = options;
  own.model.clear();  // a name of the gate's
  own.parallel = 1;
  for (Options& one : own.locals) one.parallel = 1;
  GatedModels models;
  models.shelf = std::make_unique<Shelf>(make_library(own), ShelfOptions{});
  TRY(models.gate, open_gate(options.config_file, *models.shelf, models.upstreams));
  return models;
}

Result<std::string> gated_name(const Completer& gate, const std::string& asked) {
  const auto models = gate.models();
  const auto is_there = [&](const std::string& name) { return std::any_of(models.begin(), models.end(), [&](const ModelInfo& info) { return info.name == name; }); };
  for (const std::string& name : {asked.empty() ? std::string("auto") : asked, "local/" + asked})
    if (is_there(name)) return name;
  std::string names;
  for (const ModelInfo& info : models) names += (names.empty() ? "" : ", ") + info.name;
  return Error{Code::not_found, fmt::format("cannot ask {}: no such model, there is: {}", asked, names)};
}

std::map<std::string, std::string> hosts_of(const std::vector<UpstreamOptions>& upstreams) {
  std::map<std::string, std::string> hosts;
  for (const UpstreamOptions& upstream : upstreams) {
    const size_t scheme = upstream.base_url.find("://"), start = scheme == std::string::npos ? 0 : scheme + 3;
    hosts[upstream.name] = upstream.base_url.substr(start, upstream.base_url.find('/', start) - start);
  }
  return hosts;
}

std::vector<std::string> gated_names(const std::vector<UpstreamOptions>& upstreams) {
  std::vector<std::string> names;
  for (const UpstreamOptions& upstream : upstreams)
    for (const std::string& model : upstream.models) names.push_back(upstream.name + "/" + model);
  names.emplace_back("auto");
  return names;
}
