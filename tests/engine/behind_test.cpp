// behind: on a device that runs behind the host the answers are those of one that does not, however sequences end, and so is what is remembered.
#include "engine/fake_behind.h"
#include "engine/harness.h"

using namespace harness;
using namespace std::chrono_literals;

namespace {
struct BehindRig : Rig {
  explicit BehindRig(fake::Kind k, EngineOptions options = {}, int max_positions = 2048)
      : Rig(k, options, max_positions, [](auto... args) { return std::make_unique<fake::BehindDevice>(args...); }) {}
};

void expect_nothing_held(const Rig& rig) {
  EXPECT_EQ(rig.watch->slot_errors, 0u);
  const auto stats = rig.engine->stats();
  EXPECT_EQ(stats.pages_free, stats.pages_total);
  EXPECT_EQ(stats.running + stats.waiting, 0);
}

Sampling some_sampling(std::mt19937_64& random) {
  Sampling s{.temperature = random() % 4 == 0 ? 0.0f : 0.9f, .seed = random() % 100};
  s.top_p = random() % 2 ? 1.0f : 0.9f;
  s.top_k = random() % 3 ? 0 : 20;
  s.min_p = random() % 4 ? 0.0f : 0.05f;
  if (random() % 6 == 0) s.repetition_penalty = 1.2f;  // the host draws these
  if (random() % 8 == 0) s.min_tokens = 12;            // and these at first
  return s;
}
// What min_tokens and stop ids make of it as well.
Ids answer_to(fake::Kind kind, const Generation& g) {
  Sampler sampler(fake::vocab);
  Ids tokens = g.prompt, answer;
  while (static_cast<int>(answer.size()) < g.max_tokens) {
    const auto row = fake::logits_after(kind, tokens);
    const TokenId id = sampler.sample({.logits = std::span(row).first(fake::n_valid), .history = tokens, .n_prompt = static_cast<int>(g.prompt.size()), .index = static_cast<int>(answer.size()), .stop_ids = g.stop_ids}, g.sampling);
    tokens.push_back(id), answer.push_back(id);
    if (std::ranges::find(g.stop_ids, id) != g.stop_ids.end()) break;
  }
  return answer;
}
}  // namespace

class Behind : public testing::TestWithParam<fake::Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Behind, testing::Values(paged, hybrid, recurrent), [](const auto& info) { return kind_name(info.param); });

TEST_P(Behind, StepsFollowEachOtherAndNoneGoesBeyondMaxTokens) {
  BehindRig rig(GetParam());
  const auto g = request(random_ids(30, 1), 200, {.temperature = 0.8f, .top_p = 0.95f, .seed = 7});
  EXPECT_EQ(ask(rig, g).ids, expected(GetParam(), g));
  EXPECT_EQ(rig.watch->n_steps, GetParam().recurrent ? 201u : 200u);  // the prompt, before and behind its snapshot; 199 more
  EXPECT_GT(rig.watch->n_followed, 10u);  // 198 while the reader keeps up, which on a busy machine it does not
  expect_nothing_held(rig);
}

