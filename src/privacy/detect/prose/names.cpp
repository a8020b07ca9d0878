// prose: people, addresses, organisations and places of a text: the rules' and the tagger's proposals, weighed against one another, and repeated names.
#include <algorithm>
#include <tuple>
#include <unordered_map>
#include "privacy/detect/prose/detectors.h"
#include "privacy/detect/prose/model.h"
#include "privacy/detect/prose/spans.h"
#include "privacy/detect/prose/tagger.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr float repeated_score = 0.75f, sure_score = 0.6f;
constexpr float agreement = 0.1f;      // a rule and the tagger say the same
constexpr float contradiction = 0.2f;  // the tagger does not see what only lists of names suggest
constexpr float surest = 0.95f, certain_score = 0.85f, least_score = 0.3f;

// A tagger's probability as a score: even odds are the middle of the scale.
float score_of(float probability) { return 0.1f + 0.8f * probability; }
bool weak(std::string_view kind) { return kind == "listed" || kind == "initial" || kind == "cell" || kind == "nickname"; }

class Names final : public Detector {
 public:
  std::string_view name() const override { return "prose"; }
  void find(const Page& page, std::vector<Hit>& out) const override {
    const Tokens tokens = tokenise(page.text);
    NamedSpans spans;
    find_addresses(page.text, tokens, spans);
    find_han_addresses(page.text, tokens, spans);
    find_people(page.text, tokens, spans);
    find_han_people(page.text, tokens, spans);
    find_organisations(page.text, tokens, spans);
    add_tagged(page.text, tokens, spans);
    spans = settled(std::move(spans));
    add_repeated(tokens, spans);
    for (const NamedSpan& span : spans)
      out.push_back({.cls = span.cls, .kind = span.kind, .begin = tokens[span.first].begin, .end = tokens[span.last - 1].end, .score = span.score});
  }

 private:
  static void add_tagged(std::string_view text, const Tokens& tokens, NamedSpans& spans) {
    NamedSpans tagged;
    find_tagged(text, tokens, tagged);
    for (NamedSpan& span : tagged) {
      span.score = score_of(span.score);
      span.score = plausible_score(text, tokens, span);
    }
    std::erase_if(tagged, [](const NamedSpan& span) { return span.score < least_score; });
    std::sort(tagged.begin(), tagged.end(), [](const NamedSpan& a, const NamedSpan& b) { return a.first < b.first; });
    const auto overlap = [](const NamedSpan& a, const NamedSpan& b) { return a.first < b.last && b.first < a.last; };
    std::sort(spans.begin(), spans.end(), [](const NamedSpan& a, const NamedSpan& b) { return a.first < b.first; });
    size_t near = 0;
    for (NamedSpan& span : spans) {
      while (near < tagged.size() && tagged[near].last <= span.first) ++near;
      const bool met = near < tagged.size() && overlap(span, tagged[near]);
      if (met && tagged[near].cls == span.cls) span.score = std::max(span.score, std::min(surest, span.score + agreement));
      else if (weak(span.kind)) span.score -= contradiction;
    }
    spans.insert(spans.end(), tagged.begin(), tagged.end());
  }
  static int rank(PrivacyClass cls) { return cls == PrivacyClass::address ? 0 : cls == PrivacyClass::person ? 1 : 2; }
  // Of spans that overlap the better one stays: the surer, then the longer. Two of one class become one.
  static NamedSpans settled(NamedSpans spans) {
    std::sort(spans.begin(), spans.end(), [](const NamedSpan& a, const NamedSpan& b) {
      return std::tuple(a.first, b.last, rank(a.cls)) < std::tuple(b.first, a.last, rank(b.cls));
    });
    NamedSpans out;
    for (const NamedSpan& span : spans) {
      if (out.empty() || span.first >= out.back().last) {
        out.push_back(span);
        continue;
      }
      NamedSpan& other = out.back();
      if (other.cls == span.cls) {
        if (span.score > other.score) other.kind = span.kind;
        other.last = std::max(other.last, span.last);
        other.score = std::max(other.score, span.score);
      } else if (rank(span.cls) < rank(other.cls) && span.score >= 0.5f) {
        if (span.first > other.first) {  // Jane Roe | Suite 5, 12 Mill Lane
          other.last = span.first;
          out.push_back(span);
        } else {
          other = span;
        }
      }
    }
    return out;
  }
  // Parts of names that were found stand for the same people elsewhere in the text: "Roe" after "Jane Roe".
  static void add_repeated(const Tokens& tokens, NamedSpans& spans) {
    std::unordered_map<uint32_t, float> parts;
    for (const NamedSpan& span : spans) {
      if (span.cls != PrivacyClass::person || span.score < sure_score || span.kind == "repeated") continue;
      for (size_t i = span.first; i < span.last; ++i) {
        const Token& token = tokens[i];
        if (token.kind != TokenKind::word || token.end - token.begin < 3 || (token.classes & (title_word | particle | name_suffix)) != 0) continue;
        const uint32_t bits = prose_model().word(token.hash).bits();
        if (span.last == span.first + 1 && span.kind == "tagged" && span.score < certain_score) continue;
        if ((bits & ordinary_word) != 0 && (span.score < certain_score || token.shape != WordShape::title)) continue;
        if ((bits & (first_name | surname)) == 0 && ((bits & ordinary_word) != 0 || span.last == span.first + 1 || token.shape == WordShape::upper)) continue;
        parts[token.hash] = std::max(parts[token.hash], span.score);
      }
    }
    if (parts.empty()) return;
    NamedSpans found;
    size_t next = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      while (next < spans.size() && spans[next].last <= i) ++next;
      if (next < spans.size() && spans[next].first <= i && spans[next].cls != PrivacyClass::org && spans[next].cls != PrivacyClass::place) continue;
      const Token& token = tokens[i];
      if (token.kind != TokenKind::word || !capitalised(token) || parts.find(token.hash) == parts.end()) continue;
      if (i > 0 && !token.spaced && (tokens[i - 1].hash == '.' || tokens[i - 1].hash == '/' || tokens[i - 1].hash == '_' || tokens[i - 1].hash == '@' || tokens[i - 1].hash == '-')) continue;
      const bool ordinary = (prose_model().word(token.hash).bits() & ordinary_word) != 0 || (token.classes & (month_word | country_word)) != 0;
      if (ordinary && (token.opens || token.shape != WordShape::title || !token.spaced)) continue;
      found.push_back({PrivacyClass::person, "repeated", i, i + 1, ordinary ? 0.6f : repeated_score});
    }
    spans.insert(spans.end(), found.begin(), found.end());
    spans = settled(std::move(spans));
  }
};

}  // namespace

std::unique_ptr<Detector> make_names() { return std::make_unique<Names>(); }
