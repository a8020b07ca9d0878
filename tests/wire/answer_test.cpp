// wire: the answers: shapes of whole and streamed ones, their equality, errors before and inside a stream.
#include "wire/harness.h"

namespace {

using Kind = Delta::Kind;

// Thinks, then answers; with log probabilities of tokens of which two share one character.
Result<Finish> thoughtful(const ChatRequest& request, const Sink& out, std::stop_token) {
  const bool probs = request.top_logprobs >= 0;
  out({.kind = Kind::reasoning, .text = "hmm", });
  out({.kind = Kind::text, .text = "A\"\n", .logprobs = probs ? std::vector<TokenLogprob>{{1, "A\"\n", -0.5f, {{"A\"\n", -0.5f}, {"B", -1.5f}}}} : std::vector<TokenLogprob>{}});
  if (probs) out({.kind = Kind::text, .text = "", .logprobs = {{2, "\xe2\x82", -0.25f, {{"\xe2\x82", -0.25f}}}}});
  out({.kind = Kind::text, .text = "€", .logprobs = probs ? std::vector<TokenLogprob>{{3, "\xac", -INFINITY, {}}} : std::vector<TokenLogprob>{}});
  return finished(Finish::Reason::length);
}

class Answers : public WireTest {
 protected:
  void SetUp() override { completer.script = thoughtful; }
};

TEST_F(Answers, WholeChat) {
  const Reply reply = post(chat_path, chat_body());
  const Json answer = reply.json();
  EXPECT_EQ(reply.header("Content-Type"), "application/json");
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["model"], "starter");
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(answer["choices"], Json::parse(R"([{"index":0,"message":{"role":"assistant","content":"A\"\n€","reasoning_content":"hmm"},"logprobs":null,"finish_reason":"length"}])"));
  EXPECT_EQ(answer["usage"], Json::parse(R"({"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":0}})"));
  const Json timings = answer["timings"];
  EXPECT_EQ(timings["prompt_n"], 6);
  EXPECT_EQ(timings["cache_n"], 4);
  EXPECT_EQ(timings["prompt_ms"], 500.0);
  EXPECT_EQ(timings["prompt_per_second"], 12.0);
  EXPECT_EQ(timings["predicted_n"], 3);
  EXPECT_EQ(timings["predicted_per_second"], 12.0);
  EXPECT_FALSE(post(chat_path, chat_body(R"("timings":false)")).json().contains("timings"));
}

