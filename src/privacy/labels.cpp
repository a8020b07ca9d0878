// labels: words near a candidate that say what it is, found in one pass and asked for by binary search.
#include "privacy/labels.h"

#include <algorithm>
#include <map>
#include <utf8proc.h>
#include "privacy/aho_corasick.h"
#include "privacy/characters.h"
#include "privacy/detect/detect.h"

namespace {

// Lower case, and what stands between the words of a label is a space.
const AhoCorasick::ByteMap& label_bytes() {
  static const AhoCorasick::ByteMap map = [] {
    AhoCorasick::ByteMap m = AhoCorasick::lower_case();
    for (const unsigned char c : std::string_view("_-\t\r\n")) m[c] = ' ';
    return m;
  }();
  return map;
}

std::string upper_beyond_ascii(std::string_view word) {
  std::string out;
  for (size_t at = 0; at < word.size();) {
    const CodePoint c = code_point_at(word, at);
    append_utf8(c.value < 0x80 ? c.value : static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c.value))), out);
    at += c.length;
  }
  return out;
}

// "cardNumber", "pin2": a change of case or a digit ends a word too, for words long enough not to turn up in random text.
constexpr size_t min_inner_word = 4;
bool case_rises(std::string_view text, size_t at) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  return at > 0 && at < text.size() && lower(text[at - 1]) && upper(text[at]);
}
bool starts_word(std::string_view text, size_t begin, size_t end) {
  if (!is_latin(code_point_at(text, begin).value) && !is_digit(code_point_at(text, begin).value)) return true;
  return at_word_start(text, begin) || (end - begin >= min_inner_word && (case_rises(text, begin) || is_digit(static_cast<unsigned char>(text[begin - 1]))));
}
bool ends_word(std::string_view text, size_t begin, size_t end) {
  const char32_t last = code_point_before(text, end).value;
  if (!is_latin(last) && !is_digit(last)) return true;
  return at_word_end(text, end) || (end - begin >= min_inner_word && (case_rises(text, end) || is_digit(static_cast<unsigned char>(text[end]))));
}

// Whether at most `limit` code points lie in [begin, end).
bool within(std::string_view text, size_t begin, size_t end, size_t limit) {
  if (end - begin <= limit) return true;
  if (end - begin > limit * 4) return false;
  return static_cast<size_t>(std::count_if(text.begin() + static_cast<ptrdiff_t>(begin), text.begin() + static_cast<ptrdiff_t>(end),
                                           [](char c) { return !continues(c); })) <= limit;
}

// What may stand between a label and what it introduces.
constexpr size_t max_introduction = 32;  // bytes
constexpr std::string_view short_words[] = {"is", "are", "was", "be", "no", "nr", "num", "number", "code", "to", "as", "the", "a", "it", "s", "of", "on", "file", "value", "this", "equals"};
constexpr std::string_view short_han[] = {"是", "為", "为", "號", "号", "碼", "码", "的", "係", "即", "乃", "は", "が", "의", "은", "는"};
bool is_introduction(std::string_view gap) {
  if (gap.size() > max_introduction) return false;
  for (size_t at = 0; at < gap.size();) {
    const CodePoint c = code_point_at(gap, at);
    if (is_digit(c.value)) return false;
    if (is_ascii_letter(c.value)) {
      size_t end = at;
      while (end < gap.size() && is_ascii_letter(static_cast<unsigned char>(gap[end]))) ++end;
      const std::string_view word = gap.substr(at, end - at);
      const auto same = [&](std::string_view w) {
        return w.size() == word.size() && std::equal(w.begin(), w.end(), word.begin(), [](char x, char y) { return x == (y | 0x20); });
      };
      if (std::none_of(std::begin(short_words), std::end(short_words), same)) return false;
      at = end;
      continue;
    }
    const auto category = c.value < 0x80 ? UTF8PROC_CATEGORY_PO : utf8proc_category(static_cast<utf8proc_int32_t>(c.value));
    const bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
    if (letter && std::find(std::begin(short_han), std::end(short_han), gap.substr(at, c.length)) == std::end(short_han)) return false;
    at += c.length;
  }
  return true;
}

}  // namespace

struct LabelBook::Parts {
  std::map<std::vector<std::string>, LabelSet> sets;
  std::map<std::string, std::vector<LabelSet>> words;  // in which sets each stands
  struct Word { uint32_t first_set, n_sets; uint16_t n_spaces; uint16_t length; };
  std::vector<Word> of_id;
  std::vector<LabelSet> sets_of_words;
  AhoCorasick automaton{label_bytes(), true};
};

LabelBook::LabelBook() : parts_(std::make_unique<Parts>()) {}
LabelBook::~LabelBook() = default;

