// wire: the Anthropic dialect: what requests become, the order of events, errors, and the token count.
#include "wire/compat.h"

namespace {

const std::string path = "/v1/messages", count_path = "/v1/messages/count_tokens";

std::string body(const std::string& more = "") {
  return R"({"model":"starter","max_tokens":16,"messages":[{"role":"user","content":"hi"}])" + (more.empty() ? "" : "," + more) + "}";
}
std::string with_messages(const std::string& messages, const std::string& more = "") {
  return R"({"model":"starter","max_tokens":16,"messages":)" + messages + (more.empty() ? "" : "," + more) + "}";
}
const std::string tool = R"({"name":"look","description":"looks","input_schema":{"type":"object","properties":{"at":{"type":"string"}}}})";

class Messages : public CompatTest {};

struct Conversion {
  const char* messages;
  const char* become;
};
const Conversion conversions[] = {
    {R"([{"role":"user","content":"hi"}])", R"([{"role":"user","content":"hi"}])"},
    {R"([{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b"}]}])", R"([{"role":"user","content":"a\nb"}])"},
    {R"([{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"b"},{"type":"tool_use","id":"x","name":"look","input":{"at":"sky"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"blue"},{"type":"text","text":"and?"}]}])",
     R"([{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":"t","tool_calls":[{"id":"x","type":"function","function":{"name":"look","arguments":"{\"at\":\"sky\"}"}}]},{"role":"tool","tool_call_id":"x","content":"blue"},{"role":"user","content":"and?"}])"},
    {R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","is_error":true,"content":[{"type":"text","text":"no"},{"type":"text","text":"way"}]},{"type":"tool_result","tool_use_id":"y"}]}])",
     R"([{"role":"tool","tool_call_id":"x","content":"Error: no\nway"},{"role":"tool","tool_call_id":"y","content":""}])"},
    {R"([{"role":"user","content":[{"type":"document","title":"T","source":{"type":"text","media_type":"text/plain","data":"d"}},{"type":"text","text":"sum up"}]}])",
     R"([{"role":"user","content":"T\nd\nsum up"}])"},
    {R"([{"role":"user","content":"a"},{"role":"system","content":"s"},{"role":"user","content":"b"}])", R"([{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"user","content":"b"}])"},
};

TEST_F(Messages, BecomeWhatTemplatesRead) {
  for (const Conversion& row : conversions) {
    const Reply reply = post(path, with_messages(row.messages));
    EXPECT_EQ(reply.status, 200) << row.messages << reply.body;
    EXPECT_EQ(messages(), Json::parse(row.become)) << row.messages;
    EXPECT_EQ(reply.header("X-Ignored-Fields"), "") << row.messages;
  }
}

TEST_F(Messages, System) {
  post(path, body(R"("system":"be brief")"));
  EXPECT_EQ(messages()[0], Json::parse(R"({"role":"system","content":"be brief"})"));
  post(path, body(R"("system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b"}])"));
  EXPECT_EQ(messages()[0], Json::parse(R"({"role":"system","content":"a\n\nb"})"));
}

TEST_F(Messages, VolatilePrefix) {
  const std::string blocks = R"("system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1; cch=ab12;"},{"type":"text","text":"You code."}])";
  const Reply reply = post(path, body(blocks));
  EXPECT_EQ(reply.header("X-Calla-Normalised"), "removed x-anthropic-billing-header");
  EXPECT_EQ(messages()[0]["content"], "You code.");
  EXPECT_EQ(post(path, body(R"("system":"x-anthropic-billing-header: a\n\nYou code.")")).header("X-Calla-Normalised"), "removed x-anthropic-billing-header");
  EXPECT_EQ(messages()[0]["content"], "You code.");
  EXPECT_EQ(post(path, body(R"("system":"It says\nx-anthropic-billing-header: a")")).header("X-Calla-Normalised"), "");
  EXPECT_EQ(messages()[0]["content"], "It says\nx-anthropic-billing-header: a");
}

TEST_F(Messages, VolatilePrefixKept) {
  options.keep_volatile_prefix = true;
  EXPECT_EQ(post(path, body(R"("system":"x-anthropic-billing-header: a\nYou code.")")).header("X-Calla-Normalised"), "");
  EXPECT_EQ(messages()[0]["content"], "x-anthropic-billing-header: a\nYou code.");
}

