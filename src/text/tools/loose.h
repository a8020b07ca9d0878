// loose: objects written almost like JSON (Gemma's notation, Python's literals and keyword arguments) turned into JSON as they stream.
#pragma once
#include <string>
#include <string_view>
#include "text/tools/json_scanner.h"

// How the outermost object is written and what else is allowed in it.
struct LooseStyle {
  char close = '}', colon = ':';  // of the outermost object, whose opening has been read; inner ones are always {key: value}
  std::string_view quote{};       // a marker around strings that are taken literally; "": none
  bool bare_strings = false;      // words without quotes are strings; else only true, None, 12 and their like
};

class LooseObject {
 public:
  explicit LooseObject(LooseStyle style) : style_(style) {}
  // Appends the JSON text that became certain. False: no such object begins like this.
  bool feed(char c, std::string& out);
  bool done() const { return state_ == State::done; }

 private:
  enum class State : uint8_t { start, first_key, key, bare_key, colon, first_item, value, bare, string, escape, marker, marked, after, done };
  bool feed_open(char c);
  bool start_value(char c);
  bool start_key(char c);
  bool start_string(char c);
  bool end_string();
  bool feed_marker(char c);
  bool feed_marked(char c);
  bool feed_bare(char c);
  bool feed_after(char c);
  bool write(std::string_view json);
  bool close(char c);
  char closer() const { return stack_.size() == 1 ? style_.close : stack_.back() == '{' ? '}' : ']'; }
  char colon() const { return stack_.size() == 1 ? style_.colon : ':'; }

  const LooseStyle style_;
  State state_ = State::start;
  JsonScanner check_;  // what is written is JSON whatever was read
  std::string* out_ = nullptr;
  std::string stack_, word_, tail_;
  char quote_ = '"';
  bool is_key_ = false;
};

std::string json_of_python(std::string_view literal);  // of a dict or list, or ""
