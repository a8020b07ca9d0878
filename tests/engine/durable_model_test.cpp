// durable_model: the same with real (tiny) checkpoints on the CPU device: a restart says what a fresh computation says, token for token.
#include "engine/harness.h"
#include "engine/scratch_dir.h"
#include "file/file.h"

using namespace harness;

namespace {
struct Opened {
  std::unique_ptr<WeightFile> file;  // the model points into it
  std::unique_ptr<Engine> engine;
  Engine* operator->() const { return engine.get(); }
  Engine& operator*() const { return *engine; }
};
Opened open_engine(const std::string& name, const DeviceOptions& device_options, const EngineOptions& options) {
  auto file = open_weights(std::string(CALLA_SOURCE_DIR) + "/tests/golden/models/" + name);
  EXPECT_TRUE(file);
  auto device = make_cpu_device(device_options);
  EXPECT_TRUE(device);
  auto loaded = load_model(**file, **device);
  EXPECT_TRUE(loaded);
  auto engine = make_engine(std::move(*device), std::move(loaded->model), options);
  EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
  return {std::move(*file), std::move(*engine)};
}
Ids answer(Engine& engine, Ids prompt, bool use_cache, Finish* finish = nullptr) {
  Generation g;
  g.prompt = std::move(prompt);
  g.sampling.temperature = 0;
  g.max_tokens = 12;
  g.use_cache = use_cache;
  Ids ids;
  const auto ended = engine.generate(g, [&](const TokenEvent& e) { return ids.push_back(e.id), true; });
  EXPECT_TRUE(ended);
  if (ended && finish) *finish = *ended;
  return ids;
}
}  // namespace

TEST(DurableModel, ARestartEqualsAFreshComputationTokenForToken) {
  struct Case { Precision precision; KvType kv; };
  for (const char* name : {"qwen3_5_moe-Q4_0.gguf", "llama-Q6_K.gguf"})
    for (const Case c : {Case{Precision::exact, KvType::half}, {Precision::fast, KvType::half}, {Precision::fast, KvType::int8}}) {
      const ScratchDir dir;
      DeviceOptions device;
      device.precision = c.precision;
      device.kv = c.kv;
      device.threads = 2;
      EngineOptions options{.context_tokens = 500, .snapshot_every_tokens = 100};
      options.cache_dir = dir.path();
      options.cache_disk_bytes = size_t{1} << 30;
      Ids prompt(300);
      for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<TokenId>(i * 31 % 250);
      Ids next = prompt;
      {
        const auto engine = open_engine(name, device, options);
        for (const TokenId id : answer(*engine, prompt, true)) next.push_back(id);
      }
      for (int i = 0; i < 20; ++i) next.push_back(i * 3);
      Ids branch = prompt;
      for (size_t i = 250; i < 300; ++i) branch[i] = 7;
      const auto engine = open_engine(name, device, options);
      Finish finish;
      const Ids cached = answer(*engine, next, true, &finish);
      EXPECT_EQ(cached, answer(*engine, next, false)) << name;
      EXPECT_GE(finish.cached_tokens, 288) << name;
      EXPECT_EQ(answer(*engine, branch, true, &finish), answer(*engine, branch, false)) << name;
      EXPECT_GE(finish.cached_tokens, 200) << name;
      EXPECT_EQ(engine->stats().disk_corrupted, 0u);
    }
}