TEST_F(Messages, Fields) {
  ASSERT_EQ(post(path, body(R"("temperature":0.5,"top_p":0.9,"top_k":7,"stop_sequences":["x","y"],"thinking":{"type":"enabled","budget_tokens":1024},"output_config":{"effort":"max"})")).status, 200);
  const ChatRequest last = completer.last();
  EXPECT_EQ(last.max_tokens, 16);
  EXPECT_EQ(last.temperature, 0.5f);
  EXPECT_EQ(last.top_p, 0.9f);
  EXPECT_EQ(last.top_k, 7);
  EXPECT_EQ(last.stop, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(last.reasoning_budget_tokens, 1024);
  EXPECT_EQ(Json::parse(last.template_kwargs_json), Json::parse(R"({"enable_thinking":true,"reasoning_effort":"high"})"));
  post(path, body());
  EXPECT_EQ(Json::parse(completer.last().template_kwargs_json), Json::parse(R"({"enable_thinking":false})"));
  post(path, body(R"("thinking":{"type":"adaptive"})"));
  EXPECT_EQ(Json::parse(completer.last().template_kwargs_json), Json::parse(R"({"enable_thinking":true})"));
  post(path, body(R"("thinking":{"type":"disabled"})"));
  EXPECT_EQ(Json::parse(completer.last().template_kwargs_json), Json::parse(R"({"enable_thinking":false})"));
  for (const char* more : {R"("output_format":{"type":"json_schema","schema":{"type":"object"}})", R"("output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}})"}) {
    ASSERT_EQ(post(path, body(more)).status, 200) << more;
    EXPECT_EQ(completer.last().constraint, (Constraint{Constraint::Kind::json_schema, R"({"type":"object"})"})) << more;
  }
}

TEST_F(Messages, Prefill) {
  post(path, with_messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":"The answer is"}])"));
  EXPECT_TRUE(completer.last().continue_final_message);
  post(path, body());
  EXPECT_FALSE(completer.last().continue_final_message);
}

TEST_F(Messages, Tools) {
  const Reply reply = post(path, body(R"("tools":[)" + tool + R"(,{"type":"web_search_20250305","name":"web_search","max_uses":5}],"tool_choice":{"type":"tool","name":"look","disable_parallel_tool_use":true})"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("X-Ignored-Fields"), "tools[1].type=web_search_20250305");
  const ChatRequest last = completer.last();
  EXPECT_EQ(Json::parse(last.tools_json), Json::parse(R"([{"type":"function","function":{"name":"look","description":"looks","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}}])"));
  EXPECT_EQ(last.tool_choice, (ToolChoice{ToolChoice::Kind::named, "look", false}));
  post(path, body(R"("tools":[)" + tool + R"(],"tool_choice":{"type":"any"})"));
  EXPECT_EQ(completer.last().tool_choice, (ToolChoice{ToolChoice::Kind::required, "", true}));
  post(path, body(R"("tools":[)" + tool + R"(],"tool_choice":{"type":"none"})"));
  EXPECT_EQ(completer.last().tool_choice.kind, ToolChoice::Kind::none);
}

TEST_F(Messages, WholeAnswer) {
  completer.script = busy_answer;
  const Json answer = post(path, body()).json();
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(answer["type"], "message");
  EXPECT_EQ(answer["role"], "assistant");
  EXPECT_EQ(answer["model"], "starter");
  EXPECT_EQ(answer["content"], Json::parse(R"([{"type":"thinking","thinking":"hmm","signature":"calla"},{"type":"text","text":"I look."},
      {"type":"tool_use","id":"call_a","name":"look","input":{"at":"sky"}},{"type":"tool_use","id":"call_b","name":"wait","input":{}}])"));
  EXPECT_EQ(answer["stop_reason"], "tool_use");
  EXPECT_TRUE(answer["stop_sequence"].is_null());
  EXPECT_EQ(answer["usage"], Json::parse(R"({"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":3})"));
}

