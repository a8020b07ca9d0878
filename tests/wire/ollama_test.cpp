// wire: the Ollama dialect: what requests become, lines and whole answers, models coming and going, errors.
#include "wire/compat.h"
#include "wire/ollama_request.h"

namespace {

const std::string chat = "/api/chat", generate = "/api/generate";

std::string chat_with(const std::string& more = "") { return R"({"model":"starter","messages":[{"role":"user","content":"hi"}])" + (more.empty() ? "" : "," + more) + "}"; }
std::string whole_chat(const std::string& more = "") { return chat_with(R"("stream":false)" + (more.empty() ? "" : "," + more)); }
std::string generate_with(const std::string& more = "") { return R"({"model":"starter","stream":false,"prompt":"hi")" + (more.empty() ? "" : "," + more) + "}"; }

class OllamaApi : public CompatTest {};

void expect_durations(const Json& answer) {
  EXPECT_GT(answer["total_duration"], 0);
  EXPECT_EQ(answer["load_duration"], 0);
  EXPECT_EQ(answer["prompt_eval_count"], 10);
  EXPECT_EQ(answer["prompt_eval_duration"], 500000000);
  EXPECT_EQ(answer["eval_count"], 3);
  EXPECT_EQ(answer["eval_duration"], 250000000);
}

TEST_F(OllamaApi, WholeChat) {
  completer.script = busy_answer;
  const Reply reply = post(chat, whole_chat());
  const Json answer = reply.json();
  EXPECT_EQ(reply.header("Content-Type"), "application/json");
  EXPECT_EQ(answer["model"], "starter");
  EXPECT_EQ(answer["created_at"].get<std::string>().size(), 30u);
  EXPECT_EQ(answer["message"], Json::parse(R"({"role":"assistant","content":"I look.","thinking":"hmm","tool_calls":[{"id":"call_a","function":{"index":0,"name":"look","arguments":{"at":"sky"}}},
      {"id":"call_b","function":{"index":1,"name":"wait","arguments":{}}}]})"));
  EXPECT_EQ(answer["done"], true);
  EXPECT_EQ(answer["done_reason"], "stop");
  expect_durations(answer);
  EXPECT_FALSE(answer.contains("context"));
}

TEST_F(OllamaApi, StreamedChat) {
  completer.script = busy_answer;
  const Reply reply = post(chat, chat_with());
  EXPECT_EQ(reply.header("Content-Type"), "application/x-ndjson");
  const auto all = lines(reply.body);
  ASSERT_EQ(all.size(), 6u) << reply.body;
  EXPECT_EQ(all[0]["message"], Json::parse(R"({"role":"assistant","content":"","thinking":"hm"})"));
  EXPECT_EQ(all[0]["done"], false);
  EXPECT_EQ(all[2]["message"], Json::parse(R"({"role":"assistant","content":"I look."})"));
  EXPECT_EQ(all[3]["message"]["tool_calls"], Json::parse(R"([{"id":"call_a","function":{"index":0,"name":"look","arguments":{"at":"sky"}}}])"));
  EXPECT_EQ(all[4]["message"]["tool_calls"][0]["function"]["name"], "wait");
  EXPECT_EQ(all[5]["message"], Json::parse(R"({"role":"assistant","content":""})"));
  EXPECT_EQ(all[5]["done"], true);
  EXPECT_EQ(all[5]["done_reason"], "stop");
  expect_durations(all[5]);
}

TEST_F(OllamaApi, StreamEqualsWhole) {
  completer.script = busy_answer;
  const Json whole = post(chat, whole_chat()).json();
  std::string content, thinking;
  Json calls = Json::array(), last;
  for (const Json& line : lines(post(chat, chat_with()).body)) {
    content += line["message"]["content"].get<std::string>();
    thinking += line["message"].value("thinking", "");
    for (const Json& call : line["message"].value("tool_calls", Json::array())) calls.push_back(call);
    last = line;
  }
  EXPECT_EQ(whole["message"]["content"], content);
  EXPECT_EQ(whole["message"]["thinking"], thinking);
  EXPECT_EQ(whole["message"]["tool_calls"], calls);
  for (const char* name : {"done", "done_reason", "prompt_eval_count", "eval_count"}) EXPECT_EQ(whole[name], last[name]);
}

