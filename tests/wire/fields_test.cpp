// wire: every request field: right values reach the completer, wrong types and ranges are a 400 that names the field.
#include "wire/harness.h"

namespace {

struct Wrong {
  bool chat;
  const char* more;   // member added to a valid body
  const char* param;  // what the error names
};

const Wrong wrong_fields[] = {
    {true, R"("temperature":"1")", "temperature"},
    {true, R"("temperature":true)", "temperature"},
    {true, R"("temperature":-0.1)", "temperature"},
    {true, R"("temperature":1e300)", "temperature"},
    {true, R"("top_p":"x")", "top_p"},
    {true, R"("top_p":1.5)", "top_p"},
    {true, R"("min_p":[])", "min_p"},
    {true, R"("min_p":2)", "min_p"},
    {true, R"("top_k":1.5)", "top_k"},
    {true, R"("top_k":"40")", "top_k"},
    {true, R"("top_k":-2)", "top_k"},
    {true, R"("repetition_penalty":0)", "repetition_penalty"},
    {true, R"("repeat_penalty":"1.1")", "repeat_penalty"},
    {true, R"("presence_penalty":3)", "presence_penalty"},
    {true, R"("frequency_penalty":{})", "frequency_penalty"},
    {true, R"("seed":"7")", "seed"},
    {true, R"("seed":-2)", "seed"},
    {true, R"("seed":18446744073709551615)", "seed"},
    {true, R"("max_tokens":0)", "max_tokens"},
    {true, R"("max_tokens":"16")", "max_tokens"},
    {true, R"("max_tokens":99999999999)", "max_tokens"},
    {true, R"("max_completion_tokens":1.5)", "max_completion_tokens"},
    {true, R"("stop":5)", "stop"},
    {true, R"("stop":[1])", "stop"},
    {true, R"("stop":[""])", "stop"},
    {true, R"("stop":["1","2","3","4","5","6","7","8","9","a","b","c","d","e","f","g","h"])", "stop"},
    {true, R"("stream":"yes")", "stream"},
    {true, R"("stream":1)", "stream"},
    {true, R"("strict":"no")", "strict"},
    {true, R"("stream":true,"stream_options":true)", "stream_options"},
    {true, R"("stream":true,"stream_options":{"include_usage":"x"})", "stream_options.include_usage"},
    {true, R"("timings":0)", "timings"},
    {true, R"("n":"1")", "n"},
    {true, R"("logprobs":1)", "logprobs"},
    {true, R"("top_logprobs":3)", "top_logprobs"},
    {true, R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
    {true, R"("model":5)", "model"},
    {true, R"("ignore_eos":"true")", "ignore_eos"},
    {true, R"("enable_thinking":"false")", "enable_thinking"},
    {true, R"("reasoning_effort":3)", "reasoning_effort"},
    {true, R"("reasoning_effort":"extreme")", "reasoning_effort"},
    {true, R"("chat_template_kwargs":[])", "chat_template_kwargs"},
    {true, R"("tools":{})", "tools"},
    {true, R"("tools":[{"function":{}}])", "tools[0].type"},
    {true, R"("tools":[{"type":"function"}])", "tools[0].function"},
    {true, R"("tool_choice":5)", "tool_choice"},
    {true, R"("tool_choice":"required")", "tool_choice"},
    {true, R"("tool_choice":{"type":"function","function":{"name":"f"}})", "tool_choice"},
    {true, R"("response_format":"json")", "response_format"},
    {true, R"("n":17)", "n"},
    {true, R"("typical_p":-1)", "typical_p"},
    {true, R"("mirostat":1)", "mirostat"},
    {true, R"("dry_sequence_breakers":[1])", "dry_sequence_breakers"},
    {true, R"("logit_bias":{"5":"x"})", "logit_bias.5"},
    {true, R"("logit_bias":[[5]])", "logit_bias[0]"},
    {true, R"("logit_bias":{"":1})", "logit_bias."},
    {true, R"("stop_token_ids":[-1])", "stop_token_ids"},
    {true, R"("stop_token_ids":["a"])", "stop_token_ids"},
    {true, R"("timeout_s":0)", "timeout_s"},
    {true, R"("response_format":{})", "response_format.type"},
    {true, R"("response_format":{"type":"yaml"})", "response_format.type"},
    {true, R"("response_format":{"type":"json_schema"})", "response_format.json_schema"},
    {true, R"("response_format":{"type":"json_schema","json_schema":{"name":"x"}})", "response_format.json_schema.schema"},
    {true, R"("response_format":{"type":"json_schema","json_schema":{"schema":5}})", "response_format.json_schema.schema"},
    {true, R"("structured_outputs":{"structural_tag":{}})", "structured_outputs.structural_tag"},
    {true, R"("structured_outputs":{"regex":5})", "structured_outputs.regex"},
    {true, R"("guided_choice":[1])", "guided_choice"},
    {true, R"("guided_choice":[])", "guided_choice"},
    {true, R"("guided_json":"{")", "guided_json"},
    {true, R"("grammar":{"type":"bnf","value":"x"})", "grammar.type"},
    {true, R"("grammar":{"type":"lark"})", "grammar.value"},
    {true, R"("guided_regex":"a","response_format":{"type":"json_object"})", "guided_regex"},
    {true, R"("chat_template_kwargs":{"enable_thinking":"true"})", "chat_template_kwargs.enable_thinking"},
    {true, R"("reasoning":{"effort":"huge"})", "reasoning.effort"},
    {true, R"("thinking_budget_tokens":"9")", "thinking_budget_tokens"},
    {true, R"("continue_final_message":true)", "continue_final_message"},
    {true, R"("add_generation_prompt":false)", "add_generation_prompt"},
    {true, R"("prompt_logprobs":1)", "prompt_logprobs"},
    {true, R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}})", "tool_choice"},
    {true, R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"must","tools":[]}})", "tool_choice.mode"},
    {false, R"("echo":true,"logprobs":1)", "echo"},
    {false, R"("best_of":2,"n":1)", "best_of"},
    {false, R"("logprobs":true)", "logprobs"},
    {false, R"("logprobs":50)", "logprobs"},
    {false, R"("echo":"no")", "echo"},
    {false, R"("suffix":"x")", "suffix"},
    {false, R"("best_of":3)", "best_of"},
    {false, R"("temperature":[1])", "temperature"},
    {false, R"("max_tokens":null,"stop":{})", "stop"},
};

