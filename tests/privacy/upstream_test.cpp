// privacy tests: what is sent to an upstream, what is understood of its answers, and what happens when it fails.
#include <set>
#include "privacy/upstream_harness.h"

namespace {

using Kind = UpstreamFailure::Kind;

TEST(Upstream, AStreamBecomesDeltas) {
  Loopback server([](Peer& peer) {
    peer.events(": hello\n\n" + chunk({{"role", "assistant"}, {"content", ""}}) + chunk({{"reasoning_content", "hm"}}) + said("He") + "event: surprise\ndata: {\"type\":\"new\"}\n\n" + said("llo") + ended() +
                event({{"choices", Json::array()}, {"usage", {{"prompt_tokens", 7}, {"completion_tokens", 3}, {"prompt_tokens_details", {{"cached_tokens", 2}}}}}}) + done);
  });
  Heard heard;
  const auto upstream = upstream_of(options_for(server));
  const UpstreamAnswer answer = ask(*upstream, asking("hi"), heard);
  ASSERT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  EXPECT_EQ(heard.choices[0].text, "Hello");
  EXPECT_EQ(heard.choices[0].reasoning, "hm");
  EXPECT_EQ(heard.deltas, 3);
  EXPECT_EQ(heard.choices[0].ends, 1);
  ASSERT_EQ(answer.finishes.size(), 1u);
  EXPECT_EQ(answer.finishes[0].prompt_tokens, 7);
  EXPECT_EQ(answer.finishes[0].cached_tokens, 2);
  EXPECT_EQ(answer.finishes[0].completion_tokens, 3);
  EXPECT_EQ(answer.sent.attempts, 1);
  server.end();
  const Json body = Json::parse(server.requests().at(0).substr(server.requests().at(0).find("\r\n\r\n") + 4));
  EXPECT_EQ(answer.sent.bytes, text_of(body).size());
  EXPECT_EQ(body["model"], "big-1");
  EXPECT_EQ(body["store"], false);
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"], Json({{"include_usage", true}}));
  EXPECT_EQ(body["messages"], Json::array({{{"role", "user"}, {"content", "hi"}}}));
}

TEST(Upstream, AWholeAnswerDoesAsWell) {
  Loopback server([](Peer& peer) { peer.answer(200, text_of(whole_answer("Hello"))); });
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), asking("hi"), heard);
  ASSERT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  EXPECT_EQ(heard.choices[0].text, "Hello");
  EXPECT_EQ(answer.finishes[0].prompt_tokens, 5);
}

TEST(Upstream, TheBodyHasKnownFieldsAndNoOthers) {
  Loopback server([](Peer& peer) { peer.answer(200, text_of(whole_answer("x"))); });
  ChatRequest request = asking("hi");
  request.temperature = 0.7f, request.top_p = 0.9f, request.top_k = 40, request.seed = 5, request.max_tokens = 10;
  request.stop = {"END"};
  request.tools_json = text_of(Json::array({{{"type", "function"}, {"function", {{"name", "look"}, {"description", "looks"}, {"parameters", {{"type", "object"}}}}}}}));
  request.tool_choice = {ToolChoice::Kind::required, "", false};
  request.constraint = {Constraint::Kind::json_schema, R"({"type":"object"})"};
  request.tenant = "tenant-1", request.cache_salt = "salt-1";
  const Json body = Json::parse(upstream_of(options_for(server))->body(clean(request, 2), "big-1", true));
  std::set<std::string> names;
  for (const auto& [name, value] : body.items()) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "store", "temperature", "top_p", "max_tokens", "seed", "n", "stop", "stream", "stream_options"}));
  EXPECT_EQ(text_of(body["temperature"]), "0.7");
  EXPECT_EQ(body["tool_choice"], "required");
  EXPECT_EQ(body["response_format"]["json_schema"]["schema"], Json({{"type", "object"}}));
  EXPECT_EQ(body["n"], 2);
}

