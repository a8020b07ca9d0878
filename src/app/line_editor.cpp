// line_editor: the keys, the buffer and the drawing.
#include "app/line_editor.h"

#include <algorithm>

namespace {

constexpr int kEscape = 27, kDelete = 127;
constexpr int ctrl(char letter) { return letter - 'a' + 1; }

struct Decoded { uint32_t code_point; size_t bytes; };

// Lenient: a byte that starts nothing valid is one character.
Decoded decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  const size_t length = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
  if (length == 1 || at + length > text.size()) return {first, 1};
  uint32_t value = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if ((byte(at + i) & 0xc0) != 0x80) return {first, 1};
    value = value << 6 | (byte(at + i) & 0x3fu);
  }
  return {value, length};
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }

// Where text lies on a screen of some width.
struct Layout {
  int columns, row = 0, column = 0;
  std::string out;
  void put(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      const Decoded d = decode(text, at);
      if (d.code_point == '\n') {
        newline();
      } else if (d.code_point >= 32 && d.code_point != kDelete) {
        const int width = character_width(d.code_point);
        if (column + width > columns) newline();
        out += text.substr(at, d.bytes);
        column += width;
      } else {
        put(d.code_point == '\t' ? " " : "?");
      }
      at += d.bytes;
    }
  }
  void newline() { out += "\r\n", row++, column = 0; }
  void settle() { if (column >= columns) newline(); }  // the cursor never waits beyond the last column
};

std::string move(int count, char direction) { return count > 0 ? "\033[" + std::to_string(count) + direction : ""; }

}  // namespace

