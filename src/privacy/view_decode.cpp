// view_decode: blobs of base64 and hexadecimal digits, what is packed within, and those that cannot be read.
#include <algorithm>
#include <array>
#include <optional>
#include <zlib.h>
#include "privacy/characters.h"
#include "privacy/detect/detect.h"
#include "privacy/view_derive.h"

namespace {

constexpr size_t min_encoded = 16, min_opaque = 256;
constexpr float min_opaque_entropy = 4.5f;  // bits per byte
constexpr size_t max_growth = 4;

constexpr uint8_t bad = 255;
// The alphabets of RFC 4648, both at once.
const std::array<uint8_t, 256>& base64_values() {
  static const std::array<uint8_t, 256> values = [] {
    std::array<uint8_t, 256> v;
    v.fill(bad);
    for (uint8_t i = 0; i < 26; ++i) v['A' + i] = i, v['a' + i] = static_cast<uint8_t>(26 + i);
    for (uint8_t i = 0; i < 10; ++i) v['0' + i] = static_cast<uint8_t>(52 + i);
    v['+'] = v['-'] = 62, v['/'] = v['_'] = 63;
    return v;
  }();
  return values;
}
bool is_base64(char c) { return base64_values()[static_cast<uint8_t>(c)] != bad; }
bool is_hex(char c) { return hex_value(c) >= 0; }

// Characters that are not of the alphabet (line breaks) are skipped.
std::string from_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    const uint8_t value = base64_values()[static_cast<uint8_t>(c)];
    if (value == bad) continue;
    bits = bits << 6 | value, n_bits += 6;
    if (n_bits >= 8) n_bits -= 8, out.push_back(static_cast<char>(bits >> n_bits & 0xff));
  }
  return out;
}

std::string from_hex(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 2);
  int high = -1;
  for (const char c : text) {
    const int value = hex_value(c);
    if (value < 0) continue;
    if (high < 0) high = value;
    else out.push_back(static_cast<char>(high * 16 + value)), high = -1;
  }
  return out;
}

// ---- what bytes may be ----
bool is_shown(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f; });
}

// Without the start of a character that is cut off at the end.
std::string_view whole_characters(std::string_view bytes) {
  size_t end = bytes.size();
  while (end > 0 && bytes.size() - end < 3 && continues(bytes[end - 1])) --end;
  if (end == 0 || static_cast<unsigned char>(bytes[end - 1]) < 0xc0) return bytes;
  const CodePoint last = code_point_at(bytes, end - 1);
  return last.length == 1 ? bytes.substr(0, end - 1) : bytes;
}

// UTF-8 or UTF-16 that people could read, as UTF-8.
std::optional<std::string> as_text(std::string_view bytes) {
  const std::string_view whole = whole_characters(bytes);
  if (!whole.empty() && is_shown(whole) && valid_utf8(whole)) return std::string(whole);
  const size_t units = bytes.size() / 2;
  if (units < 4) return std::nullopt;
  for (const size_t high : {size_t{1}, size_t{0}}) {  // little endian first; most units are ASCII
    size_t zeros = 0;
    for (size_t i = 0; i < units; ++i) zeros += bytes[2 * i + high] == '\0';
    if (zeros * 5 < units * 2) continue;
    std::string text;
    for (size_t i = 0; i < units; ++i) {
      const char32_t unit = static_cast<char32_t>(static_cast<uint8_t>(bytes[2 * i + high]) << 8 | static_cast<uint8_t>(bytes[2 * i + 1 - high]));
      if (unit != 0xfeff && (unit < 0xd800 || unit > 0xdfff)) append_utf8(unit, text);
    }
    if (is_shown(text)) return text;
  }
  return std::nullopt;
}

bool is_packed(std::string_view bytes) {
  if (bytes.size() < 3) return false;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  return (byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == 8) || (byte(0) == 0x78 && (byte(0) * 256 + byte(1)) % 31 == 0);
}

