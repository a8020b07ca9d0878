// line_editor_test: keys on a fake terminal that also plays the screen, histories, and messages of several lines.
#include "app/line_editor.h"
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <filesystem>
#include <fstream>
#include "app/chat_input.h"

namespace {

// Gives prepared bytes and interprets the few sequences that the editor writes.
class FakeTerminal final : public Terminal {
 public:
  FakeTerminal(std::string keys, int columns = 80) : keys_(std::move(keys)), columns_(columns) {}
  int read() override { return at_ < keys_.size() ? static_cast<unsigned char>(keys_[at_++]) : -1; }
  void write(std::string_view text) override { written_ += text; }
  int columns() override { return columns_; }

  std::vector<std::string> screen() const {  // ASCII only
    std::vector<std::string> rows(1);
    size_t row = 0, column = 0;
    for (size_t i = 0; i < written_.size(); i++) {
      const char c = written_[i];
      if (c == '\r') column = 0;
      else if (c == '\n') row++;
      else if (c == '\033') {
        size_t end = i + 2;
        while (written_[end] < '@') end++;
        const std::string number = written_.substr(i + 2, end - i - 2);
        const size_t n = number.empty() || number[0] == '?' ? 0 : std::stoul(number);
        if (written_[end] == 'A') row -= n;
        if (written_[end] == 'C') column += n;
        if (written_[end] == 'J' && number.empty()) rows.resize(row + 1), rows[row].resize(std::min(column, rows[row].size()));
        i = end;
      } else {
        if (rows.size() <= row) rows.resize(row + 1);
        if (rows[row].size() <= column) rows[row].resize(column + 1, ' ');
        rows[row][column++] = c;
      }
      if (rows.size() <= row) rows.resize(row + 1);
    }
    return rows;
  }

 private:
  std::string keys_, written_;
  int columns_;
  size_t at_ = 0;
};

using End = LineEditor::End;

LineEditor::Reading type(const std::string& keys, const History& history = {}) {
  FakeTerminal terminal(keys);
  return LineEditor(terminal, history).read("> ");
}
std::string typed(const std::string& keys, const History& history = {}) { return type(keys + "\r", history).text; }

LineSource lines_of(std::vector<std::string> lines) {
  return [lines = std::move(lines), at = size_t{0}](const std::string&, bool& cancelled) mutable -> std::optional<std::string> {
    if (at == lines.size()) return std::nullopt;
    cancelled = lines[at] == "^C";
    return lines[at++];
  };
}

}  // namespace

TEST(LineEditor, TypesAndMoves) {
  EXPECT_EQ(typed("hello"), "hello");
  EXPECT_EQ(typed("hllo\033[D\033[D\033[De"), "hello");
  EXPECT_EQ(typed("ello\x01h\x05!"), "hello!");
  EXPECT_EQ(typed("b\033[Ha\033[Fc"), "abc");
  EXPECT_EQ(typed("b\033[1~a\033[4~c"), "abc");
  EXPECT_EQ(typed("b\033OHa\033OFc"), "abc");
  EXPECT_EQ(typed("ac\x02" "b"), "abc");
  EXPECT_EQ(typed("one two\033b\033bx\033fy"), "xoney two");
  EXPECT_EQ(typed("one two\033[1;5Dx"), "one xtwo");
}

TEST(LineEditor, ErasesAndBringsBack) {
  EXPECT_EQ(typed("abc\x7f\x08"), "a");
  EXPECT_EQ(typed("abc\x01\033[3~"), "bc");
  EXPECT_EQ(typed("abc\x01\x04"), "bc");
  EXPECT_EQ(typed("one two  \x17"), "one ");
  EXPECT_EQ(typed("one two\x15" "x"), "x");
  EXPECT_EQ(typed("one two\033b\x0b" "x"), "one x");
  EXPECT_EQ(typed("one two\x17\x19\x19"), "one twotwo");
  EXPECT_EQ(typed("\x7f\x17\x15\x0b\033[D\033[Cok"), "ok");
}

