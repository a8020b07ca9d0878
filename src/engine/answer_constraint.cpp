// answer_constraint: the phases of an answer, and the grammars behind them.
#include "engine/answer_constraint.h"
#include <algorithm>
#include "core/json.h"
#include "engine/reasoning.h"

namespace {
constexpr std::string_view blank = " \t\r\n";
using Node = GrammarBuilder::Node;

Result<Node> choice_of(GrammarBuilder& builder, std::string_view list_json) {
  TRY(const JsonDocument document, JsonDocument::parse("the choices", list_json));
  simdjson::dom::array list;
  if (document.root().get(list) != simdjson::SUCCESS || list.size() == 0) return Error{Code::invalid_request, "cannot constrain to a choice: a list of at least one string was expected"};
  std::vector<Node> nodes;
  for (JsonView item : list) {
    std::string_view text;
    if (item.get(text) != simdjson::SUCCESS || text.empty()) return Error{Code::invalid_request, "cannot constrain to a choice: its items must be strings that are not empty"};
    nodes.push_back(builder.literal(text));
  }
  return builder.choice(nodes);
}

Result<Node> constraint_node(GrammarBuilder& builder, const Constraint& constraint) {
  switch (constraint.kind) {
    case Constraint::Kind::json_object: return builder.json_object();
    case Constraint::Kind::json_schema: return builder.json_schema(constraint.text);
    case Constraint::Kind::regex: return builder.regex(constraint.text, true);
    case Constraint::Kind::choice: return choice_of(builder, constraint.text);
    case Constraint::Kind::gbnf: return builder.gbnf(constraint.text);
    case Constraint::Kind::lark: return builder.lark(constraint.text);
    case Constraint::Kind::none: break;
  }
  return builder.empty();
}

// A forced call is written by the grammar alone, so it follows its schema; where that cannot be enforced and nobody asked for it, its names do.
Result<Node> calls_node(GrammarBuilder& builder, const ToolUse& tools) {
  std::vector<ToolSpec> specs = tools.specs;
  if (tools.forced)
    for (ToolSpec& spec : specs) spec.strict = true;
  auto strict = tools.syntax->calls(builder, specs, tools.parallel);
  if (strict || !tools.forced || tools.strict || strict.error().code != Code::unsupported) return strict;
  return tools.syntax->calls(builder, tools.specs, tools.parallel);
}

void set(std::vector<uint64_t>& mask, TokenId id, bool on) {
  const auto i = static_cast<size_t>(id);
  if (id < 0 || i / 64 >= mask.size()) return;
  const uint64_t bit = uint64_t{1} << (i % 64);
  mask[i / 64] = on ? mask[i / 64] | bit : mask[i / 64] & ~bit;
}
}  // namespace

Result<ToolUse> read_tool_use(const CompleterParts& parts, const ToolSyntax* syntax, const ChatRequest& request) {
  ToolUse use;
  const ToolChoice& choice = request.tool_choice;
  use.forced = choice.kind == ToolChoice::Kind::required || choice.kind == ToolChoice::Kind::named;
  use.parallel = choice.parallel && choice.kind != ToolChoice::Kind::named;
  if (request.tools_json.empty() || choice.kind == ToolChoice::Kind::none) {
    if (use.forced) return Error{Code::invalid_request, "cannot force a tool call: no tools were given"};
    return use;
  }
  TRY(use.specs, read_tools(request.tools_json));
  if (choice.kind == ToolChoice::Kind::named) {
    std::erase_if(use.specs, [&](const ToolSpec& spec) { return spec.name != choice.name; });
    if (use.specs.empty()) return Error{Code::invalid_request, "cannot force a tool call: no tool of the name in tool_choice was given"};
  }
  use.syntax = syntax;
  use.strict = std::ranges::any_of(use.specs, &ToolSpec::strict);
  if (!syntax && use.forced) return Error{Code::unsupported, "cannot force a tool call: the chat template of " + parts.model_name + " knows no tools"};
  return use;
}

// ---- grammars -----------------------------------------------------------------------------------------------------------

