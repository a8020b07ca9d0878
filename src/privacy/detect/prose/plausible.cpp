// prose: what a tagged span must look like to be believed: the tagger guesses from context alone, and code is full of contexts.
#include <algorithm>
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/model.h"
#include "privacy/detect/prose/spans.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr uint32_t listed = first_name | surname;

bool any(const Tokens& tokens, const NamedSpan& span, auto&& test) {
  return std::any_of(tokens.begin() + static_cast<long>(span.first), tokens.begin() + static_cast<long>(span.last), test);
}
bool is_listed(const Token& token) { return (prose_model().word(token.hash).bits() & listed) != 0; }

// McDonald, DeShawn, O'Neil; not TypeError.
bool mixed_like_a_name(std::string_view word) {
  constexpr std::string_view heads[] = {"Mc", "Mac", "De", "Di", "Du", "La", "Le", "Van", "Von", "Fitz", "St", "O'", "D'", "Al", "El", "Ó"};
  if (word.find('\'') != std::string_view::npos || word.find("\u2019") != std::string_view::npos) return true;
  return std::any_of(std::begin(heads), std::end(heads), [&](std::string_view head) { return word.starts_with(head) && word.size() > head.size() + 1; });
}

// Headings of columns that are surnames too.
bool is_heading(std::string_view word) {
  constexpr std::string_view headings[] = {"Age", "Date", "City", "State", "Status", "Role", "Title", "Type", "Email", "Phone", "Address", "Country", "Notes", "Total", "Amount", "Price", "Page", "Day", "Key", "Value"};
  return std::find(std::begin(headings), std::end(headings), word) != std::end(headings);
}

float person_score(std::string_view text, const Tokens& tokens, const NamedSpan& span) {
  size_t n_words = 0, n_known = 0, n_upper = 0, n_ordinary = 0;
  bool starts_lower = false;
  for (size_t i = span.first; i < span.last; ++i) {
    const Token& token = tokens[i];
    if (token.kind == TokenKind::number) return 0;
    if (token.kind != TokenKind::word) continue;
    const bool known = is_listed(token);
    if (token.shape == WordShape::code || token.shape == WordShape::mixed) return 0;
    if (token.shape == WordShape::mixed_title && !known && !mixed_like_a_name(text_of(text, token))) return 0;
    if (n_words == 0 && token.shape == WordShape::lower && (token.classes & particle) == 0) starts_lower = true;
    if (starts_lower && capitalised(token)) return 0;  // zh-Hant
    if (n_words == 0 && token.end - token.begin == 1 && i + 1 < tokens.size() && is_mark(text, tokens[i + 1], '-') && !tokens[i + 1].spaced) return 0;  // X-Forwarded-For
    n_words += 1;
    n_known += known;
    n_upper += token.shape == WordShape::upper && !known;
    n_ordinary += (prose_model().word(token.hash).bits() & ordinary_word) != 0 && !known;
  }
  // Part of an identifier or a path: std::Thread, Foo(x), --Name.
  if (n_words == 1) {
    const auto glued = [&](size_t at, bool before) {
      if (at >= tokens.size() || tokens[at].kind != TokenKind::mark) return false;
      const char c = text[tokens[at].begin];
      if (!before && tokens[at].spaced) return false;
      if (before && tokens[span.first].spaced) return false;
      return c == '_' || c == '/' || c == '\\' || c == '$' || c == '=' || (before ? c == '.' || c == '-' || c == ':' || c == '<' || c == '`' || c == '&' : c == '(' || c == '[' || c == '<' || c == '{' || c == '`') ||
             (!before && c == ':' && at + 1 < tokens.size() && is_mark(text, tokens[at + 1], ':')) ||
             (!before && (c == '.' || c == '-') && at + 1 < tokens.size() && !tokens[at + 1].spaced && tokens[at + 1].kind == TokenKind::word);
    };
    if (glued(span.first - 1, true) || glued(span.last, false)) return std::min(span.score, 0.3f) - (n_known == 0 ? 0.3f : 0);
    const Token& only = *std::find_if(tokens.begin() + static_cast<long>(span.first), tokens.end(), [](const Token& t) { return t.kind == TokenKind::word; });
    if ((only.classes & (country_word | nationality_word | month_word | weekday_word)) != 0) return span.score - 0.4f;
    if (n_upper > 0 || is_heading(text_of(text, only))) return span.score - 0.5f;
    if (only.shape == WordShape::upper) return span.score - 0.45f;  // CUDA: an abbreviation, though a surname too
    if (n_known == 0) return span.score - (n_ordinary > 0 ? 0.2f : 0.1f);
    return span.score;
  }
  if (n_upper > 0 && n_known == 0) return span.score - 0.5f;
  if (n_known == 0) return span.score - (n_ordinary > 0 ? 0.3f : 0.05f);
  return span.score;
}

float address_score(const Tokens& tokens, const NamedSpan& span) {
  size_t n_words = 0, n_proper = 0, n_evidence = 0, n_numbers = 0, n_code = 0;
  for (size_t i = span.first; i < span.last; ++i) {
    const Token& token = tokens[i];
    const uint32_t length = token.end - token.begin;
    n_numbers += token.kind == TokenKind::number && length <= 6;
    n_code += (token.shape == WordShape::code && length > 5) || (token.kind == TokenKind::number && length > 6) || token.hash == '_' || token.hash == '=' || token.hash == '<' || token.hash == '`' || token.hash == '|';
    n_numbers += token.shape == WordShape::code && length <= 5;
    if (token.kind != TokenKind::word || token.shape == WordShape::code) continue;
    n_words += 1;
    n_proper += capitalised(token);
    n_evidence += (token.classes & (street_word | street_prefix | region_word | country_word)) != 0 && length > 2;
    n_evidence += (token.classes & unit_word) != 0 && capitalised(token) && i + 1 < span.last && tokens[i + 1].kind != TokenKind::line;
    n_evidence += (prose_model().word(token.hash).bits() & (place_name | major_place)) != 0 && capitalised(token) && length > 2;
  }
  if (n_code > 0 || n_words == 0 || n_numbers == 0) return 0;
  if (n_proper == 0) return span.score - 0.4f;
  const bool labelled = span.first > 0 && any(tokens, {span.cls, span.kind, span.first > 5 ? span.first - 5 : 0, span.first, 0}, [](const Token& t) { return (t.classes & (address_label | preposition_word)) != 0; });
  return n_evidence > 0 ? span.score : span.score - (labelled ? 0.15f : 0.35f);
}

// A level with a number, and no money; a place alone is no address.
float han_address_score(const Tokens& tokens, const NamedSpan& span) {
  bool number = false;
  for (size_t i = span.first; i < span.last; ++i) {
    const Token& token = tokens[i];
    if (token.kind == TokenKind::line || (token.kind == TokenKind::han && (token.classes & han_currency) != 0)) return 0;
    number = number || token.kind == TokenKind::number || (token.kind == TokenKind::han && (token.classes & han_digit) != 0);
  }
  return number ? span.score : span.score - 0.5f;
}

}  // namespace

float plausible_score(std::string_view text, const Tokens& tokens, const NamedSpan& span) {
  const bool han = any(tokens, span, [](const Token& t) { return t.kind == TokenKind::han; });
  if (han) return span.cls == PrivacyClass::address ? han_address_score(tokens, span) : span.score;
  if (span.cls == PrivacyClass::person) return person_score(text, tokens, span);
  return span.cls == PrivacyClass::address ? address_score(tokens, span) : span.score;
}
