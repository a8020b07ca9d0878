// stream parser: prose and the marks that open calls in it; what follows a mark is a reader's.
#pragma once
#include <functional>
#include <memory>
#include "text/tools/call_writer.h"
#include "text/tools/json_scanner.h"

// What became of a byte: taken and more may follow; taken as the last one; not taken, because the call was complete before it;
// not taken, because this is no call.
enum class Step : uint8_t { more, done, over, bad };

// Reads the calls after one mark, byte by byte. Bytes taken before an announcement (CallWriter::begin) are held by the parser.
class CallReader {
 public:
  virtual ~CallReader() = default;
  virtual Step feed(char c, CallWriter& writer) = 0;
  virtual Step finish(CallWriter& writer) = 0;                 // no more text: over when nothing is missing, else bad
  virtual std::string_view unread() const { return {}; }       // after over or bad: bytes taken last that belong to what follows
  virtual bool is_plain_text() const { return false; }         // after bad: it never looked like a call
};

struct CallMark {
  std::string text;
  bool at_line_start = false;
  std::function<std::unique_ptr<CallReader>()> open;
};

class StreamParser final : public ToolParser {
 public:
  StreamParser(std::span<const ToolSpec> tools, std::vector<CallMark> marks) : writer_(tools), marks_(std::move(marks)) {}
  void push(std::string_view text, std::vector<ToolEvent>& out) override;
  void flush(std::vector<ToolEvent>& out) override;
  bool inside_call() const override { return reader_ != nullptr; }

 private:
  void take(std::string_view bytes);
  void take_in_call(char c);
  void take_in_prose(char c);
  void settle_layout();
  void emit(std::string_view bytes);

  CallWriter writer_;
  const std::vector<CallMark> marks_;
  std::unique_ptr<CallReader> reader_;
  std::string cut_character_;  // bytes of an incomplete character
  std::string mark_;           // what may be the beginning of a mark
  std::string layout_;         // white space before the first or after a call: layout if a call or the end follows
  int calls_before_ = 0;       // the mark that is being read
  bool between_ = true;        // nothing was said yet, or since the last call
  bool line_start_ = true;
};

// One tag that may be arriving: `tag` is what came so far. Exact and prefix matches.
enum class Match : uint8_t { none, partial, whole };
inline Match match(std::string_view seen, std::string_view tag) {
  return seen == tag ? Match::whole : tag.starts_with(seen) ? Match::partial : Match::none;
}
