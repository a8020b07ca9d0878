// shape: what a value looks like: random, words, a stand-in for a secret, an expression of code. No tables of real secrets, no entropy alone.
#pragma once
#include <string_view>

namespace credential {

struct Shape {
  size_t size = 0, digits = 0, lower = 0, upper = 0, symbols = 0, inner_symbols = 0, spaces = 0, other = 0;  // other: bytes beyond ASCII
  size_t distinct = 0;
  float entropy = 0;  // bits per byte
  bool letters_only() const { return digits + symbols + spaces == 0; }
  bool mixed() const { return (digits > 0) + (lower > 0) + (upper > 0) + (inner_symbols > 0) >= 2; }
};
Shape shape_of(std::string_view text);

// No word or identifier of a person: letters change case or turn into digits every few bytes, or have too few vowels.
bool looks_random(std::string_view text);
// Stands where a secret would: masked, empty, templated, "<YOUR_API_KEY>", "changeme", a reference to a vault. Judges the whole value, never a part.
bool is_stand_in(std::string_view value);
bool is_uuid(std::string_view value);
bool is_path_or_url(std::string_view value);
// An unquoted value of a program: a call, a member, an index, a type, a lookup.
bool is_expression(std::string_view value);
// A word that follows "the password is" in ordinary sentences, or names a type, a format or a state. `word` may have capitals.
bool is_plain_word(std::string_view word);
// The name of an algorithm or encoding: "SHA-256", "base64-encoded".
bool is_algorithm(std::string_view word);

bool is_alnum(unsigned char c);
bool is_space(unsigned char c);
bool is_hex(std::string_view text);
char to_lower(char c);
bool equal_folded(std::string_view a, std::string_view b);  // ASCII case only
bool starts_folded(std::string_view text, std::string_view start);

}  // namespace credential