struct Unpacked { std::string bytes; bool over_limit = false; };
Unpacked unpack(std::string_view bytes, size_t limit) {
  Unpacked out;
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) return {{}, true};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  out.bytes.resize(limit + 1);
  stream.next_out = reinterpret_cast<Bytef*>(out.bytes.data());
  stream.avail_out = static_cast<uInt>(out.bytes.size());
  inflate(&stream, Z_FINISH);  // what came before damage is still looked at
  out.bytes.resize(stream.total_out);
  inflateEnd(&stream);
  out.over_limit = out.bytes.size() > limit;
  return out;
}

// ---- where blobs are ----
struct Blob { size_t begin, end; };  // of the page

// A run of the alphabet at or around `probe`, not before `from`.
Blob run_around(std::string_view page, size_t probe, size_t from) {
  Blob run{probe, probe};
  while (run.begin > from && is_base64(page[run.begin - 1])) --run.begin;
  while (run.end < page.size() && is_base64(page[run.end])) ++run.end;
  return run;
}

// Behind one line break, written out or escaped, and the indentation of the next line; `at` itself when there is none.
size_t next_line(std::string_view page, size_t at) {
  size_t end = at;
  if (page.substr(end, 4) == "\\r\\n") end += 4;
  else if (page.substr(end, 2) == "\\n") end += 2;
  else {
    if (end < page.size() && page[end] == '\r') ++end;
    if (end >= page.size() || page[end] != '\n') return at;
    ++end;
  }
  while (end < page.size() && (page[end] == ' ' || page[end] == '\t' || page[end] == '>')) ++end;
  return end;
}

class Finder {
 public:
  Finder(std::string_view page, size_t max_unpacked) : page_(page), max_unpacked_(max_unpacked) {}

  Blobs find() {
    find_runs();
    find_spaced_hex();
    for (Rewrites* found : {&out_.base64, &out_.hex, &out_.gzip}) found->sort();
    return std::move(out_);
  }

 private:
  // Every run of 16 has one byte in each stretch of 16: the others need no look.
  void find_runs() {
    size_t done = 0;
    for (size_t probe = min_encoded - 1; probe < page_.size();) {
      if (!is_base64(page_[probe])) {
        probe += min_encoded;
        continue;
      }
      const Blob run = run_around(page_, probe, done);
      done = run.end;
      if (run.end - run.begin >= min_encoded) done = read_lines(run);
      probe = done + min_encoded - 1;
    }
  }

  // A run and the lines that continue it; gives where it ends.
  size_t read_lines(Blob run) {
    std::vector<Blob> lines{run};
    while (true) {
      const size_t begin = next_line(page_, lines.back().end);
      if (begin == lines.back().end) break;
      Blob line{begin, begin};
      while (line.end < page_.size() && is_base64(page_[line.end])) ++line.end;
      const size_t length = line.end - line.begin;
      const bool first = lines.size() == 1;
      const size_t last_length = lines.back().end - lines.back().begin;
      if (length < 4 || (!first && length > last_length)) break;
      lines.push_back(line);
      if (!first && length < last_length) break;  // a short line is the last one
    }
    const Blob whole{lines.front().begin, lines.back().end};
    if (lines.size() > 1 && read(whole)) return whole.end;
    size_t unread = 0;
    for (const Blob& line : lines) unread += read(line) || read_parts(line) ? 0 : line.end - line.begin;
    const std::string_view text = page_.substr(whole.begin, whole.end - whole.begin);
    if (unread >= min_opaque && entropy(text) > min_opaque_entropy) out_.opaque.push_back({whole.begin, padded(whole.end)});
    return whole.end;
  }

