// wire: the Responses API: items in and out, event sequences, stored responses, cancelling.
#include <filesystem>
#include "wire/harness.h"

namespace {

using Kind = Delta::Kind;
const std::string path = "/v1/responses";

// Thinks, speaks and calls, as far as the request allows.
Result<Finish> busy(const ChatRequest& request, const Sink& out, std::stop_token) {
  out({.kind = Kind::reasoning, .text = "hm", });
  out({.kind = Kind::reasoning, .text = "m", });
  out({.kind = Kind::text, .text = "Hel"});
  out({.kind = Kind::text, .text = "lo"});
  if (!request.tools_json.empty()) {
    out({.kind = Kind::tool_call, .text = "", .tool_index = 0, .tool_id = "call_a", .tool_name = "f"});
    out({.kind = Kind::tool_call, .text = R"({"x":1})", .tool_index = 0});
    out({.kind = Kind::tool_call, .text = "{}", .tool_index = 1, .tool_id = "call_b", .tool_name = "f"});
  }
  Finish finish = finished(request.tools_json.empty() ? Finish::Reason::stop : Finish::Reason::tool_call);
  finish.reasoning_tokens = 2;
  return finish;
}

// What differs between two runs of the same request.
void strip(Json& json) {
  if (json.is_object()) {
    for (const char* name : {"id", "created_at", "item_id"}) json.erase(name);
  }
  for (Json& inner : json) {
    if (inner.is_structured()) strip(inner);
  }
}

const std::string tool = R"("tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"web_search"}])";

class ResponsesApi : public WireTest {
 protected:
  void SetUp() override { completer.script = busy; }
  Json messages() { return Json::parse(completer.last().messages_json); }
};

TEST_F(ResponsesApi, Whole) {
  const Reply reply = post(path, R"({"input":"hi","instructions":"be brief","metadata":{"k":"v"},)" + tool + "}");
  const Json answer = reply.json();
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("X-Ignored-Fields"), "tools[1].type=web_search");
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("resp_"));
  EXPECT_EQ(answer["object"], "response");
  EXPECT_EQ(answer["status"], "completed");
  EXPECT_EQ(answer["metadata"]["k"], "v");
  EXPECT_EQ(answer["tools"], Json::parse(R"([{"type":"function","name":"f","description":null,"parameters":{"type":"object"},"strict":false}])"));
  EXPECT_EQ(answer["tool_choice"], "auto");
  EXPECT_EQ(answer["parallel_tool_calls"], true);
  ASSERT_EQ(answer["output"].size(), 4u);
  EXPECT_EQ(answer["output"][0]["content"], Json::parse(R"([{"type":"reasoning_text","text":"hmm"}])"));
  EXPECT_EQ(answer["output"][1]["content"], Json::parse(R"([{"type":"output_text","text":"Hello","annotations":[],"logprobs":[]}])"));
  EXPECT_EQ(answer["output"][2]["arguments"], R"({"x":1})");
  EXPECT_EQ(answer["output"][2]["call_id"], "call_a");
  EXPECT_EQ(answer["output"][3]["status"], "completed");
  EXPECT_EQ(answer["usage"], Json::parse(R"({"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":6},"output_tokens":3,
      "output_tokens_details":{"reasoning_tokens":2},"total_tokens":13})"));
  EXPECT_EQ(messages(), Json::parse(R"([{"role":"system","content":"be brief"},{"role":"user","content":"hi"}])"));
  EXPECT_EQ(Json::parse(completer.last().tools_json), Json::parse(R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])"));
}

TEST_F(ResponsesApi, EventSequence) {
  const Reply reply = post(path, R"({"input":"hi","stream":true,)" + tool + "}");
  const auto all = events(reply.body);
  std::vector<std::string> types;
  for (const Json& event : all) types.push_back(event["type"]);
  const std::vector<std::string> expected = {
      "response.created", "response.in_progress",
      "response.output_item.added", "response.content_part.added", "response.reasoning_text.delta", "response.reasoning_text.delta", "response.reasoning_text.done",
      "response.content_part.done", "response.output_item.done",
      "response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.output_text.delta", "response.output_text.done",
      "response.content_part.done", "response.output_item.done",
      "response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done",
      "response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done",
      "response.completed"};
  EXPECT_EQ(types, expected);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]["sequence_number"], i);
    const std::string& type = types[i];
    if (type.find("output_item") != std::string::npos || type.find("delta") != std::string::npos) {
      EXPECT_TRUE(all[i].contains("output_index")) << type;
    }
    if (type.find("_text.") != std::string::npos || type.find("content_part") != std::string::npos) {
      EXPECT_EQ(all[i]["content_index"], 0) << type;
    }
    if (type.starts_with("response.output_text.")) {
      EXPECT_TRUE(all[i]["logprobs"].is_array());
    }
  }
  EXPECT_NE(reply.body.find("event: response.created\ndata: "), std::string::npos);
  EXPECT_EQ(reply.body.find("[DONE]"), std::string::npos);
  Json streamed = all.back()["response"], whole = post(path, R"({"input":"hi",)" + tool + "}").json();
  strip(streamed);
  strip(whole);
  EXPECT_EQ(streamed, whole);
}

