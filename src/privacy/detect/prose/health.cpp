// prose: statements of health: conditions, diagnoses, medication and therapy, in English and Chinese. The scanner weighs them beside a person.
#include <algorithm>
#include "privacy/detect/prose/detectors.h"
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/tokens.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr float condition_score = 0.85f, medicine_score = 0.8f, care_score = 0.5f;

// Conditions of two words, of which neither says enough alone.
constexpr std::pair<std::string_view, std::string_view> pairs[] = {
    {"heart", "attack"}, {"heart", "failure"}, {"heart", "disease"}, {"kidney", "failure"}, {"kidney", "disease"}, {"liver", "failure"}, {"liver", "disease"},
    {"blood", "pressure"}, {"blood", "sugar"}, {"blood", "clot"}, {"panic", "attacks"}, {"panic", "disorder"}, {"eating", "disorder"}, {"personality", "disorder"},
    {"mental", "illness"}, {"mental", "health"}, {"nervous", "breakdown"}, {"drug", "abuse"}, {"substance", "abuse"}, {"alcohol", "abuse"}, {"sleep", "apnea"}, {"sleep", "apnoea"},
    {"down", "syndrome"}, {"brain", "injury"}, {"spinal", "injury"}, {"hiv", "positive"}, {"tested", "positive"}, {"learning", "disability"}, {"terminally", "ill"},
    {"birth", "control"}, {"sick", "leave"}, {"medical", "history"}, {"medical", "leave"}, {"self", "harm"}, {"cystic", "fibrosis"}, {"multiple", "sclerosis"}, {"muscular", "dystrophy"},
    {"autoimmune", "disease"}, {"lyme", "disease"}, {"thyroid", "disease"}, {"lung", "disease"}, {"celiac", "disease"}, {"herniated", "disc"}, {"broken", "leg"}, {"broken", "arm"},
};
bool is_pair(const Token& a, const Token& b) {
  static const std::vector<uint64_t> keys = [] {
    std::vector<uint64_t> out;
    for (const auto& [first, second] : pairs) out.push_back(static_cast<uint64_t>(word_hash(first)) << 32 | word_hash(second));
    std::sort(out.begin(), out.end());
    return out;
  }();
  return b.kind == TokenKind::word && std::binary_search(keys.begin(), keys.end(), static_cast<uint64_t>(a.hash) << 32 | b.hash);
}
// First words of pairs, so that others cost one probe.
bool begins_pair(uint32_t hash) {
  static const std::vector<uint64_t> filter = [] {
    std::vector<uint64_t> out(64);
    for (const auto& [first, _] : pairs) out[word_hash(first) % 4096 / 64] |= uint64_t{1} << (word_hash(first) % 64);
    return out;
  }();
  return (filter[hash % 4096 / 64] >> (hash % 64) & 1) != 0;
}

class Health final : public Detector {
 public:
  std::string_view name() const override { return "health"; }
  void find(const Page& page, std::vector<Hit>& out) const override {
    const Tokens tokens = tokenise(page.text);
    const auto add = [&](size_t first, size_t last, std::string_view kind, float score) {
      out.push_back({.cls = PrivacyClass::health, .kind = kind, .begin = tokens[first].begin, .end = tokens[last - 1].end, .score = score, .statement = true});
    };
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      if (token.kind == TokenKind::word) {
        if ((token.classes & condition_word) != 0) add(i, i + 1, "condition", condition_score);
        else if ((token.classes & medicine_word) != 0) add(i, i + 1, "medication", medicine_score);
        else if ((token.classes & care_word) != 0) add(i, i + 1, "care", care_score);
        else if (i + 1 < tokens.size() && begins_pair(token.hash) && is_pair(token, tokens[i + 1])) add(i, i + 2, "condition", condition_score);
        continue;
      }
      if (token.kind != TokenKind::han) continue;
      const HanTerm term = han_term(tokens, i);
      if ((term.classes & han_condition) != 0) add(i, i + term.n, "condition", condition_score);
      else if ((term.classes & han_care) != 0) add(i, i + term.n, "care", care_score);
      else continue;
      i += term.n - 1;
    }
  }
};

}  // namespace

std::unique_ptr<Detector> make_health() { return std::make_unique<Health>(); }
