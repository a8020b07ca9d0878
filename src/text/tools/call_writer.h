// call writer: events out of what readers of calls find; keeps the text of a call until it is certain to be one.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "text/tools.h"
#include "text/tools/argument_types.h"

class CallWriter {
 public:
  explicit CallWriter(std::span<const ToolSpec> tools) : tools_(tools) {}

  void write_to(std::vector<ToolEvent>& out) { out_ = &out, first_ = out.size(); }  // where events go until the next call of this
  void text(std::string_view piece) { append(ToolEvent::Kind::text, piece); }

  // What was read of a call that is not announced yet comes back as text if it turns out to be none.
  void hold(std::string_view raw) { if (!open_) held_ += raw; }
  void release(size_t tail_bytes = 0) { open_ || tail_bytes >= held_.size() ? held_.clear() : held_.resize(held_.size() - tail_bytes); }
  void drop_held() { held_.clear(); }
  bool is_full() const { return held_.size() > kHeldBytes; }

  // The tool of that name; a name that was not offered makes no call: nobody could answer it.
  const ToolTypes* find(std::string_view name) const { return tools_.find(name); }
  void begin(std::string_view name);
  void arguments(std::string_view piece) { append(ToolEvent::Kind::arguments, piece); }
  void end();
  void fail(bool as_text);  // not a call after all, or one that stops short
  bool open() const { return open_; }  // announced, and not at its end
  int calls() const { return next_index_; }

  static constexpr size_t kHeldBytes = size_t{4} << 20;  // more than any model's context of text

 private:
  void append(ToolEvent::Kind kind, std::string_view piece);

  const ToolTable tools_;
  std::vector<ToolEvent>* out_ = nullptr;
  size_t first_ = 0;  // events before it were delivered earlier
  int next_index_ = 0;
  bool open_ = false;
  std::string held_;
};