LabelSet LabelBook::add(std::span<const std::string_view> words) {
  std::vector<std::string> key(words.begin(), words.end());
  std::sort(key.begin(), key.end());
  key.erase(std::unique(key.begin(), key.end()), key.end());
  const auto [at, is_new] = parts_->sets.try_emplace(std::move(key), static_cast<LabelSet>(parts_->sets.size()));
  if (!is_new) return at->second;
  for (const std::string& word : at->first) {
    std::string joined = word;  // as in code: "cardnumber"
    std::erase_if(joined, [](char c) { return c == ' ' || c == '-' || c == '_'; });
    for (const std::string& form : {word, upper_beyond_ascii(word), joined}) {
      std::vector<LabelSet>& sets = parts_->words[form];
      if (sets.empty() || sets.back() != at->second) sets.push_back(at->second);
    }
  }
  return at->second;
}

void LabelBook::build() {
  for (const auto& [word, sets] : parts_->words) {
    parts_->automaton.add(word, static_cast<uint32_t>(parts_->of_id.size()));
    const auto spaces = std::count_if(word.begin(), word.end(), [](char c) { return label_bytes()[static_cast<unsigned char>(c)] == ' '; });
    parts_->of_id.push_back({static_cast<uint32_t>(parts_->sets_of_words.size()), static_cast<uint32_t>(sets.size()), static_cast<uint16_t>(spaces), static_cast<uint16_t>(word.size())});
    parts_->sets_of_words.insert(parts_->sets_of_words.end(), sets.begin(), sets.end());
  }
  parts_->automaton.build();
}

struct Labels::Parts {
  struct At { uint32_t begin, end; };
  std::string_view text;
  std::vector<uint32_t> first;  // of each set in `found`, and one past the last
  std::vector<At> found;        // by set, then by end
  std::vector<uint32_t> begins; // beside `found`, but sorted within each set

  std::span<const At> of(LabelSet set) const {
    if (size_t{set} + 1 >= first.size()) return {};
    return std::span(found).subspan(first[set], first[set + 1u] - first[set]);
  }
  // The last label of the set that ends at or before `begin`.
  const At* last_before(LabelSet set, size_t begin) const {
    const std::span<const At> all = of(set);
    const auto after = std::upper_bound(all.begin(), all.end(), begin, [](size_t b, const At& at) { return b < at.end; });
    return after == all.begin() ? nullptr : &*(after - 1);
  }
};

Labels::Labels(const LabelBook& book, std::string_view text) : parts_(std::make_unique<Parts>()) {
  Parts& parts = *parts_;
  parts.text = text;
  const LabelBook::Parts& known = *book.parts_;
  struct Found { LabelSet set; Parts::At at; };
  std::vector<Found> found;
  known.automaton.scan(text, [&](uint32_t id, size_t end) {
    const LabelBook::Parts::Word& word = known.of_id[id];
    size_t begin = end - word.length;
    if (word.n_spaces > 0) {  // each may stand for a run of them
      begin = end;
      for (size_t left = word.length; left > 0; --left) {
        const bool space = label_bytes()[static_cast<unsigned char>(text[--begin])] == ' ';
        while (space && begin > 0 && label_bytes()[static_cast<unsigned char>(text[begin - 1])] == ' ') --begin;
      }
    }
    if (!starts_word(text, begin, end) || !ends_word(text, begin, end)) return;
    for (uint32_t i = 0; i < word.n_sets; ++i) {
      found.push_back({known.sets_of_words[word.first_set + i], {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}});
    }
  });
  if (found.empty()) return;
  parts.first.assign(known.sets.size() + 1, 0);
  for (const Found& f : found) ++parts.first[f.set + 1u];
  for (size_t i = 1; i < parts.first.size(); ++i) parts.first[i] += parts.first[i - 1];
  parts.found.resize(found.size());
  parts.begins.resize(found.size());
  std::vector<uint32_t> to(parts.first.begin(), parts.first.end() - 1);
  for (const Found& f : found) {  // they come by end
    parts.begins[to[f.set]] = f.at.begin;
    parts.found[to[f.set]++] = f.at;
  }
  for (size_t i = 0; i + 1 < parts.first.size(); ++i) std::sort(parts.begins.begin() + parts.first[i], parts.begins.begin() + parts.first[i + 1]);
}

Labels::~Labels() = default;

bool Labels::before(LabelSet set, size_t begin, size_t code_points) const {
  const Parts::At* at = parts_->last_before(set, begin);
  return at != nullptr && within(parts_->text, at->end, begin, code_points);
}

bool Labels::after(LabelSet set, size_t end, size_t code_points) const {
  if (size_t{set} + 1 >= parts_->first.size()) return false;
  const auto last = parts_->begins.begin() + parts_->first[set + 1u];
  const auto at = std::lower_bound(parts_->begins.begin() + parts_->first[set], last, end);
  return at != last && within(parts_->text, end, *at, code_points);
}

bool Labels::introduces(LabelSet set, size_t begin) const {
  const Parts::At* at = parts_->last_before(set, begin);
  return at != nullptr && is_introduction(parts_->text.substr(at->end, begin - at->end));
}
