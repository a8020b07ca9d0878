// answer_stream: detokenise, split, parse, match stop strings, emit.
#include "engine/answer_stream.h"
#include <algorithm>
#include <random>
#include "engine/logprobs.h"

namespace {
std::string call_id() {
  constexpr char digits[] = "0123456789abcdef";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id = "call_";
  for (int i = 0; i < 24; ++i) id += digits[random() % 16];
  return id;
}

// A model whose calls are marked by control tokens writes them where text is expected.
bool keeps_special(const Tokenizer& tokenizer, const ToolUse& tools) {
  const auto special = [&](std::string_view text) {
    const auto id = tokenizer.find(text);
    return id && tokenizer.is_special(*id);
  };
  return tools.syntax && std::ranges::any_of(tools.syntax->control_texts(), special);
}
}  // namespace

AnswerStream::AnswerStream(std::shared_ptr<const Tokenizer> tokenizer, const ChatRequest& request, const RenderedPrompt& prompt, const std::vector<TokenId>& stop_ids, const ToolUse& tools, const Sink& out)
    : tokenizer_(std::move(tokenizer)),
      detokenizer_(tokenizer_, !keeps_special(*tokenizer_, tools)),
      split_(prompt.inside_think),
      stops_(request.stop),
      parser_(tools.syntax ? tools.syntax->parser(tools.specs) : nullptr),
      stop_texts_(request.stop),
      stop_ids_(stop_ids),
      out_(out),
      splits_(prompt.may_think),
      top_logprobs_(request.top_logprobs),
      forced_calls_(tools.forced) {}

bool AnswerStream::push(const TokenEvent& event) {
  if (std::ranges::find(stop_ids_, event.id) != stop_ids_.end()) return true;  // it ends the answer and is no part of it
  ids_.push_back(event.id);
  n_tokens_ = event.index + 1;
  if (top_logprobs_ >= 0) logprobs_.push_back(token_logprob(*tokenizer_, event.id, event.logits, top_logprobs_));
  piece_.clear();
  detokenizer_.push(event.id, piece_);
  if (splits_ && split_.inside()) ++reasoning_tokens_;
  return take(piece_) && !stopped_;
}

void AnswerStream::end() {
  if (gone_ || stopped_) return;
  piece_.clear();
  detokenizer_.flush(piece_);
  if (!take(piece_) || stopped_) return;
  reasoning_.clear();
  content_.clear();
  split_.flush(reasoning_, content_);
  if (!reasoning_.empty() && !emit({.kind = Delta::Kind::reasoning, .text = reasoning_})) return;
  if (!take_content(content_) || stopped_) return;
  if (parser_) {
    events_.clear();
    parser_->flush(events_);
    for (const ToolEvent& event : events_)
      if (!take_event(event) || stopped_) return;
  }
  said_.clear();
  stops_.flush(said_);
  if (!said_.empty() && !emit({.kind = Delta::Kind::text, .text = said_})) return;
  if (!logprobs_.empty()) emit({.kind = Delta::Kind::text, .text = ""});
}

bool AnswerStream::take(std::string_view text) {
  reasoning_.clear();
  content_.clear();
  splits_ ? split_.push(text, reasoning_, content_) : void(content_ += text);
  if (!reasoning_.empty() && !emit({.kind = Delta::Kind::reasoning, .text = reasoning_})) return false;
  return take_content(content_);
}

bool AnswerStream::take_content(std::string_view content) {
  if (!parser_) return say(content);
  events_.clear();
  parser_->push(content, events_);
  for (const ToolEvent& event : events_)
    if (!take_event(event) || stopped_) return !gone_;
  return true;
}

bool AnswerStream::take_event(const ToolEvent& event) {
  switch (event.kind) {
    case ToolEvent::Kind::text: return say(event.text);
    case ToolEvent::Kind::begin: return emit({.kind = Delta::Kind::tool_call, .text = "", .tool_index = event.index, .tool_id = call_id(), .tool_name = event.name});
    case ToolEvent::Kind::arguments: return emit({.kind = Delta::Kind::tool_call, .text = event.text, .tool_index = event.index});
    case ToolEvent::Kind::end: return ++n_calls_, true;
    case ToolEvent::Kind::cut: return note_cut();
    case ToolEvent::Kind::malformed:
      if (forced_calls_) return note_cut();  // there is no prose: this is the beginning of one more call
      warnings_.push_back("a malformed tool call is given as text");
      return say(event.text);
  }
  return true;
}

bool AnswerStream::note_cut() {
  cut_ = true;
  warnings_.push_back("a tool call was cut: it is not complete");
  return true;
}

// Stop strings are about prose: one that occurs in a thought or in a call's arguments does not end the answer.
bool AnswerStream::say(std::string_view prose) {
  if (stopped_) return true;
  said_.clear();
  if (!stop_texts_.empty()) tail_ += prose;
  stopped_ = stops_.push(prose, said_);
  return said_.empty() || emit({.kind = Delta::Kind::text, .text = said_});
}

bool AnswerStream::emit(Delta delta) {
  delta.logprobs = std::exchange(logprobs_, {});
  delta.answer_tokens = n_tokens_;
  gone_ = !out_(delta);
  return !gone_;
}

void AnswerStream::settle(Finish& finish) const {
  if (stopped_) {
    finish.reason = Finish::Reason::stop;
    size_t first = std::string::npos;
    for (const std::string& stop : stop_texts_)
      if (const size_t at = tail_.find(stop); at < first) first = at, finish.stop_text = stop;
  } else if (n_calls_ > 0 && !cut_ && finish.reason == Finish::Reason::stop) {
    finish.reason = Finish::Reason::tool_call;
  }
  if (gone_) finish.reason = Finish::Reason::cancelled;
  finish.reasoning_tokens = reasoning_tokens_;
  finish.warnings.insert(finish.warnings.end(), warnings_.begin(), warnings_.end());
}

std::string AnswerStream::raw_text() const {
  std::string text;
  for (const TokenId id : ids_) text += tokenizer_->bytes(id, false);
  return text;
}
