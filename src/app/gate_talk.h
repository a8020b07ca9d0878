// gate_talk: one conversation through a privacy gate on a terminal: what was decided is said, consent is asked for, refusals say why.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "app/conversation.h"

// The member "privacy" of an error that asks for consent.
struct ConsentQuestion {
  std::string id, destination, model;
  std::vector<std::string> choices;                                // as the gate names them
  std::vector<std::pair<std::string, int>> classes;
  std::vector<std::pair<std::string, std::string>> preview;        // role and text of each message, as they would leave
};
std::optional<ConsentQuestion> read_question(const std::string& privacy_json);
// What is shown, ending in a line for each choice; the first, "local", is what Enter means. `hosts`: of upstreams, by name.
std::string question_text(const ConsentQuestion& question, const std::map<std::string, std::string>& hosts);
// The choice that a line of input means: "" and what cannot be read as one are "local".
std::string chosen(const ConsentQuestion& question, const std::string& line);
// "cloud-masked: cloud/big-1, masked card=1, person=2"
std::string route_line(const RouteReport& report);
// The error of a refusal with what the gate says about it: classes, fields and the audit line.
Error with_reasons(const Error& error, const RouteReport& report);

inline constexpr std::string_view kConsentPrompt = "What shall be done? ";  // behind the choices

class GateTalk {
 public:
  // One line of input, nullopt at its end. Unset: nobody can be asked, and requests say so.
  using Ask = std::function<std::optional<std::string>()>;
  GateTalk(std::string endpoint, std::map<std::string, std::string> hosts, Ask ask);
  // What the gate has to know, for one question of the conversation.
  void prepare(ChatRequest& request);
  // After an answer or an error. True: the request was given a consent and is to be asked again.
  bool ask_again(ChatRequest& request);
  const RouteReport& report() const { return report_; }

 private:
  const std::string endpoint_, conversation_;
  const std::map<std::string, std::string> hosts_;
  const Ask ask_;
  RouteReport report_;
};
