// restore: the one pass over an answer: placeholders found, values put in their place, everything else left as it came.
#include "privacy/restore.h"

#include <fmt/format.h>
#include "privacy/characters.h"

namespace {

constexpr size_t max_host_peek = 64, max_word = 64;
constexpr char32_t unknown_character = 0xfffd;

bool in_word(char32_t c) { return c < 0x80 && (is_ascii_letter(c) || is_digit(c) || c == '_'); }
size_t utf8_length(unsigned char lead) { return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4; }

void append_escaped(std::string_view value, std::string& out) {
  for (const char c : value) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else out += c;
    }
  }
}

// What could change a URL's parts, or end it.
std::string percent_encoded(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_ascii_letter(byte) || is_digit(byte) || std::string_view("-._~@:,").find(c) != std::string_view::npos) out += c;
    else out += fmt::format("%{:02X}", byte);
  }
  return out;
}

}  // namespace

Restorer::Restorer(const Ledger& ledger, const Policy::Restore& rules, Lane lane)
    : ledger_(&ledger), rules_(&rules), lane_(lane), form_(lane == Lane::arguments ? Form::json : Form::unknown), url_(rules) {}

std::string Restorer::add(std::string_view piece) {
  std::string out;
  held_ += piece;
  run(false, out);
  return out;
}

std::string Restorer::finish() {
  std::string out;
  run(true, out);
  end_word();
  return out;
}

void Restorer::run(bool last, std::string& out) {
  while (at_ < held_.size()) {
    const Found found = joins_run(before_) ? Found::none : placeholder_here(last, out);
    if (found == Found::wait) break;
    if (found == Found::taken) continue;
    Unit unit = unit_at(at_);
    if (unit.length == 0 && !last) break;
    if (unit.length == 0) unit = {1, unknown_character};
    pass(unit, out);
  }
  held_.erase(0, at_);
  at_ = 0;
}

Restorer::Unit Restorer::unit_at(size_t at) const {
  const size_t left = held_.size() - at;
  const auto lead = static_cast<unsigned char>(held_[at]);
  if (in_string_ && lead == '\\') {
    if (left < 2) return {0, 0};
    constexpr std::string_view letters = "nrtbf", meant = "\n\r\t\b\f";
    if (const size_t which = letters.find(held_[at + 1]); which != std::string_view::npos) return {2, static_cast<char32_t>(meant[which])};
    if (held_[at + 1] != 'u') return {2, static_cast<unsigned char>(held_[at + 1])};
    char32_t value = 0;
    for (size_t i = 2; i < 6; ++i) {
      if (i >= left) return {0, 0};
      const int digit = hex_value(held_[at + i]);
      if (digit < 0) return {2, unknown_character};  // no JSON any more
      value = value * 16 + static_cast<char32_t>(digit);
    }
    return {6, value >= 0xd800 && value < 0xe000 ? unknown_character : value};
  }
  if (lead < 0x80) return {1, lead};
  const size_t length = utf8_length(lead);
  for (size_t i = 1; i < length; ++i) {
    if (i >= left) return {0, 0};
    if (!continues(held_[at + i])) return {i, unknown_character};
  }
  return {length, length == 1 ? unknown_character : code_point_at(held_, at).value};
}

void Restorer::pass(const Unit& unit, std::string& out) {
  out.append(held_, at_, unit.length);
  at_ += unit.length;
  if (form_ != Form::plain && form_ != Form::json) look_at_form(unit.code_point);
  const bool quote = form_ == Form::json && unit.length == 1 && unit.code_point == '"';
  if (quote) in_string_ = !in_string_;
  if (quote && lane_ == Lane::arguments) url_.end();  // a text may be read as markdown, whatever it begins with
  else url_.read(unit.code_point);
  before_ = quote ? 0 : unit.code_point;
  if (!in_word(unit.code_point)) return end_word();
  word_ += static_cast<char>(unit.code_point);
  if (word_.size() > max_word) word_.erase(0, 1);
}

// {" or [" or [{ and the like, with spaces between.
void Restorer::look_at_form(char32_t c) {
  if (c == ' ' || c == '\n' || c == '\r' || c == '\t') return;
  switch (form_) {
    case Form::unknown: form_ = c == '{' ? Form::object : c == '[' ? Form::list : Form::plain; return;
    case Form::object: form_ = c == '"' ? Form::json : Form::plain; return;
    default: form_ = c == '"' || c == '{' || c == '[' ? Form::json : Form::plain;
  }
}