TEST(Upstream, OnlyHeadersOfTheListAreSent) {
  Loopback server([](Peer& peer) { peer.answer(200, text_of(whole_answer("x"))); });
  const std::string key = std::string("test") + "-key-" + std::to_string(server.port);
  setenv("CALLA_TEST_KEY", key.c_str(), 1);
  UpstreamOptions options = options_for(server);
  options.api_key_env = "CALLA_TEST_KEY";
  Heard heard;
  EXPECT_EQ(ask(*upstream_of(options), asking("hi"), heard).failure.kind, Kind::none);
  server.end();
  const std::string lines = header_lines(server.requests().at(0));
  std::set<std::string> names;
  for (size_t at = lines.find("\r\n") + 2; at < lines.size(); at = lines.find("\r\n", at) + 2) names.insert(lines.substr(at, lines.find(':', at) - at));
  EXPECT_EQ(names, (std::set<std::string>{"Host", "Content-Length", "Authorization", "Content-Type", "Accept", "User-Agent"}));
  EXPECT_NE(lines.find("Authorization: Bearer " + key + "\r\n"), std::string::npos);
  EXPECT_NE(lines.find("User-Agent: calla/"), std::string::npos);
  EXPECT_TRUE(lines.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
}

TEST(Upstream, ARawPromptIsACompletion) {
  Loopback server([](Peer& peer) { peer.events(event({{"choices", Json::array({{{"index", 0}, {"text", "there"}, {"finish_reason", "length"}}})}}) + done); });
  ChatRequest request;
  request.prompt = "hello ";
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), request, heard);
  EXPECT_EQ(answer.failure.kind, Kind::none);
  EXPECT_EQ(heard.choices[0].text, "there");
  EXPECT_EQ(answer.finishes[0].reason, Finish::Reason::length);
  server.end();
  EXPECT_TRUE(server.all().starts_with("POST /v1/completions "));
  EXPECT_EQ(server.all().find("store"), std::string::npos);
}

// ---- failures ----

std::string body_of(const std::string& request) { return request.substr(request.find("\r\n\r\n") + 4); }

TEST(Upstream, RetriesSendTheSameBytes) {
  Loopback server([](Peer& peer) {
    if (peer.number == 0) return peer.answer(500, "oops");
    if (peer.number == 1) return;  // closes without a word
    peer.events(said("ok") + ended() + done);
  });
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), asking("again"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  EXPECT_EQ(answer.sent.attempts, 3);
  server.end();
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0], requests[1]);
  EXPECT_EQ(requests[0], requests[2]);
  EXPECT_EQ(answer.sent.bytes, body_of(requests[0]).size());
}

TEST(Upstream, RetryAfterIsHeardUpToABound) {
  Loopback server([](Peer& peer) {
    if (peer.number == 0) return peer.answer(429, "{}", "application/json", "Retry-After: 1\r\n");
    peer.answer(503, "{}", "application/json", "Retry-After: 600\r\n");
  });
  Heard heard;
  const auto started = std::chrono::steady_clock::now();
  const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), asking("x"), heard);
  const auto took = std::chrono::steady_clock::now() - started;
  EXPECT_EQ(answer.failure.kind, Kind::refused);
  EXPECT_EQ(answer.failure.status, 503);
  EXPECT_EQ(answer.sent.attempts, 2);
  EXPECT_GE(took, std::chrono::milliseconds(1000));
  EXPECT_LT(took, std::chrono::milliseconds(4000));
}

TEST(Upstream, ARefusalIsNotRepeatedAndItsTextGoesNowhere) {
  Loopback server([](Peer& peer) { peer.answer(400, R"({"error":{"message":"you said: my diary"}})"); });
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), asking("my diary"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::refused);
  EXPECT_EQ(answer.failure.status, 400);
  EXPECT_EQ(answer.failure.message.find("diary"), std::string::npos);
  EXPECT_EQ(answer.sent.attempts, 1);
  EXPECT_EQ(heard.deltas, 0);
}

TEST(Upstream, NothingIsRepeatedAfterTheFirstDelta) {
  Loopback server([](Peer& peer) { peer.events(said("half an ans")); });
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), asking("x"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::broken);
  EXPECT_EQ(answer.sent.attempts, 1);
  EXPECT_EQ(heard.choices[0].text, "half an ans");
  EXPECT_EQ(heard.choices[0].ends, 0);
}

