// wire: llama-server's own endpoints: tokens, templates, raw completions, filling in, properties, slots.
#include <algorithm>
#include <mutex>
#include "wire/compat.h"

namespace {

const std::string completion = "/completion", infill = "/infill";

std::string body(const std::string& more = "") { return R"({"prompt":"hi")" + (more.empty() ? "" : "," + more) + "}"; }

class LlamaApi : public CompatTest {};

TEST_F(LlamaApi, WholeCompletion) {
  const Json answer = post(completion, body(R"("n_predict":5,"temperature":0.5,"seed":7)")).json();
  EXPECT_EQ(answer["content"], "Hello world ü");
  EXPECT_EQ(answer["stop"], true);
  EXPECT_EQ(answer["index"], 0);
  EXPECT_EQ(answer["model"], "starter");
  EXPECT_EQ(answer["prompt"], "hi");
  EXPECT_EQ(answer["stop_type"], "eos");
  EXPECT_EQ(answer["stopping_word"], "");
  EXPECT_EQ(answer["tokens_predicted"], 3);
  EXPECT_EQ(answer["tokens_evaluated"], 10);
  EXPECT_EQ(answer["tokens_cached"], 4);
  EXPECT_EQ(answer["truncated"], false);
  EXPECT_EQ(answer["generation_settings"]["n_predict"], 5);
  EXPECT_EQ(answer["generation_settings"]["seed"], 7);
  EXPECT_EQ(answer["timings"]["predicted_n"], 3);
  EXPECT_EQ(completer.last().prompt, "hi");
  EXPECT_EQ(completer.last().max_tokens, 5);
}

TEST_F(LlamaApi, StreamEqualsWhole) {
  const Json whole = post(completion, body()).json();
  const auto all = events(post(completion, body(R"("stream":true)")).body);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], Json::parse(R"({"index":0,"content":"Hello","tokens":[],"stop":false})"));
  std::string content;
  for (const Json& event : all) content += event["content"].get<std::string>();
  EXPECT_EQ(content, whole["content"].get<std::string>());
  for (const char* name : {"stop", "stop_type", "tokens_predicted", "tokens_evaluated", "timings", "prompt", "has_new_line"}) EXPECT_EQ(all.back()[name], whole[name]) << name;
}

TEST_F(LlamaApi, SeveralPrompts) {
  std::mutex mutex;  // prompts are answered side by side
  std::vector<std::vector<TokenId>> ids;
  completer.script = [&, answer = completer.script](const ChatRequest& request, const Sink& out, std::stop_token stop) {
    {
      const std::lock_guard lock(mutex);
      ids.push_back(request.prompt_ids);
    }
    return answer(request, out, stop);
  };
  const Json answers = post(completion, R"({"prompt":["a",[1,2]]})").json();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0]["prompt"], "a");
  EXPECT_EQ(answers[1]["prompt"], Json::parse("[1,2]"));
  EXPECT_EQ(answers[1]["index"], 1);
  EXPECT_EQ(answers[1]["content"], "Hello world ü");
  EXPECT_EQ(std::ranges::count(ids, std::vector<TokenId>{1, 2}), 1);
  EXPECT_EQ(completer.calls, 2);
}

TEST_F(LlamaApi, TokensProbabilitiesProgress) {
  completer.script = [](const ChatRequest& request, const Sink& out, std::stop_token) -> Result<Finish> {
    EXPECT_EQ(request.top_logprobs, 1);
    out({.kind = Delta::Kind::progress, .text = "", .prompt_done = 4, .prompt_total = 10});
    out({.kind = Delta::Kind::progress, .text = "", .prompt_done = 10, .prompt_total = 10});
    out({.kind = Delta::Kind::text, .text = "A\n", .logprobs = {{65, "A", -0.5f, {{"A", -0.5f}}}, {10, "\n", -1.0f, {{"B", -0.75f}}}}});
    Finish finish = finished();
    finish.stop_text = "END";
    return finish;
  };
  const auto all = events(post(completion, body(R"("stream":true,"n_probs":1,"return_tokens":true,"return_progress":true)")).body);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1]["prompt_progress"]["total"], 10);
  EXPECT_EQ(all[1]["prompt_progress"]["cache"], 4);
  EXPECT_EQ(all[1]["prompt_progress"]["processed"], 10);
  EXPECT_EQ(all[2]["tokens"], Json::parse("[65,10]"));
  EXPECT_EQ(all[2]["completion_probabilities"][0], Json::parse(R"({"id":65,"token":"A","logprob":-0.5,"bytes":[65],"top_logprobs":[{"token":"A","logprob":-0.5,"bytes":[65]}]})"));
  const Json whole = post(completion, body(R"("n_probs":1,"return_tokens":true)")).json();
  EXPECT_EQ(whole["tokens"], Json::parse("[65,10]"));
  EXPECT_EQ(whole["completion_probabilities"].size(), 2u);
  EXPECT_EQ(whole["stop_type"], "word");
  EXPECT_EQ(whole["stopping_word"], "END");
  EXPECT_EQ(whole["has_new_line"], true);
}

