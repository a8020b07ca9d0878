// id detector: finds the numbers of one tier's rules, all in one pass over a page.
#pragma once
#include <array>
#include <optional>
#include "privacy/detect/detect.h"
#include "privacy/detect/numbers/chains.h"
#include "privacy/detect/numbers/id_rule.h"
#include "privacy/detect/numbers/shape.h"

namespace numbers {

class IdDetector final : public Detector {
 public:
  IdDetector(char tier, std::vector<IdRule> rules, LabelBook& book);
  std::string_view name() const override { return "numbers"; }
  char tier() const override { return tier_; }
  bool reads(ViewKind kind) const override { return kind != ViewKind::reversed; }
  void find(const Page& page, std::vector<Hit>& out) const override;

 private:
  struct Candidate;
  struct Ready {                     // a rule at one of its lengths
    const IdRule* rule;
    Shape shape;
    LabelSet labels;
    const std::vector<Grouping>* written;
    bool alone() const { return rule->bare > no || rule->grouped > no; }
  };
  struct Length {
    std::vector<Ready> rules;        // those that need no label first
    size_t n_alone = 0;
  };
  bool is_usual(const Candidate& candidate, const Ready& ready) const;
  void read_from(const Page& page, std::span<const Token> chain, size_t first, std::vector<Hit>& out) const;
  void judge(const Page& page, Candidate& candidate, std::vector<Hit>& out) const;
  struct Evidence {
    float alone = 0;                 // the score without a label if the check passes
    bool usual = false;              // one of the rule's groupings
    bool in_row = false;             // among other numbers
    bool introduced = false, labelled = false, general = false;  // by a label right before, near by, of any country's identity numbers
  };
  struct Score { float points = 0; bool validated = false; };
  std::optional<Evidence> evidence(const Page& page, const Candidate& candidate, const Ready& ready) const;
  Score score(const Page& page, const Candidate& candidate, const IdRule& rule, const Evidence& evidence) const;

  char tier_;
  std::vector<IdRule> rules_;
  std::vector<std::vector<Grouping>> written_;       // of each rule
  std::array<Length, max_compact + 1> by_length_;
  size_t longest_after_digit_ = 0, longest_after_letter_ = 0;
  LabelSet all_words_;               // of all rules: where none is near, most rules need not be asked
  LabelSet general_words_;           // for an identity number of whatever country
  LabelSet others_;                  // words that say it is something else
};

}  // namespace numbers
