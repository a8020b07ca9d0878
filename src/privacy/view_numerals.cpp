// view_numerals: numbers in words: Chinese numerals, English digits spelled out, digits with something between each, and long words backwards.
#include <algorithm>
#include <array>
#include <utility>
#include "privacy/characters.h"
#include "privacy/view_derive.h"

namespace {

struct Digit { size_t begin, end; char value; };  // bytes of the page

// Side by side: what stood between two digits becomes nothing.
void join(const std::vector<Digit>& digits, Rewrites& out) {
  for (size_t i = 0; i < digits.size();) {
    const Digit& first = digits[i];
    std::string text;
    for (; i < digits.size() && digits[i].begin == first.begin; ++i) text.push_back(digits[i].value);  // "double four"
    out.add(first.begin, first.end, text);
    if (i < digits.size() && digits[i].begin > first.end) out.add(first.end, digits[i].begin, {});
  }
}

// ---- Chinese ----
char chinese_numeral(char32_t c) {
  switch (c) {
    case U'〇': case U'零': case U'洞': return '0';
    case U'一': case U'壹': case U'壱': case U'幺': case U'么': return '1';
    case U'二': case U'贰': case U'貳': case U'弍': case U'两': case U'兩': return '2';
    case U'三': case U'叁': case U'參': case U'叄': case U'参': return '3';
    case U'四': case U'肆': return '4';
    case U'五': case U'伍': return '5';
    case U'六': case U'陆': case U'陸': return '6';
    case U'七': case U'柒': case U'拐': return '7';
    case U'八': case U'捌': return '8';
    case U'九': case U'玖': case U'勾': return '9';
    default: return '\0';
  }
}
bool separates_numerals(char32_t c) { return c == ' ' || c == '-' || c == '.' || c == ',' || c == U'、' || c == U'，' || c == U'·' || c == U'。' || c == U'・'; }

constexpr size_t min_numerals = 8, min_chinese = 4;
void find_chinese(std::string_view page, Rewrites& out) {
  std::vector<Digit> run;
  size_t n_chinese = 0;
  bool separated = false;
  const auto finish = [&] {
    while (!run.empty() && page[run.back().begin] == run.back().value) run.pop_back();  // digits after the last numeral stay as they are
    if (run.size() >= min_numerals && n_chinese >= min_chinese) join(run, out);
    run.clear(), n_chinese = 0, separated = false;
  };
  for (size_t at = first_beyond_ascii(page); at < page.size();) {
    const CodePoint c = code_point_at(page, at);
    const char value = chinese_numeral(c.value);
    if (value != '\0' || (!run.empty() && is_digit(c.value))) {
      run.push_back({at, at + c.length, value != '\0' ? value : static_cast<char>(c.value)});
      n_chinese += value != '\0';
      separated = false;
    } else if (!run.empty() && !separated && separates_numerals(c.value)) {
      separated = true;
    } else if (!run.empty()) {
      finish();
    }
    at += c.length;
    if (run.empty()) at = first_beyond_ascii(page, at);
  }
  if (!run.empty()) finish();
}

// ---- English ----
char spelled_digit(std::string_view word) {
  constexpr struct { std::string_view word; char digit; } words[] = {{"zero", '0'}, {"oh", '0'}, {"o", '0'}, {"nought", '0'}, {"one", '1'}, {"two", '2'}, {"three", '3'},
      {"four", '4'}, {"five", '5'}, {"six", '6'}, {"seven", '7'}, {"eight", '8'}, {"nine", '9'}, {"niner", '9'}};
  for (const auto& w : words) {
    if (w.word == word) return w.digit;
  }
  return '\0';
}

// Lower case; empty for words too long to be one of those sought.
struct Word {
  std::array<char, 8> letters{};
  size_t size = 0;
  std::string_view view() const { return {letters.data(), size}; }
};
constexpr bool may_start(char c) {
  return c == 'z' || c == 'o' || c == 'n' || c == 't' || c == 'f' || c == 's' || c == 'e' || c == 'd' || c == 'h' || c == 'p';
}

constexpr size_t min_spelled = 7, max_word_gap = 3;
void find_spelled(std::string_view page, Rewrites& out) {
  std::vector<Digit> run;
  size_t times = 1, times_at = 0, last_end = 0, n_words = 0;
  const auto finish = [&] {
    if (n_words >= min_spelled) join(run, out);
    run.clear(), n_words = 0, times = 1;
  };
  for (size_t at = 0; at < page.size();) {
    if (!is_ascii_letter(static_cast<unsigned char>(page[at]))) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < page.size() && is_ascii_letter(static_cast<unsigned char>(page[end]))) ++end;
    const size_t begin = std::exchange(at, end);
    Word word;
    if (end - begin <= word.letters.size() && may_start(static_cast<char>(page[begin] | 0x20))) {
      for (size_t i = begin; i < end; ++i) word.letters[word.size++] = static_cast<char>(page[i] | 0x20);
    }
    if (!run.empty() && begin - last_end > max_word_gap) finish();
    const std::string_view w = word.view();
    const char digit = w.empty() ? '\0' : spelled_digit(w);
    if (digit != '\0') {
      const size_t from = times > 1 ? times_at : begin;
      n_words += times > 1 ? 2 : 1;
      for (; times > 0; --times) run.push_back({from, end, digit});
      times = 1;
    } else if (w == "double" || w == "triple") {
      times = w == "double" ? 2 : 3, times_at = begin;
    } else if (w.empty() || !(w == "dash" || w == "hyphen" || w == "space" || w == "dot" || w == "point" || w == "then")) {
      if (!run.empty()) finish();
      times = 1;
    }
    last_end = end;
  }
  if (!run.empty()) finish();
}

