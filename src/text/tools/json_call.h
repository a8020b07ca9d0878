// json call: one call written as a JSON object, and lists of them.
#pragma once
#include "text/tools/stream_parser.h"

// {"name": "f", "arguments": {…}} in any order, with other keys between. "parameters" is read like "arguments", "function" as the name
// or as an object around both; arguments may be missing, null, or a string that holds the JSON text.
class JsonCall {
 public:
  explicit JsonCall(bool strict) : strict_(strict) {}  // strict: no other keys, and arguments must be there
  Step feed(char c, CallWriter& writer);
  Step finish(CallWriter& writer);
  bool names_tool() const { return has_name_; }  // an offered one

 private:
  enum class Part : uint8_t { none, skipped, name, arguments, arguments_text };
  Step start_value(char c, CallWriter& writer);
  bool finish_name(CallWriter& writer);
  bool finish_text(CallWriter& writer);
  void announce(CallWriter& writer);
  Step finish_call(CallWriter& writer);
  bool is_known_key() const;

  const bool strict_;
  JsonScanner scan_;
  Part part_ = Part::none;
  int level_ = 1;  // depth of the object that holds name and arguments
  std::string key_, name_, text_;
  std::string early_;  // arguments that came before the name
  bool has_name_ = false, has_arguments_ = false, arguments_whole_ = false;
};

// The arguments' object alone, passed on as it comes; the call was announced by whoever read its name.
class JsonArguments {
 public:
  Step feed(char c, CallWriter& writer);  // done: the object's last byte; the call is ended
 private:
  JsonScanner scan_;
  bool started_ = false;
};

// One or more calls: an object or an array of them, then `close` where it comes (models forget it), then the next object.
class JsonCalls final : public CallReader {
 public:
  struct Style {
    std::string close{};       // "</tool_call>"; "": none
    char separator = 0;        // between objects outside of an array
    bool bare = false;         // no mark announced it: a JSON text that is no call is an answer
  };
  explicit JsonCalls(Style style) : style_(std::move(style)) {}
  static std::unique_ptr<JsonCalls> after(char opener, Style style);  // whose mark was the first object's brace, or the array's bracket
  Step feed(char c, CallWriter& writer) override;
  Step finish(CallWriter& writer) override;
  std::string_view unread() const override { return unread_; }
  bool is_plain_text() const override { return style_.bare && !named_; }

 private:
  enum class State : uint8_t { open, call, between, after };
  Step start(char c, CallWriter& writer);
  Step feed_between(char c, CallWriter& writer);
  Step feed_after(char c, CallWriter& writer);

  const Style style_;
  State state_ = State::open;
  std::unique_ptr<JsonCall> call_;
  std::string unread_;
  int calls_ = 0;
  bool in_array_ = false, named_ = false;  // named_: the present call names an offered tool
};
