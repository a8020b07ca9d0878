// call writer: one event per stretch of one kind.
#include "text/tools/call_writer.h"

void CallWriter::append(ToolEvent::Kind kind, std::string_view piece) {
  if (piece.empty()) return;
  const bool goes_on = out_->size() > first_ && out_->back().kind == kind;
  if (!goes_on) out_->push_back({.kind = kind, .index = kind == ToolEvent::Kind::text ? 0 : next_index_ - 1, .name = {}, .text = {}});
  out_->back().text += piece;
}

void CallWriter::begin(std::string_view name) {
  out_->push_back({.kind = ToolEvent::Kind::begin, .index = next_index_++, .name = std::string(name), .text = {}});
  open_ = true;
  held_.clear();
}

void CallWriter::end() {
  out_->push_back({.kind = ToolEvent::Kind::end, .index = next_index_ - 1, .name = {}, .text = {}});
  open_ = false;
}

void CallWriter::fail(bool as_text) {
  if (open_) out_->push_back({.kind = ToolEvent::Kind::cut, .index = next_index_ - 1, .name = {}, .text = {}});
  else if (as_text) text(held_);
  else if (!held_.empty()) out_->push_back({.kind = ToolEvent::Kind::malformed, .index = 0, .name = {}, .text = std::move(held_)});
  open_ = false;
  held_.clear();
}
