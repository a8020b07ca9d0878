// sse: server-sent events from bytes, however they are cut.
#include "privacy/upstream.h"

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// "field: value" into the event; comments and fields that nobody knows mean nothing.
void take_line(std::string_view line, SseParser::Event& event, bool& has_data) {
  const size_t colon = line.find(':');
  if (colon == 0) return;
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event.name = value;
  if (field != "data") return;
  if (has_data) event.data += '\n';
  event.data += value;
  has_data = true;
}

}  // namespace

bool SseParser::add(std::string_view bytes, const std::function<bool(const Event&)>& each) {
  while (!bytes.empty()) {
    if (after_cr_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_cr_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + event_.data.size() > max_bytes_) return false;
    if (end == bytes.npos) return true;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!any_line_ && line_.starts_with(byte_order_mark)) line_.erase(0, byte_order_mark.size());
    any_line_ = true;
    if (!line_.empty()) {
      take_line(line_, event_, has_data_);
      line_.clear();
      continue;
    }
    Event whole = std::exchange(event_, {});
    if (std::exchange(has_data_, false) && !each(whole)) return false;
  }
  return true;
}
