// gate_passage: from a request to its answer; every way out is announced once (again with its error if the answer breaks off) and recorded once.
#include "privacy/gate_passage.h"

#include <algorithm>
#include "privacy/gate_words.h"

Passage::Passage(GateParts& parts, std::span<const ChatRequest> requests, const ChoiceSink& out, std::stop_token stop)
    : parts_(parts), requests_(requests), out_(out), stop_(std::move(stop)), target_(target_named(parts, requests.front().model)),
      record_(parts, requests.front().gate, requested_label(target_)) {}

Passage::Answer Passage::run() {
  try {
    return proceed();
  } catch (const std::exception&) {
    if (announced_) return record_.ended(500, "internal"), Error{Code::internal, "cannot answer: an internal error"};
  }
  try {
    return closed("it failed on the way through the gate");
  } catch (const std::exception&) {
    return record_.ended(500, "internal"), Error{Code::internal, "cannot answer: an internal error"};
  }
}

Passage::Answer Passage::proceed() {
  if (target_.kind == GateTarget::Kind::unknown) return refuse({404, Code::not_found, "", "model not found"});
  std::optional<Action> stricter;
  if (!notes().stricter.empty()) {
    stricter = action_named(notes().stricter);
    if (!stricter || *stricter == Action::allow || *stricter == Action::ask)
      return refuse({400, Code::invalid_request, "invalid_privacy_header", "X-Calla-Privacy must be local, mask or refuse"});
  }
  if (!target_.upstream) return locally();
  auto seen = look(parts_, requests_, target_, stricter);
  if (!seen) return closed("it could not be inspected");
  case_ = std::move(*seen);
  record_.scanned(case_.scan_us);
  if (case_.unknown_shape) return pinned() ? unsupported(*case_.unknown_shape) : locally();
  record_.decided(case_.decision, case_.findings);
  actions_ = case_.decision.of_finding;
  return pass(course_of(case_.decision.action, pinned(), prefers_cloud(parts_.policy, requests_.front())));
}

Passage::Answer Passage::pass(Course course) {
  switch (course) {
    case Course::local: return locally();
    case Course::refuse: return refuse_by_policy(case_.decision.action == Action::refuse ? "the policy refuses it" : "the policy keeps it on this machine");
    case Course::ask: return ask();
    case Course::cloud: return to_cloud();
  }
  return closed("its course is unknown");
}

// ---- asking ----

Passage::Answer Passage::ask() {
  if (const auto field = cannot_leave(case_, requests_, masking_what_was_asked(actions_), target_)) return pinned() ? unsupported(*field) : locally();
  ConsentHeader header;
  if (!notes().consent.empty()) {
    auto read = read_consent_header(notes().consent);
    if (!read) return refuse({400, Code::invalid_request, "consent_invalid", "X-Calla-Consent must be ID; decision=CHOICE, or none"});
    header = std::move(*read);
  }
  if (!parts_.policy.consent.enabled || !parts_.consents || header.none) return pass(instead_of_asking(parts_.policy, pinned()));
  const std::vector<FieldFinding> asked = asked_about(case_.findings, actions_);
  const ConsentSubject subject = subject_of(parts_.policy, requests_, case_.findings, target_);
  if (!header.id.empty()) {
    if (!parts_.consents->take(header.id, header.choice, subject)) return refuse({400, Code::invalid_request, "consent_invalid", "this consent is unknown, used, expired or for another request"});
    return decided_by_client(header.choice, header.id);
  }
  if (parts_.consents->session_allows(case_.conversation.id, notes().key, classes_in(asked))) return decided_by_client(Choice::mask_once, "session");
  return offer(subject, permitted_choices(parts_.policy, asked));
}