TEST_F(OllamaApi, CutCallIsWithheld) {
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> {
    out({.kind = Delta::Kind::tool_call, .text = "{\"at\":\"s", .tool_index = 0, .tool_id = "call_a", .tool_name = "look"});
    return finished(Finish::Reason::length);
  };
  const Json answer = post(chat, whole_chat()).json();
  EXPECT_EQ(answer["message"], Json::parse(R"({"role":"assistant","content":""})"));
  EXPECT_EQ(answer["done_reason"], "length");
}

TEST_F(OllamaApi, Generate) {
  const Json answer = post(generate, generate_with()).json();
  EXPECT_EQ(answer["response"], "Hello world ü");
  EXPECT_EQ(answer["done_reason"], "stop");
  expect_durations(answer);
  EXPECT_EQ(messages(), Json::parse(R"([{"role":"user","content":"hi"}])"));
  const auto all = lines(post(generate, R"({"prompt":"hi"})").body);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0]["response"], "Hello");
  EXPECT_EQ(all[0]["model"], "starter:latest");
  EXPECT_EQ(all[3]["response"], "");
  EXPECT_EQ(all[3]["done"], true);
}

TEST_F(OllamaApi, GenerateInputs) {
  post(generate, generate_with(R"("system":"be brief")"));
  EXPECT_EQ(messages(), Json::parse(R"([{"role":"system","content":"be brief"},{"role":"user","content":"hi"}])"));
  const Json raw = post(generate, generate_with(R"("raw":true)")).json();
  EXPECT_EQ(completer.last().prompt, "hi");
  EXPECT_EQ(completer.last().messages_json, "");
  EXPECT_FALSE(raw.contains("context"));
  post(generate, generate_with(R"("suffix":"bye")"));
  EXPECT_EQ(completer.last().prompt, "hi");
  EXPECT_EQ(completer.last().suffix, "bye");
}

TEST_F(OllamaApi, ContextContinuesAConversation) {
  const Json first = post(generate, generate_with(R"("system":"s")")).json();
  ASSERT_TRUE(first["context"].is_array());
  for (const Json& number : first["context"]) EXPECT_TRUE(number.is_number_integer());
  ASSERT_EQ(post(generate, R"({"prompt":"and?","stream":false,"context":)" + first["context"].dump() + "}").status, 200);
  EXPECT_EQ(messages(), Json::parse(R"([{"role":"system","content":"s"},{"role":"user","content":"hi"},{"role":"assistant","content":"Hello world ü"},{"role":"user","content":"and?"}])"));
  for (const char* context : {"[1,2,3]", "[3,5]", "[-1]", "[2.5]", R"(["x"])", "[99999999999]"}) {
    const Reply reply = post(generate, R"({"prompt":"x","context":)" + std::string(context) + "}");
    EXPECT_EQ(reply.status, 400) << context;
    EXPECT_EQ(post(generate, R"({"prompt":"x","stream":false,"context":[]})").status, 200);
  }
}

struct Conversion {
  const char* messages;
  const char* become;
};
const Conversion conversions[] = {
    {R"([{"role":"system","content":"s"},{"role":"user","content":"u","images":[]}])", R"([{"role":"system","content":"s"},{"role":"user","content":"u"}])"},
    {R"([{"role":"user","content":"a"},{"role":"assistant","content":"","thinking":"t","tool_calls":[{"function":{"name":"look","arguments":{"at":"sky"}}},{"function":{"name":"wait"}}]},{"role":"tool","content":"done","tool_name":"wait"},{"role":"tool","content":"blue"}])",
     R"([{"role":"user","content":"a"},{"role":"assistant","content":"","reasoning_content":"t","tool_calls":[{"id":"call_0","type":"function","function":{"name":"look","arguments":"{\"at\":\"sky\"}"}},{"id":"call_1","type":"function","function":{"name":"wait","arguments":"{}"}}]},{"role":"tool","content":"done","tool_call_id":"call_1","name":"wait"},{"role":"tool","content":"blue","tool_call_id":"call_0"}])"},
    {R"([{"role":"system","content":"x-anthropic-billing-header: a\ncode"},{"role":"user"}])", R"([{"role":"system","content":"code"},{"role":"user","content":""}])"},
};