struct WrongBody {
  const char* path;
  std::string body;
  const char* param;
};

const WrongBody wrong_bodies[] = {
    {"chat", R"({})", "messages"},
    {"chat", R"({"messages":[]})", "messages"},
    {"chat", R"({"messages":"hi"})", "messages"},
    {"chat", R"({"messages":[5]})", "messages[0]"},
    {"chat", R"({"messages":[{"content":"x"}]})", "messages[0].role"},
    {"chat", R"({"messages":[{"role":3,"content":"x"}]})", "messages[0].role"},
    {"chat", R"({"messages":[{"role":"wizard","content":"x"}]})", "messages[0].role"},
    {"chat", R"({"messages":[{"role":"user"}]})", "messages[0].content"},
    {"chat", R"({"messages":[{"role":"user","content":null}]})", "messages[0].content"},
    {"chat", R"({"messages":[{"role":"system","content":7}]})", "messages[0].content"},
    {"chat", R"({"messages":[{"role":"user","content":[{"text":"x"}]}]})", "messages[0].content[0]"},
    {"chat", R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})", "messages[0].content[0].text"},
    {"chat", R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})", "messages[0].content[0].type"},
    {"chat", R"({"messages":[{"role":"assistant","content":"x","tool_calls":{}}]})", "messages[0].tool_calls"},
    {"chat", R"({"messages":[{"role":"assistant","tool_calls":[{}]}]})", "messages[0].tool_calls[0].function"},
    {"chat", R"({"messages":[{"role":"assistant","content":"x","reasoning":1}]})", "messages[0].reasoning"},
    {"text", R"({})", "prompt"},
    {"text", R"({"prompt":5})", "prompt"},
    {"text", R"({"prompt":[]})", "prompt"},
    {"text", R"({"prompt":[1,"a"]})", "prompt"},
    {"text", R"({"prompt":[-1]})", "prompt"},
};

