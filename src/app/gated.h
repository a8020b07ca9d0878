// gated: the models of this machine behind the privacy gate that a configuration file describes, for the commands that talk.
#pragma once
#include <map>
#include <memory>
#include <string>
#include "app/options.h"
#include "app/shelf.h"
#include "privacy/policy.h"
#include "privacy/privacy.h"

// Members are destroyed in reverse order: the gate asks the shelf.
struct GatedModels {
  std::unique_ptr<Shelf> shelf;
  std::vector<UpstreamOptions> upstreams;
  std::unique_ptr<Gate> gate;
};
// Reads `options.config_file`. Nothing is loaded before it is asked for; one answer at a time.
Result<GatedModels> open_gated(const Options& options);
// A gate in front of `local`, as the file says; no memory of the process reaches a core file from here on.
Result<std::unique_ptr<Gate>> open_gate(const std::string& config_file, Completer& local, std::vector<UpstreamOptions>& upstreams);
// Hosts of upstreams by their names, for those who are asked.
std::map<std::string, std::string> hosts_of(const std::vector<UpstreamOptions>& upstreams);
// The gate's name for what was asked for: "" is auto, NAME is local/NAME.
Result<std::string> gated_name(const Completer& gate, const std::string& asked);
// UPSTREAM/MODEL of all upstreams, and auto: what a configuration adds to the models of this machine.
std::vector<std::string> gated_names(const std::vector<UpstreamOptions>& upstreams);