TEST_F(OllamaApi, MessagesBecomeWhatTemplatesRead) {
  for (const Conversion& row : conversions) {
    const Reply reply = post(chat, R"({"stream":false,"messages":)" + std::string(row.messages) + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(messages(), Json::parse(row.become)) << row.messages;
  }
}

TEST_F(OllamaApi, Options) {
  const Reply reply = post(chat, whole_chat(R"("options":{"temperature":0.5,"num_predict":7,"top_k":3,"top_p":0.9,"min_p":0.1,"typical_p":0.7,"repeat_penalty":1.2,"repeat_last_n":-1,"seed":42,"stop":["x"],
      "mirostat":2,"mirostat_tau":4,"mirostat_eta":0.2,"presence_penalty":1,"frequency_penalty":-1,"num_ctx":1024})"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("X-Ignored-Fields"), "");
  const ChatRequest last = completer.last();
  EXPECT_EQ(last.temperature, 0.5f);
  EXPECT_EQ(last.max_tokens, 7);
  EXPECT_EQ(last.top_k, 3);
  EXPECT_EQ(last.typical_p, 0.7f);
  EXPECT_EQ(last.repetition_penalty, 1.2f);
  EXPECT_EQ(last.repeat_last_n, -1);
  EXPECT_EQ(last.seed, 42u);
  EXPECT_EQ(last.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(last.mirostat, 2);
  EXPECT_EQ(last.presence_penalty, 1.0f);
  EXPECT_EQ(post(chat, whole_chat(R"("options":{"num_ctx":8192,"num_gpu":99,"num_predict":-1},"truncate":true)")).header("X-Ignored-Fields"), "options.num_gpu, truncate, options.num_ctx");
  EXPECT_EQ(completer.last().max_tokens, std::nullopt);
  EXPECT_EQ(post(chat, whole_chat(R"("strict":true,"options":{"num_gpu":99})")).status, 400);
}

TEST_F(OllamaApi, FormatThinkTools) {
  post(chat, whole_chat(R"("format":"json")"));
  EXPECT_EQ(completer.last().constraint.kind, Constraint::Kind::json_object);
  post(chat, whole_chat(R"("format":{"type":"object"})"));
  EXPECT_EQ(completer.last().constraint, (Constraint{Constraint::Kind::json_schema, R"({"type":"object"})"}));
  post(chat, whole_chat(R"("format":"")"));
  EXPECT_EQ(completer.last().constraint.kind, Constraint::Kind::none);
  post(chat, whole_chat(R"("think":false)"));
  EXPECT_EQ(Json::parse(completer.last().template_kwargs_json), Json::parse(R"({"enable_thinking":false})"));
  post(chat, whole_chat(R"("think":"high")"));
  EXPECT_EQ(Json::parse(completer.last().template_kwargs_json), Json::parse(R"({"enable_thinking":true,"reasoning_effort":"high"})"));
  const std::string tools = R"([{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}])";
  post(chat, whole_chat(R"("tools":)" + tools));
  EXPECT_EQ(Json::parse(completer.last().tools_json), Json::parse(tools));
}

TEST_F(OllamaApi, Logprobs) {
  completer.script = [](const ChatRequest& request, const Sink& out, std::stop_token) -> Result<Finish> {
    EXPECT_EQ(request.top_logprobs, 1);
    out({.kind = Delta::Kind::text, .text = "A", .logprobs = {{1, "A", -0.5f, {{"A", -0.5f}}}}});
    return finished();
  };
  const Json expected = Json::parse(R"([{"token":"A","logprob":-0.5,"bytes":[65],"top_logprobs":[{"token":"A","logprob":-0.5,"bytes":[65]}]}])");
  EXPECT_EQ(post(chat, whole_chat(R"("logprobs":true,"top_logprobs":1)")).json()["logprobs"], expected);
  EXPECT_EQ(lines(post(generate, R"({"prompt":"x","logprobs":true,"top_logprobs":1})").body)[0]["logprobs"], expected);
}

TEST_F(OllamaApi, EmptyRequestsLoadAndUnload) {
  Json answer = post(generate, R"({"model":"starter"})").json();
  EXPECT_EQ(answer["done_reason"], "load");
  EXPECT_EQ(answer["response"], "");
  EXPECT_EQ(answer["done"], true);
  EXPECT_TRUE(completer.notes.empty());  // it is there already
  answer = post(chat, R"({"model":"starter:latest","messages":[],"keep_alive":"1h30m"})").json();
  EXPECT_EQ(answer["done_reason"], "load");
  EXPECT_EQ(answer["message"], Json::parse(R"({"role":"assistant","content":""})"));
  EXPECT_EQ(answer["model"], "starter:latest");
  answer = post(chat, R"({"model":"starter","keep_alive":0})").json();
  EXPECT_EQ(answer["done_reason"], "unload");
  completer.starter.loaded = false;
  post(generate, R"({"model":"starter"})");
  post(generate, generate_with(R"("keep_alive":0)"));
  server_->stop();  // the model goes behind the answer
  EXPECT_EQ(completer.notes, (std::vector<std::string>{"load starter 5400", "unload starter", "load starter", "load starter", "unload starter"}));
  EXPECT_EQ(completer.calls, 1);
}

TEST_F(OllamaApi, KeepAliveWhereModelsStay) {
  completer.manages = false;
  const Reply reply = post(chat, whole_chat(R"("keep_alive":"5m")"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("X-Ignored-Fields"), "keep_alive");
}

TEST(OllamaKeepAlive, Durations) {
  const std::pair<const char*, std::optional<int64_t>> rows[] = {{"300", 300}, {"-1", -1}, {"0", 0}, {"1.5", 2}, {R"("5m")", 300}, {R"("1h30m")", 5400}, {R"("1.5h")", 5400}, {R"("-1s")", -1}, {R"("0")", 0}, {R"("90")", 90},
                                                             {R"("250ms")", 1}, {R"("")", {}}, {R"("m")", {}}, {R"("5x")", {}}, {R"("-")", {}}, {R"("5m3")", {}}, {"true", {}}, {"[]", {}}, {"1e300", 3153600000}};
  for (const auto& [text, seconds] : rows) {
    const auto document = JsonDocument::parse("a duration", text);
    const auto read = read_keep_alive(document->root());
    EXPECT_EQ(read ? std::optional<int64_t>(read->count()) : std::nullopt, seconds) << text;
  }
}

struct Wrong {
  const char* more;
  const char* param;
};
const Wrong wrong_common[] = {
    {R"("model":5)", "model"}, {R"("stream":"yes")", "stream"}, {R"("strict":1)", "strict"}, {R"("options":[])", "options"}, {R"("options":{"temperature":"x"})", "options.temperature"},
    {R"("options":{"num_predict":"x"})", "options.num_predict"}, {R"("options":{"num_predict":-3})", "options.num_predict"}, {R"("options":{"num_ctx":1.5})", "options.num_ctx"}, {R"("options":{"top_k":"x"})", "options.top_k"},
    {R"("options":{"stop":5})", "options.stop"}, {R"("options":{"seed":"x"})", "options.seed"}, {R"("options":{"mirostat":1})", "options.mirostat"}, {R"("options":{"mirostat":3})", "options.mirostat"},
    {R"("options":{"repeat_penalty":0})", "options.repeat_penalty"}, {R"("options":{"top_p":2})", "options.top_p"}, {R"("options":{"min_p":-1})", "options.min_p"},
    {R"("format":"xml")", "format"}, {R"("format":5)", "format"}, {R"("think":"extreme")", "think"}, {R"("think":5)", "think"}, {R"("keep_alive":"soon")", "keep_alive"}, {R"("keep_alive":{})", "keep_alive"},
    {R"("logprobs":1)", "logprobs"}, {R"("top_logprobs":3)", "top_logprobs"}, {R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
};
const Wrong wrong_chat[] = {
    {R"("messages":{})", "messages"}, {R"("messages":[5])", "messages[0]"}, {R"("messages":[{}])", "messages[0].role"}, {R"("messages":[{"role":"robot"}])", "messages[0].role"}, {R"("messages":[{"role":5}])", "messages[0].role"},
    {R"("messages":[{"role":"user","content":5}])", "messages[0].content"}, {R"("messages":[{"role":"user","content":"x","images":["aGk="]}])", "messages[0].images"}, {R"("messages":[{"role":"user","images":"x"}])", "messages[0].images"},
    {R"("messages":[{"role":"assistant","tool_calls":{}}])", "messages[0].tool_calls"}, {R"("messages":[{"role":"assistant","tool_calls":[{}]}])", "messages[0].tool_calls[0].function"},
    {R"("messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}])", "messages[0].tool_calls[0].function.arguments"},
    {R"("messages":[{"role":"assistant","thinking":5}])", "messages[0].thinking"}, {R"("messages":[{"role":"tool","tool_name":5}])", "messages[0].tool_name"},
    {R"("tools":{})", "tools"}, {R"("tools":[5])", "tools[0]"}, {R"("tools":[{"type":"function"}])", "tools[0].function"},
};
const Wrong wrong_generate[] = {
    {R"("prompt":5)", "prompt"}, {R"("system":5)", "system"}, {R"("suffix":5)", "suffix"}, {R"("raw":"yes")", "raw"}, {R"("template":"{{ .Prompt }}")", "template"}, {R"("template":5)", "template"},
    {R"("images":["aGk="])", "images"}, {R"("images":"x")", "images"}, {R"("context":"x")", "context"},
};

TEST_F(OllamaApi, WrongFields) {
  Client client(port());
  const auto expect_refused = [&](const std::string& path, const std::string& base, const Wrong& row) {
    Json whole = Json::parse(base);
    whole.update(Json::parse("{" + std::string(row.more) + "}"));
    const Reply reply = client.post(path, whole.dump());
    EXPECT_EQ(reply.status, 400) << row.more << reply.body;
    const Json answer = reply.json();
    ASSERT_TRUE(answer["error"].is_string()) << row.more << reply.body;
    EXPECT_NE(answer["error"].get<std::string>().find(row.param[0] == 'i' ? "images" : row.param), std::string::npos) << row.more << reply.body;
  };
  for (const Wrong& row : wrong_common) expect_refused(chat, chat_with(), row), expect_refused(generate, generate_with(), row);
  for (const Wrong& row : wrong_chat) expect_refused(chat, chat_with(), row);
  for (const Wrong& row : wrong_generate) expect_refused(generate, generate_with(), row);
  EXPECT_EQ(completer.calls, 0);
}

TEST_F(OllamaApi, Errors) {
  const Reply unknown = post(chat, R"({"model":"nothing","messages":[{"role":"user","content":"x"}]})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_NE(unknown.json()["error"].get<std::string>().find("not found"), std::string::npos);
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> {
    out({.kind = Delta::Kind::text, .text = "x"});
    return Error{Code::device, "the device failed"};
  };
  EXPECT_EQ(lines(post(chat, chat_with()).body).back(), Json({{"error", "the device failed"}}));
  EXPECT_EQ(post(chat, whole_chat()).status, 503);
  completer.script = [](const ChatRequest&, const Sink&, std::stop_token) -> Result<Finish> { return prompt_too_long(3000, 2048); };
  const Reply reply = post(chat, chat_with());
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.json(), Json({{"error", "cannot answer: the prompt has 3000 tokens, the context holds 2048"}}));
  EXPECT_EQ(get(chat).status, 405);
  for (const char* path : {"/api/create", "/api/push", "/api/blobs/sha256:1"}) {
    EXPECT_EQ(post(path, "{}").status, 400) << path;
    EXPECT_TRUE(post(path, "{}").json()["error"].is_string()) << path;
  }
  EXPECT_EQ(send("HEAD", "/api/blobs/sha256:1", "").status, 404);
}

TEST_F(OllamaApi, ModelsThatAreThere) {
  const Json tags = get("/api/tags").json();
  ASSERT_EQ(tags["models"].size(), 2u);
  EXPECT_EQ(tags["models"][0], Json::parse(R"({"name":"starter:latest","model":"starter:latest","modified_at":"1970-01-02T00:00:00Z","size":1000,"digest":"abc",
      "details":{"parent_model":"","format":"gguf","family":"llama","families":["llama"],"parameter_size":"0.6B","quantization_level":"Q4_0"}})"));
  const Json shown = post("/api/show", R"({"model":"starter"})").json();
  EXPECT_EQ(shown["capabilities"], Json::parse(R"(["completion","tools","thinking","insert"])"));
  EXPECT_EQ(shown["model_info"], Json::parse(R"({"general.architecture":"llama","llama.context_length":2048})"));
  EXPECT_EQ(shown["template"], completer.starter.chat_template);
  EXPECT_EQ(post("/api/show", R"({"name":"acme/other"})").json()["capabilities"], Json::parse(R"(["completion"])"));
  EXPECT_EQ(post("/api/show", R"({"model":"nothing"})").status, 404);
  EXPECT_EQ(post("/api/show", R"({"model":5})").status, 400);
  completer.starter.expires_unix_s = 172800;
  const Json running = get("/api/ps").json();
  ASSERT_EQ(running["models"].size(), 2u);
  EXPECT_EQ(running["models"][0]["expires_at"], "1970-01-03T00:00:00Z");
  EXPECT_EQ(running["models"][0]["size"], 1050);
  EXPECT_EQ(running["models"][0]["context_length"], 2048);
  completer.starter.loaded = false;
  EXPECT_EQ(get("/api/ps").json()["models"].size(), 1u);
  EXPECT_TRUE(get("/api/version").json()["version"].is_string());
}

TEST_F(OllamaApi, PullDeleteCopy) {
  const auto all = lines(post("/api/pull", R"({"model":"new"})").body);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], Json::parse(R"({"status":"pulling weights","digest":"","total":100,"completed":10})"));
  EXPECT_EQ(all[1], Json::parse(R"({"status":"verifying"})"));
  EXPECT_EQ(all[2], Json::parse(R"({"status":"success"})"));
  EXPECT_EQ(post("/api/pull", R"({"name":"new","stream":false})").json(), Json::parse(R"({"status":"success"})"));
  EXPECT_EQ(lines(post("/api/pull", R"({"model":"broken"})").body).back(), Json({{"error", "cannot pull: the connection broke"}}));
  EXPECT_EQ(post("/api/pull", R"({"model":"missing"})").status, 404);
  EXPECT_EQ(post("/api/pull", R"({})").status, 400);
  EXPECT_EQ(post("/api/copy", R"({"source":"starter:latest","destination":"mine"})").status, 200);
  EXPECT_EQ(post("/api/copy", R"({"source":"nothing","destination":"mine"})").status, 404);
  EXPECT_EQ(post("/api/copy", R"({"source":"starter"})").status, 400);
  EXPECT_EQ(send("DELETE", "/api/delete", R"({"model":"starter"})").status, 200);
  EXPECT_EQ(send("DELETE", "/api/delete", R"({"model":"nothing"})").status, 404);
  EXPECT_EQ(send("DELETE", "/api/delete", R"({})").status, 404);
  EXPECT_EQ(completer.notes, (std::vector<std::string>{"pull new", "pull new", "copy starter mine", "remove starter"}));
}