class Fields : public WireTest {
 protected:
  void expect_refused(const std::string& path, const std::string& body, const std::string& param) {
    const Reply reply = client_->post(path, body);
    EXPECT_EQ(reply.status, 400) << body;
    const Json error = reply.json()["error"];
    EXPECT_EQ(error["param"], Json(param)) << body << reply.body;
    EXPECT_EQ(error["type"], "invalid_request_error");
    EXPECT_TRUE(error["code"].is_string());
    EXPECT_TRUE(error["message"].is_string());
    EXPECT_EQ(completer.calls, 0) << body;
  }
  // What the completer was given for a body that must be accepted.
  ChatRequest accepted(const std::string& path, const std::string& body) {
    last_reply = client_->post(path, body);
    EXPECT_EQ(last_reply.status, 200) << body << last_reply.body;
    return completer.last();
  }
  void SetUp() override { client_ = std::make_unique<Client>(port()); }
  std::unique_ptr<Client> client_;
  Reply last_reply;
};

TEST_F(Fields, WrongTypesAndRangesNameTheField) {
  for (const Wrong& wrong : wrong_fields) expect_refused(wrong.chat ? chat_path : text_path, wrong.chat ? chat_body(wrong.more) : text_body(wrong.more), wrong.param);
}

TEST_F(Fields, WrongMessagesAndPromptsNameThePlace) {
  for (const WrongBody& wrong : wrong_bodies) expect_refused(wrong.path == std::string("chat") ? chat_path : text_path, wrong.body, wrong.param);
}

