// gate_talk_test: the screen that asks for consent, what a line means, and requests asked again; names behind a gate.
#include <gtest/gtest.h>
#include "app/gate_talk.h"
#include "app/gated.h"

namespace {

const std::string offer = R"({"classes":{"email":1,"person":2},"fields":["messages[0].content"],"policy":"house@0123456789ab","audit_id":"a-1",
  "consent":{"id":"ID1","expires":"2026-11-30T13:20:11Z","destination":"cloud","model":"cloud/big-1","choices":["mask_once","mask_session","local","cancel"],
             "preview":[{"role":"system","content":"Be brief."},{"role":"user","content":"Write to PERSON_7KQ2M3.\nThanks"}]}})";

ConsentQuestion question() { return *read_question(offer); }

TEST(GateTalk, TheScreenShowsWhereToWhatWasFoundAndTheExactText) {
  const std::string text = question_text(question(), {{"cloud", "api.example:8443"}});
  for (const char* part : {"cloud (api.example:8443), model cloud/big-1", "email=1, person=2", "Be brief.", "Write to PERSON_7KQ2M3.\n    Thanks", "[1] answer locally  (Enter)", "[2] send what is shown, this once"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
}

TEST(GateTalk, ControlCharactersOfATextCannotRewriteTheScreen) {
  ConsentQuestion asked = question();
  asked.preview = {{"user", "\x1b[2Jgone"}};
  EXPECT_EQ(question_text(asked, {}).find('\x1b'), std::string::npos);
}

TEST(GateTalk, EnterAndWhatCannotBeReadStayHere) {
  const ConsentQuestion asked = question();
  for (const char* line : {"", "  ", "y", "yes", "0", "6", "99999999999999999999", "send_once", "mask"}) EXPECT_EQ(chosen(asked, line), "local") << line;
  EXPECT_EQ(chosen(asked, "2"), "mask_once");
  EXPECT_EQ(chosen(asked, " 3 "), "mask_session");
  EXPECT_EQ(chosen(asked, "mask_once"), "mask_once");
  EXPECT_EQ(chosen(asked, "cancel"), "cancel");
}

TEST(GateTalk, WhatIsNoOfferIsNone) {
  for (const char* text : {"", "[]", "{}", R"({"consent":1})", R"({"consent":{}})"}) EXPECT_FALSE(read_question(text)) << text;
}

TEST(GateTalk, ARequestIsAskedAgainWithItsConsent) {
  std::vector<std::string> typed = {"2"};
  GateTalk talk("calla chat", {}, [&]() -> std::optional<std::string> {
    if (typed.empty()) return std::nullopt;
    std::string line = typed.back();
    typed.pop_back();
    return line;
  });
  ChatRequest request;
  request.model = "auto";
  request.messages_json = R"([{"role":"user","content":"hi"}])";
  talk.prepare(request);
  EXPECT_EQ(request.gate.endpoint, "calla chat");
  EXPECT_EQ(request.gate.consent, "");
  EXPECT_EQ(request.gate.body_sha256.size(), 64u);
  const std::string conversation = request.gate.conversation, hash = request.gate.body_sha256;
  EXPECT_FALSE(talk.ask_again(request));  // nothing was asked
  RouteReport asks;
  asks.code = "consent_required";
  asks.privacy_json = offer;
  request.gate.routed(asks);
  testing::internal::CaptureStdout();
  EXPECT_TRUE(talk.ask_again(request));
  EXPECT_NE(testing::internal::GetCapturedStdout().find("PERSON_7KQ2M3"), std::string::npos);
  EXPECT_EQ(request.gate.consent, "ID1; decision=mask_once");
  request.gate.routed(asks);
  testing::internal::CaptureStdout();
  EXPECT_TRUE(talk.ask_again(request));  // the end of input is no consent
  (void)testing::internal::GetCapturedStdout();
  EXPECT_EQ(request.gate.consent, "ID1; decision=local");
  talk.prepare(request);
  EXPECT_EQ(request.gate.conversation, conversation);
  EXPECT_EQ(request.gate.body_sha256, hash);
}

TEST(GateTalk, NobodyToAskIsSaid) {
  GateTalk talk("calla run", {}, {});
  ChatRequest request;
  request.messages_json = "[]";
  talk.prepare(request);
  EXPECT_EQ(request.gate.consent, "none");
  RouteReport asks;
  asks.code = "consent_required";
  asks.privacy_json = offer;
  request.gate.routed(asks);
  EXPECT_FALSE(talk.ask_again(request));
}

TEST(GateTalk, RoutesAndRefusalsInALine) {
  RouteReport report;
  report.route = "cloud-masked";
  report.model = "cloud/big-1";
  report.classes = {{"card", 1}, {"person", 2}};
  EXPECT_EQ(route_line(report), "cloud-masked: cloud/big-1, masked card=1, person=2");
  report = {};
  report.code = "privacy_refused";
  report.audit_id = "a-1";
  report.privacy_json = R"({"classes":{"secret":1},"fields":["messages[0].content"]})";
  EXPECT_EQ(with_reasons({Code::denied, "refused"}, report).message, "refused; found: secret=1 in messages[0].content; audit line a-1");
}

class NamedCompleter : public Completer {
 public:
  Result<Finish> complete(const ChatRequest&, const Sink&, std::stop_token) override { return Finish{}; }
  std::vector<ModelInfo> models() const override { return {{"local/small", 0, ""}, {"cloud/big-1", 0, ""}, {"auto", 0, ""}}; }
};

TEST(Gated, NamesOfTheGate) {
  const NamedCompleter gate;
  EXPECT_EQ(*gated_name(gate, ""), "auto");
  EXPECT_EQ(*gated_name(gate, "small"), "local/small");
  EXPECT_EQ(*gated_name(gate, "cloud/big-1"), "cloud/big-1");
  EXPECT_FALSE(gated_name(gate, "big-1"));
  UpstreamOptions upstream;
  upstream.name = "cloud";
  upstream.base_url = "https://api.example:8443/v1";
  upstream.models = {"big-1", "big-2"};
  EXPECT_EQ(gated_names({upstream}), (std::vector<std::string>{"cloud/big-1", "cloud/big-2", "auto"}));
  EXPECT_EQ(hosts_of({upstream}).at("cloud"), "api.example:8443");
}

}  // namespace
