// key_words: words that name a secret, in the languages of the gate's users, and what may stand around them in a name.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace credential {

enum class KeyKind : uint8_t {
  password,    // chosen by people: short and of low entropy
  token,       // drawn by machines
  login,       // introduces user and password together
  code,        // 4 to 8 digits
  phrase,      // may hold spaces
};
struct KeyWord {
  std::string_view word;      // lower case
  KeyKind kind;
  bool distinct = false;      // names a secret also as a part of a longer run of letters: "mysqlpassword"
};
std::span<const KeyWord> key_words();

// An identifier "db_Password2": the word stands in it at [begin, end). False for "passenger", "password_length", "public_token_id".
bool names_secret(std::string_view identifier, size_t begin, size_t end, bool distinct);

}  // namespace credential