TEST_F(Fields, SamplingReachesTheCompleter) {
  const ChatRequest request = accepted(chat_path, chat_body(R"("model":"acme/other","temperature":0.5,"top_p":0.25,"min_p":0.125,"top_k":40,"repetition_penalty":1.5,
      "presence_penalty":1,"frequency_penalty":-1,"seed":9223372036854775807,"max_tokens":7,"stop":["a","b"],"ignore_eos":true)"));
  EXPECT_EQ(request.model, "acme/other");
  EXPECT_EQ(request.temperature, 0.5f);
  EXPECT_EQ(request.top_p, 0.25f);
  EXPECT_EQ(request.min_p, 0.125f);
  EXPECT_EQ(request.top_k, 40);
  EXPECT_EQ(request.repetition_penalty, 1.5f);
  EXPECT_EQ(request.presence_penalty, 1.0f);
  EXPECT_EQ(request.frequency_penalty, -1.0f);
  EXPECT_EQ(request.seed, uint64_t{9223372036854775807u});
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(last_reply.header("X-Ignored-Fields"), "");
}

TEST_F(Fields, UnsetAndNullLeaveTheModelsDefaults) {
  for (const char* more : {"", R"("temperature":null,"top_k":null,"seed":null,"max_tokens":null,"stop":null,"tools":null,"stream":null,"n":null,"user":null)"}) {
    const ChatRequest request = accepted(chat_path, chat_body(more));
    EXPECT_FALSE(request.temperature || request.top_k || request.seed || request.max_tokens);
    EXPECT_TRUE(request.stop.empty());
    EXPECT_EQ(request.top_logprobs, -1);
    EXPECT_EQ(request.model, "starter");
    EXPECT_EQ(last_reply.header("X-Ignored-Fields"), "");
  }
}

TEST_F(Fields, OtherSpellings) {
  EXPECT_EQ(accepted(chat_path, chat_body(R"("max_tokens":5,"max_completion_tokens":9)")).max_tokens, 9);
  EXPECT_EQ(accepted(chat_path, chat_body(R"("max_tokens":5.0)")).max_tokens, 5);
  EXPECT_EQ(accepted(chat_path, chat_body(R"("repeat_penalty":1.25)")).repetition_penalty, 1.25f);
  EXPECT_EQ(accepted(chat_path, chat_body(R"("top_k":-1)")).top_k, 0);
  EXPECT_EQ(accepted(chat_path, chat_body(R"("stop":"x")")).stop, std::vector<std::string>{"x"});
  EXPECT_FALSE(accepted(chat_path, chat_body(R"("seed":-1)")).seed);
  EXPECT_EQ(accepted(chat_path, chat_body(R"("logprobs":true)")).top_logprobs, 0);
  EXPECT_EQ(accepted(chat_path, chat_body(R"("logprobs":true,"top_logprobs":4)")).top_logprobs, 4);
  EXPECT_EQ(accepted(text_path, text_body(R"("logprobs":2)")).top_logprobs, 2);
  EXPECT_EQ(accepted(chat_path, chat_body(R"("response_format":{"type":"text"},"n":1)")).top_logprobs, -1);
}

TEST_F(Fields, Prompts) {
  EXPECT_EQ(accepted(text_path, R"({"prompt":"a b"})").prompt, "a b");
  EXPECT_EQ(accepted(text_path, R"({"prompt":["a b"]})").prompt, "a b");
  EXPECT_EQ(accepted(text_path, R"({"prompt":""})").prompt, "");
  EXPECT_EQ(accepted(text_path, R"({"prompt":[1,2,3]})").prompt_ids, (std::vector<TokenId>{1, 2, 3}));
  EXPECT_EQ(accepted(text_path, R"({"prompt":[[4,5]]})").prompt_ids, (std::vector<TokenId>{4, 5}));
}

TEST_F(Fields, MessagesAreNormalised) {
  const auto messages = [&](const std::string& given) { return Json::parse(accepted(chat_path, R"({"messages":)" + given + "}").messages_json); };
  EXPECT_EQ(messages(R"([{"role":"developer","content":"A"},{"role":"user","content":"u"},{"role":"system","content":"B"}])"),
            Json::parse(R"([{"role":"system","content":"A\n\nB"},{"role":"user","content":"u"}])"));
  EXPECT_EQ(messages(R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])"), Json::parse(R"([{"role":"user","content":"a\nb"}])"));
  EXPECT_EQ(messages(R"([{"role":"assistant","content":"x","reasoning":"r","tool_calls":null},{"role":"user","content":"u"}])"),
            Json::parse(R"([{"role":"assistant","content":"x","reasoning_content":"r"},{"role":"user","content":"u"}])"));
  const std::string calls = R"([{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"ok"}])";
  EXPECT_EQ(messages(calls), Json::parse(calls));
}

TEST_F(Fields, TemplateWords) {
  EXPECT_EQ(Json::parse(accepted(chat_path, chat_body(R"("enable_thinking":false)")).template_kwargs_json), Json::parse(R"({"enable_thinking":false})"));
  EXPECT_EQ(Json::parse(accepted(chat_path, chat_body(R"("chat_template_kwargs":{"enable_thinking":true,"x":[1]},"enable_thinking":false)")).template_kwargs_json),
            Json::parse(R"({"enable_thinking":false,"x":[1]})"));
  EXPECT_EQ(Json::parse(accepted(chat_path, chat_body(R"("reasoning_effort":"none")")).template_kwargs_json), Json::parse(R"({"enable_thinking":false})"));
  EXPECT_EQ(Json::parse(accepted(chat_path, chat_body(R"("reasoning_effort":"high")")).template_kwargs_json), Json::parse(R"({"reasoning_effort":"high"})"));
  EXPECT_EQ(accepted(chat_path, chat_body()).template_kwargs_json, "");
}

TEST_F(Fields, Tools) {
  const std::string tool = R"({"type":"function","function":{"name":"f","parameters":{"type":"object"}}})";
  const ChatRequest request = accepted(chat_path, chat_body(R"("tools":[)" + tool + R"(,{"type":"web_search"}],"tool_choice":"auto")"));
  EXPECT_EQ(Json::parse(request.tools_json), Json::parse("[" + tool + "]"));
  EXPECT_EQ(last_reply.header("X-Ignored-Fields"), "tools[1].type=web_search");
  EXPECT_EQ(accepted(chat_path, chat_body(R"("tools":[)" + tool + R"(],"tool_choice":"none")")).tools_json, "");
  EXPECT_EQ(accepted(chat_path, chat_body(R"("tools":[])")).tools_json, "");
}

TEST_F(Fields, EverySamplerReachesTheCompleter) {
  const ChatRequest request = accepted(chat_path, chat_body(R"("typical_p":0.5,"top_n_sigma":-1,"xtc_probability":0.25,"xtc_threshold":0.125,"repeat_last_n":-1,"dry_multiplier":0.5,
      "dry_base":2,"dry_allowed_length":3,"dry_penalty_last_n":9,"dry_sequence_breakers":["a"],"mirostat":2,"mirostat_tau":4,"mirostat_eta":0.5,"stop_token_ids":[7],"min_tokens":2)"));
  EXPECT_EQ(request.typical_p, 0.5f);
  EXPECT_EQ(request.top_n_sigma, 0.0f);
  EXPECT_EQ(request.xtc_probability, 0.25f);
  EXPECT_EQ(request.xtc_threshold, 0.125f);
  EXPECT_EQ(request.repeat_last_n, -1);
  EXPECT_EQ(request.dry_multiplier, 0.5f);
  EXPECT_EQ(request.dry_base, 2.0f);
  EXPECT_EQ(request.dry_allowed_length, 3);
  EXPECT_EQ(request.dry_penalty_last_n, 9);
  EXPECT_EQ(request.dry_breakers, std::vector<std::string>{"a"});
  EXPECT_EQ(request.mirostat, 2);
  EXPECT_EQ(request.mirostat_tau, 4.0f);
  EXPECT_EQ(request.mirostat_eta, 0.5f);
  EXPECT_EQ(request.stop_ids, std::vector<TokenId>{7});
  EXPECT_EQ(request.min_tokens, 2);
  EXPECT_EQ(last_reply.header("X-Ignored-Fields"), "");
}

TEST_F(Fields, LogitBias) {
  using Ids = std::vector<std::pair<TokenId, float>>;
  ChatRequest request = accepted(chat_path, chat_body(R"("logit_bias":{"15":-2,"word":3,"7":false})"));
  EXPECT_EQ(request.logit_bias, (Ids{{15, -2.0f}, {7, -INFINITY}}));
  EXPECT_EQ(request.text_bias, (std::vector<std::pair<std::string, float>>{{"word", 3.0f}}));
  request = accepted(chat_path, chat_body(R"("logit_bias":[[15,1.5],["w",false]])"));
  EXPECT_EQ(request.logit_bias, (Ids{{15, 1.5f}}));
  EXPECT_EQ(request.text_bias, (std::vector<std::pair<std::string, float>>{{"w", -INFINITY}}));
}

TEST_F(Fields, EverySpellingOfAConstraint) {
  using Limit = Constraint::Kind;
  struct Spelling {
    const char* more;
    Constraint constraint;
  };
  const std::string schema = R"({"type":"object"})";
  const Spelling table[] = {
      {R"("response_format":{"type":"text"})", {}},
      {R"("response_format":{"type":"json_object"})", {Limit::json_object, ""}},
      {R"("response_format":{"type":"json_object","schema":{"type":"object"}})", {Limit::json_schema, schema}},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"n","strict":false,"schema":{"type":"object"}}})", {Limit::json_schema, schema}},
      {R"("structured_outputs":{"json":{"type":"object"}})", {Limit::json_schema, schema}},
      {R"("structured_outputs":{"regex":"a+"})", {Limit::regex, "a+"}},
      {R"("structured_outputs":{"choice":["a","b"]})", {Limit::choice, R"(["a","b"])"}},
      {R"("structured_outputs":{"grammar":"start: \"a\""})", {Limit::lark, "start: \"a\""}},
      {R"("structured_outputs":{"json_object":true})", {Limit::json_object, ""}},
      {R"("guided_json":"{\"type\": \"object\"}")", {Limit::json_schema, schema}},
      {R"("guided_regex":"[a-z]")", {Limit::regex, "[a-z]"}},
      {R"("guided_choice":["x"])", {Limit::choice, R"(["x"])"}},
      {R"("guided_grammar":"root ::= \"a\"")", {Limit::gbnf, "root ::= \"a\""}},
      {R"("grammar":"root ::= \"b\"")", {Limit::gbnf, "root ::= \"b\""}},
      {R"("grammar":"")", {}},
      {R"("grammar":{"type":"regex","value":"x"})", {Limit::regex, "x"}},
      {R"("grammar":{"type":"lark","value":"start: \"c\""})", {Limit::lark, "start: \"c\""}},
      {R"("grammar":{"type":"json_schema","value":{"type":"object"}})", {Limit::json_schema, schema}},
      {R"("json_schema":{"type":"object"})", {Limit::json_schema, schema}},
  };
  for (const Spelling& spelling : table) {
    EXPECT_EQ(accepted(chat_path, chat_body(spelling.more)).constraint, spelling.constraint) << spelling.more;
    EXPECT_EQ(accepted(text_path, text_body(spelling.more)).constraint, spelling.constraint) << spelling.more;
  }
}