  size_t padded(size_t end) const {
    for (int i = 0; i < 2 && end < page_.size() && page_[end] == '='; ++i) ++end;
    return end;
  }
  // One blob, with its padding.
  bool read(Blob blob) {
    const size_t end = padded(blob.end);
    const std::string_view text = page_.substr(blob.begin, blob.end - blob.begin);
    if (text.size() < min_encoded) return false;
    const bool pairs = text.size() % 2 == 0 && std::all_of(text.begin(), text.end(), is_hex);
    if (pairs && is_promising(from_hex(text.substr(0, 32))) && keep(from_hex(text), {blob.begin, end}, out_.hex)) return true;
    if (!is_promising(from_base64(text.substr(0, 32)))) return false;
    return keep(from_base64(text), {blob.begin, end}, out_.base64);
  }
  // Text glued in front of a blob, or paths with a blob in them.
  bool read_parts(Blob blob) {
    for (size_t skip = 1; skip < 4; ++skip) {
      if (read({blob.begin + skip, blob.end})) return true;
    }
    bool any = false;
    const std::string_view upto = page_.substr(0, blob.end);
    for (size_t at = blob.begin; at < blob.end;) {
      const size_t end = std::min(upto.find_first_of("/+-_", at), blob.end);
      if (end - at >= min_encoded && end - at < blob.end - blob.begin) any |= read({at, end});
      at = end + 1;
    }
    return any;
  }
  // What a blob's first bytes say, so that random ones are not decoded to their end.
  static bool is_promising(std::string_view head) { return is_packed(head) || as_text(head).has_value(); }

  bool keep(std::string bytes, Blob blob, Rewrites& to) {
    if (is_packed(bytes)) return keep_packed(bytes, blob);
    auto text = as_text(bytes);
    if (!text) return false;
    to.add(blob.begin, blob.end, *text);
    return true;
  }
  bool keep_packed(std::string_view bytes, Blob blob) {
    Unpacked unpacked = unpack(bytes, std::min((blob.end - blob.begin) * max_growth, max_unpacked_));
    out_.over_limit |= unpacked.over_limit;
    auto text = as_text(unpacked.bytes);
    if (!text) return false;
    out_.gzip.add(blob.begin, blob.end, *text);
    return true;
  }

  // "34 30 30 30", "34:30:…", "0x34, 0x30": pairs of digits apart. Any 8 in a row are met at a digit by steps of 7.
  void find_spaced_hex() {
    size_t done = 0;
    for (size_t probe = 6; probe < page_.size(); probe += 7) {
      if (probe < done || !is_hex(page_[probe])) continue;
      size_t begin = probe;
      while (begin > done && (is_hex(page_[begin - 1]) || is_between_pairs(page_[begin - 1]))) --begin;
      done = read_pairs(begin);
    }
  }
  static bool is_between_pairs(char c) { return c == ' ' || c == ':' || c == ',' || c == '-' || c == 'x' || c == 'X'; }

  size_t read_pairs(size_t begin) {
    size_t at = begin, first = begin, n_pairs = 0, end = begin;
    const auto finish = [&] {
      if (n_pairs >= min_encoded / 2) {
        std::string digits;
        for (size_t i = first; i < end; ++i) {
          if ((page_[i] == '0' && i + 1 < end && (page_[i + 1] | 0x20) == 'x')) ++i;
          else if (is_hex(page_[i])) digits.push_back(page_[i]);
        }
        keep(from_hex(digits), {first, end}, out_.hex);
      }
      n_pairs = 0;
    };
    while (at < page_.size() && (is_hex(page_[at]) || is_between_pairs(page_[at]))) {
      const size_t word = at;
      const bool prefixed = page_[at] == '0' && at + 1 < page_.size() && (page_[at + 1] | 0x20) == 'x';
      if (prefixed) at += 2;
      const size_t digits = at;
      while (at < page_.size() && is_hex(page_[at])) ++at;
      if (at - digits == 2) {
        if (n_pairs++ == 0) first = word;
        end = at;
      } else {
        finish();
      }
      const size_t gap = at;
      while (at < page_.size() && is_between_pairs(page_[at])) ++at;
      if (at - gap > 2 || at == gap) finish();
      if (at == word) break;
    }
    finish();
    return std::max(at, begin + 1);
  }

  std::string_view page_;
  size_t max_unpacked_;
  Blobs out_;
};

}  // namespace

Blobs find_blobs(std::string_view page, size_t max_unpacked) { return Finder(page, max_unpacked).find(); }
