// model: whole small checkpoints on the GPU: fast beside exact beside the CPU, chunks of a prompt, sequences together and alone, recorded steps and
// single launches, and the same ids five times.
#include <algorithm>
#include <gtest/gtest.h>
#include "cuda/bounds.h"
#include "cuda/gpu.h"
#include "cuda/twins.h"
#include "model/model.h"

namespace {

constexpr int kPages = 8, kPageTokens = 32, kSequences = 34;

// A checkpoint on a device, with room for kSequences sequences.
class Loaded {
 public:
  Loaded(const std::string& name, DeviceOptions options) {
    auto file = open_weights(std::string(CALLA_SOURCE_DIR) + "/tests/golden/models/" + name);
    auto device = make_device(options);
    if (!file || !device) throw std::runtime_error(file ? device.error().message : file.error().message);
    file_ = std::move(*file), device_ = std::move(*device);
    auto model = load_model(*file_, *device_);
    if (!model) throw std::runtime_error(model.error().message);
    model_ = std::move(*model);
    for (int32_t i = 0; i < kSequences * kPages; i++) pages_.push_back(kSequences * kPages - 1 - i);
    restart();
  }
  bool remembers = false;  // steps of a known shape are recorded without the model's words
  int n_repeated = 0;
  void restart() {
    ASSERT_TRUE(device_->allocate_state(model_.model->states(), {kSequences * kPages, kPageTokens, kSequences}));
    for (int32_t i = 0; i < kSequences; i++) device_->clear_slot(i);
  }
  struct Part { int32_t sequence, past; std::vector<TokenId> ids; };
  // Logits of the last row of each part.
  std::vector<std::vector<float>> step(const std::vector<Part>& parts) {
    std::vector<TokenId> ids;
    std::vector<int32_t> positions, last;
    std::vector<SequenceRows> sequences;
    for (const Part& p : parts) {
      sequences.push_back({static_cast<int32_t>(ids.size()), static_cast<int32_t>(p.ids.size()), p.past, &pages_[static_cast<size_t>(p.sequence * kPages)], p.sequence});
      for (size_t i = 0; i < p.ids.size(); i++) positions.push_back(p.past + static_cast<int32_t>(i));
      ids.insert(ids.end(), p.ids.begin(), p.ids.end());
      last.push_back(static_cast<int32_t>(ids.size()) - 1);
    }
    const Batch batch{ids, positions, sequences, last};
    const auto repeated = remembers ? device_->repeat(batch, {}) : std::nullopt;
    const Tensor logits = repeated ? *repeated : model_.model->forward(device_->begin(), batch);
    if (repeated) n_repeated++;
    else if (remembers) device_->remember(batch, {}, logits);
    const Status done = device_->finish();
    EXPECT_TRUE(done) << done.error().message;
    const auto all = device_->host(logits);
    std::vector<std::vector<float>> rows;
    const size_t width = all.size() / parts.size();
    for (size_t i = 0; i < parts.size(); i++) rows.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i * width), all.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    return rows;
  }
  std::vector<TokenId> prompt(int32_t n, uint32_t seed) const {
    std::vector<TokenId> ids;
    for (int32_t i = 0; i < n; i++) ids.push_back(static_cast<TokenId>((static_cast<uint32_t>(i) + 1000 * seed) * 2654435761u % static_cast<uint32_t>(model_.model->config().vocab_size)));
    return ids;
  }
  std::vector<TokenId> greedy(const std::vector<TokenId>& ids, int n) {
    restart();
    std::vector<TokenId> made;
    auto logits = step({{0, 0, ids}});
    for (int i = 0; i < n; i++) {
      made.push_back(static_cast<TokenId>(std::ranges::max_element(logits[0]) - logits[0].begin()));
      logits = step({{0, static_cast<int32_t>(ids.size()) + i, {made.back()}}});
    }
    return made;
  }

 private:
  std::unique_ptr<WeightFile> file_;
  std::unique_ptr<Device> device_;
  LoadedModel model_;
  std::vector<int32_t> pages_;
};

DeviceOptions on(const char* device, Precision precision, bool profile = false) {
  DeviceOptions options;
  options.device = device, options.precision = precision, options.profile = profile, options.batch_invariant = true;
  return options;
}

class SmallModel : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(CheckedIn, SmallModel, testing::Values("llama-Q6_K.gguf", "qwen3_5_moe-Q4_0.gguf"), [](const auto& info) { return std::string(info.param).substr(0, std::string(info.param).find('-')); });

void expect_logits(std::span<const float> got, std::span<const float> want, double bound, const std::string& what) {
  const std::vector<double> wanted(want.begin(), want.end());
  expect_close(got, wanted, std::ssize(got), bound, what);
}

TEST_P(SmallModel, GivesTheLogitsAndIdsOfTheCpu) {
  Loaded cpu(GetParam(), on("cpu", Precision::exact));
  for (const Precision precision : kPrecisions) {
    Loaded gpu(GetParam(), on(test_device(), precision));
    const double bound = precision == Precision::exact ? 1e-4 : std::string(GetParam()).starts_with("qwen") ? 0.2 : 2e-2;  // routes that are all but equal may turn
    for (const int32_t rows : {1, 7, 64, 65, 200}) {
      cpu.restart(), gpu.restart();
      expect_logits(gpu.step({{0, 0, gpu.prompt(rows, 1)}})[0], cpu.step({{0, 0, cpu.prompt(rows, 1)}})[0], bound, std::string("logits ") + word(precision) + ": rows " + std::to_string(rows));
      const auto next = gpu.prompt(1, 5);
      expect_logits(gpu.step({{0, rows, next}})[0], cpu.step({{0, rows, next}})[0], bound, std::string("logits ") + word(precision) + ": behind " + std::to_string(rows));
    }
    if (precision == Precision::fast) continue;
    EXPECT_EQ(gpu.greedy(gpu.prompt(20, 2), 32), cpu.greedy(cpu.prompt(20, 2), 32));
  }
}

