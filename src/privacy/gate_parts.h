// gate_parts: what a gate is made of; tests put parts of their own in.
#pragma once
#include <atomic>
#include <memory>
#include <vector>
#include "privacy/audit.h"
#include "privacy/consent.h"
#include "privacy/gate_metrics.h"
#include "privacy/gate_pending.h"
#include "privacy/privacy.h"
#include "privacy/upstream.h"

struct GateParts {
  Policy policy;
  std::vector<std::unique_ptr<Upstream>> upstreams;  // the first is what `auto` uses
  std::shared_ptr<const Scanner> scanner;
  std::unique_ptr<VaultBook> vaults;
  std::unique_ptr<ConsentBook> consents;
  std::unique_ptr<AuditLog> audit;                   // none: a dry gate, which sends nothing
  std::unique_ptr<PendingLines> pending;             // none: lines of a program that dies are lost
  Completer* local = nullptr;                        // none: a dry gate
  GateMetrics metrics{};
  std::atomic<bool> audit_broken{false};             // a line could not be written: nothing leaves any more
};
std::unique_ptr<Gate> assemble_gate(std::unique_ptr<GateParts> parts);

// What a model's name means to the gate.
struct GateTarget {
  enum class Kind : uint8_t { unknown, local, cloud, automatic } kind = Kind::unknown;
  std::string local_name;                            // as the local completer calls it; of `auto` the model that answers here
  Upstream* upstream = nullptr;                      // of `auto` where a request would go; none: nowhere
  std::string model;                                 // as the upstream calls it
  std::string cloud_label() const { return upstream ? upstream->options().name + "/" + model : ""; }
  std::string local_label() const { return "local/" + local_name; }
};
GateTarget target_named(const GateParts& parts, const std::string& name);
