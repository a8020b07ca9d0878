// fairness: who goes first, who gives way, when an answer ends by the clock, and how long others wait for a long prompt.
#include "engine/harness.h"
#include "engine/plan.h"
#include "engine/scheduler.h"

using namespace harness;
using namespace std::chrono_literals;

namespace {
// Answers in the order in which they ended.
struct Order {
  std::mutex mutex;
  std::vector<std::string> ended;
  std::vector<std::future<void>> asked;
  void ask_for(Rig& rig, Generation g, std::string name) {
    asked.push_back(std::async(std::launch::async, [this, &rig, g = std::move(g), name] {
      EXPECT_EQ(ask(rig, g).ids, expected(rig.kind, g));
      std::lock_guard lock(mutex);
      ended.push_back(name);
    }));
  }
  long place(const std::string& name) {
    for (auto& f : asked)
      if (f.valid()) f.get();
    return std::ranges::find(ended, name) - ended.begin();
  }
};
void wait_for_waiting(const Rig& rig, int n) {
  while (rig.engine->stats().waiting < n) std::this_thread::yield();
}

// A scheduler whose device takes as long as it is told, on a clock of its own.
struct Simulation {
  fake::FakeDevice device{paged, std::make_shared<fake::Watch>()};
  EngineOptions options;
  Scheduler scheduler;
  std::vector<std::unique_ptr<Generation>> requests;
  double step_s = 0.01, prompt_row_s = 0.0002, decode_row_s = 0.0005;
  Simulation(EngineOptions o) : options(with_device_sizes(o, device)), scheduler(device, options, {4000, 32, 0}, false, {64 * 32, 0}, nullptr) { (void)device.allocate_state({}, {4000, 32, 0}); }

