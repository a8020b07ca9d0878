// engine: answers do not depend on batch mates, chunk sizes, the cache, preemption or slow readers; every end frees everything.
#include <condition_variable>
#include "engine/harness.h"

using namespace harness;
using namespace std::chrono_literals;

class EveryKind : public testing::TestWithParam<fake::Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind, testing::Values(paged, hybrid, recurrent), [](const auto& info) { return kind_name(info.param); });

std::vector<Generation> mixed_requests() {
  std::vector<Generation> requests;
  for (int i = 0; i < 16; ++i) {
    Sampling s{.temperature = i % 3 == 0 ? 0.0f : 0.8f, .top_p = i % 2 ? 0.9f : 1.0f, .top_k = i % 4 == 1 ? 20 : 0, .seed = static_cast<uint64_t>(i)};
    if (i % 5 == 2) s.repetition_penalty = 1.3f;
    if (i % 5 == 3) s.presence_penalty = 0.5f;
    requests.push_back(request(random_ids(1 + i * i * 2, static_cast<uint64_t>(i)), 10 + 5 * i, s));
  }
  return requests;
}

TEST_P(EveryKind, BatchedEqualsEachAlone) {
  Rig rig(GetParam());
  const auto requests = mixed_requests();
  const auto answers = ask_all(rig, requests);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(answers[i].ids, expected(GetParam(), requests[i])) << i;
  EXPECT_EQ(rig.watch->slot_errors, 0u);
  EXPECT_EQ(rig.engine->stats().pages_free, rig.engine->stats().pages_total);
}

TEST_P(EveryKind, ChunkSizesDoNotMatter) {
  const auto requests = mixed_requests();
  for (int chunk : {1, 7, 64, 512}) {
    Rig rig(GetParam(), {.max_batch_tokens = chunk == 1 ? 1 : 128, .prefill_chunk = chunk, .page_tokens = 8, .snapshot_every_tokens = 48});
    const auto answers = ask_all(rig, requests);
    for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(answers[i].ids, expected(GetParam(), requests[i])) << chunk << " " << i;
    EXPECT_EQ(rig.watch->slot_errors, 0u);
  }
}

// Turns that grow, branches from the middle of earlier ones, repeats: all as if computed afresh, and cheaper.
TEST_P(EveryKind, CachedEqualsFreshOverConversationsAndBranches) {
  Rig rig(GetParam(), {.max_sequences = 4, .page_tokens = 16, .snapshot_every_tokens = 40});
  std::mt19937_64 random(7);
  std::vector<Ids> histories{random_ids(70, 1)};
  uint64_t cached = 0;
  for (int turn = 0; turn < 60; ++turn) {
    Ids prompt = histories[random() % histories.size()];
    if (random() % 3 == 0) prompt.resize(1 + random() % prompt.size());
    if (random() % 4 != 0) for (TokenId id : random_ids(1 + static_cast<int>(random() % 30), random())) prompt.push_back(id);
    if (prompt.size() > 900) continue;
    const auto g = request(prompt, 1 + static_cast<int>(random() % 40), {.temperature = 0.7f, .seed = random()});
    const auto answer = ask(rig, g);
    ASSERT_EQ(answer.ids, expected(GetParam(), g)) << turn;
    EXPECT_LT(answer.finish.cached_tokens, answer.finish.prompt_tokens);
    cached += static_cast<uint64_t>(answer.finish.cached_tokens);
    prompt.insert(prompt.end(), answer.ids.begin(), answer.ids.end());
    histories.push_back(prompt);
  }
  EXPECT_EQ(rig.watch->slot_errors, 0u);
  EXPECT_GT(cached, 1000u);
  EXPECT_EQ(rig.engine->stats().cached_tokens, cached);
  EXPECT_EQ(rig.engine->stats().pages_free, rig.engine->stats().pages_total);
  EXPECT_EQ(rig.watch->page_copies > 0, true);
}

