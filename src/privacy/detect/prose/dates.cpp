// prose: dates of birth by their labels; other dates are of the low class.
#include "privacy/detect/prose/dates.h"
#include <algorithm>
#include <array>
#include <charconv>
#include "privacy/detect/prose/detectors.h"
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr int this_century = 2000, latest_year = 2100, earliest_year = 1850;

int number(std::string_view text, const Token& token) {
  int value = -1;
  const std::string_view digits = text_of(text, token);
  std::from_chars(digits.data(), digits.data() + std::min<size_t>(digits.size(), 9), value);
  return value;
}
bool is_number(const Tokens& tokens, size_t at, size_t longest) {
  return at < tokens.size() && tokens[at].kind == TokenKind::number && tokens[at].end - tokens[at].begin <= longest;
}
size_t length(const Token& token) { return token.end - token.begin; }

bool real_day(int year, int month, int day) {
  constexpr std::array days = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1 || day > days[static_cast<size_t>(month - 1)]) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month != 2 || day < 29 || year == 0 || leap;
}
int full_year(int year) { return year >= 100 ? year : year > 30 ? this_century - 100 + year : this_century + year; }

int month_of(uint32_t hash) {
  static const std::array<std::vector<uint32_t>, 12> names = [] {
    constexpr std::array<std::string_view, 12> lists = {
        "january jan januar janvier enero gennaio", "february feb februar février febrero febbraio", "march mar märz mars marzo", "april apr avril abril aprile",
        "may mai mayo maggio", "june jun juni juin junio giugno", "july jul juli juillet julio luglio", "august aug août agosto",
        "september sep sept septembre septiembre settembre", "october oct oktober octobre octubre ottobre", "november nov novembre noviembre",
        "december dec dezember décembre diciembre dicembre"};
    std::array<std::vector<uint32_t>, 12> out;
    for (size_t i = 0; i < lists.size(); ++i) {
      for (std::string_view rest = lists[i]; !rest.empty();) {
        const size_t space = std::min(rest.find(' '), rest.size());
        out[i].push_back(word_hash(rest.substr(0, space)));
        rest.remove_prefix(std::min(rest.size(), space + 1));
      }
    }
    return out;
  }();
  for (size_t i = 0; i < names.size(); ++i) {
    for (const uint32_t name : names[i]) {
      if (name == hash) return static_cast<int>(i + 1);
    }
  }
  return 0;
}

// "5", "5th", "05": a day of the month in a word or number token; 0: none.
int day_of(std::string_view text, const Token& token) {
  const std::string_view word = text_of(text, token);
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || value > 31) return 0;
  const std::string_view rest(end, static_cast<size_t>(word.data() + word.size() - end));
  if (rest.empty()) return value;
  return rest == "st" || rest == "nd" || rest == "rd" || rest == "th" || rest == "ST" || rest == "TH" ? value : 0;
}

class Reader {
 public:
  Reader(std::string_view text, const Tokens& tokens, size_t at) : text_(text), tokens_(tokens), at_(at) {}

  std::optional<Date> read() const {
    if (tokens_[at_].kind == TokenKind::han) {
      if (const auto date = era()) return date;
      return han_digits();
    }
    if (tokens_[at_].kind == TokenKind::number) {
      if (const auto date = han_marks(at_, 0, false)) return date;
      if (const auto date = separated()) return date;
      if (const auto date = compact()) return date;
    }
    if (const auto date = day_first()) return date;
    return month_first();
  }

 private:
  bool mark(size_t at, char c) const { return at < tokens_.size() && is_mark(text_, tokens_[at], c); }
  bool han(size_t at, std::string_view one) const { return is_han(tokens_, at) && tokens_[at].hash == character_at(one, 0).code; }
  bool month_at(size_t at) const { return at < tokens_.size() && (tokens_[at].classes & month_word) != 0; }
  static std::optional<Date> made(int year, int month, int day, size_t end) {
    if (!real_day(year, month, day) || (year != 0 && (year < earliest_year || year > latest_year))) return std::nullopt;
    return Date{year, month, day, end};
  }

