// vault_forms: folding values, and the letters that comparisons run over.
#include "privacy/vault_forms.h"

#include <algorithm>
#include <array>
#include <utf8proc.h>
#include "privacy/characters.h"
#include "privacy/placeholder.h"
#include "privacy/view.h"

namespace {

constexpr size_t max_separators = 3;  // characters between two letters of one value: ", " or " - "

char32_t small_letter(char32_t c) { return c < 0x80 ? (c >= 'A' && c <= 'Z' ? c + 0x20 : c) : static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))); }

enum class Sort : uint8_t { other, mark, letter, digit, unspaced };
Sort sort_of(char32_t c) {
  if (c < 0x80) return is_ascii_letter(c) ? Sort::letter : is_digit(c) ? Sort::digit : Sort::other;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL: return joins_run(c) ? Sort::letter : Sort::unspaced;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NO: return Sort::digit;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF: return Sort::mark;
    default: return Sort::other;
  }
}

bool is_blank(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0 || c == 0x3000 || (c >= 0x2000 && c <= 0x200a); }

// Words that stand in names and everywhere else: no part of a name by themselves.
constexpr std::array<std::string_view, 44> common = {"van", "von",  "der",   "den",  "del",  "dos", "das", "las", "los", "bin",  "ibn", "abu", "the", "and", "for",
                                                     "mrs", "prof", "will",  "may",  "june", "mark", "bill", "rose", "grace", "hope", "faith", "joy", "art", "sir",
                                                     "miss", "dame", "lord", "lady", "jun",  "sen", "esq", "phd", "mba", "son", "april", "august", "summer", "king", "young"};
bool is_common(const std::vector<Letter>& letters, LetterRange range) {
  std::string word;
  for (size_t i = range.begin; i < range.end; ++i) append_utf8(letters[i].value, word);
  return std::find(common.begin(), common.end(), word) != common.end();
}

// Surnames of two characters.
bool is_compound_surname(char32_t a, char32_t b) {
  constexpr std::u32string_view pairs = U"歐陽欧阳司馬司马諸葛诸葛上官夏侯東方东方皇甫尉遲尉迟公孫公孙慕容令狐司徒司空張簡范姜";
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i] == a && pairs[i + 1] == b) return true;
  }
  return false;
}

}  // namespace

bool compares_digits(PrivacyClass cls) {
  using enum PrivacyClass;
  return cls == gov_id || cls == card || cls == iban || cls == bank || cls == phone || cls == mac;
}
bool compares_punctuation(PrivacyClass cls) {
  using enum PrivacyClass;
  return cls == ip || cls == host || cls == url || cls == date || cls == dob || cls == amount || cls == email || cls == handle;
}

std::string normalised(PrivacyClass cls, std::string_view value) {
  if (cls == PrivacyClass::secret || cls == PrivacyClass::crypto) return std::string(value);  // case matters, and so may everything else
  const std::string text = folded(value).text;
  const bool is_date = cls == PrivacyClass::date || cls == PrivacyClass::dob;
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint next = code_point_at(text, at);
    at += next.length;
    const Sort sort = sort_of(next.value);
    if (sort == Sort::mark || is_blank(next.value)) continue;
    if (sort == Sort::other && !compares_punctuation(cls)) continue;
    append_utf8(is_date && (next.value == '/' || next.value == '.') ? U'-' : small_letter(next.value), out);
  }
  return out.empty() ? std::string(value) : out;
}

std::vector<Letter> letters_of(std::string_view text, char32_t before) {
  const View view = folded(text);
  std::vector<Letter> out;
  out.reserve(view.text.size() / 2);
  Sort last = before == 0 ? Sort::other : sort_of(before);
  size_t gap = 0;
  for (size_t at = 0; at < view.text.size();) {
    const CodePoint next = code_point_at(view.text, at);
    const size_t here = at;
    at += next.length;
    const Sort sort = sort_of(next.value);
    if (sort == Sort::mark) continue;
    if (sort == Sort::other) {
      ++gap;
      last = sort;
      continue;
    }
    const View::Origin origin = view.origin(here, at);
    const char32_t small = small_letter(next.value);
    const bool was_small = sort == Sort::letter && small == next.value && utf8proc_toupper(static_cast<utf8proc_int32_t>(small)) != static_cast<utf8proc_int32_t>(small);
    const auto kind = sort == Sort::letter ? Letter::Kind::letter : sort == Sort::digit ? Letter::Kind::digit : Letter::Kind::unspaced;
    out.push_back({small, static_cast<uint32_t>(origin.begin), static_cast<uint32_t>(origin.end), kind, sort != last || sort == Sort::unspaced, was_small, gap > max_separators});
    last = sort;
    gap = 0;
  }
  return out;
}

bool is_telling(const std::vector<Letter>& letters, LetterRange range) {
  const size_t size = range.end - range.begin;
  const auto count = [&](Letter::Kind kind) {
    return static_cast<size_t>(std::count_if(letters.begin() + static_cast<std::ptrdiff_t>(range.begin), letters.begin() + static_cast<std::ptrdiff_t>(range.end),
                                             [&](const Letter& letter) { return letter.kind == kind; }));
  };
  if (count(Letter::Kind::unspaced) >= 2) return true;
  return count(Letter::Kind::digit) == size ? size >= 5 : size >= 3;
}

std::vector<LetterRange> parts_of_name(const std::vector<Letter>& letters) {
  std::vector<LetterRange> out;
  const size_t n = letters.size();
  const bool unspaced = std::all_of(letters.begin(), letters.end(), [](const Letter& letter) { return letter.kind == Letter::Kind::unspaced; });
  if (unspaced && n >= 3 && n <= 4) {
    const size_t surname = n == 4 || is_compound_surname(letters[0].value, letters[1].value) ? 2 : 1;
    if (n - surname >= 2) out.push_back({surname, n});
    return out;
  }
  for (size_t begin = 0, end = 0; begin < n; begin = end) {
    for (end = begin + 1; end < n && !letters[end].starts;) ++end;
    const bool whole = begin == 0 && end == n;
    if (!whole && letters[begin].kind == Letter::Kind::letter && is_telling(letters, {begin, end}) && !is_common(letters, {begin, end})) out.push_back({begin, end});
  }
  return out;
}
