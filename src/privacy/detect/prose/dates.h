// prose: dates as people write them, and which of them is somebody's birthday.
#pragma once
#include <optional>
#include <string_view>
#include "privacy/detect/prose/tokens.h"

struct Date { int year, month, day; size_t end; };  // year 0: not written; `end` is the token after it
std::optional<Date> date_at(std::string_view text, const Tokens& tokens, size_t at);
