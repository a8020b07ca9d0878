// gate_explain: the same look and the same decision as a request gets, and the body that would leave.
#include "privacy/gate_explain.h"

#include "privacy/gate_case.h"
#include "privacy/gate_words.h"
#include "privacy/route.h"
#include "privacy/upstream_body.h"

namespace {

constexpr std::string_view nameless_local = "local";

Json findings_of(std::span<const FieldFinding> findings) {
  Json out = Json::array();
  for (const FieldFinding& one : findings) {
    const Finding& finding = one.finding;
    out.push_back({{"class", name_of(finding.cls)}, {"kind", finding.kind}, {"score", as_written(finding.score)}, {"detector", finding.detector}, {"field", one.field}, {"length", finding.end - finding.begin}});
  }
  return out;
}

Json rules_of(const Decision& decision) {
  Json out = Json::array();
  for (const AppliedRule& rule : decision.rules) out.push_back({{"rule", rule.rule}, {"action", name_of(rule.action)}, {"reason", rule.reason}});
  return out;
}

// Another name that this configuration does not know is the local model's: nothing else could answer it.
GateTarget target_of(const GateParts& parts, const std::string& model) {
  GateTarget target = target_named(parts, model.empty() ? "auto" : model);
  if (target.kind == GateTarget::Kind::unknown) target.kind = GateTarget::Kind::local, target.upstream = nullptr;
  if (target.local_name.empty()) target.local_name = model.starts_with("local/") ? model.substr(6) : nameless_local;
  return target;
}

std::string route_of(Course course, const std::vector<std::pair<std::string, int>>& masked) {
  switch (course) {
    case Course::local: return "local";
    case Course::ask: return "ask";
    case Course::refuse: return "refused";
    case Course::cloud: return masked.empty() ? "cloud" : "cloud-masked";
  }
  return "refused";
}

void say(Json& out, const std::string& route, const std::string& model) { out["route"] = route, out["model"] = model; }

// What would be sent, or shown before it is: the answer's route, model and upstream_body.
void add_cloud(GateParts& parts, GateCase& seen, const ChatRequest& request, const GateTarget& target, Course course, Json& out) {
  const bool pinned = target.kind == GateTarget::Kind::cloud;
  const std::vector<Action> actions = course == Course::ask ? masking_what_was_asked(seen.decision.of_finding) : seen.decision.of_finding;
  if (const auto field = cannot_leave(seen, {&request, 1}, actions, target)) {
    if (pinned) out["code"] = "unsupported_for_cloud", out["param"] = *field;
    return say(out, pinned ? "refused" : "local", pinned ? "" : target.local_label());
  }
  auto masked = mask_all(parts, seen, {&request, 1}, actions, target);
  if (!masked) return say(out, pinned ? "refused" : "local", pinned ? "" : target.local_label());
  say(out, route_of(course, classes_of(*masked)), target.cloud_label());
  out["upstream_body"] = Json::parse(target.upstream->body(masked->front().clean, target.model, true), nullptr, false);
}

}  // namespace

Result<Json> explain_request(GateParts& parts, const ChatRequest& request) {
  for (const auto& upstream : parts.upstreams)
    if (request.model.starts_with(upstream->options().name + "/") && target_named(parts, request.model).kind == GateTarget::Kind::unknown)
      return Error{Code::not_found, "cannot explain: " + request.model + ": the upstream has no such model"};
  const GateTarget target = target_of(parts, request.model);
  Json out = {{"action", "allow"}, {"route", "local"}, {"model", target.local_label()}, {"policy", parts.policy.label()}, {"findings", Json::array()}, {"rules", Json::array()}, {"upstream_body", nullptr}};
  std::optional<Action> stricter;
  if (!request.gate.stricter.empty()) {
    stricter = action_named(request.gate.stricter);
    if (!stricter || *stricter == Action::allow || *stricter == Action::ask) return Error{Code::invalid_request, "cannot explain: X-Calla-Privacy must be local, mask or refuse"};
  }
  if (!target.upstream) return out;
  const bool pinned = target.kind == GateTarget::Kind::cloud;
  TRY(GateCase seen, look(parts, {&request, 1}, target, stricter));
  if (seen.unknown_shape) {
    if (pinned) out["code"] = "unsupported_for_cloud", out["param"] = *seen.unknown_shape, say(out, "refused", "");
    return out;
  }
  out["action"] = name_of(seen.decision.action);
  out["findings"] = findings_of(seen.findings);
  out["rules"] = rules_of(seen.decision);
  const Course course = course_of(seen.decision.action, pinned, prefers_cloud(parts.policy, request));
  if (course == Course::refuse) say(out, "refused", "");
  if (course == Course::cloud || course == Course::ask) add_cloud(parts, seen, request, target, course, out);
  return out;
}