TEST_F(Messages, Events) {
  completer.script = busy_answer;
  const Reply reply = post(path, body(R"("stream":true)"));
  EXPECT_EQ(reply.header("Content-Type"), "text/event-stream");
  const std::vector<std::string> names = {"message_start", "ping",
                                          "content_block_start", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_stop",
                                          "content_block_start", "content_block_delta", "content_block_stop",
                                          "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
                                          "content_block_start", "content_block_delta", "content_block_stop",
                                          "message_delta", "message_stop"};
  ASSERT_EQ(event_names(reply.body), names);
  const auto all = events(reply.body);
  EXPECT_EQ(all[0]["message"]["content"], Json::array());
  EXPECT_TRUE(all[0]["message"]["stop_reason"].is_null());
  EXPECT_EQ(all[0]["message"]["usage"]["input_tokens"], 10);
  EXPECT_EQ(all[2], Json::parse(R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})"));
  EXPECT_EQ(all[3], Json::parse(R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})"));
  EXPECT_EQ(all[5]["delta"], Json::parse(R"({"type":"signature_delta","signature":"calla"})"));
  EXPECT_EQ(all[6], Json::parse(R"({"type":"content_block_stop","index":0})"));
  EXPECT_EQ(all[7], Json::parse(R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})"));
  EXPECT_EQ(all[8]["delta"], Json::parse(R"({"type":"text_delta","text":"I look."})"));
  EXPECT_EQ(all[10]["content_block"], Json::parse(R"({"type":"tool_use","id":"call_a","name":"look","input":{}})"));
  EXPECT_EQ(all[11]["delta"], Json::parse(R"({"type":"input_json_delta","partial_json":"{\"at\":"})"));
  EXPECT_EQ(all[14]["index"], 3);
  EXPECT_EQ(all[17], Json::parse(R"({"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":3}})"));
  EXPECT_TRUE(completer.last().report_progress);
}

// The message that a client puts together from events.
Json assembled(const std::vector<Json>& all) {
  Json message;
  std::string arguments;
  for (const Json& event : all) {
    const std::string type = event["type"];
    if (type == "message_start") message = event["message"];
    if (type == "content_block_start") message["content"].push_back(event["content_block"]), arguments.clear();
    if (type == "content_block_delta") {
      Json& block = message["content"][event["index"].get<size_t>()];
      for (const auto& [name, piece] : event["delta"].items()) {
        if (name == "partial_json") arguments += piece.get<std::string>();
        else if (name != "type") block[name] = block[name].get<std::string>() + piece.get<std::string>();
      }
    }
    if (type == "content_block_stop" && !arguments.empty()) message["content"][event["index"].get<size_t>()]["input"] = Json::parse(arguments), arguments.clear();
    if (type == "message_delta") message.update(event["delta"]), message["usage"] = event["usage"];
  }
  return message;
}

TEST_F(Messages, StreamEqualsWhole) {
  for (const Script& script : {Script(busy_answer), completer.script}) {
    completer.script = script;
    Json whole = post(path, body()).json(), streamed = assembled(events(post(path, body(R"("stream":true)")).body));
    whole.erase("id");
    streamed.erase("id");
    EXPECT_EQ(whole, streamed);
  }
}

TEST_F(Messages, StopReasons) {
  const auto ending = [&](Finish finish) {
    completer.script = [finish](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> { return out({.kind = Delta::Kind::text, .text = "x"}), finish; };
    return post(path, body()).json();
  };
  EXPECT_EQ(ending(finished())["stop_reason"], "end_turn");
  EXPECT_EQ(ending(finished(Finish::Reason::length))["stop_reason"], "max_tokens");
  Finish stopped = finished();
  stopped.stop_text = "END";
  EXPECT_EQ(ending(stopped)["stop_reason"], "stop_sequence");
  EXPECT_EQ(ending(stopped)["stop_sequence"], "END");
}

TEST_F(Messages, CutCallIsMarked) {
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> {
    out({.kind = Delta::Kind::tool_call, .text = "{\"at\":\"s", .tool_index = 0, .tool_id = "call_a", .tool_name = "look"});
    return finished(Finish::Reason::length);
  };
  const Json answer = post(path, body()).json();
  EXPECT_EQ(answer["content"][0], Json::parse(R"({"type":"tool_use","id":"call_a","name":"look","input":{},"partial_json":"{\"at\":\"s"})"));
  EXPECT_EQ(answer["stop_reason"], "max_tokens");
}

TEST_F(Messages, HiddenThinking) {
  completer.script = busy_answer;
  const Json answer = post(path, body(R"("thinking":{"type":"adaptive","display":"omitted"})")).json();
  EXPECT_EQ(answer["content"][0], Json::parse(R"({"type":"thinking","thinking":"","signature":"calla"})"));
}

struct Wrong {
  const char* more;
  const char* param;
};
const Wrong wrong_fields[] = {
    {R"("max_tokens":0)", "max_tokens"}, {R"("max_tokens":"16")", "max_tokens"}, {R"("max_tokens":1.5)", "max_tokens"},
    {R"("model":5)", "model"}, {R"("stream":"yes")", "stream"}, {R"("strict":1)", "strict"},
    {R"("system":5)", "system"}, {R"("system":[5])", "system[0]"}, {R"("system":[{"type":"image"}])", "system[0].type"}, {R"("system":[{"type":"text"}])", "system[0].text"},
    {R"("temperature":"1")", "temperature"}, {R"("temperature":-1)", "temperature"}, {R"("top_p":2)", "top_p"}, {R"("top_p":[])", "top_p"}, {R"("top_k":1.5)", "top_k"}, {R"("top_k":"4")", "top_k"},
    {R"("stop_sequences":5)", "stop_sequences"}, {R"("stop_sequences":[1])", "stop_sequences"}, {R"("stop_sequences":[""])", "stop_sequences"},
    {R"("tools":{})", "tools"}, {R"("tools":[5])", "tools[0]"}, {R"("tools":[{}])", "tools[0].name"}, {R"("tools":[{"name":"f"}])", "tools[0].input_schema"},
    {R"("tools":[{"name":"f","input_schema":[]}])", "tools[0].input_schema"}, {R"("tools":[{"name":5,"input_schema":{}}])", "tools[0].name"},
    {R"("tools":[{"type":5}])", "tools[0].type"}, {R"("tools":[{"name":"f","description":5,"input_schema":{}}])", "tools[0].description"},
    {R"("tools":[{"name":"f","strict":"yes","input_schema":{}}])", "tools[0].strict"},
    {R"("tool_choice":"auto")", "tool_choice"}, {R"("tool_choice":{})", "tool_choice.type"}, {R"("tool_choice":{"type":"some"})", "tool_choice.type"}, {R"("tool_choice":{"type":"any"})", "tool_choice"},
    {R"("tool_choice":{"type":"tool"})", "tool_choice.name"}, {R"("tool_choice":{"type":"tool","name":"f"})", "tool_choice"},
    {R"("tool_choice":{"type":"auto","disable_parallel_tool_use":1})", "tool_choice.disable_parallel_tool_use"},
    {R"("thinking":true)", "thinking"}, {R"("thinking":{})", "thinking.type"}, {R"("thinking":{"type":"maybe"})", "thinking.type"}, {R"("thinking":{"type":"enabled","budget_tokens":"x"})", "thinking.budget_tokens"},
    {R"("thinking":{"type":"enabled","budget_tokens":0})", "thinking.budget_tokens"}, {R"("thinking":{"type":"adaptive","display":"all"})", "thinking.display"},
    {R"("output_config":[])", "output_config"}, {R"("output_config":{"effort":"extreme"})", "output_config.effort"}, {R"("output_config":{"effort":5})", "output_config.effort"},
    {R"("output_config":{"format":{"type":"xml"}})", "output_config.format.type"}, {R"("output_format":{})", "output_format.type"}, {R"("output_format":{"type":"json_schema"})", "output_format.schema"},
    {R"("output_format":{"type":"json_schema","schema":[]})", "output_format.schema"}, {R"("output_format":5)", "output_format"}, {R"("cache_control":"x")", "cache_control"},
};

// The body without what `more` replaces.
std::string wrong_body(const std::string& more) {
  Json whole = Json::parse(body());
  whole.update(Json::parse("{" + more + "}"));
  return whole.dump();
}

TEST_F(Messages, WrongFields) {
  Client client(port());
  for (const Wrong& row : wrong_fields) {
    for (const std::string& to : {path, count_path}) {
      const Reply reply = client.post(to, wrong_body(row.more));
      EXPECT_EQ(reply.status, 400) << row.more << reply.body;
      const Json answer = reply.json();
      EXPECT_EQ(answer["type"], "error") << row.more;
      EXPECT_EQ(answer["error"]["type"], "invalid_request_error") << row.more;
      EXPECT_NE(answer["error"]["message"].get<std::string>().find(row.param), std::string::npos) << row.more << reply.body;
    }
  }
  EXPECT_EQ(completer.calls, 0);
}

const Wrong wrong_messages[] = {
    {R"([5])", "messages[0]"}, {R"([])", "messages"}, {R"({})", "messages"}, {R"([{"content":"x"}])", "messages[0].role"}, {R"([{"role":"tool","content":"x"}])", "messages[0].role"},
    {R"([{"role":5,"content":"x"}])", "messages[0].role"}, {R"([{"role":"user"}])", "messages[0].content"}, {R"([{"role":"user","content":5}])", "messages[0].content"},
    {R"([{"role":"user","content":[5]}])", "messages[0].content[0]"}, {R"([{"role":"user","content":[{"text":"x"}]}])", "messages[0].content[0].type"},
    {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text"}, {R"([{"role":"user","content":[{"type":"text","text":5}]}])", "messages[0].content[0].text"},
    {R"([{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]}])", "messages[0].content[0]: images"},
    {R"([{"role":"user","content":[{"type":"document","source":{"type":"url","url":"x"}}]}])", "messages[0].content[0]: only documents"},
    {R"([{"role":"user","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]}])", "messages[0].content[0].type"},
    {R"([{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":"{}"}]}])", "messages[0].content[0].input"},
    {R"([{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}]}])", "messages[0].content[0].id"},
    {R"([{"role":"assistant","content":[{"type":"thinking"}]}])", "messages[0].content[0].thinking"},
    {R"([{"role":"user","content":[{"type":"tool_result"}]}])", "messages[0].content[0].tool_use_id"},
    {R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":5}]}])", "messages[0].content[0].content"},
    {R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","is_error":"yes"}]}])", "messages[0].content[0].is_error"},
    {R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"image"}]}]}])", "messages[0].content[0].content[0]: images"},
    {R"([{"role":"user","content":[{"type":"hologram"}]}])", "messages[0].content[0].type"},
};

