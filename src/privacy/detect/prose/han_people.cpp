// prose: people in Chinese characters: surname and given name beside a title, an introducer or a role; 王○明, 小王, 王董.
#include <algorithm>
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/spans.h"

namespace {

constexpr float introduced_score = 0.9f, titled_score = 0.88f, surname_title_score = 0.75f, masked_score = 0.9f, role_score = 0.75f, cell_score = 0.6f, nick_score = 0.5f;

class HanPeople {
 public:
  HanPeople(std::string_view text, const Tokens& tokens, NamedSpans& out) : text_(text), tokens_(tokens), out_(out) {}

  void find() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenKind::han) continue;
      const size_t last = one(i);
      if (last > i) i = last - 1;
    }
  }

 private:
  uint32_t classes(size_t at) const { return is_han(tokens_, at) ? tokens_[at].classes : 0; }
  size_t surname_at(size_t at) const {
    const HanTerm term = han_term(tokens_, at);
    if ((term.classes & han_surname) != 0) return 2;
    return (classes(at) & han_surname) != 0 ? 1 : 0;
  }
  bool may_be_given(size_t at) const { return is_han(tokens_, at) && (classes(at) & (han_function | han_digit)) == 0; }
  bool blank(size_t at) const { return at < tokens_.size() && (tokens_[at].hash == 0x25cb || tokens_[at].hash == 0x3007 || tokens_[at].hash == 'o' || tokens_[at].hash == 'O' || tokens_[at].hash == '*' || tokens_[at].hash == 0x25ef || tokens_[at].hash == 0x67d0 || is_round(at)); }
  bool is_round(size_t at) const {
    const std::string_view word = text_of(text_, tokens_[at]);
    return word == "O" || word == "0" || word == "X" || word == "XX" || word == "OO" || word == "00";
  }
  bool title_at(size_t at) const { return (han_term(tokens_, at).classes & han_title) != 0; }
  size_t add(size_t first, size_t last, float score, std::string_view kind) {
    out_.push_back({PrivacyClass::person, kind, first, last, score});
    return last;
  }

  size_t one(size_t at) {
    const size_t family = surname_at(at);
    if (family == 0) return nickname(at);
    if (const size_t end = masked(at, family); end > at) return end;
    if ((han_term(tokens_, at).classes & han_province) != 0) return at;  // 高雄市長
    if (const size_t end = titled(at, family); end > at) return end;
    if (const size_t end = introduced(at, family); end > at) return end;
    return cell(at, family);
  }
  // 王○明, 王*明, 陳OO, 李某某
  size_t masked(size_t at, size_t family) {
    size_t end = at + family;
    if (!blank(end) || tokens_[end].spaced) {
      if (may_be_given(end) && blank(end + 1) && !tokens_[end + 1].spaced && tokens_[end + 1].hash != 0x67d0) return add(at, end + 2, masked_score, "masked");
      return at;
    }
    while (blank(end) && end < at + family + 3) ++end;
    if (may_be_given(end) && tokens_[end - 1].hash != 0x67d0 && !tokens_[end].spaced && !title_at(end)) end += 1;
    return add(at, end, masked_score, "masked");
  }
  // 王小明先生, 王先生, 王董
  size_t titled(size_t at, size_t family) {
    const size_t given = at + family;
    for (const size_t n : {size_t{2}, size_t{1}}) {
      bool fine = true;
      for (size_t i = 0; i < n; ++i) fine = fine && may_be_given(given + i);
      if (fine && title_at(given + n) && !inside_word(at) && !(n == 1 && (title_at(given) || han_ordinary(tokens_, at, 2)))) return add(at, given + n, titled_score, "titled");
    }
    if (title_at(given) && !inside_word(at) && !han_ordinary(tokens_, at, family + 1)) return add(at, given, surname_title_score, "titled");
    const bool alone = !is_han(tokens_, given + 1) || (classes(given + 1) & han_function) != 0 || (han_term(tokens_, given + 1).classes & (han_speech | han_title)) != 0;
    if ((classes(given) & han_short_title) != 0 && alone && !inside_word(at) && !han_ordinary(tokens_, at, family + 1)) return add(at, given + 1, 0.6f, "titled");
    return at;
  }
  // Whether the character is the end of an ordinary word, 提高 in 提高經理人.
  bool inside_word(size_t at) const {
    return at > 0 && (han_ordinary(tokens_, at - 1, 2) || (at > 1 && han_ordinary(tokens_, at - 2, 3))) && (han_term_before(tokens_, at, han_introducer | han_role).n == 0);
  }
  size_t given_end(size_t at) const {
    if (!may_be_given(at) || tokens_[at].spaced) return at;
    if (!may_be_given(at + 1) || tokens_[at + 1].spaced) return at + 1;
    if ((han_term(tokens_, at + 1).classes & (han_speech | han_title | han_role | han_care)) != 0) return at + 1;
    return at + 2;
  }
  // 姓名：王小明; 我叫王小明; 同事王小明; 患者 王小明
  size_t introduced(size_t at, size_t family) {
    size_t before = at;
    bool colon = false;
    while (before > 0 && at - before < 4 && tokens_[before - 1].kind == TokenKind::mark) {
      const uint32_t c = tokens_[before - 1].hash;
      if (c != ':' && c != 0xff1a && c != '"' && c != 0x300c && c != 0x201c && c != '|' && c != '*' && c != '=' && c != ')') break;
      colon = colon || c == ':' || c == 0xff1a || c == '|' || c == '=';
      --before;
    }
    if (is_han(tokens_, before - 1) && (tokens_[before - 1].hash == 0x662f || tokens_[before - 1].hash == 0x4e3a || tokens_[before - 1].hash == 0x53eb) && han_term_before(tokens_, before - 1, han_introducer | han_role).n > 0) before -= 1;  // 是 为 叫
    const HanTerm term = han_term_before(tokens_, before, han_introducer | han_role);
    if (term.n == 0) return at;
    const bool strong = (term.classes & han_introducer) != 0, adjacent = before == at;
    if (before != at && !colon) return at;
    const size_t end = given_end(at + family);
    if (end == at + family) return strong && colon ? add(at, end, 0.4f, "introduced") : at;
    if (adjacent && !strong && (han_ordinary(tokens_, at, 2) || (end - at == 3 && han_ordinary(tokens_, at, 3)))) return at;
    if (adjacent && han_ordinary(tokens_, at, end - at) && !colon) return at;
    return add(at, end, strong ? introduced_score : role_score, "introduced");
  }
  // A cell, list item or line that is nothing but a name.
  size_t cell(size_t at, size_t family) {
    if ((is_han(tokens_, at - 1) && at > 0 && !tokens_[at].spaced)) return at;
    const size_t limit = at + family + 2;
    size_t end = at;
    while (is_han(tokens_, end) && end <= limit && (end == at || !tokens_[end].spaced)) ++end;
    if (end > limit || end == at + family || (is_han(tokens_, end) && !tokens_[end].spaced)) return at;
    for (size_t i = at + family; i < end; ++i) {
      if (!may_be_given(i)) return at;
    }
    if (han_ordinary(tokens_, at, end - at) || (end - at == 3 && (han_ordinary(tokens_, at, 2) || (han_ordinary(tokens_, at + 1, 2) && (classes(at + 1) & han_given) == 0)))) return at;
    if ((han_term(tokens_, at).classes & (han_province | han_condition | han_care)) != 0 || (classes(end - 1) & (han_region_unit | han_road_unit)) != 0) return at;
    bool usual = true;
    for (size_t i = at + family; i < end; ++i) usual = usual && (classes(i) & han_given) != 0;
    return add(at, end, usual ? cell_score : end - at == 2 ? 0.3f : 0.4f, "cell");
  }
  // 小王, 老李, 阿明
  size_t nickname(size_t at) {
    if ((classes(at) & han_nick) == 0 || !is_han(tokens_, at + 1) || tokens_[at + 1].spaced || (classes(at + 1) & han_surname) == 0) return at;
    if (han_ordinary(tokens_, at, 2) || han_ordinary(tokens_, at + 1, 2) || inside_word(at)) return at;
    const bool after = !is_han(tokens_, at + 2) || (classes(at + 2) & han_function) != 0 || (han_term(tokens_, at + 2).classes & (han_speech | han_title)) != 0;
    return after ? add(at, at + 2, nick_score, "nickname") : at;
  }

  std::string_view text_;
  const Tokens& tokens_;
  NamedSpans& out_;
};

}  // namespace

void find_han_people(std::string_view text, const Tokens& tokens, NamedSpans& out) { HanPeople(text, tokens, out).find(); }
