// completer: text around an engine: prompt, defaults, and from tokens to deltas.
#include <algorithm>
#include <random>
#include "core/json.h"
#include "engine/engine.h"
#include "engine/logprobs.h"
#include "engine/reasoning.h"

namespace {
struct Prompt {
  std::vector<TokenId> ids;
  std::vector<int> branch_points;  // where the next turn of the same conversation may leave this prompt
  bool inside_think = false, may_think = false;
};

// Turns the tokens of one answer into deltas.
class Answer {
 public:
  Answer(const CompleterParts& parts, const ChatRequest& request, const Prompt& prompt, const std::vector<TokenId>& stop_ids, const Sink& out)
      : tokenizer_(*parts.tokenizer),
        detokenizer_(parts.tokenizer),
        split_(prompt.inside_think),
        stops_(request.stop),
        stop_ids_(stop_ids),
        out_(out),
        splits_(prompt.may_think),
        top_logprobs_(request.top_logprobs) {}

  bool push(const TokenEvent& event) {  // false: no more tokens are wanted
    if (std::find(stop_ids_.begin(), stop_ids_.end(), event.id) != stop_ids_.end()) return true;  // it ends the answer and is no part of it
    if (top_logprobs_ >= 0) logprobs_.push_back(token_logprob(tokenizer_, event.id, event.logits, top_logprobs_));
    piece_.clear();
    detokenizer_.push(event.id, piece_);
    return take(piece_) && !stopped_;
  }
  void end() {
    if (gone_ || stopped_) return;
    piece_.clear();
    detokenizer_.flush(piece_);
    if (!take(piece_) || stopped_) return;
    std::string reasoning, content, said;
    split_.flush(reasoning, content);
    stopped_ = stops_.push(content, said);
    if (!stopped_) stops_.flush(said);
    if (!emit(Delta::Kind::reasoning, reasoning) || !emit(Delta::Kind::text, said)) return;
    if (!logprobs_.empty()) gone_ = !out_({Delta::Kind::text, "", std::move(logprobs_)});
  }
  bool gone() const { return gone_; }       // the reader has
  bool stopped() const { return stopped_; }  // by a stop string

 private:
  bool take(const std::string& text) {
    reasoning_.clear();
    content_.clear();
    said_.clear();
    splits_ ? split_.push(text, reasoning_, content_) : void(content_ += text);
    // Stop strings are about what is said: one that occurs in a thought does not end the answer.
    stopped_ = stops_.push(content_, said_);
    return emit(Delta::Kind::reasoning, reasoning_) && emit(Delta::Kind::text, said_);
  }
  bool emit(Delta::Kind kind, const std::string& text) {
    if (text.empty()) return true;
    gone_ = !out_({kind, text, std::exchange(logprobs_, {})});
    return !gone_;
  }

  const Tokenizer& tokenizer_;
  Detokenizer detokenizer_;
  ReasoningSplit split_;
  StopMatcher stops_;
  const std::vector<TokenId>& stop_ids_;
  const Sink& out_;
  const bool splits_;
  const int top_logprobs_;
  bool gone_ = false, stopped_ = false;
  std::vector<TokenLogprob> logprobs_;  // of tokens whose text has not gone out yet
  std::string piece_, reasoning_, content_, said_;
};

// "role: content" lines, for models that bring no template.
Result<std::string> plain_layout(const std::string& messages_json) {
  TRY(const JsonDocument document, JsonDocument::parse("messages", messages_json));
  simdjson::dom::array messages;
  if (document.root().get(messages) != simdjson::SUCCESS) return Error{Code::invalid_request, "cannot read messages: an array was expected"};
  std::string text;
  for (JsonView message : messages) {
    const auto role = find_string(message, "role");
    if (!role) return Error{Code::invalid_request, "cannot read messages: one has no role"};
    text.append(*role).append(": ");
    simdjson::dom::array parts;
    if (const auto content = find_string(message, "content")) text += *content;
    else if (const auto list = find(message, "content"); list && list->get(parts) == simdjson::SUCCESS)
      for (JsonView part : parts) text += find_string(part, "text").value_or("");
    text += '\n';
  }
  return text + "assistant:";
}

class LocalCompleter final : public Completer {
 public:
  LocalCompleter(Engine& engine, CompleterParts parts) : engine_(engine), parts_(std::move(parts)) {}

