// gate: names of models, and who answers what: completions pass the gate, everything else is the local completer's business.
#include "privacy/privacy.h"

#include <algorithm>
#include <filesystem>
#include "privacy/gate_explain.h"
#include "privacy/gate_passage.h"
#include "privacy/gate_words.h"
#include "privacy/upstream_parts.h"

namespace {

constexpr std::string_view local_prefix = "local/", automatic_name = "auto";

std::string first_local(const GateParts& parts) {
  const auto models = parts.local ? parts.local->models() : std::vector<ModelInfo>{};
  return models.empty() ? "" : models.front().name;
}

bool is_local(const GateParts& parts, std::string_view name) {
  const auto models = parts.local ? parts.local->models() : std::vector<ModelInfo>{};
  return std::any_of(models.begin(), models.end(), [&](const ModelInfo& info) { return info.name == name; });
}

ModelInfo cloud_model(const std::string& name) {
  ModelInfo info;
  info.name = name;
  info.architecture = "upstream";
  info.tool_syntax = "upstream";       // its own business
  info.thinks = true;
  return info;
}

class PrivacyGate : public Gate {
 public:
  explicit PrivacyGate(std::unique_ptr<GateParts> parts) : parts_(std::move(parts)) {}

  Result<Finish> complete(const ChatRequest& request, const Sink& out, std::stop_token stop) override {
    const ChoiceSink sink{[&](size_t, const Delta& delta) { return out(delta); }, [](size_t, const Finish&) { return true; }};
    TRY(const std::vector<Finish> finishes, complete_all({&request, 1}, sink, std::move(stop)));
    if (finishes.empty()) return Error{Code::internal, "cannot answer: an internal error"};
    return finishes.front();
  }

  Result<std::vector<Finish>> complete_all(std::span<const ChatRequest> requests, const ChoiceSink& out, std::stop_token stop) override {
    if (requests.empty()) return std::vector<Finish>{};
    return Passage(*parts_, requests, out, std::move(stop)).run();
  }

  std::vector<ModelInfo> models() const override {
    std::vector<ModelInfo> out = parts_->local ? parts_->local->models() : std::vector<ModelInfo>{};
    ModelInfo automatic = out.empty() ? cloud_model("") : out.front();
    automatic.name = automatic_name;
    for (ModelInfo& info : out) info.name = std::string(local_prefix) + info.name;
    for (const auto& upstream : parts_->upstreams) {
      for (const std::string& model : upstream->options().models) out.push_back(cloud_model(upstream->options().name + "/" + model));
    }
    out.push_back(std::move(automatic));
    return out;
  }

  std::optional<RouteReport> turned_away(const TurnedAway& what) override {
    GateNotes notes;
    notes.endpoint = what.endpoint;
    notes.key = what.key;
    notes.body_bytes = what.body_bytes;
    const GateTarget target = target_named(*parts_, what.requested);
    GateRecord record(*parts_, notes, what.requested.empty() ? "" : requested_label(target));
    record.ended(what.status, harmless(*parts_->scanner, what.code));
    RouteReport report;
    report.route = "refused";
    report.policy = parts_->policy.label();
    report.audit_id = record.id();
    return report;
  }

  std::string metrics() const override { return parts_->metrics.text() + (parts_->local ? parts_->local->metrics() : ""); }

  Result<Embeddings> embed(const EmbedRequest& request, std::stop_token stop) override {
    const GateTarget target = target_named(*parts_, request.model);
    GateRecord record(*parts_, request.gate, requested_label(target));
    RouteReport report;
    report.policy = parts_->policy.label();
    report.audit_id = record.id();
    const bool here = target.kind == GateTarget::Kind::local || target.kind == GateTarget::Kind::automatic;
    if (!here || !parts_->local) {
      report.route = "refused";
      report.code = "unsupported_for_cloud";
      report.param = "model";
      record.ended(400, report.code);
      if (request.gate.routed) request.gate.routed(report);
      return Error{Code::unsupported, "cannot make embeddings there: embeddings are answered locally"};
    }
    report.route = "local";
    report.model = target.local_label();
    record.routed(report.route, report.model);
    if (request.gate.routed) request.gate.routed(report);
    EmbedRequest passed = request;
    passed.model = target.local_name;
    passed.gate = {};
    auto out = parts_->local->embed(passed, std::move(stop));
    record.ended(out ? 200 : status_of(out.error().code), "");
    return out;
  }

  Result<Json> explain(const ChatRequest& request) override { return explain_request(*parts_, request); }

