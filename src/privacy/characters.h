// characters: code points of UTF-8 and the few classes of them that decide where words begin and end.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// The text is valid UTF-8 and `at` a border of characters; bytes that are not are read one by one.
struct CodePoint { char32_t value; uint8_t length; };
CodePoint code_point_at(std::string_view text, size_t at);      // at < text.size()
CodePoint code_point_before(std::string_view text, size_t at);  // 0 < at <= text.size()
void append_utf8(char32_t code_point, std::string& out);
bool valid_utf8(std::string_view text);
size_t first_beyond_ascii(std::string_view text, size_t at = 0);  // text.size() when there is none
inline bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }  // inside a character

constexpr bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
constexpr bool is_ascii_letter(char32_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }
constexpr int hex_value(char c) { return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1; }  // of a hexadecimal digit, or -1
bool is_latin(char32_t c);      // a letter of the Latin script
bool is_decimal(char32_t c);    // a decimal digit of any script
bool is_han(char32_t c);