// ---- digits apart ----
enum class Kind : uint8_t { other, single, separator };
Kind kind_of(unsigned char c) {
  if (is_digit(c) || is_ascii_letter(c)) return Kind::single;
  return c == '.' || c == ' ' || c == '-' || c == ',' || c == '/' || c == '_' || c == '|' || c == '*' || c == ':' ? Kind::separator : Kind::other;
}

constexpr size_t min_apart = 8, min_digits_apart = 7, max_apart = 40, max_gap = 2;
void find_apart(std::string_view page, Rewrites& out) {
  std::vector<Digit> run;
  size_t n_digits = 0;
  bool in_list = false;  // numbers of several digits beside it: a list and not one number
  const auto finish = [&](bool beside_number) {
    if (!in_list && !beside_number && run.size() >= min_apart && run.size() <= max_apart && n_digits >= min_digits_apart) join(run, out);
    run.clear(), n_digits = 0, in_list = false;
  };
  size_t gap = max_gap + 1;  // separators since the last word
  bool after_number = false;
  for (size_t at = 0; at < page.size();) {
    const auto byte = static_cast<unsigned char>(page[at]);
    const Kind kind = kind_of(byte);
    if (kind != Kind::single) {
      gap = kind == Kind::separator ? gap + 1 : max_gap + 1;
      if (gap > max_gap) {
        if (!run.empty()) finish(false);
        after_number = false;
      }
      ++at;
      continue;
    }
    size_t end = at + 1;
    while (end < page.size() && kind_of(static_cast<unsigned char>(page[end])) == Kind::single) ++end;
    if (end == at + 1 && !(byte >= 'a' && byte <= 'z')) {  // a small letter is a word of its own
      if (run.empty()) in_list = after_number;
      run.push_back({at, end, static_cast<char>(byte)});
      n_digits += is_digit(byte);
      after_number = false;
    } else {
      after_number = std::all_of(page.begin() + static_cast<ptrdiff_t>(at), page.begin() + static_cast<ptrdiff_t>(end), [](char c) { return is_digit(static_cast<unsigned char>(c)); });
      if (!run.empty()) finish(after_number);
    }
    gap = 0;
    at = end;
  }
  if (!run.empty()) finish(false);
}

constexpr size_t min_reversed = 20;  // bytes of a word
constexpr ptrdiff_t min_reversed_letters = 6;

}  // namespace

Rewrites find_numerals(std::string_view page) {
  Rewrites out;
  find_chinese(page, out);
  find_spelled(page, out);
  out.sort();
  return out;
}

Rewrites find_digits_apart(std::string_view page) {
  Rewrites out;
  find_apart(page, out);
  return out;
}

View reversed_view(std::string_view page) {
  constexpr std::string_view between_words = " \t\r\n\"'<>(),;";
  View view;
  view.kind = ViewKind::reversed;
  for (size_t at = 0; at < page.size();) {
    const size_t begin = std::min(page.find_first_not_of(between_words, at), page.size());
    at = std::min(page.find_first_of(between_words, begin), page.size());
    const auto letters = std::count_if(page.begin() + static_cast<ptrdiff_t>(begin), page.begin() + static_cast<ptrdiff_t>(at), [](char c) { return is_ascii_letter(static_cast<unsigned char>(c)); });
    if (at - begin < min_reversed || letters < min_reversed_letters) continue;  // times and numbers are no credentials
    for (size_t end = at; end > begin;) {
      const size_t length = code_point_before(page, end).length;
      end -= length;
      view.append(page.substr(end, length), end, end + length);
    }
    view.append("\n", at, at);
  }
  return view;
}