TEST(Upstream, NothingIsSentWhenNobodyListens) {
  UpstreamOptions options;
  {
    const Loopback server([](Peer&) {});
    options = options_for(server);
  }
  options.retries = 1;
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options), asking("x"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::refused);
  EXPECT_EQ(answer.failure.status, 0);
  EXPECT_EQ(answer.sent.bytes, 0u);
  EXPECT_EQ(answer.sent.attempts, 2);
}

TEST(Upstream, AStopClosesTheConnectionAtOnce) {
  std::atomic<bool> closed{false}, began{false};
  Loopback server([&](Peer& peer) {
    peer.events(said("a"));
    began = true;
    closed = peer.closed_within(2000);
  });
  std::stop_source source;
  Heard heard;
  std::jthread stopper([&] {
    while (!began) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    source.request_stop();
  });
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(*upstream_of(options_for(server)), asking("x"), heard, 1, source.get_token()).failure.kind, Kind::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(1000));
  server.end();
  EXPECT_TRUE(closed);
}

TEST(Upstream, AReaderWhoLeavesEndsIt) {
  std::atomic<bool> closed{false};
  Loopback server([&](Peer& peer) {
    peer.events(said("a") + said("b"));
    closed = peer.closed_within(2000);
  });
  Heard heard;
  heard.after = [] { return false; };
  EXPECT_EQ(ask(*upstream_of(options_for(server)), asking("x"), heard).failure.kind, Kind::cancelled);
  server.end();
  EXPECT_TRUE(closed);
  EXPECT_EQ(heard.deltas, 1);
}

TEST(Upstream, SilenceIsATimeout) {
  Loopback server([](Peer& peer) { peer.closed_within(3000); });
  UpstreamOptions options = options_for(server);
  options.timeout_s = 1;
  Heard heard;
  const auto started = std::chrono::steady_clock::now();
  const UpstreamAnswer answer = ask(*upstream_of(options), asking("x"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::timeout);
  EXPECT_EQ(answer.sent.attempts, 1);
  EXPECT_GT(answer.sent.bytes, 0u);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(2500));
}

TEST(Upstream, RedirectsAreNotFollowed) {
  Loopback other([](Peer& peer) { peer.answer(200, text_of(whole_answer("x"))); });
  Loopback server([&](Peer& peer) { peer.answer(307, "", "text/plain", "Location: " + other.url() + "/chat/completions\r\n"); });
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), asking("x"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::refused);
  EXPECT_EQ(answer.failure.status, 307);
  EXPECT_EQ(other.connections(), 0);
}

TEST(Upstream, OneThatIsDownIsLeftAlone) {
  Loopback server([](Peer& peer) { peer.answer(500, ""); });
  UpstreamOptions options = options_for(server);
  options.retries = 0;
  const auto upstream = upstream_of(options);
  Heard heard;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(*upstream, asking("x"), heard).failure.status, 500);
  EXPECT_FALSE(upstream->open());
  const UpstreamAnswer answer = ask(*upstream, asking("x"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::refused);
  EXPECT_EQ(answer.sent.attempts, 0);
  EXPECT_EQ(server.connections(), 5);
}

// ---- lies ----

UpstreamAnswer answered(const std::string& events, Heard& heard, int n = 1) {
  Loopback server([&](Peer& peer) { peer.events(events); });
  return ask(*upstream_of(options_for(server)), asking("x"), heard, n);
}

TEST(UpstreamLies, WhatIsNoEventIsNeverPassedOn) {
  for (const std::string raw : {"data: {\"choices\": SECRET-RAW\n\n", "data: SECRET-RAW\n\n", "data: [\"SECRET-RAW\"]\n\n", "<html>SECRET-RAW</html>", "{\"choices\": \"SECRET-RAW\"}", "{\"SECRET-RAW\"", "data: {\"error\":{\"message\":\"SECRET-RAW\"}}\n\n",
                                "data: \xff\xfe SECRET-RAW\n\n", ""}) {
    Heard heard;
    const UpstreamAnswer answer = answered(raw, heard);
    EXPECT_EQ(answer.failure.kind, Kind::broken) << raw;
    EXPECT_EQ(answer.failure.message.find("SECRET-RAW"), std::string::npos);
    EXPECT_EQ(heard.deltas, 0) << raw;
    EXPECT_EQ(heard.choices[0].ends, 0);
  }
}

