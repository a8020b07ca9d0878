// prose: people, addresses, organisations and places of a text: the rules' and the tagger's proposals, weighed against one another, and repeated names.
#include <algorithm>
#include <tuple>
#include <unordered_map>
#include "privacy/detect/prose/detectors.h"
#include "privacy/detect/prose/model.h"
#include "privacy/detect/prose/spans.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr float repeated_score = 0.75f, sure_score = 0.6f;

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
    spans = settled(std::move(spans));
    add_repeated(tokens, spans);
    for (const NamedSpan& span : spans)
      out.push_back({.cls = span.cls, .kind = span.kind, .begin = tokens[span.first].begin, .end = tokens[span.last - 1].end, .score = span.score});
  }

 private:
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
        other = span;
      }
    }
    return out;
  }
  // Parts of names that were found stand for the same people elsewhere in the text: "Roe" after "Jane Roe".
  static void add_repeated(const Tokens& tokens, NamedSpans& spans) {
    std::unordered_map<uint32_t, float> parts;
    for (const NamedSpan& span : spans) {
      if (span.cls != PrivacyClass::person || span.score < sure_score) continue;
      for (size_t i = span.first; i < span.last; ++i) {
        const Token& token = tokens[i];
        if (token.kind != TokenKind::word || token.end - token.begin < 3 || (token.classes & (title_word | particle | name_suffix)) != 0) continue;
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
      const bool ordinary = (prose_model().word(token.hash).bits() & ordinary_word) != 0 || (token.classes & (month_word | country_word)) != 0;
      if (ordinary && token.opens) continue;
      found.push_back({PrivacyClass::person, "repeated", i, i + 1, ordinary ? 0.6f : repeated_score});
    }
    spans.insert(spans.end(), found.begin(), found.end());
    spans = settled(std::move(spans));
  }
};

}  // namespace

std::unique_ptr<Detector> make_names() { return std::make_unique<Names>(); }