  std::shared_ptr<Sequence> add(int n_prompt, int max_tokens) {
    requests.push_back(std::make_unique<Generation>(request(random_ids(n_prompt, requests.size()), max_tokens)));
    auto s = std::make_shared<Sequence>(*requests.back(), 100'000, 32, fake::vocab);
    scheduler.waiting().push_back(s);
    scheduler.arrive(*s);
    return s;
  }
  struct Step { int decoding = 0, prompt = 0; double seconds = 0, alone = 0; };
  Step step() {
    scheduler.next_step();
    Step done;
    for (const auto& e : scheduler.entries()) (e.sequence->decoding() ? done.decoding : done.prompt) += e.n_rows;
    done.alone = step_s + decode_row_s * done.decoding;
    done.seconds = done.alone + prompt_row_s * done.prompt;
    scheduler.took(scheduler.rows(), done.seconds);
    std::vector<Sequence*> finished;
    for (const auto& e : scheduler.entries()) {
      scheduler.advance(e);
      if (e.samples) e.sequence->tokens.push_back(1);
      if (e.sequence->finished()) finished.push_back(e.sequence);
    }
    for (Sequence* s : finished) scheduler.retire(*s, true);
    return done;
  }
};
}  // namespace

TEST(Fairness, ALongPromptDoesNotStallOthers) {
  Simulation sim({.max_batch_tokens = 2048, .max_sequences = 16});
  for (int i = 0; i < 4; ++i) sim.add(20, 5000);
  for (int i = 0; i < 20; ++i) sim.step();
  const auto prompt = sim.add(32'768, 1);
  int steps = 0;
  double most = 0, total = 0, alone = 0;
  for (; prompt->n_generated() == 0; ++steps) {
    const auto done = sim.step();
    ASSERT_EQ(done.decoding, 4);
    most = std::max(most, done.seconds / done.alone);
    total += done.seconds;
    alone += done.alone;
    ASSERT_LT(steps, 2000);
  }
  EXPECT_LE(most, 2.0);
  EXPECT_GE(total / alone, 1.7);  // and the prompt gets what is bearable: half of the time
}

TEST(Fairness, ALongPromptGetsOnEvenWhereEveryRowIsDear) {
  Simulation sim({.max_sequences = 16});
  sim.prompt_row_s = 0.02;
  sim.add(20, 100'000);
  for (int i = 0; i < 5; ++i) sim.step();
  const auto prompt = sim.add(4000, 1);
  int steps = 0;
  while (prompt->n_generated() == 0 && ++steps < 1000) sim.step();
  EXPECT_LT(steps, 4000 / Pace::least_rows + 20);
}

TEST(Fairness, AShortPromptIsAnsweredBesideALongOneAndTheLongOneGetsOn) {
  Simulation sim({.max_sequences = 16});
  const auto prompt = sim.add(32'768, 1);
  sim.step();
  for (int i = 0; i < 5; ++i) {
    const auto chat = sim.add(300, 1);
    const int before = prompt->n_past;
    int steps = 0;
    while (chat->n_generated() == 0) {
      sim.step();
      ASSERT_LT(++steps, 4);
    }
    EXPECT_GT(prompt->n_past, before + 100);
  }
}

TEST(Fairness, TenantsTakeTurns) {
  Rig rig(hybrid, {.max_sequences = 1});
  rig.watch->delay_us = 1000;
  Order order;
  auto g = request(random_ids(20, 1), 30);
  g.tenant = "a";
  for (int i = 0; i < 6; ++i) order.ask_for(rig, g, "a" + std::to_string(i));
  wait_for_waiting(rig, 5);
  g.tenant = "b";
  order.ask_for(rig, g, "b");
  EXPECT_LE(order.place("b"), 2);
}

TEST(Fairness, HigherPrioritiesStartFirst) {
  Rig rig(hybrid, {.max_sequences = 1});
  rig.watch->delay_us = 1000;
  Order order;
  auto g = request(random_ids(20, 1), 30);
  for (int i = 0; i < 5; ++i) order.ask_for(rig, g, "usual");
  wait_for_waiting(rig, 4);
  g.priority = 1;
  order.ask_for(rig, g, "urgent");
  EXPECT_LE(order.place("urgent"), 2);
}

TEST(Fairness, ATenantWithoutAPlaceGetsOneOfSeveral) {
  Rig rig(hybrid, {.max_sequences = 2});
  rig.watch->delay_us = 3000;
  Order order;
  auto g = request(random_ids(20, 1), 1500);
  g.tenant = "a";
  for (int i = 0; i < 2; ++i) order.ask_for(rig, g, "a");
  while (rig.engine->stats().running < 2) std::this_thread::yield();
  g.tenant = "b";
  g.max_tokens = 10;
  order.ask_for(rig, g, "b");
  EXPECT_EQ(order.place("b"), 0);
  EXPECT_EQ(rig.engine->stats().preemptions, 1u);
  EXPECT_EQ(rig.watch->slot_errors, 0u);
}

TEST(Fairness, AnswersEndAtTheirDeadline) {
  Rig rig(hybrid, {.max_sequences = 1});
  rig.watch->delay_us = 2000;
  auto g = request(random_ids(20, 1), 1500);
  g.deadline = std::chrono::steady_clock::now() + 300ms;
  auto waiting = g;
  waiting.deadline = std::chrono::steady_clock::now() + 50ms;
  auto first = std::async(std::launch::async, [&] { return ask(rig, g); });
  while (rig.engine->stats().running == 0) std::this_thread::yield();
  const auto never = ask(rig, waiting);
  EXPECT_EQ(never.finish.reason, Finish::Reason::length);
  EXPECT_TRUE(never.ids.empty());
  ASSERT_EQ(never.finish.warnings.size(), 1u);
  EXPECT_EQ(never.finish.warnings[0], "the answer ended at its deadline");
  const auto answer = first.get();
  EXPECT_EQ(answer.finish.reason, Finish::Reason::length);
  EXPECT_GT(answer.ids.size(), 5u);
  EXPECT_LT(answer.ids.size(), 400u);
  EXPECT_LT(std::chrono::steady_clock::now(), *g.deadline + 2s);
  const auto stats = rig.engine->stats();
  EXPECT_EQ(stats.pages_free, stats.pages_total);
}

TEST(Explain, SaysWhereAPromptLeftWhatWasCached) {
  Rig rig(hybrid, {.page_tokens = 16, .snapshot_every_tokens = 64});
  auto g = request(random_ids(300, 1), 5);
  Divergence seen;
  g.explain = [&](const Divergence& d) { seen = d; };
  ask(rig, g);
  EXPECT_EQ(seen.at, 0);
  EXPECT_EQ(seen.cached_tokens, 0);
  EXPECT_EQ(seen.prompt_tokens, 300);
  EXPECT_TRUE(seen.was.empty());
  auto other = g;
  other.prompt[200] = (other.prompt[200] + 1) % fake::n_valid;
  ask(rig, other);
  EXPECT_EQ(seen.at, 200);
  EXPECT_EQ(seen.cached_tokens, 192);
  EXPECT_EQ(seen.from, 192);
  EXPECT_EQ(seen.was, Ids(g.prompt.begin() + 192, g.prompt.begin() + 224));
  EXPECT_EQ(seen.now, Ids(other.prompt.begin() + 192, other.prompt.begin() + 224));
  EXPECT_GT(seen.recomputed_s, 0);
  g.explain = nullptr;
  for (int i = 0; i < 70; ++i) ask(rig, g);
  const auto recent = rig.engine->recent_prompts();
  ASSERT_EQ(recent.size(), 64u);
  EXPECT_EQ(recent.back().cached_tokens, 299);
  EXPECT_EQ(recent.back().at, 300);
  EXPECT_TRUE(recent.back().was.empty() && recent.back().now.empty());
}