TEST(UpstreamLies, MissingEndsAreForgiven) {
  for (const std::string& events : {said("ok") + ended(), said("ok") + "data: [DONE]", said("ok") + chunk(Json::object(), 0, "stop") + ": bye"}) {
    Heard heard;
    EXPECT_EQ(answered(events, heard).failure.kind, Kind::none) << events;
    EXPECT_EQ(heard.choices[0].text, "ok");
    EXPECT_EQ(heard.choices[0].ends, 1);
  }
}

TEST(UpstreamLies, AStreamThatGoesOnAfterItsEndIsLeft) {
  std::atomic<bool> closed{false};
  Loopback server([&](Peer& peer) {
    peer.events(said("ok") + ended() + done);
    while (!closed) closed = !peer.send(said("more")) || peer.closed_within(1);
  });
  Heard heard;
  UpstreamOptions options = options_for(server);
  options.timeout_s = 1;
  const UpstreamAnswer answer = ask(*upstream_of(options), asking("x"), heard);
  EXPECT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  EXPECT_EQ(heard.choices[0].text, "ok");
}

TEST(UpstreamLies, AConnectionThatStaysOpenAfterTheEndDoesNotHoldTheAnswer) {
  Loopback server([](Peer& peer) {
    peer.events(said("ok") + ended() + done);
    peer.closed_within(3000);
  });
  Heard heard;
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(*upstream_of(options_for(server)), asking("x"), heard).failure.kind, Kind::none);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(1000));
}

TEST(UpstreamLies, WrongContentLengths) {
  const std::string body = text_of(whole_answer("ok"));
  for (const int difference : {-20, 20}) {
    Loopback server([&](Peer& peer) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(static_cast<int>(body.size()) + difference) + "\r\n\r\n" + body);
    });
    Heard heard;
    const UpstreamAnswer answer = ask(*upstream_of(options_for(server)), asking("x"), heard);
    if (difference < 0) EXPECT_EQ(answer.failure.kind, Kind::broken);
    else EXPECT_EQ(heard.choices[0].text, "ok");  // all of it was there
  }
}

TEST(UpstreamLies, AnEventWithoutEndIsRefused) {
  Loopback server([](Peer& peer) {
    peer.events("data: ");
    while (peer.send(std::string(1 << 16, 'x'))) {}
  });
  Heard heard;
  EXPECT_EQ(ask(*upstream_of(options_for(server)), asking("x"), heard).failure.kind, Kind::broken);
  EXPECT_EQ(heard.deltas, 0);
}

TEST(UpstreamLies, EndlessTextIsCutOff) {
  Loopback server([](Peer& peer) {
    peer.open_stream();
    const std::string piece = said(std::string(1 << 16, 'x'));
    while (peer.send(piece)) {}
  });
  Heard heard;
  EXPECT_EQ(ask(*upstream_of(options_for(server)), asking("x"), heard).failure.kind, Kind::broken);
  EXPECT_LE(heard.choices[0].text.size(), size_t{64} << 20);
}

TEST(UpstreamLies, HugeOrImpossibleToolCalls) {
  const auto call = [](const Json& index, const Json& name, const std::string& arguments) {
    return chunk({{"tool_calls", Json::array({{{"index", index}, {"id", "c1"}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}}})}});
  };
  std::string huge = call(0, "f", "");
  for (int i = 0; i < 10; ++i) huge += call(0, nullptr, std::string(1 << 20, 'x'));
  for (const std::string& events : {huge, call(-1, "f", ""), call(1 << 30, "f", ""), call(0, nullptr, "{}"), call(0, std::string(1000, 'f'), "{}"), said("x", 3), said("x", 1)}) {
    Heard heard;
    EXPECT_EQ(answered(events + ended() + done, heard).failure.kind, Kind::broken) << events.substr(0, 200);
  }
}

// ---- answers ----

