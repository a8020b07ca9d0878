// reasoning: the states of a ReasoningSplit.
#include "engine/reasoning.h"
#include <algorithm>

namespace {
constexpr std::string_view newlines = "\r\n", blank = " \t\r\n";

// How many bytes at the end of `text` could be the beginning of `tag`.
size_t tag_beginning(std::string_view text, std::string_view tag) {
  for (size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n)
    if (tag.starts_with(text.substr(text.size() - n))) return n;
  return 0;
}
size_t without_newlines(std::string_view text) {
  const size_t last = text.find_last_not_of(newlines);
  return last == std::string_view::npos ? 0 : last + 1;
}
}  // namespace

void ReasoningSplit::push(std::string_view text, std::string& reasoning, std::string& content) {
  if (state_ == State::content) {
    content += text;
    return;
  }
  held_ += text;
  while (advance(reasoning, content)) {
  }
}

bool ReasoningSplit::advance(std::string& reasoning, std::string& content) {
  switch (state_) {
    case State::undecided: {
      const size_t start = held_.find_first_not_of(blank);
      if (start == std::string::npos) return false;
      const std::string_view rest = std::string_view(held_).substr(start);
      if (rest.starts_with(think_open)) {
        held_.erase(0, start + think_open.size());
        state_ = State::opened;
        return true;
      }
      if (think_open.starts_with(rest)) return false;
      state_ = State::content;
      content += held_;
      held_.clear();
      return false;
    }
    case State::opened:
    case State::closed: {  // newlines right behind a tag
      const size_t start = held_.find_first_not_of(newlines);
      held_.erase(0, start == std::string::npos ? held_.size() : start);
      if (held_.empty()) return false;
      state_ = state_ == State::opened ? State::reasoning : State::content;
      return true;
    }
    case State::reasoning: {
      const size_t end = held_.find(think_close);
      if (end != std::string::npos) {
        reasoning += std::string_view(held_).substr(0, without_newlines(std::string_view(held_).substr(0, end)));
        held_.erase(0, end + think_close.size());
        state_ = State::closed;
        return true;
      }
      const size_t sure = without_newlines(std::string_view(held_).substr(0, held_.size() - tag_beginning(held_, think_close)));
      reasoning += std::string_view(held_).substr(0, sure);
      held_.erase(0, sure);
      return false;
    }
    case State::content:
      content += held_;
      held_.clear();
      return false;
  }
  return false;
}

void ReasoningSplit::flush(std::string& reasoning, std::string& content) {
  (state_ == State::reasoning ? reasoning : content) += held_;
  held_.clear();
}

bool ends_inside_think(std::string_view prompt) {
  const size_t at = prompt.rfind(think_open);
  return at != std::string_view::npos && prompt.find_first_not_of(blank, at + think_open.size()) == std::string_view::npos;
}
