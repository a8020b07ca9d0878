// completer: text around an engine: prompt, defaults, constraints, and from tokens to deltas.
#include <algorithm>
#include <cmath>
#include <random>
#include "core/json.h"
#include "engine/answer_stream.h"
#include "engine/cache_id.h"
#include "engine/cache_report.h"
#include "engine/engine.h"
#include "engine/plain_tools.h"

namespace {
const ToolSyntax* plain_syntax() {
  const auto all = tool_syntaxes();
  const auto found = std::ranges::find_if(all, [](const ToolSyntax* syntax) { return syntax->name() == plain_tool_syntax; });
  return found == all.end() ? nullptr : *found;
}

class LocalCompleter final : public Completer {
 public:
  LocalCompleter(Engine& engine, CompleterParts parts)
      : engine_(engine),
        parts_(std::move(parts)),
        own_syntax_(parts_.chat_template ? find_tool_syntax(*parts_.chat_template, parts_.chat_template->source()) : nullptr),
        syntax_(own_syntax_ ? own_syntax_ : parts_.chat_template ? plain_syntax() : nullptr),
        prompts_{parts_, own_syntax_ == nullptr, engine.uses_snapshot_hints()},
        info_(describe()),
        grammars_(parts_.tokenizer, parts_.defaults.stop_ids) {}

  Result<Finish> complete(const ChatRequest& request, const Sink& out, std::stop_token stop) override;
  std::vector<ModelInfo> models() const override { return {info_}; }
  std::vector<ModelStats> stats() const override;
  Result<std::string> render(const ChatRequest& request) override;
  Result<std::vector<TokenId>> tokenize(const std::string& model, std::string_view text, bool special, bool add_bos) override;
  Result<std::string> detokenize(const std::string& model, std::span<const TokenId> ids) override;
  Result<Embeddings> embed(const EmbedRequest& request, std::stop_token stop) override;

 private:
  ModelInfo describe() const;
  Result<Generation> make_generation(const ChatRequest& request, const RenderedPrompt& prompt) const;
  Sampling sampling(const ChatRequest& request) const;
  Result<std::unique_ptr<AnswerConstraint>> make_constraint(const ChatRequest& request, const RenderedPrompt& prompt, const ToolUse& tools);
  Result<std::vector<float>> embed_one(std::vector<TokenId> ids, EmbedRequest::Pooling pooling, std::stop_token stop);