TEST_F(Fields, ToolChoices) {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],"tool_choice":)";
  EXPECT_EQ(accepted(chat_path, chat_body(tools + R"("required")")).tool_choice.kind, ToolChoice::Kind::required);
  const ChatRequest named = accepted(chat_path, chat_body(tools + R"({"type":"function","function":{"name":"g"}},"parallel_tool_calls":false)"));
  EXPECT_EQ(named.tool_choice, (ToolChoice{ToolChoice::Kind::named, "g", false}));
  const ChatRequest allowed = accepted(chat_path, chat_body(tools + R"({"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"g"}}]}})"));
  EXPECT_EQ(allowed.tool_choice.kind, ToolChoice::Kind::required);
  EXPECT_EQ(Json::parse(allowed.tools_json), Json::parse(R"([{"type":"function","function":{"name":"g"}}])"));
}

TEST_F(Fields, Thinking) {
  for (const char* more : {R"("reasoning_budget_tokens":5)", R"("thinking_budget_tokens":5)", R"("thinking_token_budget":5)", R"("reasoning":{"max_tokens":5})",
                           R"("thinking":{"type":"enabled","budget_tokens":5})"}) {
    EXPECT_EQ(accepted(chat_path, chat_body(more)).reasoning_budget_tokens, 5) << more;
  }
  EXPECT_FALSE(accepted(chat_path, chat_body(R"("reasoning_budget_tokens":-1)")).reasoning_budget_tokens);
  EXPECT_EQ(Json::parse(accepted(chat_path, chat_body(R"("reasoning":{"effort":"low"})")).template_kwargs_json)["reasoning_effort"], "low");
  EXPECT_EQ(last_reply.header("X-Ignored-Fields"), "reasoning.effort");  // this model has no word for it
}

