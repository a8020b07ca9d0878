// answer: chat and completion objects, usage, timings and log probabilities.
#include "wire/answer.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace {

const char* reason_name(Finish::Reason reason) {
  switch (reason) {
    case Finish::Reason::length: return "length";
    case Finish::Reason::tool_call: return "tool_calls";
    default: return "stop";
  }
}

Json usage(const Finish& finish) {
  return {{"prompt_tokens", finish.prompt_tokens},
          {"completion_tokens", finish.completion_tokens},
          {"total_tokens", finish.prompt_tokens + finish.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", finish.cached_tokens}}}};
}

// One phase's figures under llama.cpp's names.
void add_phase(Json& out, const std::string& phase, int tokens, double seconds) {
  out[phase + "_n"] = tokens;
  out[phase + "_ms"] = seconds * 1e3;
  out[phase + "_per_token_ms"] = tokens > 0 ? seconds * 1e3 / tokens : 0.0;
  out[phase + "_per_second"] = seconds > 0 ? tokens / seconds : 0.0;
}

Json timings(const Finish& finish) {
  Json out = {{"cache_n", finish.cached_tokens}};
  add_phase(out, "prompt", finish.prompt_tokens - finish.cached_tokens, finish.prefill_s);
  add_phase(out, "predicted", finish.completion_tokens, finish.decode_s);
  return out;
}

double finite(float logprob) { return std::isfinite(logprob) ? static_cast<double>(logprob) : -9999.0; }

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Whether the bytes are whole UTF-8 characters (a token may hold part of one).
bool is_utf8(const std::string& bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

Json byte_list(const std::string& bytes) {
  Json out = Json::array();
  for (const char byte : bytes) out.push_back(static_cast<unsigned char>(byte));
  return out;
}

Json chat_entry(const std::string& bytes, float logprob) { return {{"token", bytes}, {"logprob", finite(logprob)}, {"bytes", byte_list(bytes)}}; }

Json chat_logprobs(const std::vector<TokenLogprob>& tokens) {
  Json content = Json::array();
  for (const TokenLogprob& token : tokens) {
    Json entry = chat_entry(token.bytes, token.logprob), top = Json::array();
    for (const auto& [bytes, logprob] : token.top) top.push_back(chat_entry(bytes, logprob));
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}};
}

// A token's text as the completions dialect writes it: partial characters as bytes:\xe2\x82.
std::string token_text(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string out = "bytes:";
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return out;
}

Json completion_logprobs(const std::vector<TokenLogprob>& tokens, int64_t& offset) {
  Json texts = Json::array(), logprobs = Json::array(), tops = Json::array(), offsets = Json::array();
  for (const TokenLogprob& token : tokens) {
    Json top = Json::object();
    for (const auto& [bytes, logprob] : token.top) top[token_text(bytes)] = finite(logprob);
    texts.push_back(token_text(token.bytes));
    logprobs.push_back(finite(token.logprob));
    tops.push_back(std::move(top));
    offsets.push_back(offset);
    offset += std::count_if(token.bytes.begin(), token.bytes.end(), [](char byte) { return !is_continuation(byte); });
  }
  return {{"tokens", texts}, {"token_logprobs", logprobs}, {"top_logprobs", tops}, {"text_offset", offsets}};
}

// Appends every list of `more` to the list of the same name.
void append(Json& logprobs, const Json& more) {
  if (logprobs.is_null()) {
    logprobs = more;
    return;
  }
  for (auto& [name, list] : more.items()) logprobs[name].insert(logprobs[name].end(), list.begin(), list.end());
}

}  // namespace

Answer::Answer(Dialect dialect, const ParsedRequest& request)
    : dialect_(dialect), request_(request), id_(random_id(dialect == Dialect::chat ? "chatcmpl-" : "cmpl-")), created_(unix_seconds()) {
  if (request.logprobs) logprobs_ = logprobs_of({});
}

Json Answer::envelope(const char* object) const { return {{"id", id_}, {"object", object}, {"created", created_}, {"model", request_.chat.model}}; }

Json Answer::chunk(Json choice) const {
  Json out = envelope(dialect_ == Dialect::chat ? "chat.completion.chunk" : "text_completion");
  out["choices"] = Json::array({std::move(choice)});
  if (request_.include_usage) out["usage"] = nullptr;
  return out;
}

Json Answer::logprobs_of(const std::vector<TokenLogprob>& tokens) {
  if (!request_.logprobs) return nullptr;
  return dialect_ == Dialect::chat ? chat_logprobs(tokens) : completion_logprobs(tokens, logprob_offset_);
}

Json Answer::first_chunk() const {
  return chunk({{"index", 0}, {"delta", {{"role", "assistant"}, {"content", ""}}}, {"logprobs", nullptr}, {"finish_reason", nullptr}});
}

Json Answer::delta_chunk(const Delta& delta) {
  Json logprobs = delta.logprobs.empty() ? Json() : logprobs_of(delta.logprobs);
  if (dialect_ == Dialect::completions) return chunk({{"index", 0}, {"text", delta.text}, {"logprobs", logprobs}, {"finish_reason", nullptr}});
  const char* field = delta.kind == Delta::Kind::reasoning ? "reasoning_content" : "content";
  return chunk({{"index", 0}, {"delta", {{field, delta.text}}}, {"logprobs", logprobs}, {"finish_reason", nullptr}});
}

Json Answer::finish_chunk(const Finish& finish) const {
  Json choice = {{"index", 0}};
  if (dialect_ == Dialect::chat) {
    choice["delta"] = Json::object();
  } else {
    choice["text"] = "";
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = reason_name(finish.reason);
  Json out = chunk(std::move(choice));
  if (request_.timings && !request_.include_usage) out["timings"] = timings(finish);
  return out;
}

Json Answer::usage_chunk(const Finish& finish) const {
  Json out = envelope(dialect_ == Dialect::chat ? "chat.completion.chunk" : "text_completion");
  out["choices"] = Json::array();
  out["usage"] = usage(finish);
  if (request_.timings) out["timings"] = timings(finish);
  return out;
}

void Answer::add(const Delta& delta) {
  (dialect_ == Dialect::chat && delta.kind == Delta::Kind::reasoning ? reasoning_ : text_) += delta.text;
  if (request_.logprobs && !delta.logprobs.empty()) append(logprobs_, logprobs_of(delta.logprobs));
}

Json Answer::whole(const Finish& finish) const {
  Json choice = {{"index", 0}};
  if (dialect_ == Dialect::chat) {
    choice["message"] = {{"role", "assistant"}, {"content", text_}};
    if (!reasoning_.empty()) choice["message"]["reasoning_content"] = reasoning_;
  } else {
    choice["text"] = text_;
  }
  choice["logprobs"] = logprobs_;
  choice["finish_reason"] = reason_name(finish.reason);
  Json out = envelope(dialect_ == Dialect::chat ? "chat.completion" : "text_completion");
  out["choices"] = Json::array({std::move(choice)});
  out["usage"] = usage(finish);
  if (request_.timings) out["timings"] = timings(finish);
  return out;
}
