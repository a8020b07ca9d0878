// line_editor: one line (or several) of input with the keys that fingers know, over any terminal that gives bytes and takes text.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The three things an editor needs of a terminal; tests fake it.
class Terminal {
 public:
  virtual ~Terminal() = default;
  virtual int read() = 0;  // next byte, -1 at the end
  virtual void write(std::string_view text) = 0;
  virtual int columns() = 0;
};

// What was typed before, oldest first. Lives in a file of mode 600, one entry a line (newline written as \n, backslash as \\).
class History {
 public:
  static constexpr size_t kMaxEntries = 1000;
  void load(const std::string& path);        // a missing file is an empty history
  bool save(const std::string& path) const;  // creates the folder with mode 700; false when it cannot be written
  void add(std::string entry);               // empty lines and repetitions of the last one are left out
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
};

// Left/right, home/end, up/down (history), ctrl-a e b f k u w y l p n d, alt-b alt-f, delete, bracketed paste, alt-enter for a newline.
class LineEditor {
 public:
  enum class End : uint8_t { line, cancelled, closed };  // enter; ctrl-c; ctrl-d on an empty line, or the terminal has gone
  struct Reading { End end = End::line; std::string text; };

  LineEditor(Terminal& terminal, const History& history) : terminal_(terminal), history_(history) {}
  Reading read(const std::string& prompt);

 private:
  std::optional<End> key(int byte);
  void escape();
  void csi();
  void paste();
  void insert(std::string_view text);
  void insert_character(int first_byte);
  void erase(size_t begin, size_t end, bool keep);
  void recall(int step);
  void draw();
  size_t previous(size_t at) const;
  size_t next(size_t at) const;
  size_t word_left() const;
  size_t word_right() const;

  Terminal& terminal_;
  const History& history_;
  std::string prompt_, text_, killed_, draft_;
  size_t cursor_ = 0, recalled_ = 0;  // recalled_ == entries: the draft
  int cursor_row_ = 0;                // of what is on the screen, counted from the prompt's row
};

// Columns that a code point takes: 0 for combining marks, 2 for East Asian wide ones and emoji.
int character_width(uint32_t code_point);

// The real terminal on standard input and output, in raw mode while it lives.
std::unique_ptr<Terminal> open_raw_terminal();