int character_width(uint32_t c) {
  struct Range { uint32_t first, last; };
  static constexpr Range kNone[] = {{0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5bd}, {0x610, 0x61a}, {0x64b, 0x65f}, {0x200b, 0x200f},
                                    {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef}};
  static constexpr Range kWide[] = {{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f},
                                    {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  const auto inside = [c](const Range& r) { return c >= r.first && c <= r.last; };
  return std::ranges::any_of(kNone, inside) ? 0 : std::ranges::any_of(kWide, inside) ? 2 : 1;
}

LineEditor::Reading LineEditor::read(const std::string& prompt) {
  prompt_ = prompt;
  text_.clear();
  draft_.clear();
  cursor_ = 0;
  cursor_row_ = 0;
  recalled_ = history_.entries().size();
  terminal_.write("\033[?2004h");  // pasted text comes bracketed
  draw();
  End end = End::closed;
  for (int byte; (byte = terminal_.read()) >= 0;) {
    if (const auto done = key(byte)) {
      end = *done;
      break;
    }
    draw();
  }
  cursor_ = text_.size();
  draw();
  terminal_.write("\r\n\033[?2004l");
  return {end, end == End::line ? text_ : ""};
}

std::optional<LineEditor::End> LineEditor::key(int byte) {
  switch (byte) {
    case '\r': case '\n': return End::line;
    case ctrl('c'): return End::cancelled;
    case ctrl('d'):
      if (text_.empty()) return End::closed;
      erase(cursor_, next(cursor_), false);
      break;
    case ctrl('a'): cursor_ = 0; break;
    case ctrl('e'): cursor_ = text_.size(); break;
    case ctrl('b'): cursor_ = previous(cursor_); break;
    case ctrl('f'): cursor_ = next(cursor_); break;
    case ctrl('p'): recall(-1); break;
    case ctrl('n'): recall(1); break;
    case ctrl('k'): erase(cursor_, text_.size(), true); break;
    case ctrl('u'): erase(0, cursor_, true); break;
    case ctrl('w'): {
      size_t begin = cursor_;
      while (begin > 0 && is_space(text_[begin - 1])) begin--;
      while (begin > 0 && !is_space(text_[begin - 1])) begin--;
      erase(begin, cursor_, true);
      break;
    }
    case ctrl('y'): insert(killed_); break;
    case ctrl('l'): terminal_.write("\033[H\033[2J"); cursor_row_ = 0; break;
    case ctrl('h'): case kDelete: erase(previous(cursor_), cursor_, false); break;
    case kEscape: escape(); break;
    case '\t': insert("\t"); break;
    default: if (byte >= 32) insert_character(byte);
  }
  return std::nullopt;
}

void LineEditor::escape() {
  switch (terminal_.read()) {
    case '[': csi(); break;
    case 'O':
      switch (terminal_.read()) {
        case 'H': cursor_ = 0; break;
        case 'F': cursor_ = text_.size(); break;
      }
      break;
    case 'b': cursor_ = word_left(); break;
    case 'f': cursor_ = word_right(); break;
    case 'd': erase(cursor_, word_right(), true); break;
    case kDelete: erase(word_left(), cursor_, true); break;
    case '\r': case '\n': insert("\n"); break;
  }
}

void LineEditor::csi() {
  std::string parameters;
  int byte;
  while ((byte = terminal_.read()) >= 0 && byte < 0x40 && parameters.size() < 16) parameters += static_cast<char>(byte);
  const bool by_word = parameters == "1;5" || parameters == "1;3";
  switch (byte) {
    case 'A': recall(-1); break;
    case 'B': recall(1); break;
    case 'C': cursor_ = by_word ? word_right() : next(cursor_); break;
    case 'D': cursor_ = by_word ? word_left() : previous(cursor_); break;
    case 'H': cursor_ = 0; break;
    case 'F': cursor_ = text_.size(); break;
    case '~':
      if (parameters == "3") erase(cursor_, next(cursor_), false);
      if (parameters == "1" || parameters == "7") cursor_ = 0;
      if (parameters == "4" || parameters == "8") cursor_ = text_.size();
      if (parameters == "200") paste();
      break;
  }
}

void LineEditor::paste() {
  static constexpr std::string_view kEnd = "\033[201~";
  std::string pasted;
  for (int byte; (byte = terminal_.read()) >= 0;) {
    pasted += byte == '\r' ? '\n' : static_cast<char>(byte);
    if (pasted.ends_with(kEnd)) {
      pasted.resize(pasted.size() - kEnd.size());
      break;
    }
  }
  insert(pasted);
}

void LineEditor::insert(std::string_view text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
}

void LineEditor::insert_character(int first_byte) {  // all bytes of it, so that nothing half is ever drawn
  std::string character(1, static_cast<char>(first_byte));
  const size_t length = first_byte < 0xc2 ? 1 : first_byte < 0xe0 ? 2 : first_byte < 0xf0 ? 3 : first_byte < 0xf5 ? 4 : 1;
  while (character.size() < length) {
    const int byte = terminal_.read();
    if (byte < 0) return;
    character += static_cast<char>(byte);
  }
  insert(character);
}

void LineEditor::erase(size_t begin, size_t end, bool keep) {
  if (keep && end > begin) killed_ = text_.substr(begin, end - begin);
  text_.erase(begin, end - begin);
  cursor_ = begin;
}

void LineEditor::recall(int step) {
  const auto& entries = history_.entries();
  const auto wanted = static_cast<int64_t>(recalled_) + step;
  if (wanted < 0 || wanted > static_cast<int64_t>(entries.size())) return;
  if (recalled_ == entries.size()) draft_ = text_;
  recalled_ = static_cast<size_t>(wanted);
  text_ = recalled_ == entries.size() ? draft_ : entries[recalled_];
  cursor_ = text_.size();
}

size_t LineEditor::previous(size_t at) const {  // over a character and the marks that sit on it
  while (at > 0) {
    size_t begin = at - 1;
    while (begin > 0 && (static_cast<uint8_t>(text_[begin]) & 0xc0) == 0x80) begin--;
    at = begin;
    if (character_width(decode(text_, at).code_point) > 0) break;
  }
  return at;
}

size_t LineEditor::next(size_t at) const {
  if (at >= text_.size()) return text_.size();
  at += decode(text_, at).bytes;
  while (at < text_.size() && character_width(decode(text_, at).code_point) == 0) at += decode(text_, at).bytes;
  return at;
}

size_t LineEditor::word_left() const {
  size_t at = cursor_;
  while (at > 0 && is_space(text_[at - 1])) at--;
  while (at > 0 && !is_space(text_[at - 1])) at--;
  return at;
}

size_t LineEditor::word_right() const {
  size_t at = cursor_;
  while (at < text_.size() && is_space(text_[at])) at++;
  while (at < text_.size() && !is_space(text_[at])) at++;
  return at;
}

void LineEditor::draw() {
  const int columns = std::max(8, terminal_.columns());
  Layout before{columns, 0, 0, {}};
  before.put(prompt_);
  before.put(std::string_view(text_).substr(0, cursor_));
  before.settle();
  Layout all = before;
  all.put(std::string_view(text_).substr(cursor_));
  all.settle();
  std::string out = "\r" + move(cursor_row_, 'A') + "\033[J" + all.out;
  out += move(all.row - before.row, 'A') + "\r" + move(before.column, 'C');
  terminal_.write(out);
  cursor_row_ = before.row;
}