  // yyyy-mm-dd, dd/mm/yyyy, mm/dd/yyyy, dd.mm.yy with one separator.
  std::optional<Date> separated() const {
    if (at_ + 4 >= tokens_.size() || !is_number(tokens_, at_, 4) || !is_number(tokens_, at_ + 2, 2) || !is_number(tokens_, at_ + 4, 4)) return std::nullopt;
    const Token& separator = tokens_[at_ + 1];
    if (separator.kind != TokenKind::mark || separator.end != separator.begin + 1 || tokens_[at_ + 3].hash != separator.hash) return std::nullopt;
    const char c = text_[separator.begin];
    if (c != '-' && c != '/' && c != '.') return std::nullopt;
    if (at_ > 0 && !tokens_[at_].spaced && tokens_[at_ - 1].hash == separator.hash) return std::nullopt;
    const size_t end = at_ + 5;
    if (end + 1 < tokens_.size() && tokens_[end].hash == separator.hash && is_number(tokens_, end + 1, 9) && !tokens_[end + 1].spaced) return std::nullopt;
    const int a = number(text_, tokens_[at_]), b = number(text_, tokens_[at_ + 2]), d = number(text_, tokens_[at_ + 4]);
    if (length(tokens_[at_]) == 4) return made(a, b, d, end);
    if (length(tokens_[at_ + 4]) == 3 || length(tokens_[at_]) == 3) return std::nullopt;
    if (length(tokens_[at_ + 4]) == 1 || (c == '.' && length(tokens_[at_ + 4]) == 2 && length(tokens_[at_]) != 2)) return std::nullopt;
    const int year = full_year(d);
    if (const auto date = made(year, b, a, end)) return date;
    return made(year, a, b, end);
  }
  // 19900305
  std::optional<Date> compact() const {
    if (length(tokens_[at_]) != 8) return std::nullopt;
    const int value = number(text_, tokens_[at_]);
    return made(value / 10000, value / 100 % 100, value % 100, at_ + 1);
  }
  // 1990年3月5日; `base` is added to the year, which may be 元.
  std::optional<Date> han_marks(size_t at, int base, bool first_year) const {
    int year = 1;
    if (!first_year) {
      if (!is_number(tokens_, at, 4)) return std::nullopt;
      year = number(text_, tokens_[at]);
      if (base == 0 && length(tokens_[at]) == 2) base = year > 30 ? 1900 : 2000;
    }
    if (!han(at + 1, "年") || !is_number(tokens_, at + 2, 2) || !han(at + 3, "月")) return std::nullopt;
    if (!is_number(tokens_, at + 4, 2)) return std::nullopt;
    const size_t end = at + 5 + (han(at + 5, "日") || han(at + 5, "号") ? 1 : 0);
    return made(base + year, number(text_, tokens_[at + 2]), number(text_, tokens_[at + 4]), end);
  }
  // 民國79年3月5日, 民國79.03.05, 昭和55年3月5日.
  std::optional<Date> era() const {
    constexpr struct { std::string_view first, second; int base; } eras[] = {{"民", "国", 1911}, {"明", "治", 1867}, {"大", "正", 1911}, {"昭", "和", 1925}, {"平", "成", 1988}, {"令", "和", 2018}};
    for (const auto& e : eras) {
      if (!han(at_, e.first) || !han(at_ + 1, e.second)) continue;
      const size_t at = at_ + 2;
      if (han(at, "元")) return han_marks(at, e.base, true);
      if (const auto date = han_marks(at, e.base, false)) return date;
      if (!is_number(tokens_, at, 3) || !is_number(tokens_, at + 2, 2) || !is_number(tokens_, at + 4, 2)) return std::nullopt;
      if (tokens_[at + 1].kind != TokenKind::mark || tokens_[at + 1].hash != tokens_[at + 3].hash) return std::nullopt;
      return made(e.base + number(text_, tokens_[at]), number(text_, tokens_[at + 2]), number(text_, tokens_[at + 4]), at + 5);
    }
    return std::nullopt;
  }
  // 一九九〇年三月五日, 七十九年三月五日.
  std::optional<Date> han_digits() const {
    size_t at = at_;
    const int year = han_number(at);
    if (year < 0 || !han(at, "年")) return std::nullopt;
    const int month = han_number(++at);
    if (month < 0 || !han(at, "月")) return std::nullopt;
    const int day = han_number(++at);
    if (day < 0) return std::nullopt;
    at += han(at, "日") || han(at, "号") ? 1 : 0;
    return made(year < 200 ? year + 1911 : year, month, day, at);
  }
  int han_number(size_t& at) const {
    constexpr std::string_view digits = "〇一二三四五六七八九";
    int value = -1, unit = 0;
    const size_t start = at;
    for (; is_han(tokens_, at) && (tokens_[at].classes & han_digit) != 0 && at < start + 6; ++at) {
      const uint32_t code = tokens_[at].hash;
      if (code == 0x5341) {  // 十
        value = (value < 0 ? 1 : value) * 10;
        unit = 1;
        continue;
      }
      int digit = code == 0x96f6 ? 0 : -1;
      for (int i = 0; i < 10; ++i) {
        if (character_at(digits, static_cast<size_t>(i) * 3).code == code) digit = i;
      }
      if (digit < 0) return -1;
      value = unit != 0 ? value + digit : (value < 0 ? 0 : value) * 10 + digit;
    }
    return value;
  }
  // 5 March 1990, 5th of March, 1990; without a year too.
  std::optional<Date> day_first() const {
    const int day = day_of(text_, tokens_[at_]);
    size_t at = at_ + 1;
    if (day == 0) return std::nullopt;
    if (mark(at, '.') || mark(at, '-')) ++at;
    if (at < tokens_.size() && (text_of(text_, tokens_[at]) == "of" || text_of(text_, tokens_[at]) == "de")) ++at;
    if (!month_at(at)) return std::nullopt;
    const int month = month_of(tokens_[at].hash);
    ++at;
    while (mark(at, ',') || mark(at, '.') || mark(at, '-') || (at < tokens_.size() && text_of(text_, tokens_[at]) == "de")) ++at;
    if (is_number(tokens_, at, 4) && (length(tokens_[at]) == 4 || (length(tokens_[at]) == 2 && at > 0 && mark(at - 1, '-')))) return made(full_year(number(text_, tokens_[at])), month, day, at + 1);
    size_t end = at_ + 1;
    while (end < tokens_.size() && !month_at(end)) ++end;
    return made(0, month, day, end + 1);
  }
  // March 5, 1990; Mar. 5th 1990
  std::optional<Date> month_first() const {
    if (!month_at(at_)) return std::nullopt;
    size_t at = at_ + 1;
    if (mark(at, '.') || mark(at, '-')) ++at;
    if (at >= tokens_.size()) return std::nullopt;
    const int day = day_of(text_, tokens_[at]);
    if (day == 0) return std::nullopt;
    const size_t end = ++at;
    while (mark(at, ',') || mark(at, '-')) ++at;
    if (is_number(tokens_, at, 4) && length(tokens_[at]) == 4) return made(number(text_, tokens_[at]), month_of(tokens_[at_].hash), day, at + 1);
    return tokens_[at_].shape == WordShape::lower ? std::nullopt : made(0, month_of(tokens_[at_].hash), day, end);
  }