TEST_F(Answers, StreamedChat) {
  const Reply reply = post(chat_path, chat_body(R"("stream":true)"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Type"), "text/event-stream");
  const auto all = events(reply.body);
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0]["object"], "chat.completion.chunk");
  EXPECT_EQ(all[0]["choices"][0]["delta"], Json::parse(R"({"role":"assistant","content":""})"));
  EXPECT_EQ(all[1]["choices"][0]["delta"], Json::parse(R"({"reasoning_content":"hmm"})"));
  EXPECT_TRUE(all[1]["choices"][0]["finish_reason"].is_null());
  EXPECT_EQ(all[4]["choices"][0]["delta"], Json::object());
  EXPECT_EQ(all[4]["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(all[4]["timings"]["predicted_n"], 3);
  EXPECT_FALSE(all[4].contains("usage"));
  EXPECT_EQ(all[5], "[DONE]");
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(all[i]["id"], all[0]["id"]);
}

TEST_F(Answers, UsageChunk) {
  const auto all = events(post(chat_path, chat_body(R"("stream":true,"stream_options":{"include_usage":true})")).body);
  const Json& last = all[all.size() - 2];
  EXPECT_EQ(last["choices"], Json::array());
  EXPECT_EQ(last["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
  EXPECT_EQ(last["timings"]["prompt_n"], 6);
  EXPECT_TRUE(all[0]["usage"].is_null() && all[0].contains("usage"));
  EXPECT_FALSE(all[all.size() - 3].contains("timings"));
}

TEST_F(Answers, StreamEqualsWhole) {
  for (const std::string& more : {std::string(), std::string(R"("logprobs":true,"top_logprobs":2)")}) {
    const Json whole = post(chat_path, chat_body(more)).json()["choices"][0];
    std::string content, reasoning;
    Json logprobs = Json::array(), reason;
    for (const Json& event : events(post(chat_path, chat_body(more.empty() ? R"("stream":true)" : more + R"(,"stream":true)")).body)) {
      if (!event.is_object()) continue;
      const Json& choice = event["choices"][0];
      content += choice["delta"].value("content", "");
      reasoning += choice["delta"].value("reasoning_content", "");
      if (choice["logprobs"].is_object()) logprobs.insert(logprobs.end(), choice["logprobs"]["content"].begin(), choice["logprobs"]["content"].end());
      reason = choice["finish_reason"];
    }
    EXPECT_EQ(Json(content), whole["message"]["content"]);
    EXPECT_EQ(Json(reasoning), whole["message"]["reasoning_content"]);
    EXPECT_EQ(reason, whole["finish_reason"]);
    if (!more.empty()) {
      EXPECT_EQ(logprobs, whole["logprobs"]["content"]);
    }
  }
}

TEST_F(Answers, ChatLogprobs) {
  const Json content = post(chat_path, chat_body(R"("logprobs":true,"top_logprobs":2)")).json()["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 3u);
  EXPECT_EQ(content[0]["token"], "A\"\n");
  EXPECT_EQ(content[0]["logprob"], -0.5);
  EXPECT_EQ(content[0]["bytes"], Json::parse("[65,34,10]"));
  EXPECT_EQ(content[0]["top_logprobs"][1]["token"], "B");
  EXPECT_EQ(content[1]["bytes"], Json::parse("[226,130]"));
  EXPECT_EQ(content[2]["logprob"], -9999.0);
}

TEST_F(Answers, WholeAndStreamedCompletion) {
  const Json whole = post(text_path, text_body(R"("logprobs":2)")).json();
  EXPECT_EQ(whole["object"], "text_completion");
  EXPECT_EQ(whole["choices"][0]["text"], "hmmA\"\n€");
  const Json probs = whole["choices"][0]["logprobs"];
  EXPECT_EQ(probs["tokens"], Json::parse(R"(["A\"\n","bytes:\\xe2\\x82","bytes:\\xac"])"));
  EXPECT_EQ(probs["text_offset"], Json::parse("[0,3,4]"));
  EXPECT_EQ(probs["top_logprobs"][0], Json::parse(R"({"A\"\n":-0.5,"B":-1.5})"));
  std::string text;
  Json offsets = Json::array();
  const auto all = events(post(text_path, text_body(R"("logprobs":2,"stream":true)")).body);
  for (const Json& event : all) {
    if (!event.is_object()) continue;
    text += event["choices"][0]["text"];
    const Json& more = event["choices"][0]["logprobs"];
    if (more.is_object()) offsets.insert(offsets.end(), more["text_offset"].begin(), more["text_offset"].end());
  }
  EXPECT_EQ(Json(text), whole["choices"][0]["text"]);
  EXPECT_EQ(offsets, probs["text_offset"]);
  EXPECT_EQ(all.back(), "[DONE]");
}

TEST_F(Answers, EmptyAnswer) {
  completer.script = [](const ChatRequest&, const Sink&, std::stop_token) -> Result<Finish> { return finished(); };
  EXPECT_EQ(post(chat_path, chat_body()).json()["choices"][0]["message"]["content"], "");
  const auto all = events(post(chat_path, chat_body(R"("stream":true)")).body);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(post(chat_path, chat_body(R"("logprobs":true)")).json()["choices"][0]["logprobs"], Json::parse(R"({"content":[]})"));
}

struct Mapped {
  Code code;
  int status;
};

TEST_F(Answers, EveryErrorCodeHasAStatus) {
  const Mapped table[] = {{Code::invalid_request, 400}, {Code::not_found, 404}, {Code::too_large, 400},    {Code::overloaded, 429}, {Code::cancelled, 503}, {Code::denied, 403},
                          {Code::unsupported, 400},     {Code::corrupt_file, 500}, {Code::device, 503}, {Code::io, 500},         {Code::internal, 500}};
  for (const Mapped& row : table) {
    completer.script = [&](const ChatRequest&, const Sink&, std::stop_token) -> Result<Finish> { return Error{row.code, "attempted, seen"}; };
    for (const char* more : {"", R"("stream":true)"}) {  // before the first byte, a stream fails as a plain answer does
      const Reply reply = post(chat_path, chat_body(more));
      EXPECT_EQ(reply.status, row.status);
      EXPECT_EQ(reply.json()["error"]["message"], "attempted, seen");
      EXPECT_EQ(reply.header("Retry-After"), row.status == 503 || row.status == 429 ? "1" : "");
    }
  }
}

TEST_F(Answers, TooLongAPrompt) {
  completer.script = [](const ChatRequest&, const Sink&, std::stop_token) -> Result<Finish> { return prompt_too_long(5000, 2048); };
  const Json error = post(chat_path, chat_body()).json()["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["n_prompt_tokens"], 5000);
  EXPECT_EQ(error["n_ctx"], 2048);
}

TEST_F(Answers, ErrorInsideAStream) {
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> {
    out({.kind = Kind::text, .text = "x", });
    return Error{Code::device, "the device failed"};
  };
  const Reply reply = post(chat_path, chat_body(R"("stream":true)"));
  const auto all = events(reply.body);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(all.back()["error"]["message"], "the device failed");
  EXPECT_EQ(reply.body.find("[DONE]"), std::string::npos);
}

TEST_F(Answers, AThrowingCompleterIsA500) {
  completer.script = [](const ChatRequest&, const Sink&, std::stop_token) -> Result<Finish> { throw std::runtime_error("secret"); };
  const Reply reply = post(chat_path, chat_body());
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body.find("secret"), std::string::npos);
}

}  // namespace