// Few steps of every kind, for tools that watch each access (tools/gpu sanitizer).
TEST_P(SmallModel, RunsABitOfEverything) {
  for (const Precision precision : kPrecisions) {
    Loaded gpu(GetParam(), on(test_device(), precision));
    std::vector<std::vector<float>> rows = gpu.step({{0, 0, gpu.prompt(70, 1)}, {1, 0, gpu.prompt(9, 2)}});
    const std::vector<std::vector<Loaded::Part>> steps = {{{0, 70, gpu.prompt(1, 3)}}, {{1, 9, gpu.prompt(1, 4)}, {0, 71, gpu.prompt(1, 5)}}, {{2, 0, gpu.prompt(66, 6)}, {0, 72, gpu.prompt(1, 7)}}, {{1, 10, gpu.prompt(3, 8)}}};
    for (const auto& step : steps)
      for (auto& row : gpu.step(step)) rows.push_back(std::move(row));
    EXPECT_EQ(rows.size(), 8u);
    for (const auto& row : rows) EXPECT_TRUE(std::ranges::all_of(row, [](float v) { return std::isfinite(v); })) << word(precision);
  }
}

TEST_P(SmallModel, TakesPromptsInAnyChunks) {
  for (const Precision precision : kPrecisions) {
    Loaded gpu(GetParam(), on(test_device(), precision));
    const auto prompt = gpu.prompt(210, 3);
    const auto whole = gpu.step({{0, 0, prompt}})[0];
    for (const int32_t chunk : {1, 16, 64, 100, 209}) {
      gpu.restart();
      std::vector<float> last;
      for (int32_t past = 0; past < 210; past += chunk) last = gpu.step({{0, past, {prompt.begin() + past, prompt.begin() + std::min(past + chunk, 210)}}})[0];
      expect_logits(last, whole, precision == Precision::exact ? 1e-4 : 2e-2, std::string("chunks ") + word(precision) + ": of " + std::to_string(chunk));
    }
  }
}

TEST_P(SmallModel, RepeatsAStepOfAKnownShapeWithoutItsWords) {
  for (const Precision precision : kPrecisions) {
    Loaded spoken(GetParam(), on(test_device(), precision)), repeating(GetParam(), on(test_device(), precision));
    repeating.remembers = true;
    for (Loaded* gpu : {&spoken, &repeating}) gpu->step({{0, 0, gpu->prompt(40, 1)}, {1, 0, gpu->prompt(9, 2)}});
    for (int32_t i = 0; i < 40; i++) {
      const auto ids = spoken.prompt(4, static_cast<uint32_t>(10 + i));
      std::vector<Loaded::Part> parts = {{0, 40 + i, {ids[0]}}, {1, 9 + i, {ids[1]}}};
      const auto want = spoken.step(parts), got = repeating.step(parts);
      for (size_t s = 0; s < parts.size(); s++) expect_same_bits(got[s], want[s], std::string(word(precision)) + " step " + std::to_string(i));
    }
    EXPECT_GE(repeating.n_repeated, 30);
  }
}

TEST_P(SmallModel, DecodesTheSameBitsAloneAndAmongOthers) {
  for (const Precision precision : kPrecisions) {
    Loaded gpu(GetParam(), on(test_device(), precision));
    std::vector<Loaded::Part> steps;
    for (int32_t s = 0; s < 32; s++) {
      const auto prompt = gpu.prompt(20 + 5 * s, static_cast<uint32_t>(s));
      gpu.step({{s, 0, prompt}});
      steps.push_back({s, 20 + 5 * s, {gpu.prompt(1, static_cast<uint32_t>(100 + s))[0]}});
    }
    const auto together = gpu.step(steps);
    gpu.restart();
    for (const int32_t s : {0, 13, 31}) {
      gpu.step({{s, 0, gpu.prompt(20 + 5 * s, static_cast<uint32_t>(s))}});
      expect_same_bits(gpu.step({steps[static_cast<size_t>(s)]})[0], together[static_cast<size_t>(s)], std::string(word(precision)) + " sequence " + std::to_string(s));
    }
  }
}

// With a profile every kernel is launched by itself; without one, steps of few rows are recorded as graphs and replayed.
TEST_P(SmallModel, GivesTheSameBitsRecordedAndLaunchedOneByOne) {
  for (const Precision precision : kPrecisions) {
    Loaded recorded(GetParam(), on(test_device(), precision)), launched(GetParam(), on(test_device(), precision, true));
    for (int32_t past = 0; past < 60; past += past < 40 ? 40 : 1) {
      const auto ids = recorded.prompt(past < 40 ? 40 : 1, static_cast<uint32_t>(past));
      expect_same_bits(launched.step({{0, past, ids}})[0], recorded.step({{0, past, ids}})[0], std::string(word(precision)) + " at " + std::to_string(past));
    }
  }
}

TEST_P(SmallModel, GeneratesTheSameIdsFiveTimes) {
  for (const Precision precision : kPrecisions) {
    Loaded gpu(GetParam(), on(test_device(), precision));
    const auto prompt = gpu.prompt(100, 4), first = gpu.greedy(prompt, 32);
    for (int i = 1; i < 5; i++) EXPECT_EQ(gpu.greedy(prompt, 32), first) << word(precision) << " run " << i;
  }
}

}  // namespace
