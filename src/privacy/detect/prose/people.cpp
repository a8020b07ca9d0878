// prose: people in Latin letters by what surrounds their names: titles, introducers, greetings, closings, forms, known first names.
#include <algorithm>
#include "privacy/detect/prose/model.h"
#include "privacy/detect/prose/spans.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr size_t longest_name = 6;
constexpr float title_score = 0.9f, introduced_score = 0.88f, form_score = 0.85f, greeting_score = 0.8f, listed_score = 0.65f, initial_score = 0.6f;

class People {
 public:
  People(std::string_view text, const Tokens& tokens, NamedSpans& out) : text_(text), tokens_(tokens), out_(out), model_(prose_model()) {}

  void find() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenKind::word) continue;
      const size_t last = one(i);
      if (last > i) i = last - 1;
    }
  }

 private:
  bool has(size_t at) const { return at < tokens_.size(); }
  bool mark(size_t at, char c) const { return has(at) && is_mark(text_, tokens_[at], c); }
  bool is(size_t at, uint32_t classes) const { return has(at) && tokens_[at].kind == TokenKind::word && (tokens_[at].classes & classes) != 0; }
  bool word_is(size_t at, std::string_view word) const { return has(at) && text_of(text_, tokens_[at]) == word; }
  uint32_t bits(size_t at) const { return model_.word(tokens_[at].hash).bits(); }
  bool named(size_t at) const { return has(at) && (bits(at) & (first_name | surname)) != 0; }
  bool ordinary(size_t at) const { return (bits(at) & ordinary_word) != 0; }
  size_t length(size_t at) const { return tokens_[at].end - tokens_[at].begin; }

  static constexpr uint32_t never = month_word | weekday_word | code_word | nationality_word;
  bool proper(size_t at) const {
    return has(at) && capitalised(tokens_[at]) && (tokens_[at].classes & never & ~code_word) == 0 && !is(at, company_suffix | organisation_word | greeting_word | street_word);
  }
  // The end of a name that begins at `at`: capitalised words, initials, particles, hyphens, suffixes.
  size_t name_end(size_t at, size_t most = 4) const {
    size_t end = at, words = 0;
    while (has(end) && words < most && end < at + 2 * longest_name) {
      if (end > at && !tokens_[end].spaced && !joined(end)) break;
      if (proper(end) || (words > 0 && is(end, name_suffix) && capitalised(tokens_[end]))) {
        words += 1;
        end += 1;
        if (length(end - 1) == 1 && mark(end, '.')) end += 1;
        while (mark(end, '-') && !tokens_[end].spaced && has(end + 1) && !tokens_[end + 1].spaced && capitalised(tokens_[end + 1])) end += 2;
        continue;
      }
      size_t next = end;
      while (is(next, particle) && next < end + 3) ++next;
      if (next > end && words > 0 && proper(next)) {
        end = next;
        continue;
      }
      break;
    }
    if (words == 0) return at;
    if (mark(end, ',') && is(end + 1, name_suffix) && (capitalised(tokens_[end + 1]) || length(end + 1) == 2)) end += 2;
    else if (is(end, name_suffix) && tokens_[end].spaced && length(end) == 2 && (word_is(end, "jr") || word_is(end, "sr"))) end += 1;
    if (mark(end, '.') && is(end - 1, name_suffix) && length(end - 1) == 2 && !tokens_[end].spaced) end += 1;
    return end;
  }
  bool joined(size_t at) const { return at > 0 && (mark(at - 1, '.') || mark(at - 1, '-')); }
  // Up to three words in lower case that are no ordinary ones, or whose first is a known first name: my name is john smith.
  size_t lower_name_end(size_t at) const {
    size_t end = at;
    while (has(end) && end < at + 3 && tokens_[end].kind == TokenKind::word && tokens_[end].shape == WordShape::lower && length(end) > 1 && (tokens_[end].spaced || end == at) &&
           tokens_[end].classes == 0 && (!ordinary(end) || (end > at && (bits(end) & surname) != 0 && (bits(end) & frequent_word) == 0)) && (end == at || named(end) || bits(end) == 0))
      ++end;
    return end > at && (named(at) || bits(at) == 0) ? end : at;
  }
  size_t any_name_end(size_t at) const {
    const size_t end = name_end(at);
    return end > at ? end : lower_name_end(at);
  }
  size_t add(size_t first, size_t last, float score, std::string_view kind) {
    out_.push_back({PrivacyClass::person, kind, first, last, score});
    return last;
  }

  size_t one(size_t at) {
    if (const size_t end = titled(at); end > at) return end;
    if (const size_t end = introduced(at); end > at) return end;
    if (const size_t end = form(at); end > at) return end;
    if (const size_t end = greeted(at); end > at) return end;
    return listed(at);
  }
  // Mr. Roe, Dr Jane Roe
  size_t titled(size_t at) {
    if (!is(at, title_word) || (!capitalised(tokens_[at]) && length(at) > 4) || tokens_[at].shape == WordShape::capital) return at;
    const bool strong = length(at) <= 4 || word_is(at, "Professor") || word_is(at, "Doctor");
    size_t first = at + 1;
    if (mark(first, '.')) first += 1;
    if (is(first, title_word) && capitalised(tokens_[first])) first += mark(first + 1, '.') ? 2 : 1;  // Prof. Dr.
    if (!proper(first) || !tokens_[first].spaced || is(first, title_word)) return at;
    if (at > 0 && word_is(at, "Dr") && proper(at - 1) && at > 1 && tokens_[at - 2].kind == TokenKind::number) return at;  // 12 Maple Dr
    if (!strong && !named(first)) return at;
    const size_t end = name_end(first);
    return end > first ? add(first, end, strong ? title_score : 0.75f, "titled") : at;
  }
  size_t after_introducer(size_t at) const {
    if (!has(at)) return at;
    const bool i_am = (word_is(at, "I") || word_is(at, "i")) && (word_is(at + 1, "am") || (has(at + 1) && !tokens_[at + 1].spaced && word_is(at + 2, "m")));
    if (word_is(at, "name") || word_is(at, "Name") || word_is(at, "names")) {
      if (word_is(at + 1, "is") || word_is(at + 1, "was")) return at + 2;
      if (has(at + 2) && (word_is(at + 2, "s")) && !tokens_[at + 1].spaced) return at + 3;
    }
    if (i_am) return word_is(at + 1, "am") ? at + 2 : at + 3;
    return at;
  }
  // my name is Jane Roe, I am Jane, this is Jane speaking, named Jane, patient Jane Roe
  size_t introduced(size_t at) {
    size_t first = after_introducer(at);
    if (first > at) {
      const bool name_is = word_is(at, "name") || word_is(at, "Name") || word_is(at, "names");
      const size_t end = name_is ? any_name_end(first) : name_end(first);
      if (end == first || (!name_is && !named(first))) return at;
      return add(first, end, name_is || end > first + 1 ? introduced_score : 0.7f, "introduced");
    }
    if ((word_is(at, "This") || word_is(at, "this")) && word_is(at + 1, "is") && proper(at + 2) && named(at + 2) && !ordinary(at + 2)) return add(at + 2, name_end(at + 2), 0.75f, "introduced");
    if (!is(at, introducer_word | relation_word) || is(at, title_word) || word_is(at, "by") || word_is(at, "with") || word_is(at, "from")) return at;
    first = at + 1;
    if (is(at, relation_word) && mark(first, ',')) first += 1;
    if (!proper(first) || ordinary(first) || !tokens_[first].spaced || tokens_[first].shape == WordShape::upper) return at;
    const size_t end = name_end(first);
    const bool known = named(first) || (end > first + 1 && named(end - 1));
    return known ? add(first, end, introduced_score, "introduced") : at;
  }
  // Name: Jane Roe; "full_name": "Jane Roe"; Patient - jane roe
  size_t form(size_t at) {
    if (!is(at, label_word)) return at;
    size_t first = at + 1;
    const bool is_name = word_is(at, "Name") || word_is(at, "name") || word_is(at, "NAME") || text_of(text_, tokens_[at]).ends_with("name") || text_of(text_, tokens_[at]).ends_with("Name");
    if (mark(first, '"') || mark(first, '\'') || mark(first, '*')) first += mark(first + 1, '*') ? 2 : 1;
    if (mark(first, ')')) first += 1;
    if (!mark(first, ':') && !mark(first, '=') && !mark(first, '|') && !(has(first) && tokens_[first].hash == 0xff1a)) return at;
    first += 1;
    while (mark(first, '"') || mark(first, '\'') || mark(first, '*')) first += 1;
    if (!has(first) || is(first, label_word | code_word)) return at;
    size_t end = name_end(first, 5);
    if (end > first + 1 || (end > first && named(first))) {
      if (!is_name && !named(first) && !named(end - 1)) return at;
      if (ordinary(first) && !is_name && !(end > first + 1 && named(end - 1))) return at;
      return add(first, surname_first_end(first, end), is_name ? form_score : 0.75f, "form");
    }
    if (end == first + 1 && mark(end, ',') && proper(end + 1)) return add(first, name_end(end + 1), form_score, "form");
    end = is_name ? lower_name_end(first) : first;
    return end > first && named(first) ? add(first, end, 0.75f, "form") : at;
  }
  // Roe, Jane
  size_t surname_first_end(size_t first, size_t end) const {
    if (end != first + 1 || !mark(end, ',') || !proper(end + 1) || !named(end + 1)) return end;
    return name_end(end + 1);
  }
  // Dear Jane, / Hi Jane! / Regards,\nJane Roe
  size_t greeted(size_t at) {
    if (is(at, greeting_word) && tokens_[at].opens) {
      const size_t first = at + 1 + (mark(at + 1, ',') ? 1 : 0);
      if (proper(first) && !is(first, title_word) && named(first) && (!ordinary(first) || mark(first + 1, ',') || mark(first + 1, '!'))) return add(first, name_end(first), greeting_score, "greeted");
      if (has(first) && !tokens_[first].opens && tokens_[first].shape == WordShape::lower && named(first) && !ordinary(first) && tokens_[first].classes == 0 && (bits(first) & first_name) != 0)
        return add(first, lower_name_end(first), 0.7f, "greeted");
    }
    if (!is(at, closing_word) || !mark(at + 1, ',')) return at;
    size_t first = at + 2;
    while (has(first) && tokens_[first].kind == TokenKind::line) ++first;
    if (first == at + 2 && !(proper(first) && named(first))) return at;
    const size_t end = proper(first) && (named(first) || name_end(first) > first + 1) ? name_end(first) : first;
    return end > first ? add(first, end, 0.85f, "signed") : at;
  }
  // A known first name before a capitalised word; an initial before a known surname.
  size_t listed(size_t at) {
    if (!proper(at) || is(at, title_word | country_word | region_word)) return at;
    if (tokens_[at].shape == WordShape::upper && !(has(at + 1) && tokens_[at + 1].shape == WordShape::upper && named(at) && (bits(at + 1) & surname) != 0)) return at;
    const size_t end = name_end(at);
    if (end <= at + 1) return at;
    const uint32_t first = bits(at), last = bits(end - 1);
    if (length(at) == 1) return mark(at + 1, '.') && (last & surname) != 0 && (last & ordinary_word) == 0 && length(end - 1) > 1 ? add(at, end, initial_score, "initial") : at;
    if ((first & first_name) == 0 || (first & ordinary_word) != 0) return at;
    if (is(end - 1, country_word | region_word | unit_word) || (end < tokens_.size() && is(end, organisation_word | company_suffix | street_word) && capitalised(tokens_[end]))) return at;
    const bool likely = (last & surname) != 0 && (last & ordinary_word) == 0;
    if ((last & ordinary_word) != 0 && !likely && (last & surname) == 0) return at;
    return add(at, end, likely ? listed_score + ((first & frequent_name) != 0 ? 0.1f : 0) : 0.5f, "listed");
  }

  std::string_view text_;
  const Tokens& tokens_;
  NamedSpans& out_;
  const ProseModel& model_;
};

}  // namespace

void find_people(std::string_view text, const Tokens& tokens, NamedSpans& out) { People(text, tokens, out).find(); }
