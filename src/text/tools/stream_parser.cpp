// stream parser: one byte at a time, so that pieces of any size give the same events.
#include "text/tools/stream_parser.h"
#include <algorithm>
#include "text/unicode.h"

namespace {
constexpr size_t kLayoutBytes = 256;  // more white space than markup has
}

void StreamParser::push(std::string_view text, std::vector<ToolEvent>& out) {
  writer_.write_to(out);
  cut_character_ += text;
  std::string whole;
  take_whole_characters(cut_character_, whole);
  take(whole);
}

void StreamParser::flush(std::vector<ToolEvent>& out) {
  writer_.write_to(out);
  if (!cut_character_.empty()) take("\xef\xbf\xbd");
  cut_character_.clear();
  if (reader_) {
    const Step step = reader_->finish(writer_);
    settle_layout();
    if (step == Step::bad) writer_.fail(reader_->is_plain_text());
    writer_.drop_held();
    reader_ = nullptr;
    between_ = step != Step::bad;
  }
  if (!mark_.empty()) emit(std::exchange(mark_, {}));
  if (!between_ || writer_.calls() == 0) writer_.text(layout_);
  layout_.clear();
}

void StreamParser::take(std::string_view bytes) {
  for (const char c : bytes) reader_ ? take_in_call(c) : take_in_prose(c);
}

void StreamParser::take_in_call(char c) {
  writer_.hold({&c, 1});
  Step step = reader_->feed(c, writer_);
  if (step != Step::done && writer_.is_full()) step = Step::bad;
  if (step == Step::more) return;
  settle_layout();
  const bool as_text = reader_->is_plain_text();
  const std::string again = step == Step::done ? "" : std::string(reader_->unread()) + c;
  reader_ = nullptr;
  between_ = line_start_ = step != Step::bad;
  if (step == Step::bad) {
    writer_.release(again.size());
    writer_.fail(as_text);
  }
  writer_.drop_held();
  take(again);  // shorter than what the reader took, its mark included: this ends
}

void StreamParser::take_in_prose(char c) {
  if (between_ && mark_.empty() && is_json_space(c) && layout_.size() < kLayoutBytes) {
    layout_ += c;
    return;
  }
  mark_ += c;
  while (!mark_.empty()) {
    Match best = Match::none;
    for (const CallMark& mark : marks_) {
      if (mark.at_line_start && !line_start_) continue;
      const Match found = match(mark_, mark.text);
      if (found == Match::whole) {
        calls_before_ = writer_.calls();
        writer_.hold(std::exchange(mark_, {}));
        reader_ = mark.open();
        return;
      }
      best = std::max(best, found);
    }
    if (best == Match::partial) return;
    emit(mark_.substr(0, 1));
    mark_.erase(0, 1);
  }
}

// White space before a mark is layout when a call came of it.
void StreamParser::settle_layout() {
  if (writer_.calls() == calls_before_) writer_.text(layout_);
  layout_.clear();
}

void StreamParser::emit(std::string_view bytes) {
  writer_.text(layout_);
  layout_.clear();
  writer_.text(bytes);
  between_ = false;
  line_start_ = bytes.back() == '\n';
}