TEST(LineEditor, Utf8StaysWhole) {
  EXPECT_EQ(typed("gr\xc3\xbc\xc3\x9f\x7f\x7fus"), "grus");
  EXPECT_EQ(typed("\xc3\xbc\033[Da"), "a\xc3\xbc");
  EXPECT_EQ(typed("e\xcc\x81\x7fx"), "x");                    // e and its combining accent go together
  EXPECT_EQ(typed("\xf0\x9f\x8c\x8a\xe6\xb5\xb7\x7f"), "\xf0\x9f\x8c\x8a");
  EXPECT_EQ(character_width(0x6d77), 2);
  EXPECT_EQ(character_width(0x301), 0);
  EXPECT_EQ(character_width('a'), 1);
}

TEST(LineEditor, Ends) {
  EXPECT_EQ(type("abc\x03").end, End::cancelled);
  EXPECT_EQ(type("\x04").end, End::closed);
  EXPECT_EQ(type("abc").end, End::closed);  // the terminal went away
  EXPECT_EQ(type("abc\r").end, End::line);
}

TEST(LineEditor, History) {
  History history;
  for (const char* entry : {"first", "second", "second", ""}) history.add(entry);
  EXPECT_EQ(history.entries().size(), 2u);
  EXPECT_EQ(typed("\033[A", history), "second");
  EXPECT_EQ(typed("\033[A\033[A\033[A", history), "first");
  EXPECT_EQ(typed("draft\033[A\x10\x0e\033[B!", history), "draft!");
}

TEST(LineEditor, PasteAndAltEnterKeepNewlines) {
  EXPECT_EQ(typed("\033[200~a\rb\x01\033[201~c"), "a\nb\x01" "c");
  EXPECT_EQ(typed("a\033\rb"), "a\nb");
}

TEST(LineEditor, DrawsOverSeveralRows) {
  FakeTerminal terminal("abcdefghijklmnop\x01X\r", 10);
  const History history;
  EXPECT_EQ(LineEditor(terminal, history).read("> ").text, "Xabcdefghijklmnop");
  EXPECT_EQ(terminal.screen(), (std::vector<std::string>{"> Xabcdefg", "hijklmnop", ""}));
  FakeTerminal full("abcdefgh\x7fZ\r", 10);
  LineEditor(full, history).read("> ");
  EXPECT_EQ(full.screen()[0], "> abcdefgZ");
}

TEST(History, FileIsPrivateAndKeepsEveryLine) {
  char folder[] = "/tmp/calla-history-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/a/b/history";
  History history;
  history.add("two\nlines");
  history.add("back\\slash \\n");
  ASSERT_TRUE(history.save(path));
  ASSERT_TRUE(history.save(path));
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  History again;
  again.load(path);
  EXPECT_EQ(again.entries(), history.entries());
  for (size_t i = 0; i < History::kMaxEntries + 5; i++) again.add(std::to_string(i));
  EXPECT_EQ(again.entries().size(), History::kMaxEntries);
  EXPECT_FALSE(history.save("/proc/nowhere/history"));
  std::filesystem::remove_all(folder);
}

TEST(ChatInput, JoinsLines) {
  EXPECT_EQ(read_message(lines_of({"hello", "x"})), "hello");
  EXPECT_EQ(read_message(lines_of({"one\\", "two\\", "three"})), "one\ntwo\nthree");
  EXPECT_EQ(read_message(lines_of({"\"\"\"", "one", "", "two", "\"\"\""})), "one\n\ntwo");
  EXPECT_EQ(read_message(lines_of({"\"\"\"one", "two\"\"\""})), "one\ntwo");
  EXPECT_EQ(read_message(lines_of({"\"\"\"one\"\"\""})), "one");
  EXPECT_EQ(read_message(lines_of({"\"\"\"one", "^C", "x"})), "");
  EXPECT_EQ(read_message(lines_of({"\"\"\"cut"})), "cut");
  EXPECT_EQ(read_message(lines_of({})), std::nullopt);
}