// Prompts that go on from earlier answers, at odd places, while others stop, are cancelled, are refused by their sink or end at max_tokens:
// every answer is the true one as far as it goes, so what was remembered of those that had a row too many is true too.
TEST_P(Behind, AnswersAreTrueHoweverOthersEnd) {
  const size_t page_bytes = GetParam().paged ? 8 * 64 : 0;
  // Room for some of them: others wait, and are preempted.
  BehindRig rig(GetParam(), {.max_sequences = 6, .page_tokens = 8, .context_tokens = 400, .state_bytes = 150 * page_bytes + 14 * 4096, .snapshot_every_tokens = 48});
  std::mutex mutex;
  std::vector<Ids> histories{random_ids(40, 1)};
  std::atomic<int> cached{0}, cut{0};
  const auto client = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int turn = 0; turn < 60; ++turn) {
      Ids prompt;
      {
        std::lock_guard lock(mutex);
        prompt = histories[random() % histories.size()];
      }
      if (random() % 3 == 0) prompt.resize(1 + random() % prompt.size());
      for (TokenId id : random_ids(static_cast<int>(random() % 12), random())) prompt.push_back(id);
      if (prompt.empty() || prompt.size() > 250) prompt = random_ids(20, random());
      auto g = request(prompt, 1 + static_cast<int>(random() % 60), some_sampling(random));
      for (uint64_t i = random() % 4; i > 0; --i) g.stop_ids.push_back(static_cast<TokenId>(random() % fake::n_valid));
      const size_t cut_at = random() % 3 ? SIZE_MAX : random() % 30;
      const bool by_sink = random() % 2;
      std::stop_source source;
      Ids ids;
      const auto finish = rig.engine->generate(g, [&](const TokenEvent& e) {
        ids.push_back(e.id);
        if (ids.size() >= cut_at && !by_sink) source.request_stop();
        return ids.size() < cut_at || !by_sink;
      }, source.get_token());
      ASSERT_TRUE(finish) << finish.error().message;
      const Ids truth = answer_to(GetParam(), g);
      const bool was_cut = ids.size() >= cut_at;
      ASSERT_TRUE(was_cut ? ids.size() <= truth.size() && std::equal(ids.begin(), ids.end(), truth.begin()) : ids == truth) << "client " << seed << " turn " << turn;
      cached += finish->cached_tokens;
      cut += was_cut;
      prompt.insert(prompt.end(), ids.begin(), ids.end());
      std::lock_guard lock(mutex);
      histories.push_back(prompt);
    }
  };
  std::vector<std::future<void>> clients;
  for (uint64_t seed = 0; seed < 10; ++seed) clients.push_back(std::async(std::launch::async, client, seed));
  for (auto& c : clients) c.get();
  expect_nothing_held(rig);
  EXPECT_GT(rig.watch->n_followed, 20u);  // all of them many times that when nothing else runs here
  EXPECT_GT(cached, 20);
  EXPECT_GT(cut, 10);
}

// The row too many of a sequence that stops has advanced its state by its last token: what is kept says so.
TEST_P(Behind, TheRowTooManyIsRemembered) {
  BehindRig rig(GetParam());
  auto g = request(random_ids(100, 3), 50);
  g.stop_ids = {expected(GetParam(), g)[9]};
  const auto answer = ask(rig, g);
  ASSERT_EQ(answer.ids.size(), expected(GetParam(), g).size());
  ASSERT_LT(answer.ids.size(), 50u);
  Ids next = g.prompt;
  next.insert(next.end(), answer.ids.begin(), answer.ids.end());
  const int known = static_cast<int>(next.size());
  for (TokenId id : random_ids(20, 4)) next.push_back(id);
  const auto second = request(next, 30);
  const auto went_on = ask(rig, second);
  EXPECT_EQ(went_on.finish.cached_tokens, known);
  EXPECT_EQ(went_on.ids, expected(GetParam(), second));
}

TEST_P(Behind, ASlowReaderPausesOnlyItself) {
  BehindRig rig(GetParam(), {.max_sequences = 4});
  const auto slow = request(random_ids(30, 1), 300), quick = request(random_ids(30, 2), 300);
  std::promise<void> go;
  auto gone = go.get_future().share();
  auto reader = std::async(std::launch::async, [&] {
    Ids ids;
    const auto finish = rig.engine->generate(slow, [&](const TokenEvent& e) {
      gone.wait();
      ids.push_back(e.id);
      return true;
    });
    EXPECT_TRUE(finish);
    return ids;
  });
  EXPECT_EQ(ask(rig, quick).ids, expected(GetParam(), quick));
  EXPECT_GT(rig.watch->n_followed, 200u);
  go.set_value();
  EXPECT_EQ(reader.get(), expected(GetParam(), slow));
  expect_nothing_held(rig);
}

