// assignments: a key word and a value: api_key = "…", "my password is …", 密碼：…, "your code is 483920".
#include <utf8proc.h>
#include <algorithm>
#include <array>
#include <string>
#include "privacy/aho_corasick.h"
#include "privacy/characters.h"
#include "privacy/detect/secrets/key_words.h"
#include "privacy/detect/secrets/secrets.h"
#include "privacy/detect/secrets/shape.h"
#include "privacy/detect/secrets/value_reader.h"
#include "privacy/detect/secrets/value_score.h"

namespace credential {

namespace {

bool ascii(std::string_view text) { return first_beyond_ascii(text) == text.size(); }

// In capitals, or with the first letter in capitals, for words beyond ASCII.
std::string capitalised(std::string_view word, bool all) {
  std::string out;
  for (size_t at = 0; at < word.size();) {
    const CodePoint point = code_point_at(word, at);
    append_utf8(all || at == 0 ? static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(point.value))) : point.value, out);
    at += point.length;
  }
  return out;
}

// The identifier around [begin, end): letters, digits, "_", and "-" and "." between them.
struct Name { size_t begin, end; };
Name name_around(std::string_view text, size_t begin, size_t end) {
  constexpr size_t longest = 96;
  const auto part = [&](size_t at) { return is_alnum(static_cast<unsigned char>(text[at])) || text[at] == '_'; };
  Name out{begin, end};
  while (out.begin > 0 && begin - out.begin < longest) {
    if (part(out.begin - 1)) --out.begin;
    else if (out.begin > 1 && (text[out.begin - 1] == '-' || text[out.begin - 1] == '.') && part(out.begin - 2)) --out.begin;
    else break;
  }
  while (out.end < text.size() && out.end - end < longest) {
    if (part(out.end)) ++out.end;
    else if (out.end + 1 < text.size() && (text[out.end] == '-' || text[out.end] == '.') && part(out.end + 1)) ++out.end;
    else break;
  }
  return out;
}

class AssignmentDetector final : public Detector {
 public:
  AssignmentDetector() {
    const auto words = key_words();
    for (size_t i = 0; i < words.size(); ++i) {
      words_.add(words[i].word, static_cast<uint32_t>(i));
      if (ascii(words[i].word)) continue;
      for (const bool all : {false, true}) {
        if (const std::string form = capitalised(words[i].word, all); form != words[i].word) words_.add(form, static_cast<uint32_t>(i));
      }
    }
    words_.build();
  }
  std::string_view name() const override { return "assignment"; }

  void find(const Page& page, std::vector<Hit>& out) const override {
    const size_t first = out.size();
    size_t last_end = 0, last_id = SIZE_MAX, run_end = 0, inside = 0;
    words_.scan(page.text, [&](uint32_t id, size_t end) {
      const KeyWord& word = key_words()[id];
      if (end == last_end && last_id != SIZE_MAX) return;  // a shorter word that ends the longer
      // A long value may hold names itself; only the first few of them are read.
      const size_t begin = end - word.word.size();
      if (begin < run_end && ++inside > 8) return;
      if (begin >= run_end) inside = 0;
      if (find_value(page.text, word, begin, end, run_end, first, out)) last_end = end, last_id = id;
    });
  }

 private:
  static bool find_value(std::string_view text, const KeyWord& word, size_t begin, size_t end, size_t& run_end, size_t first, std::vector<Hit>& out) {
    if (begin > text.size()) return false;
    Name name{begin, end};
    const bool latin = static_cast<unsigned char>(text[begin]) < 0x80 && static_cast<unsigned char>(text[end - 1]) < 0x80;
    if (latin) {
      name = name_around(text, begin, end);
      const std::string_view identifier = text.substr(name.begin, name.end - name.begin);
      if (word.kind == KeyKind::code || word.kind == KeyKind::login ? name.begin != begin || name.end != end
                                                                    : !names_secret(identifier, begin - name.begin, end - name.begin, word.distinct))
        return false;
    } else if (!at_word_start(text, begin) && static_cast<unsigned char>(text[begin]) < 0xE3) {
      return false;
    }
    Candidate candidate;
    bool found = false;
    if (read_value(text, name.begin, name.end, candidate)) {
      if (candidate.end - candidate.begin > 64) run_end = std::max(run_end, candidate.end);
      found = judge(text, word, name, candidate, first, out);
    }
    if (!found && name.begin > 0 && text[name.begin - 1] == ' ' && (word.kind == KeyKind::password || word.kind == KeyKind::phrase) && latin &&
        read_value_before(text, name.begin, candidate)) {
      found = judge(text, word, name, candidate, first, out);
    }
    return found;
  }

