// privacy tests: where requests go, what is told about it and what is recorded (privacy-interface.md 3).
#include "privacy/gate_harness.h"

namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(GateTest, ModelsAreTheLocalOnesTheCloudsAndAuto) {
  std::vector<std::string> names;
  for (const ModelInfo& info : gate().models()) names.push_back(info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"local/small", "cloud/big-1", "auto"}));
}

TEST_F(GateTest, ALocalModelIsNeverInspectedAndOpensNoConnection) {  // G5, P5
  scanner->before = [](std::string_view text) {
    if (text.find("my") != text.npos) throw std::runtime_error("a pinned local request was scanned");
  };
  for (const char* model : {"local/small", "small", ""}) {
    ASSERT_TRUE(ask(to(model, "my password is hunter2")));
    EXPECT_EQ(text(), "local says hi");
    EXPECT_EQ(report().route, "local");
    EXPECT_EQ(report().model, "local/small");
    EXPECT_EQ(line()["route"], "local");
    EXPECT_EQ(line()["findings"], Json::array());
    EXPECT_EQ(line()["bytes_upstream"], 0);
    EXPECT_EQ(line()["upstream_sha256"], nullptr);
  }
  EXPECT_EQ(cloud.connections(), 0);
  EXPECT_EQ(local.seen.back().messages_json, asking("my password is hunter2").messages_json);
}

