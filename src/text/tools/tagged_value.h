// tagged value: the value of <parameter=KEY>…</parameter>, streamed where it is a string, cast when whole where it is not.
#pragma once
#include "text/tools/stream_parser.h"

// What ended a value: another parameter's opening tag, </function>, or </tool_call>.
enum class ValueEnd : uint8_t { none, parameter, known_parameter, function, call };

// A value ends at </parameter> that is followed by the next tag, so text that merely contains such tags stays whole. Where the closing
// tag was forgotten it ends at a line that opens a parameter the tool has, or that closes function and call.
// One newline after the opening tag and one before the closing tag are layout.
class TaggedValue {
 public:
  void start(const ToolTypes& tool, std::string_view key);
  ValueEnd feed(char c, CallWriter& writer);  // not none: the value is written, and the next tag read
  std::string_view next_key() const { return next_key_; }  // of known_parameter

 private:
  enum class Mode : uint8_t { stream, maybe_null, collect };
  Match classify(ValueEnd& end);
  Match after_close(std::string_view rest, ValueEnd& end) const;
  Match unclosed(std::string_view rest, ValueEnd& end);
  void put(char c, CallWriter& writer);
  void stream(CallWriter& writer);
  void finish(CallWriter& writer);

  const ToolTypes* tool_ = nullptr;
  TypeSet types_ = type_any;
  Mode mode_ = Mode::stream;
  bool first_ = true, line_start_ = false, inside_json_ = false;
  JsonScanner scan_;   // of a collected value, while it may be JSON
  std::string tail_;   // what may be the end
  std::string value_, next_key_;
};
