// wire: n answers, tool calls, progress, echo, warnings, embeddings, capabilities and the OpenAPI document of the OpenAI dialect.
#include "wire/harness.h"

namespace {

using Kind = Delta::Kind;

const std::string tool_f = R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},{"type":"function","function":{"name":"g"}}])";

// Prose, then two calls whose arguments come in pieces.
Result<Finish> calling(const ChatRequest&, const Sink& out, std::stop_token) {
  out({.kind = Kind::text, .text = "Let me see."});
  out({.kind = Kind::tool_call, .text = "", .tool_index = 0, .tool_id = "call_1", .tool_name = "f"});
  out({.kind = Kind::tool_call, .text = R"({"a":)", .tool_index = 0});
  out({.kind = Kind::tool_call, .text = "1}", .tool_index = 0});
  out({.kind = Kind::tool_call, .text = "{}", .tool_index = 1, .tool_id = "call_2", .tool_name = "g"});
  return finished(Finish::Reason::tool_call);
}

// Says its seed, a letter at a time.
Result<Finish> seeded(const ChatRequest& request, const Sink& out, std::stop_token) {
  for (const char letter : "seed " + std::to_string(request.seed.value_or(0)) + request.prompt.value_or("")) {
    if (!out({.kind = Kind::text, .text = std::string(1, letter)})) return finished(Finish::Reason::cancelled);
  }
  return finished();
}

// Every choice of a stream, put together again: content, text, reasoning, tool_calls, finish_reason, logprobs.
std::map<int, Json> gathered(const std::string& body) {
  std::map<int, Json> out;
  for (const Json& event : events(body)) {
    if (!event.is_object() || !event.contains("choices")) continue;
    for (const Json& choice : event["choices"]) {
      Json& made = out.try_emplace(choice["index"].get<int>(), Json{{"content", ""}, {"tool_calls", Json::array()}, {"finish_reason", nullptr}}).first->second;
      const Json& delta = choice.contains("delta") ? choice["delta"] : choice;
      for (const char* name : {"content", "text"}) {
        if (delta.contains(name)) made["content"] = made["content"].get<std::string>() + delta[name].get<std::string>();
      }
      for (const Json& call : delta.value("tool_calls", Json::array())) {
        const size_t index = call["index"];
        if (index == made["tool_calls"].size()) {
          made["tool_calls"].push_back({{"id", call["id"]}, {"type", call["type"]}, {"function", {{"name", call["function"]["name"]}, {"arguments", ""}}}});
        }
        Json& arguments = made["tool_calls"][index]["function"]["arguments"];
        arguments = arguments.get<std::string>() + call["function"]["arguments"].get<std::string>();
      }
      if (!choice["finish_reason"].is_null()) made["finish_reason"] = choice["finish_reason"];
    }
  }
  return out;
}

class OpenAiDialect : public WireTest {};

TEST_F(OpenAiDialect, ToolCalls) {
  completer.script = calling;
  const Json whole = post(chat_path, chat_body(tool_f)).json()["choices"][0];
  EXPECT_EQ(whole["message"]["content"], "Let me see.");
  EXPECT_EQ(whole["message"]["tool_calls"], Json::parse(R"([{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
      {"id":"call_2","type":"function","function":{"name":"g","arguments":"{}"}}])"));
  EXPECT_EQ(whole["finish_reason"], "tool_calls");
  const std::string stream = post(chat_path, chat_body(tool_f + R"(,"stream":true)")).body;
  const Json made = gathered(stream)[0];
  EXPECT_EQ(made["tool_calls"], whole["message"]["tool_calls"]);
  EXPECT_EQ(made["content"], whole["message"]["content"]);
  EXPECT_EQ(made["finish_reason"], "tool_calls");
  EXPECT_EQ(events(stream)[2]["choices"][0]["delta"], Json::parse(R"({"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]})"));
  EXPECT_EQ(events(stream)[3]["choices"][0]["delta"], Json::parse(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]})"));
}

TEST_F(OpenAiDialect, ACallAloneHasNoContent) {
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> {
    out({.kind = Kind::tool_call, .text = "{}", .tool_index = 0, .tool_id = "x", .tool_name = "f"});
    return finished(Finish::Reason::tool_call);
  };
  EXPECT_TRUE(post(chat_path, chat_body(tool_f)).json()["choices"][0]["message"]["content"].is_null());
}

TEST_F(OpenAiDialect, SeveralChoices) {
  completer.script = seeded;
  const Json whole = post(chat_path, chat_body(R"("n":3,"seed":7)")).json();
  ASSERT_EQ(whole["choices"].size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(whole["choices"][i]["index"], i);
    EXPECT_EQ(whole["choices"][i]["message"]["content"], "seed " + std::to_string(7 + i));
  }
  EXPECT_EQ(whole["usage"]["prompt_tokens"], 10);
  EXPECT_EQ(whole["usage"]["completion_tokens"], 9);
  auto made = gathered(post(chat_path, chat_body(R"("n":3,"seed":7,"stream":true)")).body);
  ASSERT_EQ(made.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(made[i]["content"], whole["choices"][i]["message"]["content"]);
    EXPECT_EQ(made[i]["finish_reason"], "stop");
  }
}

