// terms: a page is written once more without case, accents and spaces, and searched there.
#include "privacy/terms.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <openssl/evp.h>
#include <re2/re2.h>
#include <set>
#include <unordered_map>
#include <utf8proc.h>
#include "privacy/aho_corasick.h"
#include "privacy/characters.h"
#include "privacy/detect/detect.h"
#include "privacy/view.h"
#include "privacy/view_table.h"

namespace {

// Lower case without accents; look-alikes as what they look like.
char32_t plain_letter(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  const Fold fold = fold_of(c);
  if (fold.fate == Fate::look_alike) return plain_letter(static_cast<unsigned char>(fold.text[0]));
  if (is_han(c)) return c;
  const auto lower = utf8proc_tolower(static_cast<utf8proc_int32_t>(c));
  if (!is_latin(static_cast<char32_t>(lower))) return static_cast<char32_t>(lower);
  std::array<utf8proc_int32_t, 8> parts{};
  int last_class = 0;
  const auto n = utf8proc_decompose_char(lower, parts.data(), parts.size(), UTF8PROC_DECOMPOSE, &last_class);
  return static_cast<char32_t>(n > 0 ? parts[0] : lower);
}

bool is_space(char32_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// A page as terms are compared. `from[k]` is where byte k's character begins in the page.
struct Squashed {
  std::string text;
  std::vector<uint32_t> from;
  std::vector<uint32_t> starts;  // bytes of `text` where characters begin
};
Squashed squash(std::string_view page, bool keep_spaces = false) {
  Squashed out;
  out.text.reserve(page.size()), out.from.reserve(page.size() + 1);
  bool spaced = true;
  for (size_t at = 0; at < page.size();) {
    const CodePoint c = code_point_at(page, at);
    const bool space = is_space(c.value);
    if (!space || (keep_spaces && !spaced)) {
      out.starts.push_back(static_cast<uint32_t>(out.text.size()));
      append_utf8(space ? U' ' : plain_letter(c.value), out.text);
      out.from.resize(out.text.size(), static_cast<uint32_t>(at));
    }
    spaced = space;
    at += c.length;
  }
  out.starts.push_back(static_cast<uint32_t>(out.text.size()));
  return out;
}

constexpr size_t min_loose_term = 5;  // shorter ones turn up by chance across spaces
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// Latin terms are whole words; a change of case ("NordstarClient") or a digit ends one too.
bool stands_free(std::string_view page, size_t begin, size_t end) {
  const char32_t first = code_point_at(page, begin).value, last = code_point_before(page, end).value;
  const bool long_enough = end - begin >= min_loose_term;
  if ((is_latin(first) || is_digit(first)) && !at_word_start(page, begin)) {
    const char before = page[begin - 1];
    if (!long_enough || !is_latin(first) || !((is_lower(before) && is_upper(page[begin])) || is_digit(static_cast<unsigned char>(before)))) return false;
  }
  if ((is_latin(last) || is_digit(last)) && !at_word_end(page, end)) {
    if (!long_enough || !is_latin(last) || !((is_lower(page[end - 1]) && is_upper(page[end])) || is_digit(static_cast<unsigned char>(page[end])))) return false;
  }
  return true;
}

// HMAC-SHA-256 with the work of the key done once.
class Hmac {
 public:
  explicit Hmac(std::string_view key) {
    std::array<unsigned char, 64> block{};
    if (key.size() > block.size()) EVP_Digest(key.data(), key.size(), block.data(), nullptr, EVP_sha256(), nullptr);
    else std::copy(key.begin(), key.end(), block.begin());
    begin(inner_.get(), block, 0x36), begin(outer_.get(), block, 0x5c);
  }
  std::array<unsigned char, 32> sign(std::string_view bytes) const {
    std::array<unsigned char, 32> out{};
    const Context work(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_MD_CTX_copy_ex(work.get(), inner_.get()), EVP_DigestUpdate(work.get(), bytes.data(), bytes.size()), EVP_DigestFinal_ex(work.get(), out.data(), nullptr);
    EVP_MD_CTX_copy_ex(work.get(), outer_.get()), EVP_DigestUpdate(work.get(), out.data(), out.size()), EVP_DigestFinal_ex(work.get(), out.data(), nullptr);
    return out;
  }

 private:
  using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
  static void begin(EVP_MD_CTX* context, std::array<unsigned char, 64> block, unsigned char pad) {
    for (unsigned char& b : block) b ^= pad;
    EVP_DigestInit_ex(context, EVP_sha256(), nullptr), EVP_DigestUpdate(context, block.data(), block.size());
  }
  Context inner_{EVP_MD_CTX_new(), EVP_MD_CTX_free}, outer_{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

struct Signed {
  const Term* term;
  Hmac hmac;
  std::map<size_t, std::set<std::array<unsigned char, 32>>> by_length;  // in characters
};

Result<std::pair<size_t, std::array<unsigned char, 32>>> parse_signature(const std::string& name, std::string_view text) {
  const Error error{Code::invalid_request, "term " + name + ": reading terms_hmac: expected \"LENGTH:64 hexadecimal digits\", seen something else"};
  size_t length = 0;
  const auto [colon, bad] = std::from_chars(text.data(), text.data() + text.size(), length);
  std::array<unsigned char, 32> bytes{};
  if (bad != std::errc{} || length == 0 || length > 256 || text.data() + text.size() - colon != 65 || *colon != ':') return error;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* at = colon + 1 + 2 * i;
    const auto [end, wrong] = std::from_chars(at, at + 2, bytes[i], 16);
    if (wrong != std::errc{} || end != at + 2) return error;
  }
  return std::pair(length, bytes);
}

class Finder final : public TermFinder {
 public:
  explicit Finder(std::vector<Term> terms) : terms_(std::move(terms)) {}

  Status prepare() {
    for (const Term& term : terms_) {
      for (const std::string& word : term.terms) {
        const std::string folded = folded_term(word);
        if (folded.empty()) return Error{Code::invalid_request, "term " + term.name + ": expected a word, seen only spaces"};
        const bool spaced = std::any_of(word.begin(), word.end(), [](char c) { return c == ' '; });
        const bool loose = utf8_length(folded) >= min_loose_term;
        words_.push_back({&term, folded.size(), spaced || loose});
        automaton_.add(folded, static_cast<uint32_t>(words_.size() - 1));
      }
      for (size_t i = 0; i < term.patterns.size(); ++i) {
        RE2::Options options;
        options.set_log_errors(false);
        auto pattern = std::make_unique<RE2>(term.patterns[i], options);
        if (!pattern->ok()) return Error{Code::invalid_request, "term " + term.name + ": pattern " + std::to_string(i + 1) + ": expected a regular expression of RE2, seen: " + pattern->error()};
        patterns_.push_back({&term, std::move(pattern)});
      }
      if (term.terms_hmac.empty()) continue;
      Signed& one = signed_.emplace_back(Signed{&term, Hmac(term.hmac_key), {}});
      for (const std::string& text : term.terms_hmac) {
        TRY(auto signature, parse_signature(term.name, text));
        one.by_length[signature.first].insert(signature.second);
      }
    }
    automaton_.build();
    return ok_status();
  }

  std::optional<std::vector<Hit>> find(std::string_view page, Time until) const override {
    std::vector<Hit> out;
    if (!words_.empty() || !signed_.empty()) {
      const Squashed squashed = squash(page);
      find_words(page, squashed, out);
      for (const Signed& one : signed_) find_signed(page, squashed, one, out);
      if (!signed_.empty()) {  // signed with their spaces
        const Squashed spaced = squash(page, true);
        for (const Signed& one : signed_) find_signed(page, spaced, one, out);
      }
    }
    for (const Pattern& pattern : patterns_) {
      if (!find_pattern(page, pattern, until, out)) return std::nullopt;
    }
    return out;
  }

 private:
  struct Word { const Term* term; size_t bytes; bool may_have_spaces; };
  struct Pattern { const Term* term; std::unique_ptr<RE2> pattern; };

  static size_t utf8_length(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
  }
  static size_t page_end(std::string_view page, const Squashed& squashed, size_t end) {
    const size_t last = squashed.from[end - 1];
    return last + code_point_at(page, last).length;
  }

  void find_words(std::string_view page, const Squashed& squashed, std::vector<Hit>& out) const {
    automaton_.scan(squashed.text, [&](uint32_t id, size_t end) {
      const Word& word = words_[id];
      const size_t begin = squashed.from[end - word.bytes], stop = page_end(page, squashed, end);
      if (!word.may_have_spaces && std::any_of(page.begin() + static_cast<ptrdiff_t>(begin), page.begin() + static_cast<ptrdiff_t>(stop), [](char c) { return is_space(static_cast<unsigned char>(c)); })) return;
      if (stands_free(page, begin, stop)) out.push_back({begin, stop, word.term});
    });
  }

  void find_signed(std::string_view page, const Squashed& squashed, const Signed& one, std::vector<Hit>& out) const {
    for (const auto& [length, signatures] : one.by_length) {
      for (size_t i = 0; i + length < squashed.starts.size(); ++i) {
        const size_t first = squashed.starts[i], last = squashed.starts[i + length];
        const size_t begin = squashed.from[first], end = page_end(page, squashed, last);
        if (!stands_free(page, begin, end)) continue;
        if (signatures.contains(one.hmac.sign(std::string_view(squashed.text).substr(first, last - first)))) out.push_back({begin, end, one.term});
      }
    }
  }

  static bool find_pattern(std::string_view page, const Pattern& pattern, Time until, std::vector<Hit>& out) {
    const re2::StringPiece text(page.data(), page.size());
    re2::StringPiece match;
    for (size_t at = 0; at <= page.size() && pattern.pattern->Match(text, at, page.size(), RE2::UNANCHORED, &match, 1);) {
      const size_t begin = static_cast<size_t>(match.data() - page.data()), end = begin + match.size();
      if (end > begin) out.push_back({begin, end, pattern.term});
      at = end > begin ? end : end + 1;
      while (at < page.size() && continues(page[at])) ++at;
      if (std::chrono::steady_clock::now() > until) return false;
    }
    return true;
  }

  std::vector<Term> terms_;
  std::vector<Word> words_;
  std::vector<Pattern> patterns_;
  std::vector<Signed> signed_;
  AhoCorasick automaton_;
};

}  // namespace

std::string folded_term(std::string_view text) { return squash(folded(text).text).text; }

Result<std::unique_ptr<const TermFinder>> TermFinder::make(std::vector<Term> terms) {
  auto finder = std::make_unique<Finder>(std::move(terms));
  TRY_STATUS(finder->prepare());
  return std::unique_ptr<const TermFinder>(std::move(finder));
}
