// privacy tests: what fails on the way: upstreams, the log, the scanner, the client. Whatever it is, nothing leaves that should not (G2, G3).
#include "privacy/gate_harness.h"

namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(GateTest, AutoFallsBackToTheLocalModelBeforeTheFirstWord) {
  script = [](Peer& peer) { peer.answer(500, "my diary"); };
  ASSERT_TRUE(ask(to("auto", "say Jane Roe please")));
  EXPECT_EQ(text(), "local says hi");
  EXPECT_EQ(report().route, "local");
  EXPECT_EQ(report().model, "local/small");
  EXPECT_TRUE(report().classes.empty());
  EXPECT_EQ(line()["route"], "local");
  EXPECT_EQ(line()["fallback"], "upstream_failed");
  EXPECT_EQ(line()["bytes_upstream"], text_of(sent()).size());  // it did leave, masked
  EXPECT_EQ(local.seen[0].messages_json, asking("say Jane Roe please").messages_json);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ask(to("auto", "hi")));
  const int connections = cloud.connections();
  ASSERT_TRUE(ask(to("auto", "hi")));  // the breaker has tripped
  EXPECT_EQ(cloud.connections(), connections);
  EXPECT_EQ(report().route, "local");
  EXPECT_EQ(line()["bytes_upstream"], 0);
}

