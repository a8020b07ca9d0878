// card details: expiry dates beside cards, magnetic tracks, bank codes.
#include "privacy/detect/numbers/card_details.h"

#include <algorithm>
#include "privacy/detect/numbers/chains.h"
#include "privacy/detect/numbers/check_digits.h"

namespace numbers {
namespace {

constexpr size_t reach = 80;  // privacy.md 2.3

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t digits_end(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// "04/29", "04/2029", "4-29" at `at`: its end, or `at`.
size_t expiry_end(std::string_view text, size_t at) {
  const size_t middle = digits_end(text, at);
  if (middle == at || middle - at > 2 || middle == text.size() || (text[middle] != '/' && text[middle] != '-')) return at;
  const int month = number_of(text.substr(at, middle - at));
  const size_t end = digits_end(text, middle + 1), year = end - middle - 1;
  const bool more = end + 1 < text.size() && (text[end] == '/' || text[end] == '-') && is_digit(text[end + 1]);  // a date with a day
  if (month < 1 || month > 12 || more || (year != 2 && year != 4)) return at;
  return year == 2 || text.substr(middle + 1, 2) == "20" ? end : at;
}

void add_expiries_in(const Page& page, size_t begin, size_t end, std::vector<Hit>& hits) {
  for (size_t at = begin; at < end; ++at) {
    if (!is_digit(page.text[at]) || (at > 0 && (is_alnum(page.text[at - 1]) || page.text[at - 1] == '/' || page.text[at - 1] == '-'))) continue;
    const size_t stop = expiry_end(page.text, at);
    if (stop == at || !at_word_start(page.text, at) || !at_word_end(page.text, stop)) continue;
    hits.push_back({.cls = PrivacyClass::card, .kind = "card_expiry", .begin = at, .end = stop, .score = 0.8f});
    at = stop;
  }
}

constexpr std::string_view iso_countries =
    "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCMCNCOCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGU"
    "GWGYHKHMHNHRHTHUIDIEILIMINIOIQIRISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNINLNONPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPY"
    "QARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTNTOTRTTTVTWTZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSXKYEYTZAZMZW";

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

bool is_bic(std::string_view word) {
  return (word.size() == 8 || word.size() == 11) && std::all_of(word.begin(), word.begin() + 6, is_upper) && one_of(word.substr(4, 2), iso_countries) &&
         std::ranges::none_of(word.substr(6), [](char c) { return c >= 'a'; });
}

// After "%B" or ";" at `at`: the end of the track if 12 to 19 digits, the separator and a closing "?" follow.
size_t track_end(std::string_view text, size_t at, char separator) {
  constexpr size_t longest_track = 79;  // ISO 7813
  const size_t end = digits_end(text.substr(0, std::min(text.size(), at + 20)), at);
  if (end - at < 12 || end - at > 19 || end == text.size() || text[end] != separator) return at;
  const size_t close = text.substr(0, std::min(text.size(), at + longest_track)).find('?', end);
  return close == std::string_view::npos ? at : close + 1;
}

void add_tracks(std::string_view text, std::string_view sentinel, char separator, std::vector<Hit>& out) {
  for (size_t at = text.find(sentinel); at != std::string_view::npos; at = text.find(sentinel, at)) {
    const size_t begin = at;
    at += sentinel.size();
    const size_t end = track_end(text, at, separator);
    if (end == at) continue;
    out.push_back({.cls = PrivacyClass::secret, .kind = "card_track", .begin = begin, .end = end, .score = 0.98f, .validated = true});
    at = end;
  }
}

}  // namespace

void add_expiry_dates(const Page& page, std::vector<Hit>& hits, size_t first) {
  size_t done = 0;  // windows of neighbouring cards overlap
  for (size_t i = first, known = hits.size(); i < known; ++i) {
    if (hits[i].cls != PrivacyClass::card || hits[i].kind == "card_expiry" || hits[i].score < 0.5f) continue;
    const size_t begin = hits[i].begin, end = hits[i].end;
    add_expiries_in(page, std::max(done, begin - std::min(begin, reach)), begin, hits);
    const size_t until = std::min(page.text.size(), end + reach);
    add_expiries_in(page, std::max(done, end), until, hits);
    done = std::max(done, until);
  }
}

void TrackDetector::find(const Page& page, std::vector<Hit>& out) const {
  add_tracks(page.text, "%B", '^', out);
  add_tracks(page.text, ";", '=', out);
}

BicDetector::BicDetector(LabelBook& book)
    : words_(book.add({"bic", "swift", "swift code", "swift-code", "bic code", "bic/swift", "swift/bic", "bank identifier code", "swift代碼", "swift代码", "swift碼", "國際匯款代碼",
                       "国际汇款代码", "swiftコード", "스위프트 코드"})) {}

void BicDetector::find(const Page& page, std::vector<Hit>& out) const {
  const std::string_view text = page.text;
  for (size_t at = 0; at < text.size();) {
    if (!is_upper(text[at])) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && is_alnum(text[end])) ++end;
    const bool starts = at == 0 || !is_alnum(text[at - 1]);
    if (starts && is_bic(text.substr(at, end - at)) && at_word_start(text, at) && at_word_end(text, end) && page.labels.near(words_, at, end)) {
      out.push_back({.cls = PrivacyClass::bank, .kind = "bic", .begin = at, .end = end, .score = 0.85f});
    }
    at = end;
  }
}

}  // namespace numbers
