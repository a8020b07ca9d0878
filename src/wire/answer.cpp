// answer: chat and completion objects, their chunks, and the calls of tools in them.
#include "wire/answer.h"

#include "wire/answer_parts.h"

namespace {

using Clock = std::chrono::steady_clock;
using Kind = Delta::Kind;

// Appends every list of `more` to the list of the same name.
void append(Json& logprobs, const Json& more) {
  if (logprobs.is_null()) {
    logprobs = more;
    return;
  }
  for (auto& [name, list] : more.items()) logprobs[name].insert(logprobs[name].end(), list.begin(), list.end());
}

double seconds_between(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double>(to - from).count(); }

}  // namespace

Json ToolCalls::delta(const Delta& delta) {
  const auto [call, is_new] = calls_.try_emplace(delta.tool_index);
  if (is_new) call->second = {delta.tool_id.empty() ? random_id("call_") : delta.tool_id, delta.tool_name, ""};
  call->second.arguments += delta.text;
  if (!is_new) return {{"index", delta.tool_index}, {"function", {{"arguments", delta.text}}}};
  return {{"index", delta.tool_index}, {"id", call->second.id}, {"type", "function"}, {"function", {{"name", call->second.name}, {"arguments", delta.text}}}};
}

Json ToolCalls::whole() const {
  Json out = Json::array();
  for (const auto& [index, call] : calls_) out.push_back({{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  return out;
}

Answer::Answer(Dialect dialect, const ParsedRequest& request, const ServerOptions& options, std::vector<std::string> prefixes)
    : dialect_(dialect), request_(request), reasoning_field_(options.reasoning_field), id_(random_id(dialect == Dialect::chat ? "chatcmpl-" : "cmpl-")), created_(unix_seconds()),
      started_(Clock::now()), prefixes_(std::move(prefixes)), choices_(prefixes_.size()) {
  for (Choice& choice : choices_) choice.logprobs = logprobs_of(choice, {});
}

Json Answer::envelope(const char* object) const { return {{"id", id_}, {"object", object}, {"created", created_}, {"model", request_.chat.model}}; }

Json Answer::chunk(Json choice) const {
  Json out = envelope(dialect_ == Dialect::chat ? "chat.completion.chunk" : "text_completion");
  out["choices"] = Json::array({std::move(choice)});
  if (request_.include_usage) out["usage"] = nullptr;
  return out;
}

// `members` are of the delta, or of the choice itself in the completions dialect.
Json Answer::chunk_object(size_t choice, Json members, const Json& logprobs) const {
  Json out = {{"index", choice}};
  if (dialect_ == Dialect::chat) {
    out["delta"] = std::move(members);
  } else {
    out.update(members);
  }
  out["logprobs"] = logprobs;
  out["finish_reason"] = nullptr;
  return chunk(std::move(out));
}

Json Answer::reasoning_members(const std::string& text) const {
  if (reasoning_field_ == "both") return {{"reasoning_content", text}, {"reasoning", text}};
  return {{reasoning_field_ == "reasoning" ? "reasoning" : "reasoning_content", text}};
}

Json Answer::logprobs_of(Choice& choice, const std::vector<TokenLogprob>& tokens) const {
  if (!request_.logprobs) return nullptr;
  return dialect_ == Dialect::chat ? chat_logprobs(tokens) : completion_logprobs(tokens, choice.logprob_offset);
}

void Answer::count(Choice& choice, const Delta& delta) const {
  if (delta.kind == Kind::progress) {
    choice.prompt_tokens = delta.prompt_total;
    if (choice.cached_tokens < 0) choice.cached_tokens = delta.prompt_done;
    return;
  }
  if (!choice.first_token) choice.first_token = Clock::now();
  choice.tokens = std::max(choice.tokens + 1, delta.answer_tokens);
}

void Answer::add_so_far(Json& chunk, const Choice& choice) const {
  Finish so_far;
  so_far.prompt_tokens = choice.prompt_tokens;
  so_far.cached_tokens = std::max(0, choice.cached_tokens);
  so_far.completion_tokens = choice.tokens;
  so_far.prefill_s = seconds_between(started_, choice.first_token.value_or(Clock::now()));
  so_far.decode_s = choice.first_token ? seconds_between(*choice.first_token, Clock::now()) : 0;
  if (request_.continuous_usage && request_.include_usage) chunk["usage"] = usage_json({so_far}, 1);
  if (request_.timings_per_token) chunk["timings"] = timings_json(so_far);
}

std::vector<Json> Answer::first_chunks(size_t choice) const {
  std::vector<Json> out;
  const std::string& prefix = prefixes_[choice];
  if (dialect_ == Dialect::chat) {
    out.push_back(chunk_object(choice, {{"role", "assistant"}, {"content", prefix}}, nullptr));
  } else if (!prefix.empty()) {
    out.push_back(chunk_object(choice, {{"text", prefix}}, nullptr));
  }
  return out;
}

Json Answer::progress_chunk(size_t choice, const Delta& delta) {
  if (!request_.chat.report_progress) return nullptr;
  Json out = chunk_object(choice, dialect_ == Dialect::chat ? Json::object() : Json{{"text", ""}}, nullptr);
  out["prompt_progress"] = {{"total", delta.prompt_total},
                            {"cache", choices_[choice].cached_tokens},
                            {"processed", delta.prompt_done},
                            {"time_ms", static_cast<int64_t>(seconds_between(started_, Clock::now()) * 1e3)}};
  return out;
}

Json Answer::delta_chunk(size_t index, const Delta& delta) {
  Choice& choice = choices_[index];
  count(choice, delta);
  if (delta.kind == Kind::progress) return progress_chunk(index, delta);
  const Json logprobs = delta.logprobs.empty() ? Json() : logprobs_of(choice, delta.logprobs);
  if (delta.text.empty() && delta.kind != Kind::tool_call && logprobs.is_null()) return nullptr;
  Json members;
  if (dialect_ == Dialect::completions) {
    members = {{"text", delta.text}};
  } else if (delta.kind == Kind::tool_call) {
    members = {{"tool_calls", Json::array({choice.calls.delta(delta)})}};
  } else {
    members = delta.kind == Kind::reasoning ? reasoning_members(delta.text) : Json{{"content", delta.text}};
  }
  Json out = chunk_object(index, std::move(members), logprobs);
  add_so_far(out, choice);
  return out;
}

void Answer::add_report(Json& out, const std::vector<Finish>& finishes) const {
  if (request_.timings) out["timings"] = timings_json(sum_of(finishes));
  Json warnings = Json::array();
  for (const Finish& finish : finishes) {
    if (finish.cache && request_.chat.explain_cache && !out.contains("cache")) out["cache"] = cache_json(*finish.cache);
    for (const std::string& warning : finish.warnings) warnings.push_back(warning);
  }
  if (!warnings.empty()) out["warnings"] = std::move(warnings);
}

Json Answer::finish_chunk(size_t choice, const Finish& finish) const {
  Json out = chunk_object(choice, dialect_ == Dialect::chat ? Json::object() : Json{{"text", ""}}, nullptr);
  out["choices"][0]["finish_reason"] = reason_name(finish.reason);
  if (!request_.include_usage) add_report(out, {finish});
  return out;
}

Json Answer::usage_chunk(const std::vector<Finish>& finishes) const {
  Json out = envelope(dialect_ == Dialect::chat ? "chat.completion.chunk" : "text_completion");
  out["choices"] = Json::array();
  out["usage"] = usage_json(finishes, request_.n);
  add_report(out, finishes);
  return out;
}

void Answer::add(size_t index, const Delta& delta) {
  Choice& choice = choices_[index];
  if (delta.kind == Kind::progress) return;
  if (dialect_ == Dialect::chat && delta.kind == Kind::tool_call) {
    choice.calls.delta(delta);
  } else {
    (dialect_ == Dialect::chat && delta.kind == Kind::reasoning ? choice.reasoning : choice.text) += delta.text;
  }
  if (request_.logprobs && !delta.logprobs.empty()) append(choice.logprobs, logprobs_of(choice, delta.logprobs));
}

Json Answer::whole(const std::vector<Finish>& finishes) const {
  Json choices = Json::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Choice& made = choices_[i];
    const std::string text = prefixes_[i] + made.text;
    Json choice = {{"index", i}};
    if (dialect_ == Dialect::chat) {
      Json& message = choice["message"] = {{"role", "assistant"}, {"content", text.empty() && !made.calls.empty() ? Json() : Json(text)}};
      if (!made.reasoning.empty()) message.update(reasoning_members(made.reasoning));
      if (!made.calls.empty()) message["tool_calls"] = made.calls.whole();
    } else {
      choice["text"] = text;
    }
    choice["logprobs"] = made.logprobs;
    choice["finish_reason"] = reason_name(finishes[i].reason);
    choices.push_back(std::move(choice));
  }
  Json out = envelope(dialect_ == Dialect::chat ? "chat.completion" : "text_completion");
  out["choices"] = std::move(choices);
  out["usage"] = usage_json(finishes, request_.n);
  add_report(out, finishes);
  return out;
}

Headers warnings_header(const std::vector<Finish>& finishes) {
  std::string all;
  for (const Finish& finish : finishes) {
    for (const std::string& warning : finish.warnings) {
      if (all.size() < 2000) all += (all.empty() ? "" : "; ") + header_safe(warning, 256);
    }
  }
  return all.empty() ? Headers{} : Headers{{"X-Calla-Warnings", all}};
}
