// responses: items, events and the response object, as the official clients expect them.
#include "wire/responses_writer.h"

#include "wire/answer_parts.h"
#include "wire/backend.h"

namespace {

using Kind = Delta::Kind;

Json text_part(const std::string& text, Json logprobs) { return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", std::move(logprobs)}}; }
Json thought_part(const std::string& text) { return {{"type", "reasoning_text"}, {"text", text}}; }

Json logprob_list(const std::vector<TokenLogprob>& tokens) { return tokens.empty() ? Json::array() : chat_logprobs(tokens)["content"]; }

Json usage_of(const Finish& finish, bool uses_cache) {
  const int written = uses_cache ? finish.prompt_tokens - finish.cached_tokens : 0;
  return {{"input_tokens", finish.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", finish.cached_tokens}, {"cache_write_tokens", written}}},
          {"output_tokens", finish.completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", finish.reasoning_tokens}}},
          {"total_tokens", finish.prompt_tokens + finish.completion_tokens}};
}

template <class T> Json given(const std::optional<T>& value) { return value ? Json(*value) : Json(); }
Json given(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

ResponseWriter::ResponseWriter(const ResponsesRequest& request, Emit emit, Keep keep)
    : request_(request), emit_(std::move(emit)), keep_(std::move(keep)), id_(random_id("resp_")), created_(unix_seconds()), stored_(request.store) {}

Json ResponseWriter::response() const {
  const ResponsesRequest& r = request_;
  Json out = {{"id", id_}, {"object", "response"}, {"created_at", created_}, {"status", status_}, {"background", false}, {"error", error_}, {"incomplete_details", incomplete_}};
  out.update({{"instructions", given(r.instructions)}, {"max_output_tokens", given(r.chat.max_tokens)}, {"max_tool_calls", nullptr}, {"model", r.chat.model}, {"output", output_}});
  out.update({{"parallel_tool_calls", r.chat.tool_choice.parallel}, {"previous_response_id", given(r.previous_response_id)}, {"prompt_cache_key", given(r.cache_key)}});
  out.update({{"reasoning", {{"effort", given(r.effort)}, {"summary", nullptr}}}, {"safety_identifier", given(r.safety_identifier)}, {"service_tier", "default"}, {"store", stored_}});
  out.update({{"temperature", given(r.chat.temperature)}, {"text", {{"format", r.format}}}, {"tool_choice", r.tool_choice}, {"tools", r.tools}, {"top_logprobs", r.top_logprobs.value_or(0)}});
  out.update({{"top_p", given(r.chat.top_p)}, {"truncation", "disabled"}, {"usage", usage_}, {"user", given(r.user)}, {"metadata", r.metadata}});
  if (report_.is_object()) out.update(report_);
  return out;
}

bool ResponseWriter::emit(const char* type, Json members) {
  Json event = {{"type", type}, {"sequence_number", sequence_++}};
  event.update(members);
  return emit_(event);
}

bool ResponseWriter::begin() {
  if (std::exchange(begun_, true)) return true;
  return emit("response.created", {{"response", response()}}) && emit("response.in_progress", {{"response", response()}});
}

Json ResponseWriter::item_place() const { return {{"item_id", output_.back()["id"]}, {"output_index", output_.size() - 1}}; }

Json ResponseWriter::part_place() const {
  Json place = item_place();
  place["content_index"] = 0;
  return place;
}

bool ResponseWriter::open(Open kind, Json item, const Json& part) {
  if (!close("completed")) return false;
  open_ = kind;
  output_.push_back(std::move(item));
  if (!emit("response.output_item.added", {{"output_index", output_.size() - 1}, {"item", output_.back()}})) return false;
  if (part.is_null()) return true;
  output_.back()["content"].push_back(part);
  Json members = part_place();
  members["part"] = part;
  return emit("response.content_part.added", std::move(members));
}

// Opens the item that the delta belongs to, unless it is open.
bool ResponseWriter::open_for(const Delta& delta) {
  if (delta.kind == Kind::reasoning) {
    if (open_ == Open::reasoning) return true;
    return open(Open::reasoning, {{"id", random_id("rs_")}, {"type", "reasoning"}, {"summary", Json::array()}, {"content", Json::array()}, {"status", "in_progress"}}, thought_part(""));
  }
  if (delta.kind == Kind::text) {
    if (open_ == Open::text) return true;
    const Json item = {{"id", random_id("msg_")}, {"type", "message"}, {"role", "assistant"}, {"status", "in_progress"}, {"content", Json::array()}};
    return open(Open::text, item, text_part("", Json::array()));
  }
  if (open_ == Open::call && tool_index_ == delta.tool_index) return true;
  tool_index_ = delta.tool_index;
  const Json item = {{"id", random_id("fc_")},   {"type", "function_call"}, {"call_id", delta.tool_id.empty() ? random_id("call_") : delta.tool_id},
                     {"name", delta.tool_name}, {"arguments", ""},         {"status", "in_progress"}};
  return open(Open::call, item, nullptr);
}

bool ResponseWriter::add_piece(const Delta& delta) {
  Json& item = output_.back();
  if (open_ == Open::call) {
    if (delta.text.empty()) return true;
    item["arguments"].get_ref<std::string&>() += delta.text;
    Json members = item_place();
    members["delta"] = delta.text;
    return emit("response.function_call_arguments.delta", std::move(members));
  }
  Json& part = item["content"][0];
  part["text"].get_ref<std::string&>() += delta.text;
  Json members = part_place();
  members["delta"] = delta.text;
  if (open_ == Open::reasoning) return emit("response.reasoning_text.delta", std::move(members));
  members["logprobs"] = request_.logprobs ? logprob_list(delta.logprobs) : Json::array();
  for (const Json& entry : members["logprobs"]) part["logprobs"].push_back(entry);
  return emit("response.output_text.delta", std::move(members));
}

bool ResponseWriter::add(const Delta& delta) {
  if (delta.kind == Kind::progress) return true;
  if (delta.text.empty() && delta.kind != Kind::tool_call && (!request_.logprobs || delta.logprobs.empty())) return true;
  return begin() && open_for(delta) && add_piece(delta);
}

// Ends the open item, with the events of its part and of itself.
bool ResponseWriter::close(const char* status) {
  const Open closing = std::exchange(open_, Open::none);
  if (closing == Open::none) return true;
  Json& item = output_.back();
  item["status"] = status;
  bool good = true;
  if (closing == Open::call) {
    Json done = item_place();
    done.update({{"name", item["name"]}, {"arguments", item["arguments"]}});
    good = emit("response.function_call_arguments.done", std::move(done));
  } else {
    const Json& part = item["content"][0];
    Json text = part_place(), whole = part_place();
    text["text"] = part["text"];
    if (closing == Open::text) text["logprobs"] = part["logprobs"];
    whole["part"] = part;
    good = emit(closing == Open::text ? "response.output_text.done" : "response.reasoning_text.done", std::move(text)) && emit("response.content_part.done", std::move(whole));
  }
  return good && emit("response.output_item.done", {{"output_index", output_.size() - 1}, {"item", item}});
}

bool ResponseWriter::end(const char* event, const char* status) {
  const bool good = begin() && close(status == std::string_view("completed") ? "completed" : "incomplete");
  status_ = status;
  if (stored_ && status != std::string_view("failed") && !keep_(response())) {
    stored_ = false;
    report_["warnings"].push_back("the response could not be stored");
  }
  return emit(event, {{"response", response()}}) && good;
}

bool ResponseWriter::finish(const Finish& finish) {
  usage_ = usage_of(finish, request_.chat.use_cache);
  report_ = Json::object();
  if (finish.cache && request_.chat.explain_cache) report_["cache"] = cache_json(*finish.cache);
  if (!finish.warnings.empty()) report_["warnings"] = finish.warnings;
  if (finish.reason != Finish::Reason::length) return end("response.completed", "completed");
  incomplete_ = {{"reason", "max_output_tokens"}};
  return end("response.incomplete", "incomplete");
}

bool ResponseWriter::cancel() { return end("response.incomplete", "cancelled"); }

bool ResponseWriter::fail(const ApiError& error) {
  error_ = {{"code", error.code.empty() ? "server_error" : error.code}, {"message", error.message}};
  return end("response.failed", "failed");
}