std::shared_ptr<const TokenTrie> Grammars::tokens(const ToolSyntax* calls) {
  const auto spelt = calls ? calls->control_texts() : std::vector<std::string_view>();
  const auto is_control = [&](std::string_view text) {
    const auto id = tokenizer_->find(text);
    return id && tokenizer_->bytes(*id, true).empty();
  };
  const bool plain = std::ranges::none_of(spelt, is_control);
  const std::lock_guard lock(mutex_);
  auto& tokens = plain ? plain_tokens_ : call_tokens_;
  if (!tokens) tokens = TokenTrie::make(*tokenizer_, ends_, spelt);
  return tokens;
}

Result<std::shared_ptr<const Grammar>> Grammars::of(const ChatRequest& request, const ToolUse& tools, bool newlines) {
  const bool constrained = request.constraint.kind != Constraint::Kind::none, calls = tools.syntax && (tools.forced || tools.strict || constrained);
  if (!constrained && !calls) return std::shared_ptr<const Grammar>();
  std::string key;
  for (const int number : {static_cast<int>(request.constraint.kind), int{calls}, int{tools.forced}, int{tools.parallel}, int{newlines}}) key += static_cast<char>('0' + number);
  key += tools.forced ? request.tool_choice.name : "";
  for (const std::string* text : {&request.constraint.text, &request.tools_json}) key.append(1, '\0').append(text == &request.tools_json && !calls ? "" : *text);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(key); found != kept_.end()) return found->second.first = ++clock_, found->second.second;
  }
  GrammarBuilder builder;
  std::vector<Node> alternatives;
  if (constrained && !tools.forced) {
    TRY(const Node node, constraint_node(builder, request.constraint));
    alternatives.push_back(node);
  }
  if (calls) {
    TRY(const Node node, calls_node(builder, tools));
    alternatives.push_back(node);
  }
  Node root = alternatives.size() == 1 ? alternatives.front() : builder.choice(alternatives);
  if (newlines) root = builder.sequence(std::vector{builder.repeat(builder.literal("\n"), 0, 2), root});
  TRY(auto grammar, std::move(builder).build(root));
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= most_kept) kept_.erase(std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.first; }));
  kept_[key] = {++clock_, grammar};
  return grammar;
}

// ---- loops --------------------------------------------------------------------------------------------------------------

bool LoopDetector::push(TokenId id) {
  ids_.push_back(id);
  const size_t n = ids_.size();
  if (n % looks_every != 0 || n < least_run) return false;
  for (size_t period = 1; period <= std::min(longest_period, n / 3); ++period) {
    size_t run = 0;  // tokens at the end that equal those one period before
    while (run + period < n && ids_[n - 1 - run] == ids_[n - 1 - run - period]) ++run;
    if (run >= std::max(least_run, 3 * period)) return true;
  }
  return false;
}

// ---- an answer's phases -------------------------------------------------------------------------------------------------

AnswerConstraint::AnswerConstraint(Plan plan) : plan_(std::move(plan)) {
  phase_ = plan_.inside_think ? Phase::thinking : plan_.may_open_think && plan_.budget != 0 ? Phase::undecided : Phase::answer;
  if (plan_.grammar) {
    matcher_ = GrammarMatcher::make(plan_.grammar, plan_.tokens);
    own_mask_.resize((static_cast<size_t>(plan_.tokenizer->size()) + 63) / 64);
    bound_ = plan_.trigger.empty();
  }
  if (phase_ == Phase::thinking && plan_.budget == 0) cut_by_budget_ = true, close_thinking();
}

std::span<const uint64_t> AnswerConstraint::mask() {
  if (!matcher_ || !queue_.empty()) return {};
  if (phase_ == Phase::answer) return bound_ ? matcher_->mask() : std::span<const uint64_t>();
  if (phase_ == Phase::thinking) {  // an end here would leave an answer without what was asked for
    std::ranges::fill(own_mask_, ~uint64_t{0});
    for (const TokenId id : plan_.stop_ids) set(own_mask_, id, false);
    return own_mask_;
  }
  if (!bound_) return {};
  const auto mask = matcher_->mask();
  std::ranges::fill(own_mask_, 0);
  std::copy_n(mask.begin(), std::min(mask.size(), own_mask_.size()), own_mask_.begin());
  // A block that was begun goes on; before, it may begin.
  if (const auto open = plan_.tokenizer->find(think_open)) set(own_mask_, *open, true);
  return own_mask_;
}

