// privacy tests: the messages API: what is said to it, and its events.
#include "privacy/upstream_harness.h"

namespace {

using Kind = UpstreamFailure::Kind;

UpstreamOptions anthropic(const Loopback& server) {
  UpstreamOptions options = options_for(server);
  options.wire = Wire::anthropic;
  return options;
}

std::string typed(const std::string& type, Json more) {
  more["type"] = type;
  return "event: " + type + "\n" + event(more);
}

TEST(UpstreamAnthropic, TheConversationInItsWords) {
  Loopback server([](Peer& peer) { peer.answer(500, ""); });
  ChatRequest request;
  request.messages_json = text_of(Json::array({{{"role", "system"}, {"content", "Be brief."}},
                                               {{"role", "user"}, {"content", "Weather?"}},
                                               {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({{{"id", "c1"}, {"type", "function"}, {"function", {{"name", "look"}, {"arguments", "{\"at\":\"here\"}"}}}}})}},
                                               {{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "rain"}},
                                               {{"role", "user"}, {"content", "And?"}}}));
  request.tools_json = text_of(Json::array({{{"type", "function"}, {"function", {{"name", "look"}, {"description", "looks"}, {"parameters", {{"type", "object"}}}}}}}));
  request.stop = {"END", "\n"};
  request.temperature = 1.5f;
  const Json body = Json::parse(upstream_of(anthropic(server))->body(clean(request), "big-1", true));
  EXPECT_EQ(body["system"], "Be brief.");
  EXPECT_EQ(body["max_tokens"], 4096);
  EXPECT_EQ(body["temperature"], 1.0);
  EXPECT_EQ(body["stop_sequences"], Json::array({"END"}));
  EXPECT_EQ(body["tools"], Json::array({{{"name", "look"}, {"description", "looks"}, {"input_schema", {{"type", "object"}}}}}));
  EXPECT_EQ(body["messages"], Json::array({{{"role", "user"}, {"content", Json::array({{{"type", "text"}, {"text", "Weather?"}}})}},
                                           {{"role", "assistant"}, {"content", Json::array({{{"type", "tool_use"}, {"id", "c1"}, {"name", "look"}, {"input", {{"at", "here"}}}}})}},
                                           {{"role", "user"}, {"content", Json::array({{{"type", "tool_result"}, {"tool_use_id", "c1"}, {"content", "rain"}}, {{"type", "text"}, {"text", "And?"}}})}}}));
}

TEST(UpstreamAnthropic, AStreamOfEvents) {
  Loopback server([](Peer& peer) {
    peer.events(typed("message_start", {{"message", {{"usage", {{"input_tokens", 9}, {"cache_read_input_tokens", 3}, {"output_tokens", 1}}}}}}) +
                typed("content_block_start", {{"index", 0}, {"content_block", {{"type", "thinking"}, {"thinking", ""}}}}) + typed("content_block_delta", {{"index", 0}, {"delta", {{"type", "thinking_delta"}, {"thinking", "hm"}}}}) +
                typed("content_block_delta", {{"index", 0}, {"delta", {{"type", "signature_delta"}, {"signature", "abc"}}}}) + typed("content_block_stop", {{"index", 0}}) + typed("ping", Json::object()) +
                typed("content_block_start", {{"index", 1}, {"content_block", {{"type", "text"}, {"text", ""}}}}) + typed("content_block_delta", {{"index", 1}, {"delta", {{"type", "text_delta"}, {"text", "Hello"}}}}) +
                typed("content_block_start", {{"index", 2}, {"content_block", {{"type", "tool_use"}, {"id", "toolu_1"}, {"name", "look"}, {"input", Json::object()}}}}) +
                typed("content_block_delta", {{"index", 2}, {"delta", {{"type", "input_json_delta"}, {"partial_json", "{\"at\":"}}}}) + typed("content_block_delta", {{"index", 2}, {"delta", {{"type", "input_json_delta"}, {"partial_json", "1}"}}}}) +
                typed("message_delta", {{"delta", {{"stop_reason", "tool_use"}}}, {"usage", {{"output_tokens", 20}}}}) + typed("message_stop", Json::object()));
  });
  setenv("CALLA_TEST_KEY", "anthropic-key", 1);
  UpstreamOptions options = anthropic(server);
  options.api_key_env = "CALLA_TEST_KEY";
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(options), asking("hi"), heard);
  ASSERT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  EXPECT_EQ(heard.choices[0].reasoning, "hm");
  EXPECT_EQ(heard.choices[0].text, "Hello");
  ASSERT_EQ(heard.choices[0].calls.size(), 1u);
  EXPECT_EQ(heard.choices[0].calls[0].arguments, "{\"at\":1}");
  EXPECT_EQ(answer.finishes[0].reason, Finish::Reason::tool_call);
  EXPECT_EQ(answer.finishes[0].prompt_tokens, 12);
  EXPECT_EQ(answer.finishes[0].completion_tokens, 20);
  server.end();
  EXPECT_TRUE(server.all().starts_with("POST /v1/messages "));
  EXPECT_NE(server.all().find("x-api-key: anthropic-key\r\n"), std::string::npos);
  EXPECT_EQ(server.all().find("Authorization"), std::string::npos);
}

TEST(UpstreamAnthropic, AWholeAnswer) {
  Loopback server([](Peer& peer) { peer.answer(200, text_of(Json{{"type", "message"}, {"content", Json::array({{{"type", "text"}, {"text", "Hi"}}})}, {"stop_reason", "max_tokens"}, {"usage", {{"input_tokens", 1}, {"output_tokens", 2}}}})); });
  Heard heard;
  const UpstreamAnswer answer = ask(*upstream_of(anthropic(server)), asking("hi"), heard);
  ASSERT_EQ(answer.failure.kind, Kind::none) << answer.failure.message;
  EXPECT_EQ(heard.choices[0].text, "Hi");
  EXPECT_EQ(answer.finishes[0].reason, Finish::Reason::length);
}

TEST(UpstreamAnthropic, ItsErrorsAreNotPassedOn) {
  for (const std::string& events : {typed("error", {{"error", {{"message", "you said RAW"}}}}), typed("content_block_delta", {{"index", 0}, {"delta", {{"type", "input_json_delta"}, {"partial_json", "RAW"}}}}), typed("message_start", Json::object())}) {
    Loopback server([&](Peer& peer) { peer.events(events); });
    Heard heard;
    const UpstreamAnswer answer = ask(*upstream_of(anthropic(server)), asking("hi"), heard);
    EXPECT_EQ(answer.failure.kind, Kind::broken);
    EXPECT_EQ(answer.failure.message.find("RAW"), std::string::npos);
    EXPECT_EQ(heard.deltas, 0);
  }
}

}  // namespace
