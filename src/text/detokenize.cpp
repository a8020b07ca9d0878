// detokenize: token streams to whole characters, and stop strings across token borders.
#include <algorithm>

#include "text/text.h"
#include "text/unicode.h"

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special) : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

void Detokenizer::push(TokenId id, std::string& out) {
  const bool skipped = tokenizer_->bytes(id, skip_special_).empty();
  if (skipped) return;
  pending_ += at_start_ ? tokenizer_->bytes_at_start(id, skip_special_) : tokenizer_->bytes(id, skip_special_);
  at_start_ = false;
  take_whole_characters(pending_, out);
}

void Detokenizer::flush(std::string& out) {
  if (!pending_.empty()) out += "\xef\xbf\xbd";  // what is pending is one maximal subpart
  pending_.clear();
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string pending, out;
  bool at_start = true;
  for (const TokenId id : ids) {
    const std::string_view running = bytes(id, skip_special);
    if (running.empty()) continue;
    pending += at_start ? bytes_at_start(id, skip_special) : running;
    at_start = false;
    take_whole_characters(pending, out);
  }
  if (!pending.empty()) out += "\xef\xbf\xbd";
  return out;
}

// The earliest start of any stop string in `text`, or npos; and how long a tail of `text` could still become one.
static size_t first_stop(const std::vector<std::string>& stops, std::string_view text) {
  size_t first = text.npos;
  for (const std::string& stop : stops)
    if (!stop.empty()) first = std::min(first, text.find(stop));
  return first;
}

static size_t open_tail(const std::vector<std::string>& stops, std::string_view text) {
  size_t longest = 0;
  for (const std::string& stop : stops)
    for (size_t n = std::min(stop.size() - !stop.empty(), text.size()); n > longest; --n)
      if (text.ends_with(std::string_view(stop).substr(0, n))) longest = n;
  return longest;
}

bool StopMatcher::push(std::string_view text, std::string& out) {
  held_ += text;
  if (const size_t stop = first_stop(stops_, held_); stop != held_.npos) {
    out.append(held_, 0, stop);
    held_.clear();
    return true;
  }
  const size_t keep = open_tail(stops_, held_);
  out.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

void StopMatcher::flush(std::string& out) {
  out += held_;
  held_.clear();
}