TEST_P(EveryKind, ARepeatedPromptComputesOneTokenAndANextTurnOnlyWhatIsNew) {
  Rig rig(GetParam());
  const auto first = request(random_ids(600, 3), 9);
  auto answer = ask(rig, first);
  EXPECT_EQ(answer.finish.cached_tokens, 0);
  EXPECT_EQ(ask(rig, first).finish.cached_tokens, 599);
  Ids next = first.prompt;
  next.insert(next.end(), answer.ids.begin(), answer.ids.end());
  for (TokenId id : random_ids(20, 4)) next.push_back(id);
  answer = ask(rig, request(next, 3));
  EXPECT_EQ(answer.finish.cached_tokens, 608);  // all but the last token of the answer, which was never fed
  EXPECT_EQ(answer.ids, expected(GetParam(), request(next, 3)));
}

TEST(Hybrid, BranchesReuseRegularAndHintedSnapshots) {
  Rig rig(hybrid, {.snapshot_every_tokens = 100});
  auto g = request(random_ids(350, 1), 4);
  g.snapshot_hints = {333};
  ask(rig, g);
  auto branch = g;
  for (size_t i = 340; i < 350; ++i) branch.prompt[i] = 1;
  auto answer = ask(rig, branch);
  EXPECT_EQ(answer.finish.cached_tokens, 333);
  EXPECT_EQ(answer.ids, expected(hybrid, branch));
  for (size_t i = 250; i < 350; ++i) branch.prompt[i] = 2;
  answer = ask(rig, branch);
  EXPECT_EQ(answer.finish.cached_tokens, 200);
  EXPECT_EQ(answer.ids, expected(hybrid, branch));
}

TEST_P(EveryKind, NoCacheMeansNoCache) {
  Rig rig(GetParam(), {.prefix_cache = false});
  const auto g = request(random_ids(100, 3), 9);
  ask(rig, g);
  EXPECT_EQ(ask(rig, g).finish.cached_tokens, 0);
  Rig other(GetParam());
  auto without = g;
  without.use_cache = false;
  ask(other, g);
  EXPECT_EQ(ask(other, without).finish.cached_tokens, 0);
}

// Room for one and a half long sequences: the others must be preempted and still say the same.
TEST_P(EveryKind, PreemptionKeepsTokens) {
  const size_t page_bytes = GetParam().paged ? 8 * 64 : 0;
  Rig rig(GetParam(), {.max_sequences = 8, .page_tokens = 8, .context_tokens = 400, .state_bytes = 75 * page_bytes + 10 * 4096});
  std::vector<Generation> requests;
  for (int i = 0; i < 12; ++i) requests.push_back(request(random_ids(20 + 3 * i, static_cast<uint64_t>(i)), 200, {.temperature = 0.9f, .seed = 5}));
  requests[3].max_tokens = 370;
  const auto answers = ask_all(rig, requests);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(answers[i].ids, expected(GetParam(), requests[i])) << i;
  EXPECT_EQ(rig.engine->stats().preemptions > 0, GetParam().paged);
  EXPECT_EQ(rig.watch->slot_errors, 0u);
  EXPECT_EQ(rig.engine->stats().pages_free, rig.engine->stats().pages_total);
}

TEST_P(EveryKind, EvictionMakesRoomAndKeepsAnswersRight) {
  const size_t page_bytes = GetParam().paged ? 16 * 64 : 0;
  Rig rig(GetParam(), {.max_sequences = 2, .page_tokens = 16, .context_tokens = 320, .state_bytes = 30 * page_bytes + 4 * 4096, .snapshot_every_tokens = 32});
  for (uint64_t i = 0; i < 40; ++i) {
    const auto g = request(random_ids(60 + static_cast<int>(i % 7) * 30, i % 9), 30);
    ASSERT_EQ(ask(rig, g).ids, expected(GetParam(), g)) << i;
  }
  EXPECT_EQ(rig.watch->slot_errors, 0u);
}