TEST(BehindEngine, CancellationIsSeenWithinAStep) {
  BehindRig rig(hybrid);
  rig.watch->delay_us = 2000;
  std::stop_source source;
  const auto g = request(random_ids(10, 1), 1000);
  uint64_t steps_then = 0;
  const auto finish = rig.engine->generate(g, [&](const TokenEvent& e) {
    if (e.index == 20) steps_then = rig.watch->n_steps, source.request_stop();
    return true;
  }, source.get_token());
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, Finish::Reason::cancelled);
  while (rig.engine->stats().running > 0) std::this_thread::yield();
  EXPECT_LE(rig.watch->n_steps, steps_then + 3);  // the two under way, and the one that was being laid out
  expect_nothing_held(rig);
}

TEST(BehindEngine, AFailedStepEndsItsSequencesAndNothingOfItIsRemembered) {
  for (const bool at_submit : {false, true}) {
    BehindRig rig(hybrid);
    const auto g = request(random_ids(40, 1), 60);
    (at_submit ? rig.watch->refuse_step : rig.watch->fail_step) = 12;
    Ids ids;
    const auto finish = rig.engine->generate(g, [&](const TokenEvent& e) { return ids.push_back(e.id), true; });
    ASSERT_FALSE(finish);
    EXPECT_EQ(finish.error().code, Code::device);
    const Ids truth = expected(hybrid, g);
    EXPECT_TRUE(ids.size() >= 10 && ids.size() < 20 && std::equal(ids.begin(), ids.end(), truth.begin()));
    rig.watch->give_nan = true;
    EXPECT_EQ(rig.engine->generate(g, [](const TokenEvent&) { return true; }).error().code, Code::internal);
    rig.watch->give_nan = false;
    EXPECT_EQ(ask(rig, g).ids, truth);
    EXPECT_EQ(rig.engine->stats().pages_free, rig.engine->stats().pages_total);
  }
}

// The device is seen to be dead while two of its steps are still under way.
TEST(BehindEngine, ADeadDeviceEndsWhatIsUnderWayAndWhatWaits) {
  for (int after = 0; after < 8; after++) {
    BehindRig rig(hybrid, {.max_sequences = 3});
    rig.watch->delay_us = 500;
    std::vector<std::future<Result<Finish>>> all;
    for (int i = 0; i < 5; ++i)
      all.push_back(std::async(std::launch::async, [&, i] { return rig.engine->generate(request(random_ids(20, static_cast<uint64_t>(i)), 1500), [](const TokenEvent&) { return true; }); }));
    while (rig.engine->stats().running < 3 || rig.watch->n_followed < 5) std::this_thread::yield();
    rig.watch->die_at_step = static_cast<int>(rig.watch->n_steps) + after;
    for (auto& one : all) {
      const auto finish = one.get();
      ASSERT_FALSE(finish);
      EXPECT_EQ(finish.error().message, "fake: out of order");
    }
    const auto later = rig.engine->generate(request({1}, 1), [](const TokenEvent&) { return true; });
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().message, "fake: out of order");
    EXPECT_EQ(rig.engine->stats().fault, "fake: out of order");
    EXPECT_EQ(rig.engine->stats().pages_free, rig.engine->stats().pages_total);
  }
}

TEST(BehindEngine, ShutdownEndsWhatIsUnderWay) {
  auto rig = std::make_unique<BehindRig>(hybrid, EngineOptions{.max_sequences = 2});
  rig->watch->delay_us = 1000;
  std::vector<std::future<bool>> ended;
  const auto g = request(random_ids(40, 1), 1500);
  Engine& engine = *rig->engine;
  for (int i = 0; i < 4; ++i)
    ended.push_back(std::async(std::launch::async, [&] {
      const auto finish = engine.generate(g, [](const TokenEvent&) { return true; });
      return !finish && finish.error().code == Code::cancelled;
    }));
  while (engine.stats().running < 2 || rig->watch->n_followed < 5) std::this_thread::yield();
  rig.reset();
  for (auto& e : ended) EXPECT_TRUE(e.get());
}