TEST_F(Fields, ServingWords) {
  const ChatRequest request = accepted(chat_path, chat_body(R"("cache_prompt":false,"cache_salt":"s","prompt_cache_key":"k","session_id":"i","explain_cache":true,"return_progress":true,
      "priority":3,"timeout_s":60,"t_max_predict_ms":5000)"));
  EXPECT_FALSE(request.use_cache);
  EXPECT_EQ(request.cache_salt, "s");
  EXPECT_TRUE(request.explain_cache && request.report_progress);
  EXPECT_EQ(request.priority, 3);
  ASSERT_TRUE(request.deadline);
  EXPECT_LT(*request.deadline, std::chrono::steady_clock::now() + 10s);
  EXPECT_EQ(last_reply.header("X-Ignored-Fields"), "");
}

TEST_F(Fields, ContinuedMessages) {
  const ChatRequest request = accepted(chat_path, R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"We"}],"continue_final_message":true,"add_generation_prompt":false})");
  EXPECT_TRUE(request.continue_final_message);
}

TEST_F(Fields, NothingIsIgnoredInSilence) {
  accepted(chat_path, chat_body(R"("id_slot":1,"user":"me","samplers":[],"stream_options":{"include_usage":true},"prompt":"x")"));
  EXPECT_EQ(last_reply.header("X-Ignored-Fields"), "stream_options, id_slot, user, samplers, prompt");
  accepted(chat_path, chat_body(R"("a\r\nX-Evil: 1":1)"));
  EXPECT_EQ(last_reply.header("X-Ignored-Fields"), "a??X-Evil: 1");
  accepted(chat_path, chat_body(R"("strict":true,"user":"me","metadata":{},"store":false,"service_tier":"x","safety_identifier":"y")"));
  EXPECT_EQ(last_reply.header("X-Ignored-Fields"), "user, metadata, store, service_tier, safety_identifier");
  const int before = completer.calls.load();
  for (const char* more : {R"("strict":true,"id_slot":1)", R"("strict":true,"stream":true,"stream_options":{"x":1})", R"("strict":true,"tools":[{"type":"web_search"}])"}) {
    const Reply reply = client_->post(chat_path, chat_body(more));
    EXPECT_EQ(reply.status, 400) << more;
    EXPECT_EQ(reply.json()["error"]["code"], "ignored_field");
  }
  EXPECT_EQ(completer.calls, before);
}

