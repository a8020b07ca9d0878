// json scanner: the automaton of JSON.
#include "text/tools/json_scanner.h"

namespace {
constexpr size_t kDepth = 512;  // core/json.h reads 1024 and a template's recursion less
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

bool JsonScanner::start_value(char c) {
  switch (c) {
    case '{':
    case '[':
      if (stack_.size() >= kDepth) return to(State::bad);
      stack_ += c;
      return to(c == '{' ? State::first_key : State::first_item);
    case '"': is_key_ = false; return to(State::string);
    case 't': literal_ = "rue"; return to(State::literal);
    case 'f': literal_ = "alse"; return to(State::literal);
    case 'n': literal_ = "ull"; return to(State::literal);
    case '-': return to(State::minus);
    case '0': return to(State::zero);
    default: return to(is_digit(c) ? State::integer : State::bad);
  }
}

bool JsonScanner::close(char opener) {
  if (stack_.empty() || stack_.back() != opener) return to(State::bad);
  stack_.pop_back();
  return after_value();
}

bool JsonScanner::feed_number(char c) {
  const bool digit = is_digit(c), e = c == 'e' || c == 'E';
  switch (state_) {
    case State::minus: return to(c == '0' ? State::zero : digit ? State::integer : State::bad);
    case State::zero:
    case State::integer:
      if (digit) return to(state_ == State::zero ? State::bad : State::integer);
      if (c == '.') return to(State::point);
      if (e) return to(State::exponent);
      break;
    case State::point: return to(digit ? State::fraction : State::bad);
    case State::fraction:
      if (digit) return true;
      if (e) return to(State::exponent);
      break;
    case State::exponent:
      if (c == '+' || c == '-') return to(State::exponent_sign);
      [[fallthrough]];
    case State::exponent_sign: return to(digit ? State::exponent_digits : State::bad);
    default:
      if (digit) return true;
  }
  after_value();  // a number ends at the byte after it
  return feed(c);
}

bool JsonScanner::feed_hex(char c) {
  const char lower = static_cast<char>(c | 0x20);
  if (!is_digit(c) && (lower < 'a' || lower > 'f')) return to(State::bad);
  hex_ = hex_ << 4 | static_cast<uint32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
  if (++hex_digits_ < 4) return true;
  const bool high = hex_ >= 0xd800 && hex_ < 0xdc00, low = hex_ >= 0xdc00 && hex_ < 0xe000;
  if (low != low_) return to(State::bad);
  low_ = high;
  return to(high ? State::low_escape : State::string);
}

bool JsonScanner::feed_string(char c) {
  switch (state_) {
    case State::escape:
      if (c != 'u') return to(std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos ? State::string : State::bad);
      hex_ = 0, hex_digits_ = 0;
      return to(State::hex);
    case State::hex: return feed_hex(c);
    case State::low_escape: return to(c == '\\' ? State::low_u : State::bad);
    case State::low_u:
      hex_ = 0, hex_digits_ = 0;
      return to(c == 'u' ? State::hex : State::bad);
    default: break;
  }
  if (c == '\\') return to(State::escape);
  if (c == '"') return is_key_ ? to(State::colon) : after_value();
  return static_cast<unsigned char>(c) >= 0x20 || to(State::bad);
}

bool JsonScanner::feed(char c) {
  if (in_string()) return feed_string(c);
  if (state_ >= State::minus) return feed_number(c);
  if (state_ == State::literal) {
    if (c != *literal_) return to(State::bad);
    return *++literal_ || after_value();
  }
  if (is_json_space(c)) return state_ != State::bad;
  switch (state_) {
    case State::value: return start_value(c);
    case State::first_item: return c == ']' ? close('[') : start_value(c);
    case State::first_key:
      if (c == '}') return close('{');
      [[fallthrough]];
    case State::key: is_key_ = true; return to(c == '"' ? State::string : State::bad);
    case State::colon: return to(c == ':' ? State::value : State::bad);
    case State::after:
      if (c == ',') return to(stack_.back() == '{' ? State::key : State::value);
      return c == '}' ? close('{') : c == ']' ? close('[') : to(State::bad);
    default: return to(State::bad);
  }
}

bool is_json(std::string_view text) {
  JsonScanner scanner;
  for (const char c : text)
    if (!scanner.feed(c)) return false;
  return scanner.may_end();
}

void append_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (byte >= 0x20) out += c;
    else ((out += "\\u00") += "01"[byte >> 4]) += "0123456789abcdef"[byte & 15];
  }
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  append_escaped(text, out);
  return out += '"';
}
