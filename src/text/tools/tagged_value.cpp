// tagged value: where values end, and how they are written.
#include "text/tools/tagged_value.h"
#include <algorithm>

namespace {
constexpr std::string_view close_parameter = "</parameter>", open_parameter = "<parameter=", close_function = "</function>", close_call = "</tool_call>";
constexpr size_t kGapBytes = 64;  // most white space between two tags

// Takes white space off the front of `rest`; false: more than tags have between them.
bool skip_gap(std::string_view& rest) {
  const size_t start = std::min(rest.find_first_not_of(" \t\r\n"), rest.size());
  rest.remove_prefix(start);
  return start <= kGapBytes;
}
}  // namespace

void TaggedValue::start(const ToolTypes& tool, std::string_view key) {
  tool_ = &tool;
  types_ = tool.of(key);
  mode_ = types_ == type_string ? Mode::stream : types_ == (type_string | type_null) ? Mode::maybe_null : Mode::collect;
  first_ = true;
  line_start_ = inside_json_ = false;
  scan_ = {};
  tail_.clear(), value_.clear();
}

Match TaggedValue::after_close(std::string_view rest, ValueEnd& end) const {
  if (!skip_gap(rest)) return Match::none;
  if (rest.empty()) return Match::partial;
  Match best = Match::none;
  for (const auto& [tag, kind] : {std::pair{open_parameter, ValueEnd::parameter}, {close_function, ValueEnd::function}, {close_call, ValueEnd::call}}) {
    const Match found = match(rest, tag);
    if (found == Match::whole) end = kind;
    best = std::max(best, found);
  }
  return best;
}

// `rest` begins a line.
Match TaggedValue::unclosed(std::string_view rest, ValueEnd& end) {
  if (rest.starts_with(close_function)) {
    rest.remove_prefix(close_function.size());
    if (!skip_gap(rest)) return Match::none;
    const Match found = rest.empty() ? Match::partial : match(rest, close_call);
    if (found == Match::whole) end = ValueEnd::call;
    return found;
  }
  if (!rest.starts_with(open_parameter)) return std::max(match(rest, close_function), match(rest, open_parameter));
  rest.remove_prefix(open_parameter.size());
  const bool closed = rest.ends_with('>');
  if (closed) rest.remove_suffix(1);
  const auto it = tool_->parameters.lower_bound(rest);
  if (it == tool_->parameters.end() || !it->first.starts_with(rest)) return Match::none;
  if (!closed) return Match::partial;
  if (it->first != rest) return Match::none;
  end = ValueEnd::known_parameter;
  next_key_ = rest;
  return Match::whole;
}

Match TaggedValue::classify(ValueEnd& end) {
  std::string_view rest = tail_;
  const bool newline = rest.starts_with('\n');
  if (newline) rest.remove_prefix(1);
  if (rest.empty()) return Match::partial;
  if (rest.starts_with(close_parameter)) {
    if (inside_json_ && !newline) return Match::none;  // a string within a JSON value
    return after_close(rest.substr(close_parameter.size()), end);
  }
  const Match close = match(rest, close_parameter);
  return newline || line_start_ ? std::max(close, unclosed(rest, end)) : close;
}

void TaggedValue::stream(CallWriter& writer) {
  mode_ = Mode::stream;
  writer.arguments("\"");
  std::string escaped;
  append_escaped(value_, escaped);
  writer.arguments(escaped);
  value_.clear();
}

void TaggedValue::put(char c, CallWriter& writer) {
  line_start_ = c == '\n';
  if (mode_ == Mode::stream) {
    std::string escaped;
    append_escaped({&c, 1}, escaped);
    return writer.arguments(escaped);
  }
  value_ += c;
  if (mode_ == Mode::collect) inside_json_ = scan_.feed(c) && scan_.in_string();
  const bool may_be_null = value_.size() <= 4 && std::ranges::equal(value_, std::string_view("null").substr(0, value_.size()), {}, [](char b) { return b | 0x20; });
  if ((mode_ == Mode::maybe_null && !may_be_null) || value_.size() > CallWriter::kHeldBytes) stream(writer);
}

void TaggedValue::finish(CallWriter& writer) {
  if (mode_ == Mode::stream) return writer.arguments("\"");
  writer.arguments(cast_value(value_, types_));
}

ValueEnd TaggedValue::feed(char c, CallWriter& writer) {
  if (first_) {
    first_ = false;
    if (mode_ == Mode::stream) writer.arguments("\"");
    if (c == '\n') return line_start_ = true, ValueEnd::none;
  }
  if (tail_.empty() && c != '\n' && c != '<') return put(c, writer), ValueEnd::none;
  tail_ += c;
  while (!tail_.empty()) {
    ValueEnd end = ValueEnd::none;
    const Match found = classify(end);
    if (found == Match::whole) return finish(writer), end;
    if (found == Match::partial) return ValueEnd::none;
    put(tail_.front(), writer);
    tail_.erase(0, 1);
  }
  return ValueEnd::none;
}