TEST_P(EveryKind, CancellationInPrefillFreesEverything) {
  Rig rig(GetParam(), {.prefill_chunk = 16});
  rig.watch->delay_us = 2000;
  std::stop_source source;
  auto g = request(random_ids(1500, 1), 10);
  g.progress = [&](int done, int total) {
    EXPECT_EQ(total, 1500);
    if (done >= 64) source.request_stop();
  };
  const auto answer = ask(rig, g, source.get_token());
  EXPECT_EQ(answer.finish.reason, Finish::Reason::cancelled);
  EXPECT_TRUE(answer.ids.empty());
  EXPECT_LT(rig.watch->n_steps, 20u);
  const auto stats = rig.engine->stats();
  EXPECT_EQ(stats.pages_free, stats.pages_total);
  EXPECT_EQ(stats.running + stats.waiting, 0);
  rig.watch->delay_us = 0;
  g.progress = nullptr;
  EXPECT_EQ(ask(rig, g).ids, expected(GetParam(), g));
}

TEST(Engine, CancellationWhileWaitingAndBeforeStart) {
  Rig rig(paged, {.max_sequences = 1});
  rig.watch->delay_us = 1000;
  const auto g = request(random_ids(10, 1), 300), other = request(random_ids(10, 2), 5);
  auto busy = std::async(std::launch::async, [&] { return ask(rig, g); });
  while (rig.watch->n_steps < 3) std::this_thread::yield();
  std::stop_source source;
  auto waiting = std::async(std::launch::async, [&] { return ask(rig, other, source.get_token()); });
  while (rig.engine->stats().waiting == 0) std::this_thread::yield();
  source.request_stop();
  EXPECT_EQ(waiting.get().finish.reason, Finish::Reason::cancelled);
  EXPECT_EQ(ask(rig, other, source.get_token()).finish.reason, Finish::Reason::cancelled);
  EXPECT_EQ(busy.get().ids, expected(paged, g));
}

TEST(Engine, DecodesAreNotStarvedByALongPrefill) {
  Rig rig(paged, {.max_batch_tokens = 256, .prefill_chunk = 32});
  rig.watch->record = true;
  const auto decoder = request(random_ids(4, 1), 200), prefill = request(random_ids(1500, 2), 1);
  rig.watch->delay_us = 300;
  std::future<Answer> late;
  auto finish = rig.engine->generate(decoder, [&](const TokenEvent& e) {
    if (e.index == 3) late = std::async(std::launch::async, [&] { return ask(rig, prefill); });
    return true;
  });
  ASSERT_TRUE(finish);
  EXPECT_EQ(late.get().ids, expected(paged, prefill));
  int together = 0;
  for (const auto& step : rig.watch->steps) {
    if (step.rows.size() != 2) continue;
    ++together;
    EXPECT_EQ(step.rows[0], 1);
    EXPECT_LE(step.rows[1], 32);
  }
  EXPECT_GE(together, 40);
}

// Of cached prompts one row is left to compute: it stands among the decoding rows, however few prompt rows would be bearable beside them.
TEST_P(EveryKind, CachedPromptsBeginInOneStepBesideOthersThatDecode) {
  constexpr int n_prompts = 8;
  Rig rig(GetParam(), {.max_batch_tokens = 256, .max_sequences = 16});
  std::vector<Generation> prompts;
  for (uint64_t i = 0; i < n_prompts; ++i) prompts.push_back(request(random_ids(64, 10 + i), 1));
  for (auto& prompt : prompts) {
    ask(rig, prompt);
    prompt.max_tokens = 4;
  }
  rig.watch->record = true;
  rig.watch->delay_us = 3000;  // long enough for all of them to arrive during a step
  std::future<std::vector<Answer>> late;
  const auto decoder = request(random_ids(4, 1), 60);
  auto finish = rig.engine->generate(decoder, [&](const TokenEvent& e) {
    if (e.index == 3) late = std::async(std::launch::async, [&] { return ask_all(rig, prompts); });
    return true;
  });
  ASSERT_TRUE(finish);
  const auto answers = late.get();
  for (size_t i = 0; i < n_prompts; ++i) EXPECT_EQ(answers[i].ids, expected(GetParam(), prompts[i]));
  size_t most = 0;
  for (const auto& step : rig.watch->steps) most = std::max(most, step.rows.size());
  EXPECT_GE(most, n_prompts);  // the decoder and all prompts, but for one that arrived late
}

