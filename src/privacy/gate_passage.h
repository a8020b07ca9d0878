// gate_passage: one request on its way through the gate: seen, decided about, answered here or elsewhere, and recorded.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>
#include "privacy/gate_answer.h"
#include "privacy/gate_case.h"
#include "privacy/gate_record.h"
#include "privacy/route.h"

class Passage {
 public:
  using Answer = Result<std::vector<Finish>>;
  // All choices of one request of the API: one decision, one audit line.
  Passage(GateParts& parts, std::span<const ChatRequest> requests, const ChoiceSink& out, std::stop_token stop);
  Answer run();                        // nothing thrown in it gets past it, and nothing that fails in it leads to a cloud

 private:
  // What the client is told when there is no answer.
  struct Refusal {
    int status;
    Code code;
    std::string name, message;         // "privacy_refused"; ours, without a text of the client or the upstream
    std::string param{}, route = "refused";
    Json consent{};
    int upstream_status = 0;
  };
  Answer proceed();
  Answer pass(Course course);
  Answer ask();
  Answer decided_by_client(Choice choice, const std::string& id);
  Answer offer(const ConsentSubject& subject, std::vector<Choice> choices);
  Answer to_cloud();
  Answer send(std::vector<Masked>& masked);
  Answer failed(const UpstreamFailure& failure);
  Answer locally();
  Answer closed(const char* what);     // something of ours failed: the local model where it may stand in, else a refusal
  Answer refuse(Refusal refusal);
  Answer refuse_by_policy(const std::string& why);
  Answer unsupported(const std::string& param);
  Result<std::vector<Masked>> mask(std::span<const Action> actions);
  void announce(RouteReport report);
  void announce_cloud();
  bool pinned() const { return target_.kind == GateTarget::Kind::cloud; }
  const GateNotes& notes() const { return requests_.front().gate; }
  std::string privacy_member(const Json& consent) const;

  GateParts& parts_;
  const std::span<const ChatRequest> requests_;
  const ChoiceSink& out_;
  const std::stop_token stop_;
  const GateTarget target_;
  GateRecord record_;
  GateCase case_;
  std::vector<Action> actions_;        // beside the findings of the case; what is done in the end
  bool announced_ = false;
  RouteReport cloud_;                  // what is announced once the cloud answers
};
