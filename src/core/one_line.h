// one_line: texts of others inside our messages, which are one line each.
#pragma once
#include <string>
#include <string_view>

// Control characters become spaces; those at the end go.
inline std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}