  Engine& engine_;
  const CompleterParts parts_;
  const ToolSyntax* const own_syntax_;  // of the template; null when it knows no tools
  const ToolSyntax* const syntax_;
  const PromptMaker prompts_;
  const ModelInfo info_;
  Grammars grammars_;
  Turns turns_;
};

Result<Finish> LocalCompleter::complete(const ChatRequest& request, const Sink& out, std::stop_token stop) {
  const uint64_t space = space_id(request.tenant, request.cache_salt);
  TRY(const ToolUse tools, read_tool_use(parts_, syntax_, request));
  TRY(const RenderedPrompt prompt, prompts_.make(request, space, turns_));
  if (stop.stop_requested()) return Finish{.reason = Finish::Reason::cancelled, .prompt_tokens = static_cast<int>(prompt.ids.size())};
  TRY(Generation generation, make_generation(request, prompt));
  TRY(const auto constraint, make_constraint(request, prompt, tools));
  generation.constraint = constraint.get();
  generation.cache_space = space;
  if (request.report_progress)
    generation.progress = [&](int done, int total) { out({.kind = Delta::Kind::progress, .text = "", .prompt_done = done, .prompt_total = total}); };
  std::optional<Divergence> divergence;
  if (request.explain_cache) generation.explain = [&](const Divergence& d) { divergence = d; };
  AnswerStream answer(parts_.tokenizer, request, prompt, generation.stop_ids, tools, out);
  TRY(Finish finish, engine_.generate(generation, [&](const TokenEvent& event) { return answer.push(event); }, stop));
  if (constraint && constraint->failed()) return Error{Code::internal, "cannot answer: the model's tokens could not be kept to the grammar that was asked for"};
  if (finish.reason != Finish::Reason::cancelled) answer.end();
  answer.settle(finish);
  if (constraint && constraint->cut_by_budget()) finish.warnings.push_back("thinking was ended: its budget was used up");
  if (constraint && constraint->cut_by_loop()) finish.warnings.push_back("thinking was ended: it repeated itself");
  if (divergence) finish.cache = explain_cache(*parts_.tokenizer, request, prompt, *divergence);
  // Sampled tokens stay the truth of this turn when it comes back as history.
  if (!prompt.text.empty() && prompt.may_think && request.use_cache && finish.reason != Finish::Reason::cancelled) {
    std::vector<TokenId> ids = prompt.ids;
    ids.insert(ids.end(), answer.ids().begin(), answer.ids().end());
    turns_.remember({space, prompt.text + answer.raw_text(), std::move(ids)});
  }
  return finish;
}

Sampling LocalCompleter::sampling(const ChatRequest& r) const {
  const GenerationDefaults& d = parts_.defaults;
  const bool greedy = d.from_file && !d.do_sample;  // what the checkpoint's authors generate with, unless the request says otherwise
  Sampling s;
  s.temperature = r.temperature.value_or(greedy ? 0 : d.temperature);
  s.top_p = r.top_p.value_or(d.top_p);
  s.min_p = r.min_p.value_or(d.min_p);
  s.top_k = r.top_k.value_or(d.top_k);
  // The house's touch against loops is for those who leave all of it to us; and no device draws with penalties.
  const bool chosen = r.temperature || r.top_p || r.top_k || r.min_p;
  s.repetition_penalty = r.repetition_penalty.value_or(chosen && !d.from_file ? 1 : d.repetition_penalty);
  const auto take = [](auto& into, const auto& wish) { into = wish.value_or(into); };
  take(s.typical_p, r.typical_p);
  take(s.top_n_sigma, r.top_n_sigma);
  take(s.xtc_probability, r.xtc_probability);
  take(s.xtc_threshold, r.xtc_threshold);
  take(s.presence_penalty, r.presence_penalty);
  take(s.frequency_penalty, r.frequency_penalty);
  take(s.repeat_last_n, r.repeat_last_n);
  take(s.dry_multiplier, r.dry_multiplier);
  take(s.dry_base, r.dry_base);
  take(s.dry_allowed_length, r.dry_allowed_length);
  take(s.dry_penalty_last_n, r.dry_penalty_last_n);
  take(s.mirostat, r.mirostat);
  take(s.mirostat_tau, r.mirostat_tau);
  take(s.mirostat_eta, r.mirostat_eta);
  s.min_tokens = r.min_tokens;
  s.logit_bias = r.logit_bias;
  for (const auto& [text, bias] : r.text_bias)
    for (const TokenId id : parts_.tokenizer->encode(text)) s.logit_bias.emplace_back(id, bias);
  if (s.dry_multiplier > 0)
    for (const std::string& text : r.dry_breakers.value_or(std::vector<std::string>{"\n", ":", "\"", "*"}))
      for (const TokenId id : parts_.tokenizer->encode(text)) s.dry_breakers.push_back(id);
  s.seed = r.seed ? *r.seed : (static_cast<uint64_t>(std::random_device()()) << 32 | std::random_device()());
  return s;
}

Result<Generation> LocalCompleter::make_generation(const ChatRequest& request, const RenderedPrompt& prompt) const {
  const int n_prompt = static_cast<int>(prompt.ids.size()), left = engine_.context_tokens() - n_prompt;
  if (request.max_tokens && *request.max_tokens < 0)
    return Error{Code::invalid_request, "cannot answer: max_tokens is " + std::to_string(*request.max_tokens)};
  if (left < (request.max_tokens == 0 ? 0 : 1)) return prompt_too_long(n_prompt, engine_.context_tokens());
  Generation g;
  g.prompt = prompt.ids;
  g.sampling = sampling(request);
  g.max_tokens = std::min(request.max_tokens.value_or(left), left);
  if (!request.ignore_eos) g.stop_ids = parts_.defaults.stop_ids;
  g.stop_ids.insert(g.stop_ids.end(), request.stop_ids.begin(), request.stop_ids.end());
  g.want_logits = request.top_logprobs >= 0;
  g.n_valid_ids = parts_.tokenizer->size();
  g.snapshot_hints = prompt.branch_points;
  g.use_cache = request.use_cache;
  g.priority = request.priority;
  g.tenant = request.tenant;
  g.deadline = request.deadline;
  return g;
}

// Null when nothing has to be watched.
Result<std::unique_ptr<AnswerConstraint>> LocalCompleter::make_constraint(const ChatRequest& request, const RenderedPrompt& prompt, const ToolUse& tools) {
  const bool thinks = prompt.inside_think || prompt.may_open_think;
  TRY(auto grammar, grammars_.of(request, tools, thinks));
  if (!grammar && !thinks) return std::unique_ptr<AnswerConstraint>();
  AnswerConstraint::Plan plan;
  plan.tokenizer = parts_.tokenizer;
  plan.stop_ids = parts_.defaults.stop_ids;
  plan.budget = request.reasoning_budget_tokens;
  plan.inside_think = prompt.inside_think;
  plan.may_open_think = prompt.may_open_think;
  if (grammar) {
    const bool calls = tools.syntax && request.constraint.kind == Constraint::Kind::none;  // alone
    if (calls && !tools.forced) plan.trigger = tools.syntax->trigger();
    plan.grammar = std::move(grammar);
    plan.tokens = grammars_.tokens(tools.syntax);
  }
  return std::make_unique<AnswerConstraint>(std::move(plan));
}

ModelInfo LocalCompleter::describe() const {
  ModelInfo info = parts_.info;
  info.name = parts_.model_name;
  info.context_tokens = engine_.context_tokens();
  info.architecture = engine_.config().architecture;
  info.tool_syntax = syntax_ ? syntax_->name() : "";
  info.thinks = template_thinks(parts_);
  info.fills_in = find_fill_in(*parts_.tokenizer).has_value();
  if (parts_.chat_template) info.chat_template = parts_.chat_template->source();
  return info;
}

std::vector<ModelStats> LocalCompleter::stats() const {
  const EngineStats e = engine_.stats();
  ModelStats s;
  s.model = parts_.model_name;
  s.running = e.running;
  s.waiting = e.waiting;
  s.prefill_tokens = e.prefill_tokens;
  s.decode_tokens = e.decode_tokens;
  s.cached_tokens = e.cached_tokens;
  s.steps = e.steps;
  s.preemptions = e.preemptions;
  s.weight_bytes = parts_.info.bytes;
  s.snapshots = e.snapshots;
  s.max_sequences = e.max_sequences;
  s.fault = e.fault;
  s.state_bytes = e.state_bytes;
  s.cache_bytes = e.cache_bytes;
  s.cache_disk_bytes = e.cache_disk_bytes;
  for (const Divergence& d : engine_.recent_prompts()) s.recent_prompts.push_back({d.prompt_tokens, d.cached_tokens, d.disk_tokens, d.at});
  s.pages_total = e.pages_total;
  s.pages_free = e.pages_free;
  return {s};
}

Result<std::string> LocalCompleter::render(const ChatRequest& request) { return prompts_.text(request); }

Result<std::vector<TokenId>> LocalCompleter::tokenize(const std::string&, std::string_view text, bool special, bool add_bos) {
  return parts_.tokenizer->encode(text, {.special = special, .bos_eos = add_bos});
}

Result<std::string> LocalCompleter::detokenize(const std::string&, std::span<const TokenId> ids) {
  for (const TokenId id : ids)
    if (id < 0 || id >= parts_.tokenizer->size())
      return Error{Code::invalid_request, "cannot decode the token id " + std::to_string(id) + ": the vocabulary has " + std::to_string(parts_.tokenizer->size())};
  return parts_.tokenizer->decode(ids, false);
}

Result<Embeddings> LocalCompleter::embed(const EmbedRequest& request, std::stop_token stop) {
  Embeddings out;
  std::vector<std::vector<TokenId>> all = request.ids;
  for (const std::string& text : request.texts) all.push_back(parts_.tokenizer->encode(text, {.special = true, .bos_eos = true}));
  for (auto& ids : all) {
    out.prompt_tokens += static_cast<int>(ids.size());
    TRY(auto vector, embed_one(std::move(ids), request.pooling, stop));
    out.vectors.push_back(std::move(vector));
  }
  return out;
}

// The mean of the final hidden states, or the last one, scaled to length 1.
Result<std::vector<float>> LocalCompleter::embed_one(std::vector<TokenId> ids, EmbedRequest::Pooling pooling, std::stop_token stop) {
  std::vector<double> sum(static_cast<size_t>(engine_.config().hidden_dim));
  Generation g;
  const auto n_prompt = static_cast<int>(ids.size());
  g.prompt = std::move(ids);
  g.max_tokens = 0;
  g.use_cache = false;
  g.hidden = true;
  g.n_valid_ids = engine_.config().hidden_dim;
  g.prompt_logits = [&](int position, std::span<const float> row) {
    if (pooling == EmbedRequest::Pooling::last && position + 1 < n_prompt) return;
    for (size_t i = 0; i < row.size(); ++i) sum[i] += static_cast<double>(row[i]);
  };
  TRY(const Finish finish, engine_.generate(g, [](const TokenEvent&) { return true; }, stop));
  if (finish.reason == Finish::Reason::cancelled) return Error{Code::cancelled, "cannot make an embedding: the request was cancelled"};
  double squares = 0;
  for (const double x : sum) squares += x * x;
  if (!std::isfinite(squares)) return Error{Code::internal, "cannot make an embedding: the hidden states are no finite numbers"};
  std::vector<float> out;
  for (const double x : sum) out.push_back(static_cast<float>(squares > 0 ? x / std::sqrt(squares) : 0));
  return out;
}
}  // namespace

std::unique_ptr<Completer> make_completer(Engine& engine, CompleterParts parts) { return std::make_unique<LocalCompleter>(engine, std::move(parts)); }
