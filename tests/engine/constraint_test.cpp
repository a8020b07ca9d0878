// constraint: masks, forced tokens, jumps and ends in the engine, against the same done by hand.
#include "engine/answer_constraint.h"
#include "engine/harness.h"

using namespace harness;

namespace {
// Multiples of 3 only; the fourth token is 9; behind every 21 come 24, 27 and 30; ends behind the twelfth.
class Pattern final : public TokenConstraint {
 public:
  Pattern() : mask_((fake::n_valid + 63) / 64) {
    for (size_t i = 0; i < fake::n_valid; i += 3) mask_[i / 64] |= uint64_t{1} << (i % 64);
  }
  std::span<const uint64_t> mask() override { return mask_; }
  std::optional<TokenId> forced() override { return n_ == 3 ? std::optional<TokenId>(9) : std::nullopt; }
  void accept(TokenId id) override { last_ = id, ++n_; }
  void jump(std::vector<TokenId>& out) override {
    out.clear();
    if (last_ % 2 == 1) out = {24, 27, 30};
  }
  bool ended() const override { return n_ >= 12; }

 private:
  std::vector<uint64_t> mask_;
  TokenId last_ = 0;
  int n_ = 0;
};

Ids by_hand(fake::Kind kind, const Generation& g) {
  Pattern pattern;
  Sampler sampler(fake::vocab);
  Ids tokens = g.prompt, answer;
  std::vector<TokenId> jump;
  const auto take = [&](TokenId id) {
    tokens.push_back(id);
    answer.push_back(id);
    pattern.accept(id);
  };
  const auto more = [&] { return static_cast<int>(answer.size()) < g.max_tokens && !pattern.ended(); };
  while (more()) {
    const auto row = fake::logits_after(kind, tokens);
    const auto forced = pattern.forced();
    take(forced ? *forced
                : sampler.sample({.logits = std::span(row).first(fake::n_valid), .history = tokens, .n_prompt = static_cast<int>(g.prompt.size()), .index = static_cast<int>(answer.size()), .mask = pattern.mask()}, g.sampling));
    pattern.jump(jump);
    for (TokenId id : jump)
      if (more()) take(id);
  }
  return answer;
}
}  // namespace

class ConstraintKinds : public testing::TestWithParam<fake::Kind> {};
INSTANTIATE_TEST_SUITE_P(All, ConstraintKinds, testing::Values(paged, hybrid, recurrent), [](const auto& info) { return kind_name(info.param); });

TEST_P(ConstraintKinds, HoldAloneBatchedAndOverPageBorders) {
  Rig rig(GetParam(), {.max_sequences = 6, .page_tokens = 4});
  std::vector<Generation> requests;
  std::vector<Pattern> patterns(12);
  for (uint64_t i = 0; i < patterns.size(); ++i) {
    requests.push_back(request(random_ids(5 + static_cast<int>(i), i), i % 3 == 0 ? 8 : 30, {.temperature = 1.5f, .seed = i}));
    requests.back().constraint = &patterns[i];
  }
  const auto answers = ask_all(rig, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(answers[i].ids, by_hand(GetParam(), requests[i]));
    EXPECT_EQ(answers[i].finish.reason, answers[i].ids.size() == 8 ? Finish::Reason::length : Finish::Reason::stop);
  }
}

TEST(LoopDetector, SeesRepetitionsOfAnyPeriodAndNothingElse) {
  for (size_t period : {1u, 7u, 64u, 200u}) {
    LoopDetector loops;
    bool found = false;
    for (size_t i = 0; i < 5 * std::max<size_t>(period, 60) && !found; ++i) found = loops.push(static_cast<TokenId>(i % period));
    EXPECT_TRUE(found) << period;
  }
  LoopDetector loops;
  for (TokenId id : random_ids(5000, 3)) EXPECT_FALSE(loops.push(id));
}