TEST_F(ResponsesApi, StoredAndContinued) {
  const std::string id = post(path, R"({"input":"hi","instructions":"once"})").json()["id"];
  const Json kept = Client(port()).get(path + "/" + id).json();
  EXPECT_EQ(kept["output"][1]["content"][0]["text"], "Hello");
  const std::string second = post(path, R"({"input":[{"role":"user","content":[{"type":"input_text","text":"more"}]}],"previous_response_id":")" + id + "\"}").json()["id"];
  EXPECT_EQ(messages(), Json::parse(R"([{"role":"user","content":"hi"},{"role":"assistant","reasoning_content":"hmm","content":"Hello"},{"role":"user","content":"more"}])"));
  const Json items = Client(port()).get(path + "/" + second + "/input_items?order=asc").json();
  ASSERT_EQ(items["data"].size(), 4u);
  EXPECT_EQ(items["data"][0]["content"][0]["text"], "hi");
  EXPECT_EQ(Client(port()).get(path + "/" + second + "/input_items?limit=1").json()["data"][0]["content"][0]["text"], "more");
  const std::string message_id = kept["output"][1]["id"];
  post(path, R"({"input":[{"type":"item_reference","id":")" + message_id + R"("},{"role":"user","content":"x"}]})");
  EXPECT_EQ(messages(), Json::parse(R"([{"role":"assistant","content":"Hello"},{"role":"user","content":"x"}])"));
  Client client(port());
  client.send_raw("DELETE " + path + "/" + id + " HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.reply().json()["deleted"], true);
  EXPECT_EQ(client.get(path + "/" + id).status, 404);
  const Reply gone = client.post(path, R"({"input":"x","previous_response_id":")" + id + "\"}");
  EXPECT_EQ(gone.status, 400);
  EXPECT_EQ(gone.json()["error"]["code"], "previous_response_not_found");
}

TEST_F(ResponsesApi, NotStoredWhenNotAsked) {
  const Json answer = post(path, R"({"input":"hi","store":false})").json();
  EXPECT_EQ(answer["store"], false);
  EXPECT_EQ(Client(port()).get(path + "/" + answer["id"].get<std::string>()).status, 404);
}

TEST_F(ResponsesApi, SurvivesARestart) {
  const std::string file = testing::TempDir() + "responses_" + std::to_string(getpid()) + ".db";
  std::filesystem::remove(file);
  server({.responses_db = file});
  EXPECT_EQ(std::filesystem::status(file).permissions() & ~std::filesystem::perms::owner_all, std::filesystem::perms::none) << "stored answers are nobody else's";
  const std::string id = post(path, R"({"input":"hi"})").json()["id"];
  server_.reset();
  server({.responses_db = file});
  EXPECT_EQ(Client(port()).get(path + "/" + id).json()["id"], id);
  server_.reset();
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file + end);
}

TEST_F(ResponsesApi, CallsAndResults) {
  post(path, R"({"input":[{"role":"user","content":"u"},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"r"}]},
      {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"},
      {"type":"function_call_output","call_id":"c1","output":"one"},{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"}]},
      {"type":"web_search_call","id":"ws"}]})");
  EXPECT_EQ(messages(), Json::parse(R"([{"role":"user","content":"u"},{"role":"assistant","reasoning_content":"r","content":null,"tool_calls":[
      {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"c1","content":"one"},{"role":"tool","tool_call_id":"c2","content":"two"}])"));
}

TEST_F(ResponsesApi, FieldsReachTheCompleter) {
  const Reply reply = post(path, R"({"input":"x","max_output_tokens":9,"reasoning":{"effort":"none"},"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}},
      "temperature":0.5,"tool_choice":"none","include":["message.output_text.logprobs"],"top_logprobs":2,"truncation":"auto"})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const ChatRequest last = completer.last();
  EXPECT_EQ(last.max_tokens, 9);
  EXPECT_EQ(last.constraint, (Constraint{Constraint::Kind::json_schema, R"({"type":"object"})"}));
  EXPECT_EQ(last.top_logprobs, 2);
  EXPECT_EQ(Json::parse(last.template_kwargs_json), Json::parse(R"({"enable_thinking":false})"));
  EXPECT_EQ(reply.json()["reasoning"]["effort"], "none");
  EXPECT_EQ(reply.header("X-Ignored-Fields").substr(0, 10), "truncation");
}

