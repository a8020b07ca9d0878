// loose: the automaton, writing JSON that it checks itself.
#include "text/tools/loose.h"

namespace {
constexpr size_t kWordBytes = 4096;  // of a word without quotes

bool is_word_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view literal_of(std::string_view word) {
  if (word == "true" || word == "True") return "true";
  if (word == "false" || word == "False") return "false";
  if (word == "null" || word == "None") return "null";
  const bool number = !word.empty() && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
  return number && is_json(word) ? word : std::string_view();
}
}  // namespace

bool LooseObject::write(std::string_view json) {
  for (const char c : json)
    if (!check_.feed(c)) return false;
  out_->append(json);
  return true;
}

bool LooseObject::close(char c) {
  if (c != closer()) return false;
  const char json = stack_.back() == '{' ? '}' : ']';
  stack_.pop_back();
  state_ = stack_.empty() ? State::done : State::after;
  return write({&json, 1});
}

bool LooseObject::start_string(char c) {
  if (!style_.quote.empty() && c == style_.quote.front()) {
    tail_.clear();
    state_ = State::marker;
    return feed_marker(c);
  }
  if (c != '"' && c != '\'') return false;
  quote_ = c;
  state_ = State::string;
  return write("\"");
}

bool LooseObject::feed_marker(char c) {
  tail_ += c;
  if (!style_.quote.starts_with(tail_)) return false;
  if (tail_ != style_.quote) return true;
  tail_.clear();
  state_ = State::marked;
  return write("\"");
}

bool LooseObject::end_string() {
  state_ = is_key_ ? State::colon : State::after;
  return write("\"");
}

// Strings between two markers: nothing is escaped.
bool LooseObject::feed_marked(char c) {
  tail_ += c;
  if (tail_ == style_.quote) return tail_.clear(), end_string();
  size_t certain = 0;
  while (certain < tail_.size() && !style_.quote.starts_with(std::string_view(tail_).substr(certain))) ++certain;
  std::string escaped;
  append_escaped(std::string_view(tail_).substr(0, certain), escaped);
  tail_.erase(0, certain);
  return write(escaped);
}

bool LooseObject::start_key(char c) {
  is_key_ = true;
  if (start_string(c)) return true;
  if (!is_word_byte(c)) return false;
  word_ = c;
  state_ = State::bare_key;
  return true;
}

bool LooseObject::start_value(char c) {
  is_key_ = false;
  if (c == '{' || c == '[') {
    stack_ += c;
    state_ = c == '{' ? State::first_key : State::first_item;
    return write({&c, 1});
  }
  if (start_string(c)) return true;
  if (c == ',' || c == ':' || c == closer() || (!style_.bare_strings && !is_word_byte(c))) return false;
  word_ = c;
  state_ = State::bare;
  return true;
}

bool LooseObject::feed_bare(char c) {
  if (state_ == State::bare_key) {
    if (is_word_byte(c)) return word_ += c, word_.size() <= kWordBytes;
    state_ = State::colon;
    return write(json_quoted(word_)) && feed_open(c);
  }
  const bool ends = c == ',' || c == closer() || (!style_.bare_strings && is_json_space(c));
  if (!ends) return word_ += c, word_.size() <= kWordBytes;
  while (!word_.empty() && is_json_space(word_.back())) word_.pop_back();
  const std::string_view literal = literal_of(word_);
  if (literal.empty() && !style_.bare_strings) return false;
  state_ = State::after;
  return write(literal.empty() ? json_quoted(word_) : std::string(literal)) && feed_open(c);
}

bool LooseObject::feed_after(char c) {
  if (c != ',') return close(c);
  state_ = stack_.back() == '{' ? State::key : State::value;
  tail_ = ",";  // written with what follows: Python allows a comma before the end
  return true;
}

bool LooseObject::feed_open(char c) {
  if (is_json_space(c)) return true;
  switch (state_) {
    case State::first_key: return c == closer() ? close(c) : start_key(c);
    case State::first_item: return c == closer() ? close(c) : start_value(c);
    case State::key:
    case State::value: {
      const bool comma = tail_ == ",";
      if (comma) tail_.clear();
      if (comma && c == closer()) return close(c);
      if (comma && !write(",")) return false;
      return state_ == State::key ? start_key(c) : start_value(c);
    }
    case State::colon:
      state_ = State::value;
      return c == colon() && write(":");
    default: return feed_after(c);
  }
}

bool LooseObject::feed(char c, std::string& out) {
  out_ = &out;
  if (state_ == State::start) {
    stack_ = "{";
    state_ = State::first_key;
    if (!write("{")) return false;
  }
  switch (state_) {
    case State::done: return false;
    case State::marker: return feed_marker(c);
    case State::marked: return feed_marked(c);
    case State::bare:
    case State::bare_key: return feed_bare(c);
    case State::escape: {
      state_ = State::string;
      if (c == '\n') return true;  // Python: the line goes on
      std::string escaped = c == '\'' ? "" : std::string_view("\"\\/bfnrtu").find(c) != std::string_view::npos ? "\\" : "\\\\";
      if (escaped == "\\") escaped += c;
      else append_escaped({&c, 1}, escaped);
      return write(escaped);
    }
    case State::string: {
      if (c == quote_) return end_string();
      if (c == '\\') return state_ = State::escape, true;
      std::string escaped;
      append_escaped({&c, 1}, escaped);
      return write(escaped);
    }
    default: return feed_open(c);
  }
}

std::string json_of_python(std::string_view literal) {
  // Read as the only value of an object, which is taken off again.
  if (literal.size() > (size_t{4} << 20)) return "";
  LooseObject object({});
  std::string out;
  for (const char c : "\"v\":" + std::string(literal) + "}")
    if (!object.feed(c, out)) return "";
  constexpr size_t front = sizeof("{\"v\":") - 1;
  return object.done() && out.size() > front ? out.substr(front, out.size() - front - 1) : "";
}
