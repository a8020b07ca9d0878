// tagged: calls between <tool_call> and </tool_call>, whichever of the two forms they take; models drift between them.
#pragma once
#include "text/tools/json_call.h"
#include "text/tools/tagged_value.h"

// After <tool_call>: JSON objects, or <function=NAME> with <parameter=KEY> tags or one JSON object in it.
// After <function=: the same without the outer tag.
class TaggedCalls final : public CallReader {
 public:
  explicit TaggedCalls(bool outer_tag) : state_(outer_tag ? State::opening : State::name) {}
  Step feed(char c, CallWriter& writer) override;
  Step finish(CallWriter& writer) override;
  std::string_view unread() const override { return json_ ? json_->unread() : std::string_view(tag_); }

 private:
  enum class State : uint8_t { opening, json, name, body, key, value, arguments, closing };
  Step feed_opening(char c, CallWriter& writer);
  Step feed_name(char c, CallWriter& writer);
  Step feed_body(char c, CallWriter& writer);
  Step feed_value(char c, CallWriter& writer);
  Step feed_closing(char c);
  Step end_function(CallWriter& writer);
  void open_parameter(CallWriter& writer);
  bool start_value(CallWriter& writer);

  State state_;
  std::unique_ptr<JsonCalls> json_;
  const ToolTypes* tool_ = nullptr;
  TaggedValue value_;
  JsonArguments arguments_;
  std::string name_, key_, tag_;
  int parameters_ = 0;  // of the present call
};

// The marks that both Qwen's and Hermes' models open calls with.
std::vector<CallMark> tagged_marks();