TEST_P(EveryKind, WhatShouldNotBeKeptAtItsEndPushesNothingOut) {
  Rig rig(GetParam(), {.max_sequences = 2});
  auto prompt = request(random_ids(64, 1), 40);
  prompt.keep_end = false;
  const auto first = ask(rig, prompt);
  EXPECT_EQ(ask(rig, prompt).finish.cached_tokens, 63);
  auto next = request(prompt.prompt, 1);
  next.prompt.insert(next.prompt.end(), first.ids.begin(), first.ids.end());
  EXPECT_LE(ask(rig, next).finish.cached_tokens, 64);  // nothing of the answer
}

TEST_P(EveryKind, ASlowReaderPausesOnlyItself) {
  Rig rig(GetParam(), {.max_sequences = 4});
  const auto slow = request(random_ids(30, 1), 300), quick = request(random_ids(30, 2), 300);
  std::mutex mutex;
  std::condition_variable wake;
  bool go = false;
  auto reader = std::async(std::launch::async, [&] {
    Ids ids;
    auto finish = rig.engine->generate(slow, [&](const TokenEvent& e) {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return go; });
      ids.push_back(e.id);
      return true;
    });
    EXPECT_TRUE(finish);
    return ids;
  });
  EXPECT_EQ(ask(rig, quick).ids, expected(GetParam(), quick));  // though the first reader has not taken a single token
  {
    std::lock_guard lock(mutex);
    go = true;
  }
  wake.notify_all();
  EXPECT_EQ(reader.get(), expected(GetParam(), slow));
}

TEST(Engine, AStalledReaderGivesItsPlaceUpToThoseWhoWait) {
  Rig rig(hybrid, {.max_sequences = 1});
  const auto slow = request(random_ids(30, 1), 100), quick = request(random_ids(30, 2), 20);
  std::promise<void> go;
  auto gone = go.get_future().share();
  auto reader = std::async(std::launch::async, [&] {
    Ids ids;
    auto finish = rig.engine->generate(slow, [&](const TokenEvent& e) {
      gone.wait();
      ids.push_back(e.id);
      return true;
    });
    EXPECT_TRUE(finish);
    return ids;
  });
  while (rig.engine->stats().running == 0) std::this_thread::yield();
  EXPECT_EQ(ask(rig, quick).ids, expected(hybrid, quick));
  go.set_value();
  EXPECT_EQ(reader.get(), expected(hybrid, slow));
  EXPECT_EQ(rig.engine->stats().preemptions, 1u);
}

TEST_P(EveryKind, LogitsOfEveryPositionAreThoseOfTheModel) {
  Rig rig(GetParam(), {.prefill_chunk = 50, .page_tokens = 8, .snapshot_every_tokens = 64});
  auto g = request(random_ids(700, 1), 20);
  ask(rig, g);  // a cached prompt is computed again, because its logits are wanted
  g.want_logits = true;
  int seen = 0;
  const auto check = [&](int position, std::span<const float> row, std::span<const TokenId> history) {
    const auto truth = fake::logits_after(GetParam(), history.first(static_cast<size_t>(position) + 1));
    EXPECT_TRUE(std::ranges::equal(row, std::span(truth).first(fake::n_valid))) << position;
  };
  g.prompt_logits = [&](int position, std::span<const float> row) {
    EXPECT_EQ(position, seen++);
    check(position, row, g.prompt);
  };
  Ids history = g.prompt;
  auto finish = rig.engine->generate(g, [&](const TokenEvent& e) {
    EXPECT_EQ(seen, 700);
    check(699 + e.index, e.logits, history);
    history.push_back(e.id);
    return true;
  });
  ASSERT_TRUE(finish);
  EXPECT_EQ(history.size(), 720u);
  g.max_tokens = 0;  // only the prompt
  seen = 0;
  finish = rig.engine->generate(g, [](const TokenEvent&) { return true; });
  ASSERT_TRUE(finish);
  EXPECT_EQ(seen, 700);
  EXPECT_EQ(finish->reason, Finish::Reason::length);
  EXPECT_EQ(finish->completion_tokens, 0);
}