Passage::Answer Passage::decided_by_client(Choice choice, const std::string& id) {
  record_.consented({{"id", id}, {"decision", name_of(choice)}});
  if (id != "session" && parts_.audit && !parts_.audit->append("consent", {{"id", id}, {"decision", name_of(choice)}, {"request", record_.id()}, {"destination", target_.cloud_label()}})) {
    parts_.audit_broken = true;
    return closed("the audit log cannot be written");
  }
  switch (choice) {
    case Choice::cancel: return refuse_by_policy("its sender cancelled it");
    case Choice::local: return locally();
    case Choice::mask_session:
      parts_.consents->allow_session(case_.conversation.id, notes().key, classes_in(asked_about(case_.findings, actions_)), parts_.policy.conversation_ttl_s);
      [[fallthrough]];
    case Choice::mask_once: actions_ = masking_what_was_asked(actions_); break;
    case Choice::send_once:
      for (size_t i = 0; i < actions_.size(); ++i) {
        if (actions_[i] == Action::ask) case_.as_is.push_back(i), actions_[i] = Action::allow;
      }
      break;
  }
  return to_cloud();
}

Passage::Answer Passage::offer(const ConsentSubject& subject, std::vector<Choice> choices) {
  const std::vector<Action> actions = masking_what_was_asked(actions_);
  auto masked = mask_all(parts_, case_, requests_, actions, target_);
  if (!masked) return closed("it could not be masked");
  auto offered = parts_.consents->offer(subject, std::move(choices), parts_.policy.consent.ttl_s);
  if (!offered) return closed("no consent could be prepared");
  Refusal refusal{428, Code::denied, "consent_required", "this request needs a decision before it may leave this machine"};
  refusal.route = "ask";
  refusal.consent = consent_member(*offered, target_, *masked);
  return refuse(std::move(refusal));
}

// ---- elsewhere ----

Passage::Answer Passage::to_cloud() {
  if (const auto field = cannot_leave(case_, requests_, actions_, target_)) return pinned() ? unsupported(*field) : locally();
  if (!pinned() && !target_.upstream->open()) return record_.fell_back({}), locally();
  auto masked = mask_all(parts_, case_, requests_, actions_, target_);
  if (!masked) return closed("it could not be masked");
  if (parts_.vaults && !parts_.vaults->keep(case_.conversation)) return closed("its placeholders could not be kept");
  auto classes = classes_of(*masked);
  cloud_.route = classes.empty() ? "cloud" : "cloud-masked";
  cloud_.model = target_.cloud_label();
  if (parts_.policy.disclose == Policy::Disclose::headers) cloud_.classes = std::move(classes);
  cloud_.dropped_fields = dropped_of(*masked, requests_.front(), target_.upstream->options().wire);
  record_.settled(case_.findings, actions_);
  record_.routed(cloud_.route, cloud_.model);
  size_t bytes = 0;
  for (const Masked& one : *masked) bytes += target_.upstream->body(one.clean, target_.model, true).size();
  if (!record_.reserve(bytes)) return closed("the audit log cannot be written");
  return send(*masked);
}

Passage::Answer Passage::send(std::vector<Masked>& masked) {
  const ChoiceSink out{[this](size_t choice, const Delta& delta) { return announce_cloud(), out_.delta(choice, delta); },
                       [this](size_t choice, const Finish& finish) { return announce_cloud(), out_.end(choice, finish); }};
  std::vector<Finish> finishes(requests_.size());
  for (size_t i = 0; i < masked.size(); ++i) {
    const std::vector<size_t>& choices = case_.groups[i].choices;
    GateAnswer answer(masked[i].ledger, parts_.policy.restore, out, choices);
    const ChoiceSink into{[&](size_t choice, const Delta& delta) { return answer.delta(choice, delta); }, [&](size_t choice, const Finish& finish) { return answer.end(choice, finish); }};
    const UpstreamAnswer came = target_.upstream->send(masked[i].clean, target_.model, into, stop_);
    record_.sent(came);
    const RestoreCounts counts = answer.counts();
    record_.restored(counts.restored, counts.unresolved, counts.url_blocked);
    if (came.failure.kind != UpstreamFailure::Kind::none) return failed(came.failure);
    for (size_t k = 0; k < std::min(choices.size(), came.finishes.size()); ++k) finishes[choices[k]] = came.finishes[k];
  }
  announce_cloud();
  record_.ended(200, "");
  return finishes;
}