TEST(UpstreamAnswers, TwoChoicesInterleaved) {
  Heard heard;
  const UpstreamAnswer answer = answered(said("a1", 0) + said("b1", 1) + said("a2", 0) + ended(0) + said("b2", 1) + ended(1, "length") + done, heard, 2);
  ASSERT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  EXPECT_EQ(heard.choices[0].text, "a1a2");
  EXPECT_EQ(heard.choices[1].text, "b1b2");
  EXPECT_EQ(answer.finishes[0].reason, Finish::Reason::stop);
  EXPECT_EQ(answer.finishes[1].reason, Finish::Reason::length);
}

TEST(UpstreamAnswers, ToolCallsByIndex) {
  const auto piece = [](int index, const Json& function, const Json& id = nullptr) { return chunk({{"tool_calls", Json::array({{{"index", index}, {"id", id}, {"function", function}}})}}); };
  Heard heard;
  const UpstreamAnswer answer = answered(piece(0, {{"name", "f"}, {"arguments", ""}}, "call_a") + piece(1, {{"name", "g"}, {"arguments", "{\"y\""}}, "call_b") + piece(0, {{"arguments", "{\"x\":1}"}}) + piece(1, {{"arguments", ":2}"}}) +
                                             chunk({{"tool_calls", Json::array({{{"index", 2}, {"id", "call_c"}, {"function", {{"name", "h"}}}}})}}) + ended(0, "tool_calls") + done,
                                         heard);
  ASSERT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  ASSERT_EQ(heard.choices[0].calls.size(), 3u);
  EXPECT_EQ(heard.choices[0].calls[0].id, "call_a");
  EXPECT_EQ(heard.choices[0].calls[0].arguments, "{\"x\":1}");
  EXPECT_EQ(heard.choices[0].calls[1].name, "g");
  EXPECT_EQ(heard.choices[0].calls[1].arguments, "{\"y\":2}");
  EXPECT_EQ(heard.choices[0].calls[2].arguments, "{}");
  EXPECT_EQ(answer.finishes[0].reason, Finish::Reason::tool_call);
}

TEST(UpstreamAnswers, CharactersCutInHalvesAreJoined) {
  const auto raw = [](const std::string& text, size_t index = 0) { return "data: {\"choices\":[{\"index\":" + std::to_string(index) + ",\"delta\":{\"content\":\"" + text + "\"}}]}\n\n"; };
  Heard heard;
  const UpstreamAnswer answer = answered(raw("a \\ud83d") + raw("b \\uD83D", 1) + raw("\\ude00 c") + raw("\\uDE01\\ud83d\\ude02", 1) + raw("\\\\ud83d \\u00e9 \\ude00") + raw("\\ud83d") + ended(0) + ended(1) + done, heard, 2);
  ASSERT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  EXPECT_EQ(heard.choices[0].text, "a \xf0\x9f\x98\x80 c\\ud83d \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(heard.choices[1].text, "b \xf0\x9f\x98\x81\xf0\x9f\x98\x82");
}

TEST(UpstreamAnswers, Logprobs) {
  std::vector<TokenLogprob> seen;
  Loopback server([](Peer& peer) {
    const Json token = {{"token", "ok"}, {"bytes", {111, 107}}, {"logprob", -0.5}, {"top_logprobs", Json::array({{{"token", "no"}, {"logprob", -1.5}}})}};
    peer.events(event({{"choices", Json::array({{{"index", 0}, {"delta", {{"content", "ok"}}}, {"logprobs", {{"content", Json::array({token})}}}, {"finish_reason", "stop"}}})}}) + done);
  });
  const ChoiceSink sink{[&](size_t, const Delta& delta) { return seen = delta.logprobs, true; }, [](size_t, const Finish&) { return true; }};
  ChatRequest request = asking("x");
  request.top_logprobs = 1;
  EXPECT_EQ(upstream_of(options_for(server))->send(clean(request), "big-1", sink, {}).failure.kind, Kind::none);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].bytes, "ok");
  EXPECT_FLOAT_EQ(seen[0].logprob, -0.5f);
  ASSERT_EQ(seen[0].top.size(), 1u);
  EXPECT_EQ(seen[0].top[0].first, "no");
}

}  // namespace
