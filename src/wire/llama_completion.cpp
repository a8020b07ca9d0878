// llama_completion: llama-server's names for the fields of a raw completion, and its chunks.
#include "wire/llama_completion.h"

#include <algorithm>
#include <fmt/format.h>
#include "wire/answer_parts.h"
#include "wire/messages.h"

namespace {

using Kind = Field::Kind;
using Out = LlamaRequest;
using In = const FieldValue&;

Fault set_model(Out& out, In value) { return out.chat.model = value.text, std::nullopt; }
Fault set_strict(Out& out, In value) { return out.strict = value.flag, std::nullopt; }
Fault set_stream(Out& out, In value) { return out.stream = value.flag, std::nullopt; }
Fault set_all_prompts(Out& out, In value) { return set_prompt(out, value); }
Fault set_return_tokens(Out& out, In value) { return out.return_tokens = value.flag, std::nullopt; }
Fault set_n_probs(Out& out, In value) { return out.n_probs = value.small(), std::nullopt; }
Fault set_timings(Out& out, In value) { return out.timings = value.flag, std::nullopt; }

Fault set_n_predict(Out& out, In value) {  // below 0: until it ends by itself
  if (value.integer >= 0) out.chat.max_tokens = value.small();
  return std::nullopt;
}

constexpr Row<Out> common_rows[] = {
    {{"strict", Kind::boolean, 0, 0, "fields without effect are a 400"}, set_strict},
    {{"model", Kind::text}, set_model},
    {{"stream", Kind::boolean}, set_stream},
    {{"max_tokens", Kind::integer, -1, int_max, "the same as n_predict"}, set_n_predict},
    {{"n_predict", Kind::integer, -2, int_max, "most tokens of the answer; -1: no limit; 0: the prompt is only read"}, set_n_predict},
    {{"n_probs", Kind::integer, 0, 20, "log probabilities of the n best tokens"}, set_n_probs},
    {{"return_tokens", Kind::boolean, 0, 0, "ids of the answer's tokens"}, set_return_tokens},
    {{"timings", Kind::boolean}, set_timings},
};

constexpr Row<Out> completion_only[] = {
    {{"prompt", Kind::any, 0, 0, "one or several texts or lists of token ids", nullptr, prompt_schema}, set_all_prompts},
};

// What other files say stands in front; a model without a token for it reads a line with the name.
Fault set_extra(Out& out, In value) {
  size_t i = 0;
  for (const JsonView file : simdjson::dom::array(value.json)) {
    const std::string at = fmt::format("{}[{}]", value.name, i++);
    if (!file.is_object()) return wrong_type(at, "an object with filename and text", file);
    const auto text = find_string(file, "text"), name = find_string(file, "filename");
    if (!text) return fault(at + ".text", at + ".text must be a string", "invalid_type");
    if (name) out.before += fmt::format("--- {}\n", *name);
    out.before.append(*text).append("\n");
  }
  return std::nullopt;
}

constexpr Row<Out> infill_only[] = {
    {{"input_prefix", Kind::text, 0, no_limit, "what stands ahead of the gap"}, [](Out& out, In value) -> Fault { return out.prefix = value.text, std::nullopt; }},
    {{"input_suffix", Kind::text, 0, no_limit, "what stands behind it"}, [](Out& out, In value) -> Fault { return out.chat.suffix = value.text, std::nullopt; }},
    {{"input_extra", Kind::array, 0, 256, "other files: filename and text"}, set_extra},
    {{"prompt", Kind::text, 0, no_limit, "how the filling begins"}, [](Out& out, In value) -> Fault { return out.middle = value.text, std::nullopt; }},
};

template <class Own> Json body_schema(const Own& own) {
  Json schema = object_schema(common_rows);
  add_schemas(own, schema["properties"]);
  for (const Rows shared : {sampling_rows(), format_rows(), serving_rows()}) add_schemas(shared, schema["properties"]);
  return schema;
}

template <class Own> Fault read_body(std::string_view body, const Own& own, Out& out) {
  JsonDocument document;
  if (auto wrong = parse_body(body, document)) return wrong;
  FieldReader reader(document.root());
  if (auto wrong = reader.read(common_rows, out)) return wrong;
  if (auto wrong = reader.read(own, out)) return wrong;
  for (const Rows shared : {sampling_rows(), format_rows(), serving_rows()}) {
    if (auto wrong = reader.read(shared, out)) return wrong;
  }
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  if (out.n_probs > 0 || out.return_tokens) out.chat.top_logprobs = out.n_probs;
  return std::nullopt;
}

const char* stop_type(const Finish& finish) {
  if (finish.reason == Finish::Reason::length) return "limit";
  return finish.stop_text.empty() ? "eos" : "word";
}

Json probability(const TokenLogprob& token) {
  Json out = {{"id", token.id}};
  out.update(chat_logprobs({token})["content"][0]);
  return out;
}

template <class T> void add(Json& out, const char* name, const std::optional<T>& value) {
  if (value) out[name] = *value;
}

}  // namespace

