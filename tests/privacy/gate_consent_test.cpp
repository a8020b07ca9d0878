// privacy tests: asking before something leaves: offers, decisions, and ids that are worth nothing a second time or elsewhere (A5).
#include "privacy/gate_harness.h"

namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class GateConsent : public GateTest {
 protected:
  ChatRequest asking_for(const std::string& model = "auto", const std::string& text = "say BLOB please, Jane Roe") { return to(model, text); }
  Json offered(const ChatRequest& request) {
    EXPECT_FALSE(ask(request));
    EXPECT_EQ(report().code, "consent_required");
    EXPECT_EQ(report().route, "ask");
    EXPECT_EQ(line()["status"], 428);
    EXPECT_EQ(line()["route"], "ask");
    return privacy()["consent"];
  }
  Result<std::vector<Finish>> decide(ChatRequest request, const Json& consent, const std::string& decision) {
    request.gate.consent = consent["id"].get<std::string>() + "; decision=" + decision;
    return ask(request);
  }
};

TEST_F(GateConsent, TheOfferShowsWhatWouldLeave) {
  const Json consent = offered(asking_for());
  EXPECT_EQ(consent["destination"], "cloud");
  EXPECT_EQ(consent["model"], "cloud/big-1");
  EXPECT_THAT(consent["expires"].get<std::string>(), testing::MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_THAT(consent["choices"], Contains("mask_once"));
  EXPECT_THAT(consent["choices"], Contains("local"));
  EXPECT_THAT(consent["choices"], Contains("cancel"));
  EXPECT_THAT(consent["choices"], Not(Contains("send_once")));
  const std::string preview = text_of(consent["preview"]);
  EXPECT_THAT(preview, HasSubstr("please"));
  EXPECT_THAT(preview, Not(HasSubstr("Jane Roe")));
  EXPECT_THAT(preview, Not(HasSubstr("BLOB")));
  EXPECT_EQ(cloud.connections(), 0);
}

TEST_F(GateConsent, MaskedOnceAsShown) {
  const Json consent = offered(asking_for());
  ASSERT_TRUE(decide(asking_for(), consent, "mask_once"));
  EXPECT_EQ(report().route, "cloud-masked");
  EXPECT_EQ(text_of(sent()["messages"]), text_of(consent["preview"]));
  EXPECT_EQ(line()["consent"]["decision"], "mask_once");
  EXPECT_EQ(audit->lines[1].first, "consent");
  EXPECT_FALSE(decide(asking_for(), consent, "mask_once"));  // used up
  EXPECT_EQ(report().code, "consent_invalid");
  EXPECT_EQ(line()["status"], 400);
  EXPECT_EQ(cloud.connections(), 1);
}

TEST_F(GateConsent, AnIdIsForThisRequestAlone) {
  const Json consent = offered(asking_for());
  EXPECT_FALSE(decide(asking_for("auto", "say BLOB please, Zoe Poe"), consent, "mask_once"));
  EXPECT_EQ(report().code, "consent_invalid");
  const Json second = offered(asking_for());
  ChatRequest other_key = asking_for();
  other_key.gate.key = "key-2";
  EXPECT_FALSE(decide(other_key, second, "mask_once"));
  const Json third = offered(asking_for());
  ChatRequest other_body = asking_for();
  other_body.gate.body_sha256 = std::string(64, 'c');
  EXPECT_FALSE(decide(other_body, third, "mask_once"));
  EXPECT_FALSE(decide(asking_for(), offered(asking_for()), "send_once"));  // was not offered
  EXPECT_FALSE(decide(asking_for(), Json{{"id", "made-up"}}, "mask_once"));
  EXPECT_EQ(report().code, "consent_invalid");
  ChatRequest garbled = asking_for();
  garbled.gate.consent = "what is this";
  EXPECT_FALSE(ask(garbled));
  EXPECT_EQ(report().code, "consent_invalid");
  EXPECT_EQ(cloud.connections(), 0);
}

TEST_F(GateConsent, LocalAndCancel) {
  ASSERT_TRUE(decide(asking_for(), offered(asking_for()), "local"));
  EXPECT_EQ(report().route, "local");
  EXPECT_FALSE(decide(asking_for(), offered(asking_for()), "cancel"));
  EXPECT_EQ(report().code, "privacy_refused");
  EXPECT_EQ(line()["status"], 403);
  EXPECT_EQ(cloud.connections(), 0);
}

TEST_F(GateConsent, SentAsItIsWhereThePolicyPermits) {
  policy.consent.scopes[PrivacyClass::opaque] = {Scope::once, Scope::as_is};
  const Json consent = offered(asking_for());
  ASSERT_TRUE(decide(asking_for(), consent, "send_once"));
  EXPECT_THAT(cloud.all(), HasSubstr("BLOB"));
  EXPECT_THAT(cloud.all(), Not(HasSubstr("Jane Roe")));  // nobody was asked about that
  EXPECT_EQ(line()["findings"][0]["class"], "opaque");
  EXPECT_EQ(line()["findings"][0]["action"], "allow");
}

TEST_F(GateConsent, OnceForAConversation) {
  policy.consent.scopes[PrivacyClass::opaque] = {Scope::once, Scope::session};
  ChatRequest request = asking_for();
  request.gate.conversation = "c";
  ASSERT_TRUE(decide(request, offered(request), "mask_session"));
  ChatRequest next = asking_for("auto", "another BLOB");
  next.gate.conversation = "c";
  ASSERT_TRUE(ask(next));
  EXPECT_EQ(report().route, "cloud-masked");
  next.gate.conversation = "d";
  EXPECT_FALSE(ask(next));
  EXPECT_EQ(report().code, "consent_required");
}

TEST_F(GateConsent, WhereNobodyCanBeAsked) {
  ChatRequest request = asking_for();
  request.gate.consent = "none";
  ASSERT_TRUE(ask(request));
  EXPECT_EQ(report().route, "local");
  request.model = "cloud/big-1";
  EXPECT_FALSE(ask(request));
  EXPECT_EQ(report().code, "privacy_refused");
  expect_one_line_each();
  gate_.reset(), audit = nullptr, asked = 0;
  policy.ask_fallback = Action::refuse;
  request.model = "auto";
  EXPECT_FALSE(ask(request));
  EXPECT_EQ(report().code, "privacy_refused");
  expect_one_line_each();
  gate_.reset(), audit = nullptr, asked = 0;
  policy.ask_fallback = Action::local;
  policy.consent.enabled = false;
  request.gate.consent = "";
  ASSERT_TRUE(ask(request));
  EXPECT_EQ(report().route, "local");
  EXPECT_EQ(cloud.connections(), 0);
}

}  // namespace