TEST_F(OllamaApi, AnAliasDeletesNothing) {
  options.aliases = {{"*", "starter"}};
  EXPECT_EQ(send("DELETE", "/api/delete", R"({"model":"anything"})").status, 404);
  EXPECT_TRUE(completer.notes.empty());
}

TEST_F(OllamaApi, Embeddings) {
  Json answer = post("/api/embed", R"({"model":"starter","input":["a","b"]})").json();
  EXPECT_EQ(answer["embeddings"].size(), 2u);
  EXPECT_EQ(answer["embeddings"][1].size(), 3u);
  EXPECT_EQ(answer["prompt_eval_count"], 7);
  EXPECT_EQ(completer.embedded.texts, (std::vector<std::string>{"a", "b"}));
  answer = post("/api/embed", R"({"input":"a","dimensions":2})").json();
  EXPECT_EQ(answer["embeddings"][0].size(), 2u);
  EXPECT_NEAR(answer["embeddings"][0][1].get<double>(), 0.8, 1e-6);
  answer = post("/api/embeddings", R"({"model":"starter","prompt":"a"})").json();
  EXPECT_EQ(answer["embedding"].size(), 3u);
  EXPECT_EQ(post("/api/embeddings", R"({"prompt":""})").json()["embedding"], Json::array());
  post("/api/embed", R"({"model":"acme/other","input":")" + std::string(100, 'x') + R"("})");
  ASSERT_EQ(completer.embedded.ids.size(), 1u);
  EXPECT_EQ(completer.embedded.ids[0].size(), 64u);  // cut to the context
  post("/api/embed", R"({"model":"acme/other","truncate":false,"input":")" + std::string(100, 'x') + R"("})");
  EXPECT_EQ(completer.embedded.texts.size(), 1u);
  for (const char* body : {R"({"input":5})", R"({"input":[5]})", R"({"input":"x","truncate":1})", R"({"input":"x","dimensions":0})", R"({"input":"x","keep_alive":"soon"})"}) EXPECT_EQ(post("/api/embed", body).status, 400) << body;
}

}  // namespace
