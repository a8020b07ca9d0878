// prose: postal addresses in Latin letters: number and street in the English, French, German and Spanish orders, units, cities, states and postcodes.
#include <algorithm>
#include "privacy/detect/prose/model.h"
#include "privacy/detect/prose/spans.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr size_t longest_street = 5, longest_city = 3;
constexpr float street_score = 0.8f, full_score = 0.95f, lower_case_score = 0.65f, postcode_score = 0.6f;

class Addresses {
 public:
  Addresses(std::string_view text, const Tokens& tokens, NamedSpans& out) : text_(text), tokens_(tokens), out_(out) {}

  void find() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const size_t last = one(i);
      if (last > i) i = last - 1;
    }
  }

 private:
  const Token& token(size_t at) const { return tokens_[at]; }
  bool has(size_t at) const { return at < tokens_.size(); }
  bool mark(size_t at, char c) const { return has(at) && is_mark(text_, tokens_[at], c); }
  bool is(size_t at, uint32_t classes) const { return has(at) && token(at).kind == TokenKind::word && (token(at).classes & classes) != 0; }
  bool number(size_t at, size_t longest) const { return has(at) && token(at).kind == TokenKind::number && length(at) <= longest; }
  size_t length(size_t at) const { return token(at).end - token(at).begin; }
  std::string_view word(size_t at) const { return text_of(text_, token(at)); }
  bool line(size_t at) const { return has(at) && token(at).kind == TokenKind::line; }
  bool proper(size_t at) const { return has(at) && capitalised(token(at)); }

  // Returns the end of the address that has its street at `at`, or `at`.
  size_t one(size_t at) {
    if (size_t end = post_box(at); end > at) return add(at, end, street_score, true);
    if (house_number(at)) {
      float score = 0;
      if (size_t end = number_first(at, score); end > at) return add(at, end, score, true);
    }
    if (token(at).kind == TokenKind::word && (at == 0 || !number(at - 1, 5) || line(at - 1))) {
      float score = 0;
      if (size_t end = street_first(at, score); end > at) return add(at, end, score, true);
    }
    if (size_t end = uk_postcode(at); end > at && separate(at, end)) return add(at, end, postcode_score, false);
    if (size_t end = canadian_postcode(at); end > at && separate(at, end)) return add(at, end, postcode_score, false);
    return at;
  }
  size_t add(size_t first, size_t last, float score, bool street) {
    const size_t street_end = last;
    last = extend_right(last);
    first = extend_left(first);
    if (last > street_end) score = std::max(score, street ? full_score : 0.85f);
    out_.push_back({PrivacyClass::address, street ? "street" : "postcode", first, last, score});
    return last;
  }
  bool separate(size_t first, size_t last) const {
    const bool glued_left = first > 0 && !token(first).spaced && token(first - 1).kind == TokenKind::mark && !mark(first - 1, '(') && !mark(first - 1, ',') && !mark(first - 1, '"');
    const bool glued_right = has(last) && !token(last).spaced && (mark(last, '-') || mark(last, '/') || mark(last, '_') || mark(last, '=') || token(last).kind == TokenKind::word);
    return !glued_left && !glued_right;
  }

  // 12, 12B, 12-14, 12/3
  bool house_number(size_t at) const {
    if (number(at, 5)) return at == 0 || token(at).spaced || (!mark(at - 1, '.') && !mark(at - 1, '-') && !mark(at - 1, '/') && !mark(at - 1, ':'));
    if (!has(at) || token(at).shape != WordShape::code || length(at) > 5) return false;
    const std::string_view w = word(at);
    return w[0] >= '1' && w[0] <= '9' && std::count_if(w.begin(), w.end(), [](char c) { return c >= '0' && c <= '9'; }) + 1 == static_cast<long>(w.size());
  }
  size_t after_house_number(size_t at) const {
    size_t end = at + 1;
    if ((mark(end, '-') || mark(end, '/')) && !token(end).spaced && number(end + 1, 5) && !token(end + 1).spaced) end += 2;
    if (has(end) && token(end).shape == WordShape::capital && token(end).spaced && proper(end + 1) && !is(end, direction_word)) end += 1;  // 12 B Main Street
    if (mark(end, ',')) end += 1;  // 12, rue de la Paix
    return end;
  }
  bool ordinal(size_t at) const {
    if (!has(at) || token(at).shape != WordShape::code) return false;
    const std::string_view w = word(at);
    return w.size() >= 3 && w[0] >= '0' && w[0] <= '9' && (w.ends_with("st") || w.ends_with("nd") || w.ends_with("rd") || w.ends_with("th"));
  }
  // 221B Baker Street; 5 rue de la Paix; at 42 maple street
  size_t number_first(size_t start, float& score) const {
    size_t at = after_house_number(start);
    if (is(at, street_prefix)) {
      if (const size_t end = prefixed_street(at); end > at) return score = street_score, end;
    }
    size_t n = 0;
    bool lower = false, name = false;
    for (; n < longest_street && has(at + n); ++n) {
      const size_t k = at + n;
      if (token(k).kind != TokenKind::word || (n > 0 && !token(k).spaced && !mark(k, '.'))) {
        if (mark(k, '.') && n > 0 && length(k - 1) <= 3) continue;
        if ((mark(k, '-') || mark(k, '\'')) && n > 0) continue;
        break;
      }
      if (name && street_end(k, lower)) {
        size_t end = k + 1;
        if (mark(end, '.') && !line(end + 1)) end += 1;
        if (is(end, direction_word) && proper(end)) end += 1;
        score = lower ? lower_case_score : street_score;
        return end;
      }
      const bool fine = proper(k) || ordinal(k) || is(k, particle) || (n == 0 && is(k, direction_word));
      if (!fine) {
        if (token(k).shape != WordShape::lower || n >= 3 || is(k, preposition_word | code_word | month_word | currency_word)) break;
        lower = true;
      }
      name = true;
    }
    return start;
  }
  // A word that ends a street's name; short and common ones only with a capital.
  bool street_end(size_t at, bool lower) const {
    if (!is(at, street_word)) return false;
    if (proper(at)) return length(at) > 2 || !lower;
    const std::string_view w = word(at);
    return w == "street" || w == "avenue" || w == "road" || w == "boulevard" || w == "lane" || w == "drive" || w == "st" || w == "ave" || w == "rd" || w == "blvd" || w == "crescent";
  }
  // rue de la Paix, Via Roma, Calle Mayor: the end of the name.
  size_t prefixed_street(size_t at) const {
    size_t end = at + 1, proper_words = 0;
    for (; has(end) && end < at + 7; ++end) {
      if (token(end).kind == TokenKind::word) {
        if (proper(end)) ++proper_words;
        else if (!is(end, particle) && word(end) != "l" && word(end) != "d") break;
      } else if (!(mark(end, '-') || mark(end, '.') || mark(end, '\'') || (number(end, 2) && is(end + 1, month_word)))) {
        break;
      }
    }
    return proper_words > 0 ? end : at;
  }
  // Hauptstraße 12, Via Roma 5, Mannerheimintie 12 B, Calle Mayor 5: a number must follow.
  size_t street_first(size_t start, float& score) const {
    if (!proper(start) && !is(start, street_prefix)) return start;
    size_t end = start;
    if (is(start, street_prefix)) end = prefixed_street(start);
    if (end == start && compound_street(start)) end = start + 1;
    if (end == start && proper(start + 1) && (compound_street(start + 1) || continental_street(start + 1))) end = start + 2;
    if (end == start) return start;
    if (mark(end, '.')) end += 1;
    if (mark(end, ',')) end += 1;
    if (is(end, unit_word) || (has(end) && (word(end) == "nr" || word(end) == "n" || word(end) == "no" || word(end) == "č"))) end += mark(end + 1, '.') ? 2 : 1;
    if (mark(end, '#')) end += 1;
    if (!house_number(end) || (mark(end + 1, '.') && number(end + 2, 4))) return start;
    end = end + 1;
    if (has(end) && token(end).shape == WordShape::capital && token(end).spaced && !proper(end + 1)) end += 1;
    else if ((mark(end, '-') || mark(end, '/')) && number(end + 1, 5)) end += 2;
    score = 0.75f;
    return end;
  }
  bool continental_street(size_t at) const {
    const std::string_view w = word(at);
    constexpr std::string_view words[] = {"Straße", "Strasse", "Str", "Gasse", "Weg", "Platz", "Allee", "Straat", "Laan", "Plein", "utca", "Caddesi", "Sokak"};
    return std::find(std::begin(words), std::end(words), w) != std::end(words);
  }
  bool compound_street(size_t at) const {
    if (!proper(at)) return false;
    const std::string_view w = word(at);
    constexpr std::string_view endings[] = {"straße", "strasse", "straat", "gasse", "platz", "allee", "gatan", "vägen", "laan", "plein", "gracht", "kade", "katu", "intie", "vej", "gade", "veien", "gata", "weg", "str", "steenweg", "lei"};
    return std::any_of(std::begin(endings), std::end(endings), [&](std::string_view e) { return w.size() > e.size() + 2 && w.ends_with(e) && (e.size() > 3 || w.size() > 6); });
  }
  // P.O. Box 123
  size_t post_box(size_t at) const {
    if (!has(at) || token(at).kind != TokenKind::word) return at;
    size_t end = at;
    const std::string_view w = word(at);
    if (w == "PO" || w == "Po" || w == "POBox") end = at + 1;
    else if ((w == "P" || w == "p") && mark(at + 1, '.') && has(at + 2) && (word(at + 2) == "O" || word(at + 2) == "o")) end = at + 3 + (mark(at + 3, '.') ? 1 : 0);
    else if ((w == "Unit" || w == "PSC" || w == "CMR") && number(at + 1, 5)) end = at + 2 + (mark(at + 2, ',') ? 1 : 0);  // of the military: Unit 2050 Box 4190
    else if (w == "Postfach" || w == "BP" || w == "Apartado") return number(at + 1, 7) ? at + 2 : at;
    else return at;
    if (!has(end) || (word(end) != "Box" && word(end) != "box" && word(end) != "BOX" && word(end) != "Bag")) return at;
    return number(end + 1, 7) ? end + 2 : at;
  }

  // SW1A 1AA, M1 1AE
  size_t uk_postcode(size_t at) const {
    if (!has(at + 1) || token(at).shape != WordShape::code || length(at) < 2 || length(at) > 4 || length(at + 1) != 3 || token(at + 1).shape != WordShape::code) return at;
    const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const std::string_view out = word(at), in = word(at + 1);
    size_t letters = 0;
    while (letters < out.size() && upper(out[letters])) ++letters;
    if (letters < 1 || letters > 2 || letters >= out.size() || !digit(out[letters])) return at;
    if (out.size() > letters + 2 || (out.size() == letters + 2 && !digit(out[letters + 1]) && !upper(out[letters + 1]))) return at;
    return digit(in[0]) && upper(in[1]) && upper(in[2]) ? at + 2 : at;
  }
  // K1A 0B1
  size_t canadian_postcode(size_t at) const {
    if (!has(at + 1) || length(at) != 3 || length(at + 1) != 3 || token(at).shape != WordShape::code || token(at + 1).shape != WordShape::code) return at;
    const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const std::string_view a = word(at), b = word(at + 1);
    return upper(a[0]) && digit(a[1]) && upper(a[2]) && digit(b[0]) && upper(b[1]) && digit(b[2]) && std::string_view("DFIOQU").find(a[0]) == std::string_view::npos ? at + 2 : at;
  }
  bool postcode_number(size_t at) const { return number(at, 6) && length(at) >= 4; }

  // One more part of an address at `at`; its end, or `at`.
  size_t part(size_t at) const {
    if (const size_t end = unit(at); end > at) return end;
    if (const size_t end = uk_postcode(at); end > at) return end;
    if (const size_t end = canadian_postcode(at); end > at) return end;
    if (const size_t end = state_and_code(at); end > at) return end;
    if (is(at, country_word) && proper(at)) return at + 1;
    if (has(at + 1) && (word(at) == "APO" || word(at) == "FPO" || word(at) == "DPO") && length(at + 1) == 2) return at + 2 + (postcode_number(at + 2) ? 1 : 0);
    if (has(at + 1) && (word(at) == "United" || word(at) == "South" || word(at) == "New") && (word(at + 1) == "Kingdom" || word(at + 1) == "States" || word(at + 1) == "Korea" || word(at + 1) == "Africa" || word(at + 1) == "Zealand")) return at + 2;
    return city(at);
  }
  size_t unit(size_t at) const {
    size_t end = at;
    if (is(at, unit_word)) end = at + 1 + (mark(at + 1, '.') ? 1 : 0);
    if (mark(end, '#')) end += 1;
    if (end == at || !has(end)) return at;
    const bool named = token(end).kind == TokenKind::number || token(end).shape == WordShape::code || token(end).shape == WordShape::capital;
    if (named && length(end) <= 5) {
      end += 1;
      if (mark(end, '-') && has(end + 1) && !token(end).spaced && length(end + 1) <= 4) end += 2;
      return end;
    }
    return at;
  }
  // NY 10001-1234; Texas 73301; 75002
  size_t state_and_code(size_t at) const {
    size_t end = at;
    if (is(at, state_code) && token(at).shape == WordShape::upper) end = at + 1;
    else if (is(at, region_word) && proper(at)) end = at + 1;
    else if (has(at + 1) && (word(at) == "New" || word(at) == "North" || word(at) == "South" || word(at) == "West" || word(at) == "Rhode") && is(at + 1, region_word)) end = at + 2;
    if (end > at && mark(end, ',')) return postcode_number(end + 1) || canadian_postcode(end + 1) > end + 1 ? zip_end(end + 1) : end;
    if (const size_t code = canadian_postcode(end); code > end) return code;
    if (postcode_number(end)) return zip_end(end);
    if (end == at && has(at) && token(at).shape == WordShape::capital && mark(at + 1, '-') && postcode_number(at + 2)) return at + 3;  // D-10115
    return end;
  }
  size_t zip_end(size_t at) const {
    if (mark(at + 1, '-') && !token(at + 1).spaced && number(at + 2, 4)) return at + 3;
    if (number(at + 1, 2) && length(at) <= 4) return at + 1;
    return at + 1;
  }
  size_t city(size_t at) const {
    size_t end = at;
    while (end < at + longest_city && proper(end) && !is(end, month_word | weekday_word | title_word | greeting_word) && (end == at || token(end).spaced)) {
      end += 1;
      if ((mark(end, '-') || mark(end, '.')) && !token(end).spaced && proper(end + 1) && length(end - 1) < 12) end += 1;
    }
    return end;
  }
  // After a comma, a line break or a space come unit, city, state, postcode, country; a city alone only when a code, a list of places or the line's end follows.
  size_t extend_right(size_t at) const {
    size_t end = at;
    for (int parts = 0; parts < 7; ++parts) {
      size_t next = end;
      bool comma = false, broken = false;
      if (mark(next, ',')) comma = true, next += 1;
      if (line(next)) broken = true, next += 1;
      if (mark(next, '-') && token(next).spaced && has(next + 1) && token(next + 1).spaced) comma = true, next += 1;
      const size_t stop = part(next);
      if (stop == next) break;
      const bool strong = unit(next) > next || state_and_code(next) > next || uk_postcode(next) > next || canadian_postcode(next) > next || is(next, country_word | region_word) || (has(next) && (word(next) == "APO" || word(next) == "FPO" || word(next) == "DPO"));
      if (!strong && !place_follows(next, stop, comma, broken, end > at)) break;
      end = stop;
    }
    return end;
  }
  bool place_follows(size_t at, size_t stop, bool comma, bool broken, bool later) const {
    const size_t after = stop + (mark(stop, ',') ? 1 : 0) + (line(stop + (mark(stop, ',') ? 1 : 0)) ? 1 : 0);
    if (state_and_code(after) > after || uk_postcode(after) > after || canadian_postcode(after) > after) return true;
    if (later && is(after, country_word) && (line(stop) || mark(stop, ','))) return true;
    const bool known = (prose_model().word(token(at).hash).bits() & (place_name | major_place)) != 0;
    if (comma && known) return true;
    if (later && !broken && known) return true;  // 75002 Paris
    return later && !comma && !broken && postcode_number(at - 1);
  }
  // Flat 3, 12 High Street; a recipient's line is not ours.
  size_t extend_left(size_t at) const {
    for (size_t n = 2; n <= 4; ++n) {
      if (at < n) break;
      const size_t first = at - n, end = unit(first);
      if (end > first && (end == at || (end + 1 == at && (mark(end, ',') || line(end))))) return first;
    }
    // A number before the number of the house: 4120 17 Mill Lane.
    if (at > 0 && number(at, 6) && number(at - 1, 6) && length(at - 1) >= 3 && token(at).spaced && (at == 1 || !is(at - 2, preposition_word | month_word))) return at - 1;
    return at;
  }

  std::string_view text_;
  const Tokens& tokens_;
  NamedSpans& out_;
};

}  // namespace

void find_addresses(std::string_view text, const Tokens& tokens, NamedSpans& out) { Addresses(text, tokens, out).find(); }