  static bool judge(std::string_view text, const KeyWord& word, Name name, Candidate candidate, size_t first, std::vector<Hit>& out) {
    const std::string_view value = text.substr(candidate.begin, candidate.end - candidate.begin), identifier = text.substr(name.begin, name.end - name.begin);
    if (equal_folded(value, identifier)) return false;
    float score = 0;
    std::string_view kind = "password";
    switch (word.kind) {
      case KeyKind::password:
        score = password_score(value, candidate, identifier);
        break;
      case KeyKind::phrase:
        score = password_score(value, candidate, identifier);
        if (score == 0 && candidate.cue != Cue::adjacent) {
          Candidate phrase;
          if (read_phrase(text, candidate, phrase) && is_phrase(text.substr(phrase.begin, phrase.end - phrase.begin))) candidate = phrase, score = 0.7F;
        }
        break;
      case KeyKind::token:
        kind = "api_key";
        score = token_score(value, candidate, identifier);
        if (is_uuid(value) && (identifier.find("_authToken") != std::string_view::npos || starts_folded(identifier, "heroku"))) score = 0.85F;
        break;
      case KeyKind::login:
        score = login_score(text, name, candidate);
        break;
      case KeyKind::code:
        kind = "one_time_code";
        widen_code(text, candidate);
        score = code_score(text.substr(candidate.begin, candidate.end - candidate.begin), candidate);
        if (score > 0 && word.word.starts_with("pin") && candidate.cue == Cue::adjacent) score = 0;
        if (score > 0 && word.word == "tan" && candidate.cue == Cue::adjacent) score = 0;
        break;
    }
    if (score == 0) return false;
    for (size_t i = first; i < out.size(); ++i) {
      Hit& earlier = out[out.size() - 1 - (i - first)];
      if (i - first > 4) break;
      if (earlier.begin == candidate.begin && earlier.end == candidate.end) {
        earlier.score = std::max(earlier.score, score);
        return true;
      }
    }
    out.push_back({PrivacyClass::secret, kind, candidate.begin, candidate.end, score});
    return true;
  }

  // Three words or more, each of letters: not a sentence's beginning ("required for …").
  static bool is_phrase(std::string_view value) {
    const Shape shape = shape_of(value);
    if (shape.size < 12 || shape.digits > 4 || is_stand_in(value)) return false;
    size_t words = 0, plain = 0;
    for (size_t at = 0; at < value.size();) {
      const size_t end = std::min(value.find_first_of(" -", at), value.size());
      if (end > at) ++words, plain += is_plain_word(value.substr(at, end - at));
      at = end + 1;
    }
    return words >= 3 && plain * 3 <= words;
  }

  // "admin / hunter2", "admin:hunter2": the second part is the password.
  static float login_score(std::string_view text, Name name, Candidate& candidate) {
    bool weak = candidate.cue == Cue::adjacent;
    for (const std::string_view introducer : {" with ", " using ", " as "}) {
      if (!starts_folded(text.substr(name.end), introducer)) continue;
      candidate.begin = name.end + introducer.size();
      candidate.end = std::min(text.find_first_of(" \n", candidate.begin), text.size());
      weak = true;
    }
    const std::string_view value = text.substr(candidate.begin, candidate.end - candidate.begin);
    const size_t mark = value.find_first_of("/:");
    size_t begin = 0;
    if (mark != std::string_view::npos && mark > 0 && mark + 1 < value.size()) {
      begin = candidate.begin + mark + 1;
      if (text[begin] == '/' || is_path_or_url(value)) return 0;
    } else {
      size_t at = candidate.end;
      while (at < text.size() && at < candidate.end + 3 && text[at] == ' ') ++at;
      if (at >= text.size() || (text[at] != '/' && text[at] != ':')) return 0;
      begin = at + 1;
      while (begin < text.size() && begin < at + 3 && text[begin] == ' ') ++begin;
    }
    size_t end = begin;
    while (end < text.size() && end - begin < 128 && !is_space(static_cast<unsigned char>(text[end])) &&
           static_cast<unsigned char>(text[end]) < 0x80 && text[end] != '"' && text[end] != '\'' && text[end] != ',')
      ++end;
    while (end > begin && (text[end - 1] == '.' || text[end - 1] == ')' || text[end - 1] == ';')) --end;
    const std::string_view password = text.substr(begin, end - begin);
    const Shape shape = shape_of(password);
    if (shape.size < 5 || is_no_secret(password, candidate) || !(shape.digits > 0 || shape.inner_symbols > 0) || shape.digits == shape.size) return 0;
    if (weak && (shape.digits == 0 || shape.upper + shape.inner_symbols == 0)) return 0;
    candidate.begin = begin;
    candidate.end = end;
    return 0.7F;
  }

  // "483 920": the second half belongs to the code.
  static void widen_code(std::string_view text, Candidate& candidate) {
    const auto digits = [&](size_t from) {
      size_t to = from;
      while (to < text.size() && text[to] >= '0' && text[to] <= '9') ++to;
      return to - from;
    };
    if (candidate.quote != 0) return;
    const size_t head = digits(candidate.begin);
    if (head >= 3 && head <= 4 && candidate.begin + head < text.size() &&
        (text[candidate.begin + head] == ' ' || text[candidate.begin + head] == '-') && digits(candidate.begin + head + 1) == head) {
      candidate.end = candidate.begin + 2 * head + 1;
    } else if (head >= 4 && candidate.begin + head < candidate.end && !is_alnum(static_cast<unsigned char>(text[candidate.begin + head]))) {
      candidate.end = candidate.begin + head;
    }
  }

  AhoCorasick words_{AhoCorasick::lower_case()};
};

}  // namespace

std::unique_ptr<Detector> make_assignment_detector() { return std::make_unique<AssignmentDetector>(); }

}  // namespace credential
