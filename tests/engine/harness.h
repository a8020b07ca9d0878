// harness: an engine on fakes, requests against it, and the answers it must give.
#pragma once
#include <gtest/gtest.h>
#include <future>
#include <random>
#include "engine/sampler.h"
#include "engine/fakes.h"

namespace harness {
using Ids = std::vector<TokenId>;

struct Rig {
  std::shared_ptr<fake::Watch> watch = std::make_shared<fake::Watch>();
  fake::Kind kind;
  std::unique_ptr<Engine> engine;
  explicit Rig(fake::Kind k, EngineOptions options = {}, int max_positions = 2048) : Rig(k, options, max_positions, [](auto... args) { return std::make_unique<fake::FakeDevice>(args...); }) {}
  template <class MakeDevice> Rig(fake::Kind k, const EngineOptions& options, int max_positions, const MakeDevice& make_device) : kind(k) {
    auto made = make_engine(make_device(k, watch), std::make_unique<fake::FakeModel>(k, max_positions), options);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    if (made) engine = std::move(*made);
  }
};

inline Ids random_ids(int n, uint64_t seed) {
  std::mt19937_64 random(seed);
  Ids ids(static_cast<size_t>(n));
  for (TokenId& id : ids) id = static_cast<TokenId>(random() % fake::n_valid);
  return ids;
}

inline Generation request(Ids prompt, int max_tokens, Sampling sampling = {.temperature = 0}) {
  Generation g;
  g.prompt = std::move(prompt);
  g.max_tokens = max_tokens;
  g.sampling = sampling;
  g.n_valid_ids = fake::n_valid;
  return g;
}

// What the request must give: no engine, no state, no cache, no batch.
inline Ids expected(fake::Kind kind, const Generation& g) {
  Sampler sampler(fake::vocab);
  Ids tokens = g.prompt, answer;
  for (int i = 0; i < g.max_tokens; ++i) {
    const auto row = fake::logits_after(kind, tokens);
    const TokenId id = sampler.sample({.logits = std::span(row).first(fake::n_valid), .history = tokens, .n_prompt = static_cast<int>(g.prompt.size()), .index = i}, g.sampling);
    tokens.push_back(id);
    answer.push_back(id);
    if (std::ranges::find(g.stop_ids, id) != g.stop_ids.end()) break;
  }
  return answer;
}

struct Answer { Ids ids; Finish finish; };
inline Answer ask(Rig& rig, const Generation& g, std::stop_token stop = {}) {
  Answer answer;
  auto finish = rig.engine->generate(g, [&](const TokenEvent& e) {
    EXPECT_EQ(e.index, static_cast<int>(answer.ids.size()));
    answer.ids.push_back(e.id);
    return true;
  }, stop);
  EXPECT_TRUE(finish) << (finish ? "" : finish.error().message);
  if (finish) answer.finish = *finish;
  return answer;
}
inline std::vector<Answer> ask_all(Rig& rig, const std::vector<Generation>& requests) {
  std::vector<std::future<Answer>> futures;
  for (const auto& g : requests) futures.push_back(std::async(std::launch::async, [&rig, &g] { return ask(rig, g); }));
  std::vector<Answer> answers;
  for (auto& f : futures) answers.push_back(f.get());
  return answers;
}

constexpr fake::Kind paged{true, false}, hybrid{true, true}, recurrent{false, true};
inline std::string kind_name(const fake::Kind& k) { return k.paged ? (k.recurrent ? "hybrid" : "paged") : "recurrent"; }
}  // namespace harness