TEST_F(LlamaApi, Fields) {
  const Reply reply = post(completion, body(R"("top_k":40,"repeat_penalty":1.1,"cache_prompt":false,"id_slot":-1,"samplers":["top_k"],"grammar":"root ::= \"a\"","logit_bias":[[5,false]],"ignore_eos":true,"n_predict":-1)"));
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("X-Ignored-Fields"), "id_slot, samplers");
  const ChatRequest last = completer.last();
  EXPECT_EQ(last.top_k, 40);
  EXPECT_EQ(last.repetition_penalty, 1.1f);
  EXPECT_FALSE(last.use_cache);
  EXPECT_TRUE(last.ignore_eos);
  EXPECT_EQ(last.constraint.kind, Constraint::Kind::gbnf);
  EXPECT_EQ(last.logit_bias.size(), 1u);
  EXPECT_EQ(last.max_tokens, std::nullopt);
  post(completion, body(R"("json_schema":{"type":"object"})"));
  EXPECT_EQ(completer.last().constraint.kind, Constraint::Kind::json_schema);
  EXPECT_EQ(post(completion, body(R"("strict":true,"id_slot":1)")).status, 400);
}

struct Wrong {
  const char* path;
  const char* body;
  const char* param;
};
const Wrong wrong[] = {
    {"/completion", R"({})", "prompt"}, {"/completion", R"({"prompt":5})", "prompt"}, {"/completion", R"({"prompt":[]})", "prompt"}, {"/completion", R"({"prompt":[[1,"x"]]})", "prompt"}, {"/completion", R"({"prompt":[-1]})", "prompt"},
    {"/completion", R"({"prompt":"x","n_predict":"5"})", "n_predict"}, {"/completion", R"({"prompt":"x","n_predict":-3})", "n_predict"}, {"/completion", R"({"prompt":"x","stream":1})", "stream"},
    {"/completion", R"({"prompt":"x","n_probs":99})", "n_probs"}, {"/completion", R"({"prompt":"x","return_tokens":1})", "return_tokens"}, {"/completion", R"({"prompt":"x","temperature":"1"})", "temperature"},
    {"/completion", R"({"prompt":"x","grammar":5})", "grammar"}, {"/completion", R"({"prompt":"x","grammar":"root ::= \"a\"","json_schema":{}})", "json_schema"}, {"/completion", R"({"prompt":"x","model":5})", "model"},
    {"/completion", R"({"prompt":"x","cache_prompt":1})", "cache_prompt"}, {"/completion", R"({"prompt":"x","return_progress":1})", "return_progress"}, {"/completion", R"({"prompt":"x","stop":5})", "stop"},
    {"/infill", R"({})", "input_prefix"}, {"/infill", R"({"input_prefix":5})", "input_prefix"}, {"/infill", R"({"input_prefix":"x","input_suffix":5})", "input_suffix"}, {"/infill", R"({"input_prefix":"x","prompt":5})", "prompt"},
    {"/infill", R"({"input_prefix":"x","input_extra":{}})", "input_extra"}, {"/infill", R"({"input_prefix":"x","input_extra":[5]})", "input_extra[0]"}, {"/infill", R"({"input_prefix":"x","input_extra":[{}]})", "input_extra[0].text"},
    {"/tokenize", R"({})", "content"}, {"/tokenize", R"({"content":5})", "content"}, {"/tokenize", R"({"content":"x","add_special":1})", "add_special"}, {"/tokenize", R"({"content":"x","parse_special":1})", "parse_special"},
    {"/tokenize", R"({"content":"x","with_pieces":1})", "with_pieces"}, {"/detokenize", R"({"tokens":"x"})", "tokens"}, {"/detokenize", R"({"tokens":["x"]})", "tokens"}, {"/detokenize", R"({"tokens":[-1]})", "tokens"},
    {"/apply-template", R"({})", "messages"}, {"/apply-template", R"({"messages":5})", "messages"}, {"/embedding", R"({})", "content"}, {"/embedding", R"({"content":5})", "content"},
};

