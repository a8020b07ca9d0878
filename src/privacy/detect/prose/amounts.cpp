// prose: amounts of money, of the low class.
#include "privacy/detect/prose/detectors.h"
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/tokens.h"
#include "privacy/detect/prose/words.h"

namespace {

bool currency_sign(uint32_t c) { return c == '$' || c == 0xa3 || c == 0xa5 || (c >= 0x20a0 && c <= 0x20cf); }

class Amounts final : public Detector {
 public:
  std::string_view name() const override { return "amount"; }
  char tier() const override { return 'c'; }
  void find(const Page& page, std::vector<Hit>& out) const override {
    if (page.text.find_first_of("0123456789") == std::string_view::npos) return;
    const Tokens tokens = tokenise(page.text);
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind != TokenKind::number) continue;
      const size_t end = end_of_number(page.text, tokens, i);
      size_t first = i, last = end;
      if (i > 0 && tokens[i - 1].kind == TokenKind::mark && currency_sign(tokens[i - 1].hash)) {
        first = i - 1;
        if (first > 0 && !tokens[first].spaced && tokens[first - 1].kind == TokenKind::word && tokens[first - 1].end - tokens[first - 1].begin <= 3) first -= 1;  // US$, NT$
      } else if (i > 0 && (tokens[i - 1].classes & currency_word) != 0 && tokens[i - 1].kind == TokenKind::word) {
        first = i - 1;
      }
      last = end_of_unit(tokens, end);
      if (first < i || last > end)
        out.push_back({.cls = PrivacyClass::amount, .kind = "money", .begin = tokens[first].begin, .end = tokens[last - 1].end, .score = 0.7f});
      i = last - 1;
    }
  }

 private:
  // 1,234.50
  static size_t end_of_number(std::string_view text, const Tokens& tokens, size_t at) {
    size_t end = at + 1;
    while (end + 1 < tokens.size() && (is_mark(text, tokens[end], ',') || is_mark(text, tokens[end], '.')) && !tokens[end].spaced && !tokens[end + 1].spaced &&
           tokens[end + 1].kind == TokenKind::number)
      end += 2;
    return end;
  }
  static size_t end_of_unit(const Tokens& tokens, size_t at) {
    if (at >= tokens.size()) return at;
    if (tokens[at].kind == TokenKind::word && (tokens[at].classes & currency_word) != 0) return at + 1;
    if (tokens[at].kind == TokenKind::mark && currency_sign(tokens[at].hash)) return at + 1;
    if (const HanTerm term = han_term(tokens, at); (term.classes & han_currency) != 0) return at + term.n;
    size_t end = at;
    while (is_han(tokens, end) && end < at + 3 && (tokens[end].hash == 0x4e07 || tokens[end].hash == 0x4ebf || tokens[end].hash == 0x5343 || tokens[end].hash == 0x767e)) ++end;  // 万 亿 千 百
    return is_han(tokens, end) && (tokens[end].classes & han_currency) != 0 ? end + 1 : at;
  }
};

}  // namespace

std::unique_ptr<Detector> make_amounts() { return std::make_unique<Amounts>(); }