TEST_F(Messages, WrongMessages) {
  Client client(port());
  for (const Wrong& row : wrong_messages) {
    const Reply reply = client.post(path, with_messages(row.more));
    EXPECT_EQ(reply.status, 400) << row.more << reply.body;
    EXPECT_NE(reply.body.find(row.param), std::string::npos) << row.more << reply.body;
    EXPECT_EQ(reply.json()["type"], "error");
  }
}

TEST_F(Messages, MaxTokensIsRequired) {
  const Reply reply = post(path, R"({"model":"starter","messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("max_tokens is required"), std::string::npos);
}

TEST_F(Messages, IgnoredFields) {
  const std::string more = R"("metadata":{"user_id":"x"},"service_tier":"auto","mcp_servers":[],"output_config":{"task_budget":5},"thinking":{"type":"adaptive","extra":1})";
  const Reply reply = post(path, body(more), "anthropic-version: 2023-06-01\r\nanthropic-beta: x\r\n");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("X-Ignored-Fields"), "thinking.extra, output_config.task_budget, metadata, service_tier, mcp_servers");
  EXPECT_EQ(post(path, body(R"("strict":true,"metadata":{})")).status, 200);
  const Reply strict = post(path, body(R"("strict":true,"mcp_servers":[])"));
  EXPECT_EQ(strict.status, 400);
  EXPECT_NE(strict.json()["error"]["message"].get<std::string>().find("mcp_servers"), std::string::npos);
  const Reply foreign = post(path, with_messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},{"type":"text","text":"b"}]},{"role":"user","content":"c"}])"));
  EXPECT_EQ(foreign.status, 200);
  EXPECT_EQ(foreign.header("X-Ignored-Fields"), "messages[1].content[0].type=redacted_thinking");
}

