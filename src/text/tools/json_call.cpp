// json call: keys and values told apart by one scanner over the whole object.
#include "text/tools/json_call.h"

namespace {
// The text that the inside of a JSON string stands for.
std::string unescaped(const std::string& inside) {
  if (inside.find('\\') == inside.npos) return inside;
  const auto document = JsonDocument::parse("a string", '"' + inside + '"');
  std::string_view text;
  return document && document->root().get(text) == simdjson::SUCCESS ? std::string(text) : inside;
}

bool is_json_object(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  return start != text.npos && text[start] == '{' && is_json(text);
}

constexpr size_t kKeyBytes = 256;  // of keys and names
}  // namespace

bool JsonCall::is_known_key() const {
  return key_ == "name" || key_ == "arguments" || key_ == "parameters" || key_ == "function" || key_ == "type" || key_ == "id";
}

void JsonCall::announce(CallWriter& writer) {
  writer.begin(name_);
  writer.arguments(early_);
  early_.clear();
}

bool JsonCall::finish_name(CallWriter& writer) {
  name_ = unescaped(text_);
  if (has_name_ || !writer.find(name_)) return false;
  has_name_ = true;
  if (has_arguments_) announce(writer);
  return true;
}

bool JsonCall::finish_text(CallWriter& writer) {
  const std::string inside = unescaped(text_);
  early_ = inside.empty() ? "{}" : inside;
  if (!is_json_object(early_)) return false;
  has_arguments_ = arguments_whole_ = true;
  if (has_name_) announce(writer);
  return true;
}

// The first byte of a value at the level of the call.
Step JsonCall::start_value(char c, CallWriter& writer) {
  part_ = Part::skipped;
  text_.clear();
  if (key_ == "function" && c == '{' && level_ == 1) {
    level_ = 2;
    part_ = Part::none;
  } else if (key_ == "name" || key_ == "function") {
    if (c != '"') return Step::bad;
    part_ = Part::name;
  } else if (key_ == "arguments" || key_ == "parameters") {
    if (has_arguments_) return Step::bad;
    if (c == 'n') return Step::more;  // null, or no JSON at all
    if (c != '{' && c != '"') return Step::bad;
    part_ = c == '{' ? Part::arguments : Part::arguments_text;
    has_arguments_ = c == '{';
    if (has_arguments_ && has_name_) announce(writer);
    if (has_arguments_) has_name_ ? writer.arguments("{") : void(early_ += c);
  }
  return Step::more;
}

Step JsonCall::feed(char c, CallWriter& writer) {
  const bool starts = scan_.wants_value() && !is_json_space(c) && scan_.depth() == level_, in_key = scan_.in_key();
  if (!scan_.feed(c)) return finish(writer) == Step::over ? Step::over : Step::bad;
  if (starts) return start_value(c, writer);
  switch (part_) {
    case Part::name:
    case Part::arguments_text:
      if (scan_.in_string()) {
        text_ += c;
        return part_ == Part::name && text_.size() > kKeyBytes ? Step::bad : Step::more;
      }
      if (!(part_ == Part::name ? finish_name(writer) : finish_text(writer))) return Step::bad;
      part_ = Part::none;
      return Step::more;
    case Part::arguments:
      has_name_ ? writer.arguments({&c, 1}) : void(early_ += c);
      if (scan_.depth() > level_) return Step::more;
      part_ = Part::none;
      arguments_whole_ = true;
      return Step::more;
    default: break;
  }
  if (scan_.done()) return finish_call(writer);
  if (scan_.depth() != level_) return Step::more;
  if (!in_key && scan_.in_key()) key_.clear();
  else if (in_key && scan_.in_key()) key_ += c;
  else if (in_key && strict_ && !is_known_key()) return Step::bad;
  return key_.size() <= kKeyBytes ? Step::more : Step::bad;
}

Step JsonCall::finish_call(CallWriter& writer) {
  if (!has_name_ || (!has_arguments_ && strict_)) return Step::bad;
  if (!has_arguments_) {
    announce(writer);
    writer.arguments("{}");
  }
  writer.end();
  return Step::done;
}

// Models forget the last brace.
Step JsonCall::finish(CallWriter& writer) {
  if (!writer.open() || !arguments_whole_) return Step::bad;
  writer.end();
  return Step::over;
}

Step JsonArguments::feed(char c, CallWriter& writer) {
  if (!started_ && is_json_space(c)) return Step::more;
  if (!started_ && c != '{') return Step::bad;
  started_ = true;
  if (!scan_.feed(c)) return Step::bad;
  writer.arguments({&c, 1});
  if (!scan_.done()) return Step::more;
  writer.end();
  return Step::done;
}

Step JsonCalls::start(char c, CallWriter& writer) {
  call_ = std::make_unique<JsonCall>(style_.bare);
  state_ = State::call;
  unread_.clear();
  named_ = false;
  return call_->feed(c, writer);  // a brace
}

std::unique_ptr<JsonCalls> JsonCalls::after(char opener, Style style) {
  auto calls = std::make_unique<JsonCalls>(std::move(style));
  CallWriter nobody({});  // an opener announces nothing
  calls->feed(opener, nobody);
  return calls;
}

Step JsonCalls::feed(char c, CallWriter& writer) {
  switch (state_) {
    case State::open:
      if (c == '{') return start(c, writer);
      if (c == '[' && !in_array_) in_array_ = true;
      else if (!is_json_space(c)) return Step::bad;
      return Step::more;
    case State::call: {
      const Step step = call_->feed(c, writer);
      named_ = call_->names_tool();
      if (step == Step::more || step == Step::bad) return step;
      ++calls_;
      writer.drop_held();
      state_ = in_array_ ? State::between : State::after;
      if (step == Step::done) return Step::more;
      writer.hold({&c, 1});
      return feed(c, writer);
    }
    case State::between: return feed_between(c, writer);
    default: return feed_after(c, writer);
  }
}

Step JsonCalls::feed_between(char c, CallWriter& writer) {
  if (c == '{' && unread_.find(',') != unread_.npos) return start(c, writer);
  if (c == ']') {
    unread_.clear();
    in_array_ = false;
    state_ = State::after;
    return style_.close.empty() && !style_.separator ? Step::done : Step::more;
  }
  if (!is_json_space(c) && (c != ',' || unread_.find(',') != unread_.npos)) return Step::over;
  unread_ += c;
  return unread_.size() < kKeyBytes ? Step::more : Step::over;
}

Step JsonCalls::feed_after(char c, CallWriter& writer) {
  const size_t tag = unread_.find_first_not_of(" \t\r\n");
  if (tag == unread_.npos) {
    if (c == '{') return start(c, writer);
    if (is_json_space(c)) return unread_ += c, unread_.size() < kKeyBytes ? Step::more : Step::over;
    if (c == style_.separator) return unread_ += c, Step::more;
  } else if (unread_[tag] == style_.separator) {
    if (c == '{') return start(c, writer);
    if (!is_json_space(c) || unread_.size() >= kKeyBytes) return Step::over;
    unread_ += c;
    return Step::more;
  }
  const Match found = style_.close.empty() ? Match::none : match((tag == unread_.npos ? "" : unread_.substr(tag)) + c, style_.close);
  if (found == Match::whole) return Step::done;
  if (found == Match::none) return Step::over;
  unread_ += c;
  return Step::more;
}

Step JsonCalls::finish(CallWriter& writer) {
  if (state_ == State::call) return call_->finish(writer);
  return calls_ > 0 ? Step::over : Step::bad;
}