TEST(Engine, SeedsReproduceAloneAndBatched) {
  Rig rig(hybrid);
  const auto g = request(random_ids(40, 1), 60, {.temperature = 1.5f, .seed = 42});
  const auto alone = ask(rig, g).ids;
  std::vector<Generation> many(10, g);
  for (size_t i = 5; i < 10; ++i) many[i].sampling.seed = i;
  const auto answers = ask_all(rig, many);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(answers[i].ids, alone);
  for (size_t i = 5; i < 10; ++i) EXPECT_NE(answers[i].ids, alone);
}

TEST(Engine, EndsAtAStopTokenOrWhenTheSinkSaysSo) {
  Rig rig(paged);
  auto g = request(random_ids(40, 1), 50, {.temperature = 1, .seed = 1});
  const auto all = expected(paged, g);
  g.stop_ids = {all[7]};
  auto answer = ask(rig, g);
  EXPECT_EQ(answer.ids, expected(paged, g));
  EXPECT_EQ(answer.finish.reason, Finish::Reason::stop);
  g.stop_ids.clear();
  int n = 0;
  const auto finish = rig.engine->generate(g, [&](const TokenEvent&) { return ++n < 5; });
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, Finish::Reason::stop);
  EXPECT_EQ(finish->completion_tokens, 5);
  EXPECT_EQ(ask(rig, g).finish.reason, Finish::Reason::length);
}

TEST(Engine, RefusesWhatCannotBeAnswered) {
  Rig rig(paged, {.max_sequences = 1, .context_tokens = 100, .max_waiting = 0});
  const auto fails = [&](const Generation& g, Code code) {
    const auto finish = rig.engine->generate(g, [](const TokenEvent&) { return true; });
    EXPECT_FALSE(finish);
    return !finish && finish.error().code == code;
  };
  EXPECT_TRUE(fails(request({}, 1), Code::invalid_request));
  EXPECT_TRUE(fails(request({fake::vocab}, 1), Code::invalid_request));
  EXPECT_TRUE(fails(request({-1}, 1), Code::invalid_request));
  EXPECT_TRUE(fails(request({1}, -1), Code::invalid_request));
  EXPECT_TRUE(fails(request(random_ids(100, 1), 1), Code::too_large));
  EXPECT_EQ(ask(rig, request(random_ids(99, 1), 50)).ids.size(), 1u);
  EXPECT_EQ(ask(rig, request(random_ids(60, 1), 50)).ids.size(), 40u);
  rig.watch->delay_us = 1000;
  const auto long_one = request({1, 2}, 90);
  auto busy = std::async(std::launch::async, [&] { return ask(rig, long_one); });
  while (rig.engine->stats().running == 0) std::this_thread::yield();
  EXPECT_TRUE(fails(request({1}, 1), Code::overloaded));
  busy.get();
}

TEST(Engine, ADeadDeviceEndsWhatRunsAndWaitsAndRefusesTheRestAtOnce) {
  Rig rig(hybrid, {.max_sequences = 2});
  rig.watch->delay_us = 2000;
  std::vector<std::future<Result<Finish>>> all;
  for (int i = 0; i < 5; ++i)  // two run, three wait
    all.push_back(std::async(std::launch::async, [&, i] { return rig.engine->generate(request(random_ids(20, static_cast<uint64_t>(i)), 1000), [](const TokenEvent&) { return true; }); }));
  while (rig.engine->stats().running < 2 || rig.engine->stats().waiting < 3) std::this_thread::yield();
  EXPECT_EQ(rig.engine->stats().fault, "");
  rig.watch->die_at_step = static_cast<int>(rig.watch->n_steps) + 3;
  for (auto& one : all) {
    const auto finish = one.get();
    ASSERT_FALSE(finish);
    EXPECT_EQ(finish.error().code, Code::device);
    EXPECT_EQ(finish.error().message, "fake: out of order");
  }
  const uint64_t steps = rig.watch->n_steps;
  const auto later = rig.engine->generate(request({1}, 1), [](const TokenEvent&) { return true; });
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().message, "fake: out of order");
  EXPECT_EQ(rig.watch->n_steps, steps);  // nobody asks the device again
  const EngineStats stats = rig.engine->stats();
  EXPECT_EQ(stats.fault, "fake: out of order");
  EXPECT_EQ(stats.running + stats.waiting, 0);
  EXPECT_EQ(stats.pages_free, stats.pages_total);
}

