// template text: Python's string operations over UTF-8: code points, white space, case, splitting.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"

namespace tmpl::text {

std::string valid_utf8(std::string_view bytes);  // ill-formed sequences become U+FFFD
int64_t count(std::string_view s);               // code points
size_t offset(std::string_view s, int64_t index);  // byte offset of a code point, s.size() past the end
char32_t decode(std::string_view s, size_t& at);   // the code point at `at`, which moves behind it
void append(std::string& out, char32_t c);
std::vector<std::string_view> characters(std::string_view s);

bool is_space(char32_t c);
bool is_alpha(char32_t c);
bool is_digit(char32_t c);
bool is_identifier(char32_t c, bool first);
bool is_printable(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);

std::string_view strip(std::string_view s, const std::string_view* chars, bool left, bool right);
std::string upper(std::string_view s);
std::string lower(std::string_view s);
std::string capitalize(std::string_view s);
std::string title(std::string_view s);      // str.title()
std::string swapcase(std::string_view s);
std::vector<std::string_view> split_space(std::string_view s, int64_t limit, bool from_right);
std::vector<std::string_view> split(std::string_view s, std::string_view separator, int64_t limit, bool from_right);
std::vector<std::string_view> split_lines(std::string_view s, bool keep_ends);
std::string replace(std::string_view s, std::string_view from, std::string_view to, int64_t limit);
int64_t occurrences(std::string_view s, std::string_view part);

}  // namespace tmpl::text
