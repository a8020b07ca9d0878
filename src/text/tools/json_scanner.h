// json scanner: whether a JSON text that arrives byte by byte is still one, and where in it we are.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// Strict (RFC 8259, no lone surrogates, depth <= 512). Bytes above 0x7f are taken as parts of characters: the caller vouches for UTF-8.
class JsonScanner {
 public:
  bool feed(char c);  // false: no JSON text begins like this; the scanner is then spent
  bool done() const { return state_ == State::done; }          // the closing byte of an object, array, string or literal has come
  bool may_end() const { return done() || (stack_.empty() && number_is_whole()); }
  int depth() const { return static_cast<int>(stack_.size()); }  // open objects and arrays
  bool wants_value() const { return state_ == State::value || state_ == State::first_item; }
  bool in_string() const { return state_ >= State::string; }
  bool in_key() const { return in_string() && is_key_; }
  bool in_object() const { return !stack_.empty() && stack_.back() == '{'; }

 private:
  enum class State : uint8_t {
    value, first_item, first_key, key, colon, after, done, bad, literal,
    minus, zero, integer, point, fraction, exponent, exponent_sign, exponent_digits,
    string, escape, hex, low_escape, low_u  // from here on: inside a string
  };
  bool number_is_whole() const {
    return state_ == State::zero || state_ == State::integer || state_ == State::fraction || state_ == State::exponent_digits;
  }
  bool to(State next) { return state_ = next, next != State::bad; }
  bool start_value(char c);
  bool after_value() { return to(stack_.empty() ? State::done : State::after); }
  bool close(char opener);
  bool feed_number(char c);
  bool feed_string(char c);
  bool feed_hex(char c);

  State state_ = State::value;
  std::string stack_;             // '{' and '['
  const char* literal_ = nullptr;  // what is left of it
  bool is_key_ = false, low_ = false;
  uint32_t hex_ = 0;
  int hex_digits_ = 0;
};

bool is_json(std::string_view text);                         // one JSON text, with white space around it or not
void append_escaped(std::string_view text, std::string& out);  // as the inside of a JSON string; `text` is UTF-8
std::string json_quoted(std::string_view text);
inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