Passage::Answer Passage::failed(const UpstreamFailure& failure) {
  using Kind = UpstreamFailure::Kind;
  if (failure.kind == Kind::cancelled) return announce_cloud(), record_.ended(499, "cancelled"), Error{Code::cancelled, "the answer was cancelled"};
  if (!announced_ && !pinned()) return record_.fell_back(failure), locally();
  const bool late = failure.kind == Kind::timeout;
  Refusal refusal{late ? 504 : 502, Code::io, late ? "upstream_timeout" : "upstream_failed", failure.message};
  refusal.route = cloud_.route;
  refusal.upstream_status = failure.status;
  return refuse(std::move(refusal));
}

void Passage::announce_cloud() {
  if (!announced_) announce(cloud_);
}

// ---- here, or nowhere ----

Passage::Answer Passage::locally() {
  if (!parts_.local || target_.local_name.empty()) return refuse({404, Code::not_found, "", "there is no local model to answer this"});
  std::vector<ChatRequest> requests(requests_.begin(), requests_.end());
  for (ChatRequest& request : requests) request.model = target_.local_name, request.gate = {};
  RouteReport report;
  report.route = "local";
  report.model = target_.local_label();
  record_.routed(report.route, report.model);
  announce(std::move(report));
  Answer answer = parts_.local->complete_all(requests, out_, stop_);
  const bool cancelled = answer && std::any_of(answer->begin(), answer->end(), [](const Finish& finish) { return finish.reason == Finish::Reason::cancelled; });
  record_.ended(cancelled ? 499 : answer ? 200 : status_of(answer.error().code), "");
  return answer;
}

Passage::Answer Passage::closed(const char* what) {
  if (announced_) return record_.ended(500, "internal"), Error{Code::internal, "cannot answer: an internal error"};
  if (!pinned() && target_.kind != GateTarget::Kind::unknown) return locally();
  return refuse_by_policy(what);
}

Passage::Answer Passage::unsupported(const std::string& param) {
  Refusal refusal{400, Code::unsupported, "unsupported_for_cloud", "a field of this request cannot be sent to a cloud model"};
  refusal.param = param;
  return refuse(std::move(refusal));
}

Passage::Answer Passage::refuse_by_policy(const std::string& why) {
  Refusal refusal{403, Code::denied, "privacy_refused", "this request may not go to a cloud model: " + why};
  const auto strictest = std::max_element(actions_.begin(), actions_.end());
  if (strictest != actions_.end() && *strictest > Action::mask && parts_.policy.disclose != Policy::Disclose::none) {
    refusal.param = case_.findings[static_cast<size_t>(strictest - actions_.begin())].field;
  }
  return refuse(std::move(refusal));
}

Passage::Answer Passage::refuse(Refusal refusal) {
  record_.routed(refusal.route, refusal.route.starts_with("cloud") ? cloud_.model : "");
  record_.ended(refusal.status, refusal.name);
  RouteReport report;
  report.route = refusal.route;
  if (refusal.route.starts_with("cloud")) report.model = cloud_.model, report.classes = cloud_.classes;
  report.code = refusal.name;
  report.param = refusal.param;
  report.upstream_status = refusal.upstream_status;
  report.privacy_json = privacy_member(refusal.consent);
  announce(std::move(report));
  return Error{refusal.code, std::move(refusal.message)};
}

void Passage::announce(RouteReport report) {
  if (announced_ && report.code.empty()) return;  // only that it failed since is news
  announced_ = true;
  report.policy = parts_.policy.label();
  report.audit_id = record_.id();
  if (notes().routed) notes().routed(report);
}

std::string Passage::privacy_member(const Json& consent) const {
  Json out = Json::object();
  if (parts_.policy.disclose != Policy::Disclose::none) {
    out["classes"] = Json::object();
    for (const auto& [cls, count] : classes_of(case_.findings, actions_)) out["classes"][cls] = count;
    out["fields"] = fields_with(case_.findings, actions_);
  }
  out["policy"] = parts_.policy.label();
  out["audit_id"] = record_.id();
  if (!consent.is_null()) out["consent"] = consent;
  return text_of(out);
}