void Restorer::end_word() {
  if (word_.size() > min_code) counts_.unresolved += static_cast<int>(find_placeholders(word_).size());
  word_.clear();
}

// One that is known stands here, or may yet: letters, "_", letters and digits up to the next thing that is neither.
Restorer::Found Restorer::placeholder_here(bool last, std::string& out) {
  if (!is_ascii_letter(static_cast<unsigned char>(held_[at_]))) return Found::none;
  size_t end = at_;
  int lines = 0;
  while (end < held_.size() && end - at_ <= max_placeholder && in_word(static_cast<unsigned char>(held_[end]))) {
    if (held_[end] == '_' && ++lines == 2) break;
    ++end;
  }
  const std::string_view candidate = std::string_view(held_).substr(at_, end - at_);
  if (candidate.size() > max_placeholder) return Found::none;
  const auto value = ledger_->original(candidate);
  const bool open = end == held_.size();
  if (!value) {
    if (!open || !ledger_->begins_one(candidate)) return Found::none;
    if (!last) return Found::wait;
    if (lines == 1 && candidate.back() != '_') ++counts_.unresolved;  // cut at the end of the answer
    return Found::none;
  }
  if (open && !last) return Found::wait;
  if (!open) {
    const Unit next = unit_at(end);
    if (next.length == 0 && !last) return Found::wait;
    if (next.length != 0 && joins_run(next.code_point)) return Found::none;
  }
  return settle(candidate, *value, last, out);
}

Restorer::Found Restorer::settle(std::string_view placeholder, std::string_view value, bool last, std::string& out) {
  const size_t size = placeholder.size();
  if (lane_ == Lane::text && !rules_->text) return leave(size, out), Found::taken;
  if (lane_ == Lane::arguments && !in_string_) {
    ++counts_.unresolved;
    return leave(size, out), Found::taken;
  }
  const Found host = url_.inside() ? Found::none : host_behind(at_ + size, last);
  if (host == Found::wait) return host;
  if ((url_.inside() && !url_.allowed()) || host == Found::taken) {
    ++counts_.url_blocked;
    return leave(size, out), Found::taken;
  }
  ++counts_.restored;
  at_ += size;
  put(value, url_.inside(), out);
  return Found::taken;
}

// "PERSON_7KQ2M4.example.org/": a value would become part of a host's name.
Restorer::Found Restorer::host_behind(size_t at, bool last) const {
  const size_t begin = at;
  bool dot = false;
  while (at < held_.size() && at - begin <= max_host_peek) {
    const Unit unit = unit_at(at);
    if (unit.length == 0) break;
    const char32_t c = unit.code_point;
    const bool joint = c == '.' || c == '@' || c == '-';
    if (at == begin && !joint) return Found::none;
    if (!joint && !in_word(c)) return dot && (c == '/' || c == '\\' || c == '?' || c == '#' || c == ':') ? Found::taken : Found::none;
    dot = dot || c == '.';
    at += unit.length;
  }
  if (at - begin > max_host_peek) return Found::taken;
  return last ? Found::none : Found::wait;
}

void Restorer::leave(size_t bytes, std::string& out) {
  for (const size_t end = at_ + bytes; at_ < end;) pass({1, static_cast<unsigned char>(held_[at_])}, out);
  word_.clear();
}

void Restorer::put(std::string_view value, bool in_url, std::string& out) {
  const std::string encoded = in_url ? percent_encoded(value) : std::string(value);
  if (in_string_) append_escaped(encoded, out);
  else out += encoded;
  for (size_t at = 0; at < encoded.size();) {
    const CodePoint next = code_point_at(encoded, at);
    url_.read(next.value);
    at += next.length;
  }
  before_ = '0';  // another placeholder would have to stand free of this one
  word_.clear();
}

std::string restore_whole(const Ledger& ledger, const Policy::Restore& rules, Restorer::Lane lane, std::string_view text, RestoreCounts& counts) {
  Restorer restorer(ledger, rules, lane);
  std::string out = restorer.add(text);
  out += restorer.finish();
  counts.restored += restorer.counts().restored;
  counts.unresolved += restorer.counts().unresolved;
  counts.url_blocked += restorer.counts().url_blocked;
  return out;
}