TEST_F(OpenAiDialect, SeveralPrompts) {
  completer.script = seeded;
  const Json whole = post(text_path, R"({"prompt":["A","B"],"n":2,"seed":1})").json();
  ASSERT_EQ(whole["choices"].size(), 4u);
  EXPECT_EQ(whole["choices"][1]["text"], "seed 2A");
  EXPECT_EQ(whole["choices"][2]["text"], "seed 1B");
  EXPECT_EQ(whole["usage"]["prompt_tokens"], 20);
  auto made = gathered(post(text_path, R"({"prompt":["A","B"],"n":2,"seed":1,"stream":true})").body);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(made[i]["content"], whole["choices"][i]["text"]);
}

TEST_F(OpenAiDialect, TheFirstErrorEndsAllChoices) {
  completer.script = [](const ChatRequest& request, const Sink&, std::stop_token stop) -> Result<Finish> {
    if (request.seed == 2u) return Error{Code::overloaded, "busy"};
    while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
    return finished(Finish::Reason::cancelled);
  };
  EXPECT_EQ(post(chat_path, chat_body(R"("n":4,"seed":1)")).json()["error"]["message"], "busy");
}

TEST_F(OpenAiDialect, Echo) {
  EXPECT_EQ(post(text_path, R"({"prompt":"Say: ","echo":true})").json()["choices"][0]["text"], "Say: Hello world ü");
  EXPECT_EQ(gathered(post(text_path, R"({"prompt":"Say: ","echo":true,"stream":true})").body)[0]["content"], "Say: Hello world ü");
  const std::string body = R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"Well, "}],"continue_final_message":true,"echo":true)";
  EXPECT_EQ(post(chat_path, body + "}").json()["choices"][0]["message"]["content"], "Well, Hello world ü");
  EXPECT_EQ(gathered(post(chat_path, body + R"(,"stream":true})").body)[0]["content"], "Well, Hello world ü");
}

TEST_F(OpenAiDialect, Progress) {
  completer.script = [](const ChatRequest& request, const Sink& out, std::stop_token) -> Result<Finish> {
    EXPECT_TRUE(request.report_progress);
    out({.kind = Kind::progress, .text = "", .prompt_done = 40, .prompt_total = 100});
    out({.kind = Kind::progress, .text = "", .prompt_done = 100, .prompt_total = 100});
    out({.kind = Kind::text, .text = "x", .answer_tokens = 2});
    return finished();
  };
  auto all = events(post(chat_path, chat_body(R"("stream":true,"return_progress":true)")).body);
  EXPECT_EQ(all[1]["prompt_progress"]["cache"], 40);
  EXPECT_EQ(all[2]["prompt_progress"]["processed"], 100);
  EXPECT_EQ(all[2]["prompt_progress"]["total"], 100);
  EXPECT_TRUE(all[2]["prompt_progress"]["time_ms"].is_number_integer());
  all = events(post(chat_path, chat_body(R"("stream":true,"timings_per_token":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true})")).body);
  EXPECT_EQ(all[1]["usage"]["completion_tokens"], 2);
  EXPECT_EQ(all[1]["usage"]["prompt_tokens"], 100);
  EXPECT_EQ(all[1]["timings"]["predicted_n"], 2);
  EXPECT_FALSE(all[1].contains("prompt_progress"));
}

TEST_F(OpenAiDialect, WarningsAndCacheReports) {
  completer.script = [](const ChatRequest& request, const Sink&, std::stop_token) -> Result<Finish> {
    Finish finish = finished();
    finish.warnings = {"thinking was cut"};
    if (request.explain_cache) finish.cache = CacheReport{.prompt_tokens = 10, .cached_tokens = 4, .diverged_at = 4, .was = "a", .now = "b", .source = "messages[0]", .recomputed_s = 0.5};
    return finish;
  };
  const Reply whole = post(chat_path, chat_body(R"("explain_cache":true)"));
  EXPECT_EQ(whole.header("X-Calla-Warnings"), "thinking was cut");
  EXPECT_EQ(whole.json()["warnings"], Json::parse(R"(["thinking was cut"])"));
  EXPECT_EQ(whole.json()["cache"]["source"], "messages[0]");
  EXPECT_EQ(whole.json()["cache"]["recomputed_ms"], 500.0);
  const auto all = events(post(chat_path, chat_body(R"("stream":true,"explain_cache":true)")).body);
  EXPECT_EQ(all[all.size() - 2]["cache"], whole.json()["cache"]);
  EXPECT_EQ(all[all.size() - 2]["warnings"], whole.json()["warnings"]);
  EXPECT_FALSE(post(chat_path, chat_body()).json().contains("cache"));
}

