// unicode: UTF-8 steps, normal forms and the few character classes the tokenizers need.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// One step of a strict UTF-8 decoder. `length` is the character, or the maximal invalid subpart (what becomes one U+FFFD).
struct Utf8Step {
  enum class Kind : uint8_t { valid, invalid, cut };  // cut: the text ends inside what may still become a character
  Kind kind = Kind::valid;
  uint32_t code_point = 0xfffd;
  size_t length = 1;
};
Utf8Step utf8_step(std::string_view text, size_t at);  // at < text.size()

void append_utf8(uint32_t code_point, std::string& out);
bool is_utf8(std::string_view text);
std::string replace_invalid_utf8(std::string_view text);
// Moves the complete characters of `pending` to `out`, U+FFFD for what is none; an incomplete last one (at most 3 bytes) stays.
void take_whole_characters(std::string& pending, std::string& out);

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };
// `text` is valid UTF-8; NUL is a character like any other.
std::string normalize(std::string_view text, NormalForm form);
std::string lowercase(std::string_view text);

bool is_white_space(uint32_t code_point);  // the Unicode property White_Space
bool is_numeric(uint32_t code_point);      // general category N*
bool is_punctuation(uint32_t code_point);  // general category P*, and all ASCII punctuation
bool is_mark(uint32_t code_point);         // general category M*
bool is_word_character(uint32_t code_point);  // letters, marks, digits, connectors: \w