  std::string_view text_;
  const Tokens& tokens_;
  size_t at_;
};

class Dates final : public Detector {
 public:
  explicit Dates(LabelBook& book) {
    born_ = book.add({"dob", "d.o.b", "d.o.b.", "date of birth", "birth date", "birthdate", "birth day", "birthday", "bday", "b-day", "born", "born on", "birth", "geburtsdatum", "geboren", "geb",
                      "né le", "née le", "date de naissance", "fecha de nacimiento", "nacido", "nacida", "data di nascita", "data de nascimento", "geboortedatum", "urodzony", "urodzona",
                      "生日", "出生", "生年月日", "出生日期", "出生年月日", "出生年月", "誕生日", "诞生", "生於", "生于", "生年"});
  }
  std::string_view name() const override { return "date"; }
  void find(const Page& page, std::vector<Hit>& out) const override {
    if (page.text.find_first_of("0123456789") == std::string_view::npos && page.text.find("年") == std::string_view::npos) return;
    const Tokens tokens = tokenise(page.text);
    size_t previous_end = 0;  // a label belongs to the date next to it
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!may_begin(tokens[i])) continue;
      const auto date = date_at(page.text, tokens, i);
      if (!date) continue;
      const size_t begin = tokens[i].begin, end = tokens[date->end - 1].end;
      if (const float score = birth_score(page, *date, begin, end, previous_end); score > 0) {
        out.push_back({.cls = PrivacyClass::dob, .kind = "dob", .begin = begin, .end = end, .score = score, .validated = true});
      } else if (date->year != 0 || tokens[i].kind != TokenKind::number || date->end > i + 1) {
        const bool bare = date->end == i + 1;  // eight digits that may be anything
        if (!bare) out.push_back({.cls = PrivacyClass::date, .kind = "date", .begin = begin, .end = end, .score = date->year != 0 ? 0.7f : 0.5f});
      }
      previous_end = end;
      i = date->end - 1;
    }
  }

 private:
  static bool may_begin(const Token& token) {
    if (token.kind == TokenKind::number) return true;
    if (token.kind == TokenKind::han) return (token.classes & han_digit) != 0 || token.hash == 0x6c11 || token.hash == 0x660e || token.hash == 0x5927 || token.hash == 0x662d || token.hash == 0x5e73 || token.hash == 0x4ee4;
    return (token.classes & month_word) != 0 || token.shape == WordShape::code;
  }
  float birth_score(const Page& page, const Date& date, size_t begin, size_t end, size_t previous_end) const {
    if (page.labels.introduces(born_, begin)) return 0.95f;
    size_t between = 0;
    for (size_t i = previous_end; i < begin && between <= 40; ++i) between += (static_cast<unsigned char>(page.text[i]) & 0xc0) != 0x80;
    if (begin > previous_end && page.labels.before(born_, begin, std::min<size_t>(between, 40))) return 0.85f;
    return date.year != 0 && page.labels.after(born_, end, 12) ? 0.8f : 0;
  }
  LabelSet born_;
};

}  // namespace

std::optional<Date> date_at(std::string_view text, const Tokens& tokens, size_t at) { return Reader(text, tokens, at).read(); }

std::unique_ptr<Detector> make_dates(LabelBook& book) { return std::make_unique<Dates>(book); }