TEST_F(OpenAiDialect, ReasoningField) {
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> { return out({.kind = Kind::reasoning, .text = "hm"}), finished(); };
  server({.reasoning_field = "both"});
  const Json message = post(chat_path, chat_body()).json()["choices"][0]["message"];
  EXPECT_EQ(message["reasoning"], "hm");
  EXPECT_EQ(message["reasoning_content"], "hm");
  server({.reasoning_field = "reasoning"});
  EXPECT_EQ(events(post(chat_path, chat_body(R"("stream":true)")).body)[1]["choices"][0]["delta"], Json::parse(R"({"reasoning":"hm"})"));
}

TEST_F(OpenAiDialect, Capabilities) {
  const Json model = Client(port()).get("/v1/capabilities").json()["models"]["starter"];
  EXPECT_EQ(model["fields"]["temperature"], "honoured");
  EXPECT_EQ(model["fields"]["user"], "ignored");
  EXPECT_EQ(model["fields"]["prompt_logprobs"], "refused");
  EXPECT_EQ(model["fields"]["enable_thinking"], "ignored");
  EXPECT_EQ(model["endpoints"]["/v1/completions"]["fields"]["suffix"], "refused");
  EXPECT_EQ(model["endpoints"]["/v1/responses"]["fields"]["store"], "honoured");
  EXPECT_EQ(model["context_tokens"], 2048);
  EXPECT_EQ(model["modalities"], Json::parse(R"(["text"])"));
}

TEST_F(OpenAiDialect, OpenApi) {
  const Json document = Client(port()).get("/openapi.json").json();
  EXPECT_EQ(document["openapi"], "3.1.0");
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/models/{id}", "/health"}) EXPECT_TRUE(document["paths"].contains(path)) << path;
  const Json schema = document["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"];
  EXPECT_EQ(schema["required"], Json::parse(R"(["messages"])"));
  EXPECT_EQ(schema["properties"]["top_p"]["type"], Json::parse(R"(["number","null"])"));
  EXPECT_EQ(schema["properties"]["top_p"]["maximum"], 1);
  EXPECT_EQ(schema["properties"]["stream_options"]["properties"]["include_usage"]["type"], Json::parse(R"(["boolean","null"])"));
  for (const char* path : {"/v1/messages", "/api/chat", "/api/generate", "/api/embed", "/completion", "/tokenize"}) EXPECT_TRUE(document["paths"][path]["post"].contains("requestBody")) << path;
  EXPECT_EQ(document["paths"]["/v1/models/{id}"]["get"]["parameters"][0]["name"], "id");
}

class EmbeddingCompleter : public FakeCompleter {
 public:
  Result<Embeddings> embed(const EmbedRequest& request, std::stop_token) override {
    seen = request;
    Embeddings out;
    out.vectors.assign(request.texts.size() + request.ids.size(), {0.6f, 0.0f, 0.8f});
    out.prompt_tokens = 5;
    return out;
  }
  EmbedRequest seen;
};

TEST(EmbeddingsOverHttp, ShapesAndFormats) {
  EmbeddingCompleter completer;
  TestServer server(completer);
  Client client(server.port);
  const auto post = [&](const std::string& body) { return client.post("/v1/embeddings", body); };
  Json answer = post(R"({"input":["a","b"]})").json();
  ASSERT_EQ(answer["data"].size(), 2u);
  EXPECT_EQ(answer["data"][1]["index"], 1);
  EXPECT_EQ(answer["data"][0]["embedding"].size(), 3u);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(completer.seen.texts, (std::vector<std::string>{"a", "b"}));
  answer = post(R"({"input":[[1,2],[3]],"pooling":"last","dimensions":1})").json();
  EXPECT_EQ(answer["data"][1]["embedding"], Json::parse("[1.0]"));
  EXPECT_EQ(completer.seen.ids, (std::vector<std::vector<TokenId>>{{1, 2}, {3}}));
  EXPECT_EQ(completer.seen.pooling, EmbedRequest::Pooling::last);
  EXPECT_EQ(post(R"({"input":"a","encoding_format":"base64"})").json()["data"][0]["embedding"], "mpkZPwAAAADNzEw/");
  for (const char* body : {R"({})", R"({"input":""})", R"({"input":["a",[1]]})", R"({"input":[]})", R"({"input":"a","encoding_format":"int8"})", R"({"input":"a","dimensions":4})",
                           R"({"input":"a","strict":true,"x":1})"}) {
    EXPECT_EQ(post(body).status, 400) << body;
  }
}

}  // namespace
