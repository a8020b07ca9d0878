// chat_input: one message at a time from a terminal or a pipe; puts the lines of a long one together.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include "app/line_editor.h"

// One line without its newline; nullopt at the end of input. `cancelled` is set when the user dropped the line (ctrl-c).
using LineSource = std::function<std::optional<std::string>(const std::string& prompt, bool& cancelled)>;

// Joins lines: a backslash at the end continues, """ … """ holds everything between. nullopt at the end of input; "" for a dropped message.
std::optional<std::string> read_message(const LineSource& source);

// Lines from standard input as they are, for pipes and dumb terminals.
LineSource plain_lines();
// Lines from the line editor on the real terminal.
LineSource edited_lines(const History& history);
