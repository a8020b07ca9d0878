// reasoning: splits a stream of answer text into what was thought and what is said (spec: everything before the first </think> is reasoning).
#pragma once
#include <string>
#include <string_view>

inline constexpr std::string_view think_open = "<think>", think_close = "</think>";

class ReasoningSplit {
 public:
  // `inside`: the prompt ended within an open <think>. Otherwise the answer may open with one itself, after white space at most.
  explicit ReasoningSplit(bool inside) : state_(inside ? State::reasoning : State::undecided) {}
  // Appends what is certain. Holds back what may be the beginning of a tag, and newlines around the tags, which belong to neither side.
  void push(std::string_view text, std::string& reasoning, std::string& content);
  void flush(std::string& reasoning, std::string& content);  // no more text will come
  bool inside() const { return state_ == State::opened || state_ == State::reasoning; }

 private:
  enum class State : uint8_t { undecided, opened, reasoning, closed, content };
  bool advance(std::string& reasoning, std::string& content);  // true: something was consumed and more may follow

  State state_;
  std::string held_;
};

// Whether a rendered prompt leaves the model inside a think block: its last <think> is followed by nothing but white space.
bool ends_inside_think(std::string_view prompt);