  // ---- what only a local model can do ----
  Result<std::string> render(const ChatRequest& request) override {
    return locally<Result<std::string>>(request.model, [&](Completer& local, const std::string& name) {
      ChatRequest passed = request;
      passed.model = name;
      passed.gate = {};
      return local.render(passed);
    });
  }
  Result<std::vector<TokenId>> tokenize(const std::string& model, std::string_view text, bool special, bool add_bos) override {
    return locally<Result<std::vector<TokenId>>>(model, [&](Completer& local, const std::string& name) { return local.tokenize(name, text, special, add_bos); });
  }
  Result<std::string> detokenize(const std::string& model, std::span<const TokenId> ids) override {
    return locally<Result<std::string>>(model, [&](Completer& local, const std::string& name) { return local.detokenize(name, ids); });
  }
  std::vector<ModelStats> stats() const override {
    auto out = parts_->local ? parts_->local->stats() : std::vector<ModelStats>{};
    for (ModelStats& one : out) one.model = std::string(local_prefix) + one.model;  // as models() calls it
    return out;
  }
  Status load(const std::string& model, std::optional<std::chrono::seconds> keep_alive) override {
    return locally<Status>(model, [&](Completer& local, const std::string& name) { return local.load(name, keep_alive); });
  }
  Status unload(const std::string& model) override {
    return locally<Status>(model, [](Completer& local, const std::string& name) { return local.unload(name); });
  }
  Status pull(const std::string& model, const PullProgress& progress, std::stop_token stop) override {
    if (!parts_->local) return Completer::pull(model, progress, stop);
    return parts_->local->pull(model, progress, stop);
  }
  Status remove(const std::string& model) override {
    return locally<Status>(model, [](Completer& local, const std::string& name) { return local.remove(name); });
  }
  Status copy(const std::string& from, const std::string& to) override {
    return locally<Status>(from, [&](Completer& local, const std::string& name) { return local.copy(name, to); });
  }

 private:
  // A name that is no cloud's goes to the local completer, which knows whether it has such a model.
  template <class T, class Work> T locally(const std::string& model, const Work& work) {
    const GateTarget target = target_named(*parts_, model);
    if (target.kind == GateTarget::Kind::cloud || !parts_->local) return Error{Code::unsupported, "cannot do this with a cloud model: it needs a local one"};
    const bool known = target.kind != GateTarget::Kind::unknown && !target.local_name.empty();
    return work(*parts_->local, known ? target.local_name : model);
  }

  const std::unique_ptr<GateParts> parts_;
};

ScanOptions scan_options(const Policy& policy) {
  ScanOptions out;
  out.tiers = policy.tiers;
  out.limits = policy.limits;
  for (const PolicyTerm& term : policy.terms) out.terms.push_back(term.term);
  return out;
}

}  // namespace

GateTarget target_named(const GateParts& parts, const std::string& name) {
  GateTarget out;
  out.local_name = first_local(parts);
  if (name == automatic_name) {
    out.kind = GateTarget::Kind::automatic;
    if (!parts.upstreams.empty()) out.upstream = parts.upstreams.front().get(), out.model = out.upstream->options().models.front();
    return out;
  }
  for (const auto& upstream : parts.upstreams) {
    for (const std::string& model : upstream->options().models) {
      if (name != upstream->options().name + "/" + model) continue;
      out.kind = GateTarget::Kind::cloud;
      out.upstream = upstream.get();
      out.model = model;
      return out;
    }
  }
  const bool prefixed = name.starts_with(local_prefix) && is_local(parts, name.substr(local_prefix.size()));
  if (name.empty() ? out.local_name.empty() : !prefixed && !is_local(parts, name)) return out;
  out.kind = GateTarget::Kind::local;
  if (!name.empty()) out.local_name = prefixed ? name.substr(local_prefix.size()) : name;
  return out;
}

std::unique_ptr<Gate> assemble_gate(std::unique_ptr<GateParts> parts) { return std::make_unique<PrivacyGate>(std::move(parts)); }

Result<std::unique_ptr<Gate>> Gate::make(GateConfig config, Completer& local, std::shared_ptr<SpanModel> model) {
  if (config.audit.path.empty() && !config.upstreams.empty()) return Error{Code::invalid_request, "cannot start the gate: an upstream is configured without [audit] path"};
  auto parts = std::make_unique<GateParts>();
  parts->policy = std::move(config.policy);
  parts->local = &local;
  TRY(parts->scanner, Scanner::make(scan_options(parts->policy), std::move(model)));
  for (UpstreamOptions& options : config.upstreams) {
    TRY(auto upstream, Upstream::make(std::move(options)));
    parts->upstreams.push_back(std::move(upstream));
  }
  TRY(parts->vaults, VaultBook::open(parts->policy.vault_dir, parts->policy.conversation_ttl_s));
  TRY(parts->consents, ConsentBook::open(parts->policy.vault_dir));
  if (!config.audit.path.empty()) {
    TRY(parts->audit, AuditLog::open(config.audit, parts->policy));
    TRY(parts->pending, PendingLines::open(config.audit.path + ".pending", *parts->audit));
  }
  return assemble_gate(std::move(parts));
}

Result<std::unique_ptr<Gate>> make_dry_gate(GateConfig config, std::shared_ptr<SpanModel> model) {
  auto parts = std::make_unique<GateParts>();
  parts->policy = std::move(config.policy);
  TRY(parts->scanner, Scanner::make(scan_options(parts->policy), std::move(model)));
  for (UpstreamOptions& options : config.upstreams) {
    TRY(auto upstream, keyless_upstream(std::move(options)));
    parts->upstreams.push_back(std::move(upstream));
  }
  return assemble_gate(std::move(parts));
}
