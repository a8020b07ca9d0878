// side_by_side: wrapping and padding; tabs become spaces, control characters pictures.
#include "app/side_by_side.h"

#include <algorithm>
#include <vector>
#include "app/console.h"
#include "app/line_editor.h"

namespace {

struct Row { std::string text; size_t width = 0; };

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

size_t character_bytes(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
  return end - at;
}

size_t width_of(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  uint32_t value = character.size() == 1 ? lead : lead & (0x7fu >> std::min<size_t>(character.size(), 4));
  for (size_t i = 1; i < character.size(); ++i) value = value << 6 | (static_cast<unsigned char>(character[i]) & 0x3f);
  return value < 32 ? 1 : static_cast<size_t>(std::max(0, character_width(value)));
}

// At spaces where there are some, else anywhere.
std::vector<Row> wrapped(std::string_view line, size_t width) {
  std::vector<Row> rows(1);
  size_t space = 0;  // bytes of the row up to behind its last space
  for (size_t at = 0; at < line.size();) {
    const size_t bytes = character_bytes(line, at);
    const std::string character = line[at] == '\t' ? "  " : printable(line.substr(at, bytes));
    const size_t wide = line[at] == '\t' ? 2 : width_of(line.substr(at, bytes));
    if (rows.back().width + wide > width) {
      Row next;
      if (space > 0 && space < rows.back().text.size()) {
        next.text = rows.back().text.substr(space);
        rows.back().text.resize(space);
        for (size_t i = 0; i < next.text.size();) {
          const size_t n = character_bytes(next.text, i);
          next.width += width_of(std::string_view(next.text).substr(i, n));
          i += n;
        }
        rows.back().width -= next.width;
      }
      rows.push_back(std::move(next));
      space = 0;
    }
    rows.back().text += character;
    rows.back().width += wide;
    if (line[at] == ' ' || line[at] == '\t') space = rows.back().text.size();
    at += bytes;
  }
  return rows;
}

std::string padded(const Row& row, size_t width) { return row.text + std::string(width - std::min(width, row.width), ' '); }

}  // namespace

std::string side_by_side(const ColumnText& left, const ColumnText& right, size_t columns, bool color) {
  const size_t width = std::max<size_t>((std::max<size_t>(columns, 23) - 3) / 2, 10);
  const char *bold = color ? "\033[1m" : "", *plain = color ? "\033[0m" : "", *marked = color ? "\033[36m" : "";
  std::string rule;
  for (size_t i = 0; i < width; ++i) rule += "\u2500";
  std::string out = bold + padded(wrapped(left.title, width).front(), width) + plain + " \u2502 " + bold + std::string(right.title) + plain + "\n" + rule + "\u2500\u253c\u2500" + rule + "\n";
  const auto lines = lines_of(left.text), others = lines_of(right.text);
  for (size_t i = 0; i < std::max(lines.size(), others.size()); ++i) {
    const std::string_view line = i < lines.size() ? lines[i] : std::string_view(), other = i < others.size() ? others[i] : std::string_view();
    const auto rows = wrapped(line, width), other_rows = wrapped(other, width);
    for (size_t r = 0; r < std::max(rows.size(), other_rows.size()); ++r) {
      const Row row = r < rows.size() ? rows[r] : Row(), other_row = r < other_rows.size() ? other_rows[r] : Row();
      out += padded(row, width) + " \u2502 " + (line == other ? "" : marked) + other_row.text + (line == other ? "" : plain) + "\n";
    }
  }
  return out;
}