TEST_F(LlamaApi, WrongFields) {
  Client client(port());
  for (const Wrong& row : wrong) {
    const Reply reply = client.post(row.path, row.body);
    EXPECT_EQ(reply.status, 400) << row.path << row.body << reply.body;
    EXPECT_EQ(reply.json()["error"]["param"], row.param) << row.path << row.body << reply.body;
    EXPECT_EQ(reply.json()["error"]["type"], "invalid_request_error");
  }
  EXPECT_EQ(completer.calls, 0);
}

TEST_F(LlamaApi, Infill) {
  ASSERT_EQ(post(infill, R"({"input_prefix":"def f(","input_suffix":"): pass","prompt":"a","input_extra":[{"filename":"x.py","text":"import y"}]})").status, 200);
  EXPECT_EQ(completer.last().prompt, "--- x.py\nimport y\ndef f(a");
  EXPECT_EQ(completer.last().suffix, "): pass");
  completer.starter.fills_in = false;
  const Reply reply = post(infill, R"({"input_prefix":"a","input_suffix":"b"})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.json()["error"]["code"], "unsupported");
}

TEST_F(LlamaApi, Tokens) {
  EXPECT_EQ(post("/tokenize", R"({"content":"hi"})").json(), Json::parse(R"({"tokens":[104,105]})"));
  EXPECT_EQ(post("/tokenize", R"({"content":"hi","add_special":true})").json(), Json::parse(R"({"tokens":[256,104,105]})"));
  EXPECT_EQ(post("/tokenize", R"({"content":"<s>"})").json(), Json::parse(R"({"tokens":[257]})"));
  EXPECT_EQ(post("/tokenize", R"({"content":"<s>","parse_special":false})").json(), Json::parse(R"({"tokens":[60,115,62]})"));
  EXPECT_EQ(post("/tokenize", R"({"content":"aü","with_pieces":true})").json(), Json::parse(R"({"tokens":[{"id":97,"piece":"a"},{"id":195,"piece":[195]},{"id":188,"piece":[188]}]})"));
  EXPECT_EQ(post("/detokenize", R"({"tokens":[104,105]})").json(), Json::parse(R"({"content":"hi"})"));
  EXPECT_EQ(post("/detokenize", R"({"tokens":[999]})").status, 400);
  EXPECT_EQ(post("/tokenize", R"({"content":"x","foo":1})").header("X-Ignored-Fields"), "foo");
  EXPECT_EQ(post("/tokenize", R"({"content":"x","foo":1,"strict":true})").status, 400);
  EXPECT_EQ(post("/tokenize", R"({"content":"x","model":"nothing"})").status, 404);
}

TEST_F(LlamaApi, ApplyTemplate) {
  EXPECT_EQ(post("/apply-template", R"({"messages":[{"role":"user","content":"hi"}]})").json()["prompt"], R"(PROMPT:[{"role":"user","content":"hi"}])");
  EXPECT_EQ(completer.calls, 0);
}

TEST_F(LlamaApi, Embedding) {
  const Json answer = post("/embedding", R"({"content":["a","b"]})").json();
  ASSERT_EQ(answer.size(), 2u);
  EXPECT_EQ(answer[1]["index"], 1);
  EXPECT_EQ(answer[1]["embedding"][0].size(), 3u);
}

TEST_F(LlamaApi, PropsSlotsCache) {
  const Json props = get("/props").json();
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 2048);
  EXPECT_EQ(props["total_slots"], 3);
  EXPECT_EQ(props["chat_template"], completer.starter.chat_template);
  EXPECT_EQ(post("/props", "{}").status, 400);
  const Json slots = get("/slots").json();
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots[0]["is_processing"], true);
  EXPECT_EQ(slots[1]["is_processing"], false);
  EXPECT_EQ(get("/slots?fail_on_no_slot=1").status, 200);
  EXPECT_EQ(get("/v1/cache").json()["models"][0]["cached_tokens"], 5);
}

}  // namespace
