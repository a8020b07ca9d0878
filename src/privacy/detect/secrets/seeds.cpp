// seeds: phrases of BIP-39 words that carry their checksum; one pasted phrase is a whole wallet.
#include "privacy/detect/secrets/seeds.h"
#include <openssl/sha.h>
#include <algorithm>
#include <string>
#include "privacy/characters.h"
#include "privacy/detect/secrets/secrets.h"
#include "privacy/detect/secrets/shape.h"

namespace credential {
namespace {

constexpr uint16_t absent = 0xFFFF;
constexpr size_t lengths[] = {24, 21, 18, 15, 12};

uint32_t fnv1a(std::string_view word) {
  uint32_t value = 0x811C9DC5;
  for (const char c : word) value = (value ^ static_cast<uint8_t>(to_lower(c))) * 0x01000193;
  return value;
}

// From a word's hash to its index: open addressing.
class WordIndex {
 public:
  explicit WordIndex(const std::array<uint32_t, 2048>& hashes) {
    for (uint16_t i = 0; i < 2048; ++i) {
      size_t slot = hashes[i] & (size - 1);
      while (slots_[slot].index != absent) slot = (slot + 1) & (size - 1);
      slots_[slot] = {hashes[i], i};
    }
  }
  uint16_t find(std::string_view word) const {
    const uint32_t hash = fnv1a(word);
    for (size_t slot = hash & (size - 1); slots_[slot].index != absent; slot = (slot + 1) & (size - 1)) {
      if (slots_[slot].hash == hash) return slots_[slot].index;
    }
    return absent;
  }

 private:
  static constexpr size_t size = 8192;
  struct Slot { uint32_t hash = 0; uint16_t index = absent; };
  std::array<Slot, size> slots_;
};

// Words of one list in a row.
struct Run {
  std::vector<uint16_t> indexes;
  std::vector<size_t> begins, ends;
  bool separated = true;  // something stands between any two
  void clear() { indexes.clear(), begins.clear(), ends.clear(), separated = true; }
};

class SeedDetector final : public Detector {
 public:
  explicit SeedDetector(LabelBook& book)
      : lists_{WordIndex(seed_words[0]), WordIndex(seed_words[1]), WordIndex(seed_words[2])},
        label_(book.add({"seed", "seed phrase", "seed words", "mnemonic", "recovery phrase", "backup phrase", "wallet", "bip39", "bip-39",
                         "secret phrase", "助記詞", "助记词", "註記詞", "种子", "種子", "錢包", "钱包"})) {}
  std::string_view name() const override { return "seed_phrase"; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    find_latin(page, out);
    if (first_beyond_ascii(page.text) == page.text.size()) return;
    const size_t first = out.size();
    find_han(page, lists_[1], out);
    const size_t second = out.size();
    find_han(page, lists_[2], out);
    // Most words are in both lists.
    const auto known = [&](const Hit& hit) {
      return std::any_of(out.begin() + static_cast<std::ptrdiff_t>(first), out.begin() + static_cast<std::ptrdiff_t>(second),
                         [&](const Hit& h) { return h.begin == hit.begin && h.end == hit.end; });
    };
    out.erase(std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(second), out.end(), known), out.end());
  }

 private:
  void find_latin(const Page& page, std::vector<Hit>& out) const {
    const std::string_view text = page.text;
    Run run;
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      while (at < text.size() && is_alnum(static_cast<unsigned char>(text[at])) && (text[at] & 0x40)) ++at;
      if (at == begin) {
        // Numbers, commas, line ends, bullets and quotes may stand between words; signs of programs do not.
        const char c = text[at++];
        const bool between = is_space(static_cast<unsigned char>(c)) || (c >= '0' && c <= '9') ||
                             std::string_view(",.)-\"'|*#[]").find(c) != std::string_view::npos || static_cast<unsigned char>(c) >= 0xE2 ||
                             continues(c);
        if (!between && !run.indexes.empty()) flush(page, run, out);
        continue;
      }
      const size_t size = at - begin;
      const uint16_t index = size >= 3 && size <= 8 && at_border(text, begin, at) ? lists_[0].find(text.substr(begin, size)) : absent;
      if (run.indexes.empty()) {
        if (index == absent) continue;
      } else if (index == absent || begin - run.ends.back() > 24 || !same_case(text, run.begins[0], begin)) {
        flush(page, run, out);
      }
      if (index != absent) run.indexes.push_back(index), run.begins.push_back(begin), run.ends.push_back(at);
    }
    flush(page, run, out);
  }