TEST_F(ResponsesApi, WrongBodiesNameThePlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({})", "input"},
      {R"({"input":5})", "input"},
      {R"({"input":[]})", "input"},
      {R"({"input":[5]})", "input[0]"},
      {R"({"input":[{"role":"user"}]})", "input[0].content"},
      {R"({"input":[{"role":"user","content":[{"type":"input_image"}]}]})", "input[0].content[0].type"},
      {R"({"input":[{"type":"function_call","call_id":"c","name":"f"}]})", "input[0].arguments"},
      {R"({"input":[{"type":"function_call_output","call_id":"c"}]})", "input[0].output"},
      {R"({"input":[{"type":"item_reference","id":"nope"}]})", "input[0].id"},
      {R"({"input":"x","previous_response_id":"resp_nope"})", "previous_response_id"},
      {R"({"input":"x","previous_response_id":7})", "previous_response_id"},
      {R"({"input":"x","store":"no"})", "store"},
      {R"({"input":"x","metadata":{"a":1}})", "metadata.a"},
      {R"({"input":"x","max_output_tokens":0})", "max_output_tokens"},
      {R"({"input":"x","background":true})", "background"},
      {R"({"input":"x","conversation":"c"})", "conversation"},
      {R"({"input":"x","text":{"format":{"type":"xml"}}})", "text.format.type"},
      {R"({"input":"x","text":[]})", "text"},
      {R"({"input":"x","truncation":"middle"})", "truncation"},
      {R"({"input":"x","include":"all"})", "include"},
      {R"({"input":"x","tools":[{"type":"function"}]})", "tools[0].function"},
      {R"({"input":"x","tool_choice":"required"})", "tool_choice"},
      {R"({"input":"x","reasoning":{"effort":"extreme"}})", "reasoning.effort"},
      {R"({"input":"x","temperature":"1"})", "temperature"},
  };
  for (const auto& [body, param] : wrong) {
    const Reply reply = post(path, body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(reply.json()["error"]["param"], Json(param)) << body << reply.body;
  }
  EXPECT_EQ(completer.calls, 0);
}

TEST_F(ResponsesApi, IncompleteAndFailed) {
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> { return out({.kind = Kind::text, .text = "x"}), finished(Finish::Reason::length); };
  auto all = events(post(path, R"({"input":"x","stream":true})").body);
  EXPECT_EQ(all.back()["type"], "response.incomplete");
  EXPECT_EQ(all.back()["response"]["incomplete_details"]["reason"], "max_output_tokens");
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> { return out({.kind = Kind::text, .text = "x"}), Error{Code::device, "broke"}; };
  all = events(post(path, R"({"input":"x","stream":true})").body);
  EXPECT_EQ(all.back()["type"], "response.failed");
  EXPECT_EQ(all.back()["response"]["error"]["message"], "broke");
  completer.script = [](const ChatRequest&, const Sink&, std::stop_token) -> Result<Finish> { return prompt_too_long(5000, 2048); };
  const Reply early = post(path, R"({"input":"x","stream":true})");
  EXPECT_EQ(early.status, 400);
  EXPECT_EQ(early.json()["error"]["code"], "context_length_exceeded");
}

TEST_F(ResponsesApi, CancelledWhileItRuns) {
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token stop) -> Result<Finish> {
    out({.kind = Kind::text, .text = "begun"});
    while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
    return finished(Finish::Reason::cancelled);
  };
  Client client(port());
  client.start_post(path, R"({"input":"x","stream":true})");
  ASSERT_TRUE(client.read_until("begun"));
  const size_t at = client.buffer.find("resp_");
  const std::string id = client.buffer.substr(at, client.buffer.find('"', at) - at);
  EXPECT_EQ(Client(port()).get(path + "/" + id).json()["status"], "in_progress");
  EXPECT_EQ(post(path + "/" + id + "/cancel", "").json()["status"], "cancelled");
  const auto all = events(client.reply().body);
  EXPECT_EQ(all.back()["response"]["status"], "cancelled");
  EXPECT_EQ(Client(port()).get(path + "/" + id).json()["output"][0]["content"][0]["text"], "begun");
  EXPECT_EQ(post(path + "/" + id + "/cancel", "").status, 400);
  EXPECT_EQ(post(path + "/resp_nope/cancel", "").status, 404);
}

TEST_F(ResponsesApi, KeysDoNotSeeEachOther) {
  server({.api_keys = {"key-one", "key-two"}});
  const Reply made = post(path, R"({"input":"hi"})", "Authorization: Bearer key-one\r\n");
  const std::string id = made.json()["id"];
  EXPECT_EQ(Client(port()).get(path + "/" + id, "Authorization: Bearer key-one\r\n").status, 200);
  EXPECT_FALSE(completer.last().tenant.empty());
  EXPECT_EQ(Client(port()).get(path + "/" + id, "Authorization: Bearer key-two\r\n").status, 404);
}

}  // namespace
