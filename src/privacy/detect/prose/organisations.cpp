// prose: organisations by the words that end their names, of the low class.
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/spans.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr size_t longest_latin = 5, longest_han = 10;

// Acme Widgets Ltd, Riverside University
void find_latin(std::string_view text, const Tokens& tokens, size_t at, NamedSpans& out) {
  const Token& token = tokens[at];
  if ((token.classes & (company_suffix | organisation_word)) == 0 || !capitalised(token) || token.end - token.begin < 2) return;
  size_t first = at;
  if (first > 0 && is_mark(text, tokens[first - 1], ',') && (token.classes & company_suffix) != 0) first -= 1;
  const size_t limit = at > longest_latin ? at - longest_latin : 0;
  while (first > limit && capitalised(tokens[first - 1]) && (tokens[first - 1].classes & (month_word | weekday_word | preposition_word)) == 0 && (tokens[first].spaced || first < at)) --first;
  if (first >= at || tokens[first].kind != TokenKind::word) return;
  const size_t last = at + 1 < tokens.size() && is_mark(text, tokens[at + 1], '.') && (token.classes & company_suffix) != 0 ? at + 2 : at + 1;
  out.push_back({PrivacyClass::org, "company", first, last, (token.classes & company_suffix) != 0 ? 0.7f : 0.55f});
}
// 台灣大學, 某某股份有限公司
void find_han(const Tokens& tokens, size_t at, NamedSpans& out) {
  const HanTerm term = han_term(tokens, at);
  if ((term.classes & han_organisation) == 0) return;
  const size_t limit = at > longest_han ? at - longest_han : 0;
  size_t first = at;
  while (first > limit && is_han(tokens, first - 1) && !tokens[first].spaced && (tokens[first - 1].classes & (han_function | han_digit)) == 0 &&
         (first == at || han_term_before(tokens, first, han_introducer | han_role | han_speech | han_address_label).n == 0))
    --first;
  if (at - first < 2) return;
  out.push_back({PrivacyClass::org, "company", first, at + term.n, term.n >= 4 ? 0.7f : 0.5f});
}

}  // namespace

void find_organisations(std::string_view text, const Tokens& tokens, NamedSpans& out) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == TokenKind::word) find_latin(text, tokens, i, out);
    else if (tokens[i].kind == TokenKind::han) find_han(tokens, i, out);
  }
}