Fault read_llama_completion(std::string_view body, LlamaRequest& out) {
  if (auto wrong = read_body(body, completion_only, out)) return wrong;
  return out.prompts.empty() ? fault("prompt", "prompt is required", "missing_field") : std::nullopt;
}

Fault read_llama_infill(std::string_view body, LlamaRequest& out) {
  if (auto wrong = read_body(body, infill_only, out)) return wrong;
  if (!out.chat.suffix && out.prefix.empty()) return fault("input_prefix", "input_prefix or input_suffix is required", "missing_field");
  if (!out.chat.suffix) out.chat.suffix = "";
  out.prompts = {{out.before + out.prefix + out.middle, {}}};
  return std::nullopt;
}

std::vector<ChatRequest> LlamaRequest::requests() const {
  std::vector<ChatRequest> all(prompts.size(), chat);
  for (size_t i = 0; i < prompts.size(); ++i) {
    all[i].prompt = prompts[i].text;
    all[i].prompt_ids = prompts[i].ids;
  }
  return all;
}

void LlamaAnswer::push(const Delta& delta, std::vector<Json>& out) {
  Json chunk = {{"index", wholes_.size()}, {"content", ""}, {"tokens", Json::array()}, {"stop", false}};
  if (delta.kind == Delta::Kind::progress) {
    if (cached_tokens_ < 0) cached_tokens_ = delta.prompt_done;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_).count();
    chunk["prompt_progress"] = {{"total", delta.prompt_total}, {"cache", cached_tokens_}, {"processed", delta.prompt_done}, {"time_ms", ms}};
    out.push_back(std::move(chunk));
    return;
  }
  for (const TokenLogprob& token : delta.logprobs) {
    if (request_.return_tokens) chunk["tokens"].push_back(token.id);
    if (request_.n_probs > 0) chunk["completion_probabilities"].push_back(probability(token));
  }
  if (delta.text.empty() && delta.logprobs.empty()) return;
  chunk["content"] = delta.text;
  text_ += delta.text;
  tokens_.insert(tokens_.end(), chunk["tokens"].begin(), chunk["tokens"].end());
  if (chunk.contains("completion_probabilities")) probabilities_.insert(probabilities_.end(), chunk["completion_probabilities"].begin(), chunk["completion_probabilities"].end());
  out.push_back(std::move(chunk));
}

void LlamaAnswer::finish(const Finish& finish, std::vector<Json>& out) {
  const Prompt& prompt = request_.prompts[wholes_.size()];
  Json end = {{"index", wholes_.size()}, {"content", ""}, {"tokens", Json::array()}, {"id_slot", -1}, {"stop", true}, {"model", model_},
              {"tokens_predicted", finish.completion_tokens}, {"tokens_evaluated", finish.prompt_tokens}, {"generation_settings", settings()},
              {"prompt", prompt.ids.empty() ? Json(prompt.text) : Json(prompt.ids)}, {"has_new_line", text_.find('\n') != std::string::npos}, {"truncated", false},
              {"stop_type", stop_type(finish)}, {"stopping_word", finish.stop_text}, {"tokens_cached", finish.cached_tokens}};
  if (request_.timings) end["timings"] = timings_json(finish);
  add_notes(end, finish);
  Json whole = end;
  whole["content"] = std::exchange(text_, {});
  whole["tokens"] = std::exchange(tokens_, Json::array());
  if (request_.n_probs > 0) whole["completion_probabilities"] = std::exchange(probabilities_, Json::array());
  wholes_.push_back(std::move(whole));
  out.push_back(std::move(end));
  cached_tokens_ = -1;
  began_ = Clock::now();
}

// What the request said; what it left to the model is not repeated.
Json LlamaAnswer::settings() const {
  const ChatRequest& chat = request_.chat;
  Json out = {{"n_predict", chat.max_tokens.value_or(-1)}, {"stream", request_.stream}, {"n_probs", request_.n_probs}, {"stop", chat.stop}, {"ignore_eos", chat.ignore_eos}};
  add(out, "seed", chat.seed);
  add(out, "temperature", chat.temperature);
  add(out, "top_k", chat.top_k);
  add(out, "top_p", chat.top_p);
  add(out, "min_p", chat.min_p);
  add(out, "typical_p", chat.typical_p);
  add(out, "repeat_penalty", chat.repetition_penalty);
  add(out, "repeat_last_n", chat.repeat_last_n);
  add(out, "presence_penalty", chat.presence_penalty);
  add(out, "frequency_penalty", chat.frequency_penalty);
  add(out, "mirostat", chat.mirostat);
  return out;
}

Json llama_completion_schema() { return body_schema(completion_only); }
Json llama_infill_schema() { return body_schema(infill_only); }