std::optional<TokenId> AnswerConstraint::forced() { return queue_.empty() ? std::nullopt : std::optional(queue_.front()); }

void AnswerConstraint::accept(TokenId id) {
  if (!queue_.empty() && queue_.front() == id) queue_.pop_front();
  const std::string_view bytes = plan_.tokenizer->bytes(id, false);
  switch (phase_) {
    case Phase::thinking: return think(bytes, id);
    case Phase::answer: return answer(bytes, id);
    case Phase::undecided: break;
  }
  seen_ += bytes;
  const std::string_view said = std::string_view(seen_).substr(std::min(seen_.size(), seen_.find_first_not_of(blank)));
  if (said.starts_with(think_open)) {
    phase_ = Phase::thinking;
    seen_.clear();
  } else if (bound_ || !think_open.starts_with(said)) {  // the grammar's mask left only a whole tag or the answer's own text
    phase_ = Phase::answer;
    answer(std::exchange(seen_, {}), std::nullopt);
  }
}

void AnswerConstraint::think(std::string_view bytes, TokenId id) {
  ++thought_;
  seen_ += bytes;
  if (const size_t end = seen_.find(think_close); end != std::string::npos) {
    const std::string rest = seen_.substr(end + think_close.size());
    phase_ = Phase::answer;
    seen_.clear();
    if (!rest.empty()) answer(rest, std::nullopt);
    return;
  }
  if (seen_.size() > think_close.size()) seen_.erase(0, seen_.size() - think_close.size());
  if (!queue_.empty()) return;
  if (plan_.budget && thought_ >= *plan_.budget) cut_by_budget_ = true;
  else if (loops_.push(id)) cut_by_loop_ = true;
  else return;
  close_thinking();
}

void AnswerConstraint::close_thinking() {
  for (const TokenId id : plan_.tokenizer->encode("\n</think>\n\n")) queue_.push_back(id);
}

void AnswerConstraint::answer(std::string_view bytes, std::optional<TokenId> id) {
  if (!matcher_) return;
  bound_ ? feed(bytes, id) : watch_for_trigger(bytes);
}

void AnswerConstraint::watch_for_trigger(std::string_view bytes) {
  seen_ += bytes;
  const size_t at = seen_.find(plan_.trigger);
  if (at != std::string::npos) {
    bound_ = true;
    feed(seen_.substr(at), std::nullopt);
  } else if (seen_.size() >= plan_.trigger.size()) {
    seen_.erase(0, seen_.size() - plan_.trigger.size() + 1);
  }
}

// What the mask allowed is accepted. Forced tokens, and text that came with the trigger's or the think tag's token, may not fit: an answer
// that was to be bound from its first byte then fails; a tool call is left to the parser, which sees what it is.
void AnswerConstraint::feed(std::string_view bytes, std::optional<TokenId> id) {
  const bool is_stop = id && std::ranges::find(plan_.stop_ids, *id) != plan_.stop_ids.end();
  if (is_stop || (id && matcher_->accept(*id)) || matcher_->accept_bytes(bytes)) return;
  failed_ = plan_.trigger.empty();
  matcher_.reset();
  bound_ = false;
}

void AnswerConstraint::jump(std::vector<TokenId>& out) {
  out.clear();
  if (phase_ != Phase::answer || !bound_ || !queue_.empty()) return;
  const std::string forced = matcher_->forced();
  if (forced.size() < 2) return;
  const auto ids = plan_.tokenizer->encode(forced);
  size_t at = 0;
  // The last token is left to the model: it may be cut differently together with what follows.
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    const std::string_view bytes = plan_.tokenizer->bytes(ids[i], true);
    if (bytes.empty() || !std::string_view(forced).substr(at).starts_with(bytes)) break;
    out.push_back(ids[i]);
    at += bytes.size();
  }
}

bool AnswerConstraint::ended() const { return failed_ || (phase_ == Phase::answer && bound_ && queue_.empty() && matcher_->must_end()); }
