// prose: a text as words, numbers, marks and Han characters, each with what its letters look like and what our word lists say.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

enum class TokenKind : uint8_t { word, number, mark, line, han };
// Of words; numbers and marks have their own.
enum class WordShape : uint8_t { lower, title, capital, upper, mixed_title, mixed, code, digits_2, digits_4, digits_5, digits_more, mark, line, han };

struct Token {
  uint32_t begin = 0, end = 0;  // bytes of the text
  uint32_t hash = 0;            // word_hash of the word in lower case, of the character simplified, of the mark
  uint32_t classes = 0;         // WordClass or HanClass bits
  TokenKind kind = TokenKind::mark;
  WordShape shape = WordShape::mark;
  bool spaced = false;          // white space or the text's start lies before it
  bool opens = false;           // first word of a sentence or line
};
using Tokens = std::vector<Token>;

uint32_t word_hash(std::string_view lower);
Tokens tokenise(std::string_view text);

inline std::string_view text_of(std::string_view text, const Token& token) { return text.substr(token.begin, token.end - token.begin); }
inline bool is_mark(std::string_view text, const Token& token, char mark) { return token.kind == TokenKind::mark && text[token.begin] == mark && token.end == token.begin + 1; }
// Written like a name: Jane, McDonald, J, JANE.
inline bool capitalised(const Token& token) { return token.kind == TokenKind::word && token.shape >= WordShape::title && token.shape <= WordShape::mixed_title; }

// A character and its length in bytes; broken bytes count as characters of one byte.
struct Character { uint32_t code; uint32_t size; };
Character character_at(std::string_view text, size_t at);
inline bool is_han(uint32_t c) { return (c >= 0x3400 && c <= 0x9fff) || c == 0x3007 || (c >= 0x20000 && c <= 0x323af) || (c >= 0xf900 && c <= 0xfaff); }
