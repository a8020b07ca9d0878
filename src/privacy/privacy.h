// privacy: the gate in front of every completer: what stays, what is masked, what may leave, and proof of it.
#pragma once
#include <memory>
#include <string>
#include "chat/chat.h"
#include "core/json_writer.h"
#include "privacy/policy.h"

// Answers local/NAME, UPSTREAM/MODEL and auto. A request's GateNotes say what it needs; RouteReport is given before the first delta.
class Gate : public Completer {
 public:
  // Fails when an upstream is configured without an audit log, a key cannot be read, or memory cannot be locked.
  static Result<std::unique_ptr<Gate>> make(GateConfig config, Completer& local, std::shared_ptr<SpanModel> model = nullptr);
  // What would happen to a request: {"action","route","model","policy","findings","rules","upstream_body"}. Sends nothing, writes nothing.
  virtual Result<Json> explain(const ChatRequest& request) = 0;
};
// The same without upstreams' keys, an audit log or a local model: for `calla policy explain` and `calla gate`.
Result<std::unique_ptr<Gate>> make_dry_gate(GateConfig config, std::shared_ptr<SpanModel> model = nullptr);