struct Failure {
  Error error;
  int status;
  const char* type;
};

TEST_F(Messages, Errors) {
  const Failure failures[] = {{{Code::invalid_request, "bad"}, 400, "invalid_request_error"}, {prompt_too_long(3000, 2048), 400, "invalid_request_error"}, {{Code::io, "broken"}, 500, "api_error"}};
  for (const Failure& row : failures) {
    completer.script = [&](const ChatRequest&, const Sink&, std::stop_token) -> Result<Finish> { return row.error; };
    for (const char* more : {"", R"("stream":true)"}) {
      const Reply reply = post(path, body(more));
      EXPECT_EQ(reply.status, row.status) << row.error.message;
      EXPECT_EQ(reply.json()["error"]["type"], row.type);
    }
  }
  const Reply unknown = post(path, R"({"model":"claude","max_tokens":1,"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.json()["error"]["type"], "not_found_error");
  EXPECT_EQ(get(path).status, 405);
  EXPECT_EQ(get(path).json()["type"], "error");
}

TEST_F(Messages, ErrorInsideAStream) {
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> {
    out({.kind = Delta::Kind::text, .text = "x"});
    return Error{Code::device, "the device failed"};
  };
  const Reply reply = post(path, body(R"("stream":true)"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(event_names(reply.body).back(), "error");
  EXPECT_EQ(events(reply.body).back()["error"], Json::parse(R"({"type":"overloaded_error","message":"the device failed"})"));
}

TEST_F(Messages, Keys) {
  options.api_keys = {"sesame"};
  const Reply reply = post(path, body());
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.json()["error"]["type"], "authentication_error");
  EXPECT_EQ(post(path, body(), "x-api-key: sesame\r\n").status, 200);
}

TEST_F(Messages, CountTokens) {
  const Reply reply = post(count_path, R"({"model":"starter","messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json(), Json({{"input_tokens", std::string(R"(PROMPT:[{"role":"user","content":"hi"}])").size()}}));
  EXPECT_EQ(completer.calls, 0);
}

}  // namespace