TEST_F(GateTest, NothingFoundGoesToTheCloudAsItIs) {
  ASSERT_TRUE(ask(to("cloud/big-1", "what is a rainbow")));
  EXPECT_EQ(text(), "ok");
  EXPECT_EQ(report().route, "cloud");
  EXPECT_EQ(report().model, "cloud/big-1");
  EXPECT_TRUE(report().classes.empty());
  EXPECT_EQ(sent()["messages"].back()["content"], "what is a rainbow");
  EXPECT_EQ(line()["status"], 200);
  EXPECT_EQ(line()["requested"], "cloud/big-1");
  EXPECT_EQ(line()["bytes_upstream"], text_of(sent()).size());
  EXPECT_EQ(line()["upstream_sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(line()["id"], report().audit_id);
}

TEST_F(GateTest, AutoGoesWhereTheDefaultSays) {
  ASSERT_TRUE(ask(to("auto", "what is a rainbow")));
  EXPECT_EQ(report().route, "cloud");
  gate_.reset(), audit = nullptr, asked = 0;
  policy.cloud_by_default = false;
  ASSERT_TRUE(ask(to("auto", "what is a rainbow")));
  EXPECT_EQ(report().route, "local");
  ASSERT_TRUE(ask(to("auto", "say Jane Roe please")));  // mask: local too
  EXPECT_EQ(report().route, "local");
  EXPECT_EQ(line()["action"], "mask");
  EXPECT_EQ(cloud.connections(), 1);
}

TEST_F(GateTest, AutoSendsLongOnesAndToolsWhereTheUserWantsIt) {
  policy.cloud_by_default = false;
  policy.automatic.cloud_above_tokens = 100;
  policy.automatic.cloud_with_tools = true;
  ASSERT_TRUE(ask(to("auto", "short")));
  EXPECT_EQ(report().route, "local");
  ASSERT_TRUE(ask(to("auto", std::string(1000, 'x'))));
  EXPECT_EQ(report().route, "cloud");
  ChatRequest tools = to("auto", "short");
  tools.tools_json = R"([{"type":"function","function":{"name":"f"}}])";
  ASSERT_TRUE(ask(tools));
  EXPECT_EQ(report().route, "cloud");
}

TEST_F(GateTest, WhatIsMaskedComesBack) {
  script = [](Peer& peer) {
    const std::string body = peer.body(), content = Json::parse(body)["messages"].back()["content"];
    peer.events(said("you said: ") + said(content) + ended() + done);
  };
  ASSERT_TRUE(ask(to("auto", "say Jane Roe please, and jane@example.org, and Jane Roe")));
  EXPECT_EQ(text(), "you said: say Jane Roe please, and jane@example.org, and Jane Roe");
  EXPECT_EQ(report().route, "cloud-masked");
  EXPECT_EQ(report().classes, (std::vector<std::pair<std::string, int>>{{"email", 1}, {"person", 2}}));
  EXPECT_THAT(cloud.all(), Not(HasSubstr("Jane Roe")));
  EXPECT_THAT(cloud.all(), Not(HasSubstr("jane@example.org")));
  EXPECT_THAT(cloud.all(), HasSubstr("PERSON_"));
  EXPECT_EQ(line()["restored"], 3);
  EXPECT_EQ(line()["route"], "cloud-masked");
}

TEST_F(GateTest, OnePlaceholderForAConversationAndAnotherForTheNext) {  // R5
  ASSERT_TRUE(ask(to("cloud/big-1", "say Jane Roe please")));
  ChatRequest again = to("cloud/big-1", "");
  again.messages_json = text_of(Json::array({{{"role", "user"}, {"content", "say Jane Roe please"}}, {{"role", "assistant"}, {"content", "ok"}}, {{"role", "user"}, {"content", "say Jane Roe please"}}}));
  ASSERT_TRUE(ask(again));
  EXPECT_EQ(placeholder(0), placeholder(1));
  ASSERT_TRUE(ask(to("cloud/big-1", "so say Jane Roe please")));
  EXPECT_NE(placeholder(0), placeholder(2));
  ChatRequest named = to("cloud/big-1", "then say Jane Roe please"), other = to("cloud/big-1", "well say Jane Roe please");
  named.gate.conversation = other.gate.conversation = "mine";
  ASSERT_TRUE(ask(named));
  ASSERT_TRUE(ask(other));
  EXPECT_EQ(placeholder(3), placeholder(4));
}

TEST_F(GateTest, ASystemTextDoesNotMakeAConversation) {
  const auto with_system = [&](const std::string& text) {
    ChatRequest request = to("cloud/big-1", "");
    request.messages_json = text_of(Json::array({{{"role", "system"}, {"content", "Be kind."}}, {{"role", "user"}, {"content", text}}}));
    return request;
  };
  ASSERT_TRUE(ask(with_system("a: say Jane Roe please")));
  ASSERT_TRUE(ask(with_system("b: say Jane Roe please")));
  EXPECT_NE(placeholder(0), placeholder(1));
}

TEST_F(GateTest, SecretsStayHere) {  // examples 19 and 24
  ASSERT_TRUE(ask(to("auto", "my password is hunter2")));
  EXPECT_EQ(report().route, "local");
  EXPECT_EQ(text(), "local says hi");
  const auto refused = ask(to("cloud/big-1", "my password is hunter2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::denied);
  EXPECT_EQ(report().route, "refused");
  EXPECT_EQ(report().code, "privacy_refused");
  EXPECT_EQ(report().param, "messages[0].content");
  EXPECT_EQ(privacy()["classes"], Json({{"secret", 1}}));
  EXPECT_EQ(privacy()["fields"], Json::array({"messages[0].content"}));
  EXPECT_EQ(privacy()["policy"], "test@aaaaaaaaaaaa");
  EXPECT_EQ(privacy()["audit_id"], report().audit_id);
  EXPECT_THAT(refused.error().message + report().privacy_json, Not(HasSubstr("hunter2")));
  EXPECT_EQ(line()["status"], 403);
  EXPECT_EQ(line()["code"], "privacy_refused");
  EXPECT_THAT(text_of(line()), Not(HasSubstr("hunter2")));
  EXPECT_EQ(cloud.connections(), 0);
}

TEST_F(GateTest, TermsAreRefusedEvenWhereTheLocalModelCouldAnswer) {
  EXPECT_FALSE(ask(to("auto", "about Nordstar")));
  EXPECT_EQ(report().code, "privacy_refused");
  EXPECT_EQ(local.answers, 0);
  EXPECT_EQ(line()["findings"][0]["class"], "custom");
  EXPECT_EQ(line()["findings"][0]["kind"], "term") << "the log shows no name of a term";
}

TEST_F(GateTest, HealthIsSomebodysOrNobodys) {  // examples 27 and 28
  ASSERT_TRUE(ask(to("auto", "Patient Jane Roe was diagnosed with hepatitis C")));
  EXPECT_EQ(report().route, "local");
  ASSERT_TRUE(ask(to("auto", "What are symptoms of hepatitis C?")));
  EXPECT_EQ(report().route, "cloud");
  EXPECT_THAT(cloud.all(), HasSubstr("hepatitis C?"));
  ChatRequest apart = to("auto", "");
  apart.messages_json = text_of(Json::array({{{"role", "system"}, {"content", "The patient is Jane Roe."}}, {{"role", "user"}, {"content", "Explain hepatitis C to the patient."}}}));
  ASSERT_TRUE(ask(apart));
  EXPECT_EQ(report().route, "local");
  EXPECT_EQ(cloud.connections(), 1);
}

TEST_F(GateTest, HeadersOnlyMakeItStricter) {
  for (const char* wrong : {"allow", "ask", "LOCAL", "off", "mask,local"}) {
    for (const char* model : {"auto", "cloud/big-1", "local/small"}) {
      ChatRequest request = to(model, "hi");
      request.gate.stricter = wrong;
      const auto answer = ask(request);
      ASSERT_FALSE(answer);
      EXPECT_EQ(report().code, "invalid_privacy_header");
      EXPECT_EQ(line()["status"], 400);
    }
  }
  ChatRequest local_wish = to("auto", "hi");
  local_wish.gate.stricter = "local";
  ASSERT_TRUE(ask(local_wish));
  EXPECT_EQ(report().route, "local");
  local_wish.model = "cloud/big-1";
  EXPECT_FALSE(ask(local_wish));
  EXPECT_EQ(report().code, "privacy_refused");
  ChatRequest refuse = to("auto", "hi");
  refuse.gate.stricter = "refuse";
  EXPECT_FALSE(ask(refuse));
  EXPECT_EQ(cloud.connections(), 0);
  ChatRequest mask = to("auto", "hi");
  mask.gate.stricter = "mask";
  ASSERT_TRUE(ask(mask));
  EXPECT_EQ(report().route, "cloud");
}

TEST_F(GateTest, UnknownShapesDoNotLeave) {
  ChatRequest unknown = to("cloud/big-1", "hi");
  unknown.gate.unknown_fields = {"prediction"};
  EXPECT_FALSE(ask(unknown));
  EXPECT_EQ(report().code, "unsupported_for_cloud");
  EXPECT_EQ(report().param, "prediction");
  EXPECT_EQ(line()["status"], 400);
  unknown.model = "auto";
  ASSERT_TRUE(ask(unknown));
  EXPECT_EQ(report().route, "local");
  ChatRequest strange = to("cloud/big-1", "");
  strange.messages_json = R"([{"role":"wizard","content":"hi"}])";
  EXPECT_FALSE(ask(strange));
  EXPECT_EQ(report().code, "unsupported_for_cloud");
  EXPECT_THAT(report().param, HasSubstr("messages[0]"));
  strange.model = "auto";
  ASSERT_TRUE(ask(strange));
  ChatRequest grammar = to("cloud/big-1", "hi");
  grammar.constraint = {Constraint::Kind::gbnf, "root ::= \"x\""};
  EXPECT_FALSE(ask(grammar));
  EXPECT_EQ(report().param, "grammar");
  ChatRequest ids = to("cloud/big-1", "");
  ids.messages_json.clear();
  ids.prompt_ids = {1, 2, 3};
  EXPECT_FALSE(ask(ids));
  EXPECT_EQ(cloud.connections(), 0);
}

TEST_F(GateTest, ImagesStayHere) {
  ChatRequest image = to("auto", "");
  image.messages_json = R"([{"role":"user","content":[{"type":"text","text":"what is this"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}])";
  ASSERT_TRUE(ask(image));
  EXPECT_EQ(report().route, "local");
  EXPECT_EQ(line()["findings"][0]["class"], "unscanned");
  image.model = "cloud/big-1";
  EXPECT_FALSE(ask(image));
  EXPECT_EQ(report().code, "privacy_refused");
  EXPECT_EQ(cloud.connections(), 0);
}

TEST_F(GateTest, APrivateUpstreamSeesTheTextButNotWhatIsRefused) {
  options.trust = Trust::priv;
  ASSERT_TRUE(ask(to("auto", "Jane Roe says hunter2")));
  EXPECT_EQ(report().route, "cloud");
  EXPECT_THAT(cloud.all(), HasSubstr("Jane Roe says hunter2"));
  EXPECT_FALSE(ask(to("auto", "about Nordstar")));
  EXPECT_EQ(cloud.connections(), 1);
}

TEST_F(GateTest, ClassesAreToldWhereThePolicyDiscloses) {
  policy.disclose = Policy::Disclose::body;
  ASSERT_TRUE(ask(to("auto", "say Jane Roe please")));
  EXPECT_EQ(report().route, "cloud-masked");
  EXPECT_TRUE(report().classes.empty());
  EXPECT_FALSE(ask(to("cloud/big-1", "hunter2")));
  EXPECT_EQ(privacy()["classes"], Json({{"secret", 1}}));
  expect_one_line_each();
  gate_.reset(), audit = nullptr, asked = 0;
  policy.disclose = Policy::Disclose::none;
  const auto refused = ask(to("cloud/big-1", "hunter2"));
  ASSERT_FALSE(refused);
  EXPECT_FALSE(privacy().contains("classes"));
  EXPECT_THAT(report().privacy_json + refused.error().message + report().param, Not(HasSubstr("secret")));
}

TEST_F(GateTest, SeveralChoicesAreOneRequest) {
  script = [](Peer& peer) { peer.events(said("a", 0) + said("b", 1) + ended(1) + ended(0) + done); };
  ASSERT_TRUE(ask(to("auto", "hi"), 2));
  EXPECT_EQ(sent()["n"], 2);
  EXPECT_EQ(heard.choices[0].text, "a");
  EXPECT_EQ(heard.choices[1].text, "b");
  EXPECT_EQ(cloud.connections(), 1);
}

TEST_F(GateTest, SeveralPromptsAreOneDecision) {
  script = [](Peer& peer) { peer.events(event({{"choices", Json::array({{{"index", 0}, {"text", Json::parse(peer.body())["prompt"]}, {"finish_reason", "stop"}}})}}) + done); };
  const auto prompted = [&](const std::string& prompt) {
    ChatRequest request = to("auto", "");
    request.messages_json.clear();
    request.prompt = prompt;
    return request;
  };
  std::vector<ChatRequest> requests = {prompted("one"), prompted("two Jane Roe")};
  ++asked;
  const auto answer = gate().complete_all(requests, heard.sink, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(heard.choices[0].text, "one");
  EXPECT_EQ(heard.choices[1].text, "two Jane Roe");
  EXPECT_EQ(reports.size(), 1u);
  EXPECT_EQ(line()["upstream_requests"], 2);
  EXPECT_THAT(cloud.all(), Not(HasSubstr("Jane Roe")));
  requests[1].prompt = "two hunter2";
  ++asked;
  ASSERT_TRUE(gate().complete_all(requests, heard.sink, {}));
  EXPECT_EQ(line()["route"], "local");
  EXPECT_EQ(cloud.connections(), 2);
}

TEST_F(GateTest, LogprobsOfAMaskedRequestAreDroppedAndNamed) {
  ChatRequest request = to("auto", "say Jane Roe please");
  request.top_logprobs = 2;
  request.top_k = 5;
  ASSERT_TRUE(ask(request));
  EXPECT_THAT(report().dropped_fields, testing::UnorderedElementsAre("logprobs", "top_k"));
  EXPECT_FALSE(sent().contains("logprobs"));
}

TEST_F(GateTest, OtherThingsAreTheLocalModelsBusiness) {
  EmbedRequest embed;
  embed.model = "local/small";
  embed.texts = {"hunter2"};
  EXPECT_TRUE(gate().embed(embed, {}));
  embed.model = "auto";
  EXPECT_TRUE(gate().embed(embed, {}));
  embed.model = "cloud/big-1";
  EXPECT_FALSE(gate().embed(embed, {}));
  EXPECT_EQ(audit->requests().back()["status"], 400);
  EXPECT_EQ(gate().tokenize("local/small", "x", true, true)->size(), 2u);
  EXPECT_EQ(gate().tokenize("small", "x", true, true)->size(), 2u);
  EXPECT_FALSE(gate().tokenize("cloud/big-1", "x", true, true));
  const auto away = gate().turned_away({"/v1/chat/completions", "jane@example.org", "key-1", "invalid_json", 400, 17});
  ASSERT_TRUE(away);
  EXPECT_EQ(away->route, "refused");
  EXPECT_EQ(audit->requests().back()["id"], away->audit_id);
  EXPECT_EQ(audit->requests().back()["status"], 400);
  EXPECT_EQ(audit->requests().back()["code"], "invalid_json");
  EXPECT_THAT(text_of(audit->requests().back()), Not(HasSubstr("jane@")));
  asked = 4;
}

TEST_F(GateTest, MetricsHaveFixedLabels) {
  ASSERT_TRUE(ask(to("auto", "say Jane Roe please")));
  EXPECT_FALSE(ask(to("cloud/big-1", "hunter2")));
  const std::string text = gate().metrics();
  EXPECT_THAT(text, HasSubstr("calla_privacy_requests_total{route=\"cloud-masked\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("calla_privacy_requests_total{route=\"refused\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("calla_privacy_findings_total{class=\"person\",action=\"mask\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("calla_privacy_findings_total{class=\"secret\",action=\"local\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("calla_privacy_scan_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("calla_privacy_restored_total 0\n"));
  EXPECT_THAT(text, HasSubstr("calla_privacy_unresolved_total 0\n"));
}

TEST_F(GateTest, ExplainTellsWithoutDoing) {
  const auto explained = gate().explain(to("auto", "say Jane Roe please"));
  ASSERT_TRUE(explained);
  EXPECT_EQ((*explained)["action"], "mask");
  EXPECT_EQ((*explained)["route"], "cloud-masked");
  EXPECT_EQ((*explained)["model"], "cloud/big-1");
  EXPECT_EQ((*explained)["findings"][0]["class"], "person");
  EXPECT_EQ((*explained)["findings"][0]["length"], 8);
  EXPECT_EQ((*explained)["rules"][0]["action"], "mask");
  EXPECT_THAT(text_of((*explained)["upstream_body"]), HasSubstr("PERSON_"));
  EXPECT_THAT(text_of(*explained), Not(HasSubstr("Jane Roe")));
  EXPECT_EQ((*gate().explain(to("cloud/big-1", "hunter2")))["route"], "refused");
  EXPECT_EQ((*gate().explain(to("auto", "hunter2")))["route"], "local");
  EXPECT_EQ((*gate().explain(to("local/small", "hunter2")))["route"], "local");
  EXPECT_EQ((*gate().explain(to("auto", "BLOB")))["route"], "ask");
  EXPECT_EQ(cloud.connections(), 0);
  EXPECT_TRUE(audit->lines.empty());
}

}  // namespace
