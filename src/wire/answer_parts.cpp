// answer: the members that answers of several dialects share.
#include "wire/answer_parts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <simdjson.h>

namespace {

// One phase's figures under llama.cpp's names.
void add_phase(Json& out, const std::string& phase, int tokens, double seconds) {
  out[phase + "_n"] = tokens;
  out[phase + "_ms"] = seconds * 1e3;
  out[phase + "_per_token_ms"] = tokens > 0 ? seconds * 1e3 / tokens : 0.0;
  out[phase + "_per_second"] = seconds > 0 ? tokens / seconds : 0.0;
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

// A token's text as the completions dialect writes it: partial characters as bytes:\xe2\x82.
std::string token_text(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string out = "bytes:";
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return out;
}

}  // namespace

const char* reason_name(Finish::Reason reason) {
  switch (reason) {
    case Finish::Reason::length: return "length";
    case Finish::Reason::tool_call: return "tool_calls";
    default: return "stop";
  }
}

Json usage_json(const std::vector<Finish>& finishes, int per_prompt) {
  Finish all = sum_of(finishes);
  all.prompt_tokens = all.cached_tokens = 0;
  for (size_t i = 0; i < finishes.size(); i += static_cast<size_t>(per_prompt)) {
    all.prompt_tokens += finishes[i].prompt_tokens;
    all.cached_tokens += finishes[i].cached_tokens;
  }
  return {{"prompt_tokens", all.prompt_tokens},
          {"completion_tokens", all.completion_tokens},
          {"total_tokens", all.prompt_tokens + all.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", all.cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", all.reasoning_tokens}}}};
}

Json timings_json(const Finish& finish) {
  Json out = {{"cache_n", finish.cached_tokens}};
  add_phase(out, "prompt", finish.prompt_tokens - finish.cached_tokens, finish.prefill_s);
  add_phase(out, "predicted", finish.completion_tokens, finish.decode_s);
  return out;
}

Json cache_json(const CacheReport& report) {
  return {{"prompt_tokens", report.prompt_tokens}, {"cached_tokens", report.cached_tokens}, {"diverged_at", report.diverged_at}, {"was", report.was},
          {"now", report.now},                     {"source", report.source},               {"recomputed_ms", report.recomputed_s * 1e3}};
}

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

Finish sum_of(const std::vector<Finish>& finishes) {
  Finish sum;
  for (const Finish& finish : finishes) {
    sum.prompt_tokens += finish.prompt_tokens;
    sum.cached_tokens += finish.cached_tokens;
    sum.completion_tokens += finish.completion_tokens;
    sum.reasoning_tokens += finish.reasoning_tokens;
    sum.prefill_s += finish.prefill_s;
    sum.decode_s += finish.decode_s;
  }
  return sum;
}