  Result<Finish> complete(const ChatRequest& request, const Sink& out, std::stop_token stop) override {
    TRY(Prompt prompt, make_prompt(request));
    if (stop.stop_requested()) return Finish{.reason = Finish::Reason::cancelled, .prompt_tokens = static_cast<int>(prompt.ids.size())};
    TRY(Generation generation, make_generation(request, prompt));
    Answer answer(parts_, request, prompt, generation.stop_ids, out);
    TRY(Finish finish, engine_.generate(generation, [&](const TokenEvent& event) { return answer.push(event); }, stop));
    if (finish.reason != Finish::Reason::cancelled) answer.end();
    if (answer.stopped()) finish.reason = Finish::Reason::stop;
    if (answer.gone()) finish.reason = Finish::Reason::cancelled;
    return finish;
  }
  std::vector<ModelInfo> models() const override { return {{parts_.model_name, engine_.context_tokens(), engine_.config().architecture}}; }

 private:
  Result<Prompt> make_prompt(const ChatRequest& request) const;
  Result<Generation> make_generation(const ChatRequest& request, Prompt& prompt) const;
  Sampling sampling(const ChatRequest& request) const;

  Engine& engine_;
  const CompleterParts parts_;
};

Result<Prompt> LocalCompleter::make_prompt(const ChatRequest& request) const {
  const Tokenizer& tokenizer = *parts_.tokenizer;
  if (!request.prompt_ids.empty()) return Prompt{request.prompt_ids, {}, false, false};
  if (request.prompt) return Prompt{tokenizer.encode(*request.prompt), {}, false, false};
  if (!parts_.chat_template) {
    TRY(const std::string text, plain_layout(request.messages_json));
    return Prompt{tokenizer.encode(text), {}, false, true};
  }
  const auto token_text = [&](std::optional<TokenId> id) { return id ? std::string(tokenizer.bytes(*id, false)) : std::string(); };
  TemplateInput input{request.messages_json, request.tools_json, true, request.template_kwargs_json, token_text(tokenizer.bos()), token_text(tokenizer.eos())};
  TRY(const std::string text, parts_.chat_template->render(input));
  Prompt prompt{tokenizer.encode(text), {}, ends_inside_think(text), true};
  // What add_generation_prompt appends (an open <think>, say) is often missing from the same turn when it comes back as history.
  input.add_generation_prompt = false;
  if (const auto history = parts_.chat_template->render(input); history && text.size() > history->size() && text.starts_with(*history)) {
    const size_t tail = tokenizer.encode(std::string_view(text).substr(history->size())).size();
    if (tail < prompt.ids.size()) prompt.branch_points.push_back(static_cast<int>(prompt.ids.size() - tail));
  }
  return prompt;
}

Sampling LocalCompleter::sampling(const ChatRequest& r) const {
  const GenerationDefaults& d = parts_.defaults;
  const bool greedy = d.from_file && !d.do_sample;  // what the checkpoint's authors generate with, unless the request says otherwise
  Sampling s;
  s.temperature = r.temperature.value_or(greedy ? 0 : d.temperature);
  s.top_p = r.top_p.value_or(d.top_p);
  s.min_p = r.min_p.value_or(d.min_p);
  s.top_k = r.top_k.value_or(d.top_k);
  s.repetition_penalty = r.repetition_penalty.value_or(d.repetition_penalty);
  s.presence_penalty = r.presence_penalty.value_or(0);
  s.frequency_penalty = r.frequency_penalty.value_or(0);
  s.seed = r.seed ? *r.seed : (static_cast<uint64_t>(std::random_device()()) << 32 | std::random_device()());
  return s;
}

Result<Generation> LocalCompleter::make_generation(const ChatRequest& request, Prompt& prompt) const {
  const int n_prompt = static_cast<int>(prompt.ids.size()), left = engine_.context_tokens() - n_prompt;
  if (request.max_tokens && *request.max_tokens < 0)
    return Error{Code::invalid_request, "cannot answer: max_tokens is " + std::to_string(*request.max_tokens)};
  if (left < (request.max_tokens == 0 ? 0 : 1)) return prompt_too_long(n_prompt, engine_.context_tokens());
  Generation g;
  g.prompt = std::move(prompt.ids);
  g.sampling = sampling(request);
  g.max_tokens = std::min(request.max_tokens.value_or(left), left);
  if (!request.ignore_eos) g.stop_ids = parts_.defaults.stop_ids;
  g.want_logits = request.top_logprobs >= 0;
  g.n_valid_ids = parts_.tokenizer->size();
  g.snapshot_hints = prompt.branch_points;
  return g;
}
}  // namespace

std::unique_ptr<Completer> make_completer(Engine& engine, CompleterParts parts) { return std::make_unique<LocalCompleter>(engine, std::move(parts)); }