TEST_F(GateTest, APinnedCloudThatFailsIsAnError) {
  script = [](Peer& peer) { peer.answer(500, R"({"error":{"message":"RAW hunter2"}})"); };
  const auto failed = ask(to("cloud/big-1", "hi"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(report().code, "upstream_failed");
  EXPECT_EQ(report().upstream_status, 500);
  EXPECT_EQ(report().route, "cloud");
  EXPECT_EQ(line()["status"], 502);
  EXPECT_THAT(failed.error().message + report().privacy_json, Not(HasSubstr("RAW")));
  EXPECT_EQ(local.answers, 0);
  EXPECT_EQ(heard.deltas, 0);
}

TEST_F(GateTest, APinnedCloudThatIsSilentIsATimeout) {
  script = [](Peer& peer) { peer.closed_within(3000); };
  options.timeout_s = 1;
  ASSERT_FALSE(ask(to("cloud/big-1", "hi")));
  EXPECT_EQ(report().code, "upstream_timeout");
  EXPECT_EQ(line()["status"], 504);
}

TEST_F(GateTest, AfterTheFirstWordThereIsNoOtherModel) {
  script = [](Peer& peer) { peer.events(said("half ")); };
  ASSERT_FALSE(ask(to("auto", "hi")));
  EXPECT_EQ(text(), "half ");
  EXPECT_EQ(local.answers, 0);
  EXPECT_EQ(report().route, "cloud");
  EXPECT_EQ(reports.back().code, "upstream_failed");
  EXPECT_EQ(line()["status"], 502);
}

TEST_F(GateTest, AClientThatLeavesIsRecorded) {
  std::atomic<bool> closed{false};
  script = [&](Peer& peer) {
    peer.events(said("a"));
    closed = peer.closed_within(2000);
  };
  std::stop_source source;
  heard.after = [&] { return source.request_stop(), true; };
  const auto answer = ask(to("auto", "say Jane Roe please"), 1, source.get_token());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::cancelled);
  EXPECT_EQ(line()["status"], 499);
  EXPECT_GT(line()["bytes_upstream"], 0);
  cloud.end();
  EXPECT_TRUE(closed);
}

TEST_F(GateTest, WithoutALogNothingLeaves) {
  gate();
  audit->broken = true;
  ASSERT_TRUE(ask(to("auto", "hi")));  // finds out
  ASSERT_TRUE(ask(to("auto", "hi")));
  EXPECT_EQ(report().route, "local");
  EXPECT_FALSE(ask(to("cloud/big-1", "hi")));
  EXPECT_EQ(report().code, "privacy_refused");
  EXPECT_EQ(cloud.connections(), 1);
  audit->broken = false;
  asked = 0;
  ASSERT_TRUE(ask(to("auto", "hi")));
  ASSERT_TRUE(ask(to("auto", "hi")));
  EXPECT_EQ(report().route, "cloud");
}

TEST_F(GateTest, ADetectorThatThrowsKeepsItHere) {
  scanner->before = [](std::string_view text) {
    if (text.find("boom") != text.npos) throw std::runtime_error("boom");
  };
  ASSERT_TRUE(ask(to("auto", "boom")));
  EXPECT_EQ(report().route, "local");
  EXPECT_FALSE(ask(to("cloud/big-1", "boom")));
  EXPECT_EQ(report().code, "privacy_refused");
  EXPECT_EQ(cloud.connections(), 0);
}

TEST_F(GateTest, MoreThanCanBeScannedStaysHere) {
  policy.limits.max_bytes = 100;
  ChatRequest request = to("auto", "");
  Json messages = Json::array();
  for (int i = 0; i < 20; ++i) messages.push_back({{"role", "user"}, {"content", "ten bytes."}});
  request.messages_json = text_of(messages);
  ASSERT_TRUE(ask(request));
  EXPECT_EQ(report().route, "local");
  EXPECT_EQ(line()["findings"][0]["class"], "unscanned");
  request.model = "cloud/big-1";
  EXPECT_FALSE(ask(request));
  EXPECT_EQ(cloud.connections(), 0);
}

TEST_F(GateTest, ASlowScannerRunsOutOfTime) {
  policy.limits.scan_ms = 20;
  scanner->before = [](std::string_view text) {
    if (text == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  ChatRequest request = to("auto", "");
  request.messages_json = text_of(Json::array({{{"role", "user"}, {"content", "slow"}}, {{"role", "assistant"}, {"content", "x"}}, {{"role", "user"}, {"content", "y"}}}));
  ASSERT_TRUE(ask(request));
  EXPECT_EQ(report().route, "local");
}

TEST_F(GateTest, NothingIsSentBeforeTheDecision) {  // G2
  std::atomic<bool> scanned{false}, connected_before{false};
  scanner->before = [&](std::string_view text) {
    if (text != "hi") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    connected_before = cloud.connections() > 0;
    scanned = true;
  };
  script = [&](Peer& peer) {
    EXPECT_TRUE(scanned);
    say_ok(peer);
  };
  ASSERT_TRUE(ask(to("auto", "hi")));
  EXPECT_FALSE(connected_before);
}

TEST_F(GateTest, ValuesKnownFromBeforeStayMasked) {  // F8, F14
  ChatRequest first = to("auto", "say Jane Roe please");
  first.gate.conversation = "c";
  ASSERT_TRUE(ask(first));
  scanner->words.clear();              // whatever the scanner misses from now on
  ChatRequest second = to("auto", "what did jane roe say");
  second.gate.conversation = "c";
  ASSERT_TRUE(ask(second));
  EXPECT_EQ(report().route, "cloud-masked");
  EXPECT_THAT(text_of(sent(1)), Not(HasSubstr("jane roe")));
}

TEST_F(GateTest, ManyAtOnceDoNotMeet) {  // F15
  script = [](Peer& peer) {
    const std::string content = Json::parse(peer.body())["messages"].back()["content"];
    peer.events(said(content.substr(0, 7)) + said(content.substr(7)) + ended() + done);
  };
  constexpr int n_threads = 8, n_each = 10;
  for (int t = 0; t < n_threads; ++t) scanner->words.push_back({"Person Number " + std::to_string(t), PrivacyClass::person});
  gate();
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < n_threads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < n_each; ++i) {
          ChatRequest request = asking("say Person Number " + std::to_string(t) + " " + std::to_string(i));
          request.model = "auto";
          Heard mine;
          const ChoiceSink& sink = mine.sink;
          if (!gate_->complete_all({&request, 1}, sink, {}) || mine.choices[0].text != "say Person Number " + std::to_string(t) + " " + std::to_string(i)) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(cloud.all(), Not(HasSubstr("Person Number")));
  asked = n_threads * n_each;
}

// ---- restoring while it streams ----

TEST_F(GateTest, PlaceholdersCutAtEveryByteComeBackWhole) {  // example 32
  ChatRequest probe = to("auto", "say Jane Roe please");
  probe.gate.conversation = "c";
  ASSERT_TRUE(ask(probe));
  const std::string whole = "\xe9\x9b\xbb\xe8\xa9\xb1: " + placeholder() + "'s friend";
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    if (cut < whole.size() && (static_cast<unsigned char>(whole[cut]) & 0xc0) == 0x80) continue;  // JSON holds whole characters
    script = [&](Peer& peer) {
      peer.events(said(whole.substr(0, cut), 0) + said(whole.substr(0, cut), 1) + said(whole.substr(cut), 1) + said(whole.substr(cut), 0) + ended(1) + ended(0) + done);
    };
    ASSERT_TRUE(ask(probe, 2));
    EXPECT_EQ(heard.choices[0].text, "\xe9\x9b\xbb\xe8\xa9\xb1: Jane Roe's friend") << cut;
    EXPECT_EQ(heard.choices[1].text, heard.choices[0].text) << cut;
  }
}

TEST_F(GateTest, EveryByteOfAStreamInAPacketOfItsOwn) {
  ChatRequest probe = to("auto", "say Jane Roe please");
  probe.gate.conversation = "c";
  ASSERT_TRUE(ask(probe));
  const std::string events = ": x\r\n\r\ndata: " + text_of(Json::parse(said("\xf0\x9f\x98\x80 " + placeholder() + "!").substr(6))) + "\r\n\r\n" + ended() + done;
  script = [&](Peer& peer) {
    peer.open_stream();
    for (const char c : events) peer.send(std::string(1, c));
  };
  ASSERT_TRUE(ask(probe));
  EXPECT_EQ(text(), "\xf0\x9f\x98\x80 Jane Roe!");
}

TEST_F(GateTest, ArgumentsOfToolsAreRestoredAsJson) {  // example 33
  const std::string quoted = "Ann \"Q\\\" Roe";
  scanner->words = {{quoted, PrivacyClass::person}};
  ChatRequest request = to("auto", "say " + quoted + " please");
  request.gate.conversation = "c";
  ASSERT_TRUE(ask(request));
  const std::string arguments = "{\"to\":\"" + placeholder() + "\",\"body\":\"Hi \\\"" + placeholder() + "\\\"\\n\"}";
  size_t cut = 1;
  for (; cut < arguments.size(); ++cut) {
    script = [&](Peer& peer) {
      const auto piece = [](const std::string& text, const Json& name) { return chunk({{"tool_calls", Json::array({{{"index", 0}, {"id", "c1"}, {"function", {{"name", name}, {"arguments", text}}}}})}}); };
      peer.events(piece(arguments.substr(0, cut), "send_mail") + piece(arguments.substr(cut), nullptr) + ended(0, "tool_calls") + done);
    };
    ASSERT_TRUE(ask(request));
    const Json parsed = Json::parse(heard.choices[0].calls.at(0).arguments, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << cut;
    EXPECT_EQ(parsed["to"], quoted);
    EXPECT_EQ(parsed["body"], "Hi \"" + quoted + "\"\n");
  }
  expect_one_line_each();
  gate_.reset(), audit = nullptr, asked = 0;
  policy.restore.tools = {"calc"};
  ASSERT_TRUE(ask(request));
  EXPECT_THAT(heard.choices[0].calls.at(0).arguments, Not(HasSubstr("Ann")));
}

TEST_F(GateTest, PlaceholdersOfNobodyStayAsTheyAre) {  // F30
  script = [](Peer& peer) { peer.events(said("PERSON_ABCDEF and PERSON_7KQ2M4 and EMAIL_000000") + ended() + done); };
  ASSERT_TRUE(ask(to("auto", "say Jane Roe please")));
  EXPECT_EQ(text(), "PERSON_ABCDEF and PERSON_7KQ2M4 and EMAIL_000000");
  EXPECT_EQ(line()["restored"], 0);
}

TEST_F(GateTest, AnotherRequestsPlaceholderIsNotRestored) {  // F30: only what was in this request
  ChatRequest first = to("auto", "say Jane Roe please");
  first.gate.conversation = "c";
  ASSERT_TRUE(ask(first));
  const std::string stolen = placeholder();
  script = [&](Peer& peer) { peer.events(said("it was " + stolen) + ended() + done); };
  ChatRequest second = to("auto", "say Zoe Poe please");
  second.gate.conversation = "c";
  ASSERT_TRUE(ask(second));
  EXPECT_EQ(text(), "it was " + stolen);
}

}  // namespace