  static bool at_border(std::string_view text, size_t begin, size_t end) {
    const auto plain = [&](size_t at) { return static_cast<unsigned char>(text[at]) < 0x80; };
    const bool before = begin == 0 || (plain(begin - 1) ? text[begin - 1] != '_' : at_word_start(text, begin));
    return before && (end == text.size() || (plain(end) ? !is_alnum(static_cast<unsigned char>(text[end])) && text[end] != '_' : at_word_end(text, end)));
  }
  static bool same_case(std::string_view text, size_t first, size_t begin) {
    const auto upper = [&](size_t at) { return text[at] >= 'A' && text[at] <= 'Z'; };
    return upper(first) == upper(begin) && upper(first + 1) == upper(begin + 1);
  }

  void find_han(const Page& page, const WordIndex& list, std::vector<Hit>& out) const {
    const std::string_view text = page.text;
    Run run;
    for (size_t at = first_beyond_ascii(text); at < text.size();) {
      const CodePoint point = code_point_at(text, at);
      const uint16_t index = is_han(point.value) ? list.find(text.substr(at, point.length)) : absent;
      if (index != absent) {
        if (!run.ends.empty() && run.ends.back() == at) run.separated = false;
        run.indexes.push_back(index), run.begins.push_back(at), run.ends.push_back(at + point.length);
      } else if (is_han(point.value) || is_ascii_letter(point.value) || (!run.ends.empty() && at - run.ends.back() > 16)) {
        flush(page, run, out);
      }
      at += point.length;
    }
    flush(page, run, out);
  }

  void flush(const Page& page, Run& run, std::vector<Hit>& out) const {
    const size_t n = run.indexes.size();
    if (n >= 12) {
      const bool labelled = page.labels.before(label_, run.begins[0], 60) || page.labels.after(label_, run.ends.back(), 30);
      // Han characters without gaps are ordinary sentences, unless they are said to be a phrase.
      if (run.separated || labelled) report(run, labelled, out);
    }
    run.clear();
  }

  static void report(const Run& run, bool labelled, std::vector<Hit>& out) {
    constexpr size_t edge = 64;  // a list of thousands of words is searched at its ends only
    const size_t n = run.indexes.size();
    bool found = false;
    for (size_t at = 0; at + 12 <= n;) {
      if (at == edge && n > 2 * edge + 24) at = n - edge;
      size_t length = 0;
      for (const size_t wanted : lengths) {
        if (at + wanted <= n && seed_checksum_holds(std::span(run.indexes).subspan(at, wanted))) { length = wanted; break; }
      }
      // Lists of a program repeat their words.
      if (length != 0 && !labelled && n != length) {
        std::vector<uint16_t> distinct(run.indexes.begin() + static_cast<std::ptrdiff_t>(at), run.indexes.begin() + static_cast<std::ptrdiff_t>(at + length));
        std::sort(distinct.begin(), distinct.end());
        if (static_cast<size_t>(std::unique(distinct.begin(), distinct.end()) - distinct.begin()) * 4 < length * 3) length = 0;
      }
      if (length == 0) { ++at; continue; }
      out.push_back({PrivacyClass::secret, "seed_phrase", run.begins[at], run.ends[at + length - 1], labelled || n == length ? 0.99F : 0.95F, true});
      found = true;
      at += length;
    }
    if (!found && labelled && n <= 30) out.push_back({PrivacyClass::secret, "seed_phrase", run.begins[0], run.ends[n - 1], 0.75F});
  }

  std::array<WordIndex, n_seed_lists> lists_;
  LabelSet label_;
};

}  // namespace

bool seed_checksum_holds(std::span<const uint16_t> indexes) {
  const size_t bits = indexes.size() * 11, check = bits / 33, entropy_bits = bits - check;
  if (indexes.size() < 12 || indexes.size() > 24 || indexes.size() % 3 != 0) return false;
  std::array<uint8_t, 33> bytes{};
  for (size_t i = 0; i < bits; ++i) {
    if (indexes[i / 11] >> (10 - i % 11) & 1) bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] | 0x80 >> (i % 8));
  }
  std::array<uint8_t, 32> digest;
  SHA256(bytes.data(), entropy_bits / 8, digest.data());
  const unsigned shift = static_cast<unsigned>(8 - check);
  return bytes[entropy_bits / 8] >> shift == digest[0] >> shift;
}

std::unique_ptr<Detector> make_seed_detector(LabelBook& book) { return std::make_unique<SeedDetector>(book); }

}  // namespace credential