TEST(Engine, ADeviceErrorOrNanLogitsEndTheRequestAndNotTheEngine) {
  Rig rig(hybrid);
  const auto g = request(random_ids(40, 1), 20);
  rig.watch->fail_step = 5;
  EXPECT_EQ(rig.engine->generate(g, [](const TokenEvent&) { return true; }).error().code, Code::device);
  rig.watch->give_nan = true;
  EXPECT_EQ(rig.engine->generate(g, [](const TokenEvent&) { return true; }).error().code, Code::internal);
  rig.watch->give_nan = false;
  EXPECT_EQ(ask(rig, g).ids, expected(hybrid, g));
  EXPECT_EQ(rig.engine->stats().pages_free, rig.engine->stats().pages_total);
}

TEST(Engine, ShutdownEndsWhatRunsAndWaits) {
  auto rig = std::make_unique<Rig>(hybrid, EngineOptions{.max_sequences = 2});
  rig->watch->delay_us = 1000;
  std::vector<std::future<bool>> ended;
  const auto g = request(random_ids(40, 1), 1500);
  Engine& engine = *rig->engine;
  for (int i = 0; i < 5; ++i)
    ended.push_back(std::async(std::launch::async, [&] {
      const auto finish = engine.generate(g, [](const TokenEvent&) { return true; });
      return !finish && finish.error().code == Code::cancelled;
    }));
  while (engine.stats().running < 2 || engine.stats().waiting < 3) std::this_thread::yield();
  rig.reset();
  for (auto& e : ended) EXPECT_TRUE(e.get());
}

TEST(Engine, SaysWhenTheContextDoesNotFit) {
  const auto make = [](EngineOptions options, int positions) {
    return make_engine(std::make_unique<fake::FakeDevice>(hybrid, std::make_shared<fake::Watch>()), std::make_unique<fake::FakeModel>(hybrid, positions), options);
  };
  const auto refused = make({.context_tokens = 1 << 20, .state_bytes = 1 << 20}, 2048);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::too_large);
  EXPECT_EQ(refused.error().message,
            "cannot hold one sequence of 1048576 tokens: its state takes 65 MiB, state_bytes allows 1 MiB, enough for 16288 tokens");
  const auto shrunk = make({.state_bytes = 1 << 20}, 1 << 20);  // the model's own context, as far as it goes
  ASSERT_TRUE(shrunk);
  EXPECT_EQ((*shrunk)->context_tokens(), 16288);
  EXPECT_FALSE(make({.state_bytes = 100}, 2048));
  const auto usual = make({}, 2048);
  ASSERT_TRUE(usual);
  EXPECT_EQ((*usual)->context_tokens(), 2048);
}

// A step gives logits or hidden states: requests for either must not disturb each other.
TEST_P(EveryKind, HiddenStatesBesideAnswers) {
  Rig rig(GetParam(), {.prefill_chunk = 16, .max_sequences = 6});
  std::vector<Generation> answers;
  for (uint64_t i = 0; i < 3; ++i) answers.push_back(request(random_ids(40, i), 20));
  std::vector<std::future<void>> readers;
  for (uint64_t i = 0; i < 4; ++i)
    readers.push_back(std::async(std::launch::async, [&rig, i] {
      Generation g = request(random_ids(50, 100 + i), 0);
      g.hidden = true;
      g.n_valid_ids = fake::hidden_dim;
      int next = 0;
      g.prompt_logits = [&](int position, std::span<const float> row) {
        ASSERT_EQ(row.size(), size_t{fake::hidden_dim});
        EXPECT_EQ(position, next++);
        EXPECT_EQ(row[0], static_cast<float>(g.prompt[static_cast<size_t>(position)]));
        EXPECT_EQ(row[1], static_cast<float>(position));
      };
      const auto finish = rig.engine->generate(g, [](const TokenEvent&) { return true; });
      EXPECT_TRUE(finish);
      EXPECT_EQ(next, 50);
    }));
  const auto said = ask_all(rig, answers);
  for (auto& reader : readers) reader.get();
  for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(said[i].ids, expected(GetParam(), answers[i]));
}