TEST_F(Fields, BadJson) {
  const std::string deep = R"({"messages":)" + std::string(5000, '[') + std::string(5000, ']') + "}";
  const std::string bad[] = {"", "{", "[]", "5", "null", "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", chat_body() + "x", deep, chat_body(R"("temperature":1e999)"),
                             chat_body(R"("seed":123456789012345678901234567890)"), chat_body(R"("temperature":NaN)"), chat_body(R"("temperature":01)"),
                             R"({"messages":[{"role":"user","content":"\ud800"}]})"};
  for (const std::string& body : bad) {
    const Reply reply = client_->post(chat_path, body);
    EXPECT_EQ(reply.status, 400) << body.substr(0, 60);
    EXPECT_EQ(reply.json()["error"]["code"], "invalid_json") << body.substr(0, 60);
  }
  EXPECT_EQ(completer.calls, 0);
}

TEST_F(Fields, DuplicateKeys) {
  for (const char* body : {R"({"messages":[],"messages":[]})", R"({"messages":[{"role":"user","role":"user","content":"x"}]})"}) {
    const Reply reply = client_->post(chat_path, body);
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(reply.json()["error"]["code"], "invalid_json");
  }
}

TEST_F(Fields, Models) {
  Reply reply = client_->post(chat_path, chat_body(R"("model":"nope")"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.json()["error"]["code"], "model_not_found");
  EXPECT_NE(reply.body.find("starter, acme/other"), std::string::npos);
  EXPECT_EQ(accepted(chat_path, chat_body(R"("model":"starter:latest")")).model, "starter");
  const Json list = client_->get("/v1/models").json();
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["first_id"], "starter");
  EXPECT_EQ(list["last_id"], "acme/other");
  EXPECT_EQ(list["has_more"], false);
  for (const char* key : {"id", "object", "created", "owned_by", "type", "display_name", "created_at"}) EXPECT_TRUE(list["data"][0].contains(key)) << key;
  EXPECT_EQ(client_->get("/v1/models/acme/other").json()["id"], "acme/other");
  EXPECT_EQ(client_->get("/v1/models/acme%2Fother?x=1").json()["id"], "acme/other");
  EXPECT_EQ(client_->get("/v1/models/none").status, 404);
}

TEST_F(WireTest, Aliases) {
  server({.aliases = {{"gpt-4o", "acme/other"}, {"*", "starter"}}});
  post(chat_path, chat_body(R"("model":"gpt-4o")"));
  EXPECT_EQ(completer.last().model, "acme/other");
  post(chat_path, chat_body(R"("model":"anything")"));
  EXPECT_EQ(completer.last().model, "starter");
}

}  // namespace
