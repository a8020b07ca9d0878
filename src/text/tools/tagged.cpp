// tagged: the tags around calls and their parameters.
#include "text/tools/tagged.h"

namespace {
constexpr size_t kNameBytes = 256;  // of functions, parameters and white space between tags
constexpr char open_call[] = "<tool_call>", close_call[] = "</tool_call>", open_function[] = "<function=", close_function[] = "</function>",
               open_parameter_tag[] = "<parameter=";
}  // namespace

std::vector<CallMark> tagged_marks() {
  return {{open_call, false, [] { return std::make_unique<TaggedCalls>(true); }}, {open_function, false, [] { return std::make_unique<TaggedCalls>(false); }}};
}

Step TaggedCalls::feed_opening(char c, CallWriter& writer) {
  if (tag_.empty() && is_json_space(c)) return Step::more;
  if (tag_.empty() && (c == '{' || c == '[')) {
    json_ = std::make_unique<JsonCalls>(JsonCalls::Style{.close = close_call});
    state_ = State::json;
    return json_->feed(c, writer);
  }
  const Match found = match(tag_ + c, open_function);
  if (found == Match::none) return Step::bad;
  tag_ += c;
  if (found == Match::whole) {
    tag_.clear();
    state_ = State::name;
  }
  return Step::more;
}

Step TaggedCalls::feed_name(char c, CallWriter& writer) {
  if (c != '>') {
    name_ += c;
    return c == '\n' || name_.size() > kNameBytes ? Step::bad : Step::more;
  }
  tool_ = writer.find(name_);
  if (!tool_) return Step::bad;
  parameters_ = 0;
  state_ = State::body;
  return Step::more;
}

Step TaggedCalls::end_function(CallWriter& writer) {
  if (!writer.open()) {
    writer.begin(name_);
    writer.arguments("{");
  }
  writer.arguments("}");
  writer.end();
  name_.clear();
  state_ = State::closing;
  return Step::more;
}

void TaggedCalls::open_parameter(CallWriter& writer) {
  if (!writer.open()) writer.begin(name_);
  key_.clear();
  state_ = State::key;
}

Step TaggedCalls::feed_body(char c, CallWriter& writer) {
  if (tag_.empty() && is_json_space(c)) return Step::more;
  if (tag_.empty() && c == '{' && parameters_ == 0) {
    writer.begin(name_);
    arguments_ = {};
    state_ = State::arguments;
    return arguments_.feed(c, writer);
  }
  const std::string seen = tag_ + c;
  const Match parameter = match(seen, open_parameter_tag), function = match(seen, close_function), call = match(seen, close_call);
  if (parameter == Match::whole || function == Match::whole || call == Match::whole) {
    tag_.clear();
    if (parameter == Match::whole) return open_parameter(writer), Step::more;
    end_function(writer);
    return call == Match::whole ? Step::done : Step::more;
  }
  if (parameter == Match::none && function == Match::none && call == Match::none) return Step::bad;
  tag_ = seen;
  return Step::more;
}

// The key is whole. A parameter written twice appears twice in the object: what the model wrote, and readers of JSON take the last.
bool TaggedCalls::start_value(CallWriter& writer) {
  if (key_.empty()) return false;
  writer.arguments(parameters_++ == 0 ? "{" : ", ");
  writer.arguments(json_quoted(key_) + ": ");
  value_.start(*tool_, key_);
  state_ = State::value;
  return true;
}

Step TaggedCalls::feed_value(char c, CallWriter& writer) {
  switch (value_.feed(c, writer)) {
    case ValueEnd::none: return Step::more;
    case ValueEnd::parameter: return open_parameter(writer), Step::more;
    case ValueEnd::known_parameter:
      key_ = value_.next_key();
      return start_value(writer) ? Step::more : Step::bad;
    case ValueEnd::function: return end_function(writer);
    default: return end_function(writer), Step::done;
  }
}

// White space, then </tool_call> or another function (after a JSON object </function> comes first); whatever else comes finds the
// call complete.
Step TaggedCalls::feed_closing(char c) {
  const size_t start = tag_.find_first_not_of(" \t\r\n");
  if (start == tag_.npos && is_json_space(c)) return tag_ += c, tag_.size() < kNameBytes ? Step::more : Step::over;
  const std::string seen = (start == tag_.npos ? "" : tag_.substr(start)) + c;
  const Match call = match(seen, close_call), function = match(seen, open_function), end = match(seen, close_function);
  if (call == Match::whole) return Step::done;
  if (call == Match::none && function == Match::none && end == Match::none) return Step::over;
  tag_ += c;
  if (end == Match::whole) tag_.clear();
  if (function == Match::whole) {
    tag_.clear();
    state_ = State::name;
  }
  return Step::more;
}

Step TaggedCalls::feed(char c, CallWriter& writer) {
  switch (state_) {
    case State::opening: return feed_opening(c, writer);
    case State::json: return json_->feed(c, writer);
    case State::name: return feed_name(c, writer);
    case State::body: return feed_body(c, writer);
    case State::key:
      if (c == '>') return start_value(writer) ? Step::more : Step::bad;
      key_ += c;
      return c == '\n' || key_.size() > kNameBytes ? Step::bad : Step::more;
    case State::value: return feed_value(c, writer);
    case State::arguments: {
      const Step step = arguments_.feed(c, writer);
      if (step != Step::done) return step;
      name_.clear();
      state_ = State::closing;
      return Step::more;
    }
    default: return feed_closing(c);
  }
}

Step TaggedCalls::finish(CallWriter& writer) {
  if (json_) return json_->finish(writer);
  return state_ == State::closing ? Step::over : Step::bad;
}
