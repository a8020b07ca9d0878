// oracle: whole checkpoints on the CPU device against what Hugging Face's and mlx-lm's own code gives (top logits and 32 greedy ids).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <iostream>
#include "core/json.h"
#include "model/model.h"

namespace fs = std::filesystem;

namespace {

struct Oracle {
  std::string name, model, expected;
  double tolerance = 1e-3;
};

// One sequence on pages 0, 1, 2, …
class Runner {
 public:
  static Result<std::unique_ptr<Runner>> open(const std::string& path) {
    auto r = std::make_unique<Runner>();
    DeviceOptions options;
    options.precision = Precision::exact;
    if (const char* device = std::getenv("CALLA_TEST_DEVICE")) options.device = device;
    if (std::getenv("CALLA_TEST_FAST")) options.precision = Precision::fast;
    TRY(r->file_, open_weights(path));
    TRY(r->device_, make_device(options));
    TRY(r->loaded_, load_model(*r->file_, *r->device_));
    for (int32_t i = 0; i < 8; i++) r->pages_.push_back(i);
    return r;
  }
  Status reset() {
    past_ = 0;
    TRY_STATUS(device_->allocate_state(loaded_.model->states(), {8, 32, 1}));
    device_->clear_slot(0);
    return ok_status();
  }
  // Logits of the last of these tokens.
  Result<std::vector<float>> step(std::span<const TokenId> ids) {
    const auto n = static_cast<int32_t>(ids.size());
    std::vector<int32_t> positions;
    for (int32_t i = 0; i < n; i++) positions.push_back(past_ + i);
    const SequenceRows rows[] = {{0, n, past_, pages_.data(), 0}};
    const int32_t last[] = {n - 1};
    const Batch batch{ids, positions, rows, last};
    const Tensor logits = loaded_.model->forward(device_->begin(), batch);
    TRY_STATUS(device_->finish());
    past_ += n;
    const auto host = device_->host(logits);
    return std::vector<float>(host.begin(), host.end());
  }

 private:
  std::unique_ptr<WeightFile> file_;
  std::unique_ptr<Device> device_;
  LoadedModel loaded_;
  std::vector<int32_t> pages_;
  int32_t past_ = 0;
};

std::vector<TokenId> ids_of(JsonView object, const char* key) {
  std::vector<TokenId> ids;
  const simdjson::dom::array all = find(object, key)->get_array().value_unsafe();
  for (const auto item : all) ids.push_back(static_cast<TokenId>(int64_t(item)));
  return ids;
}

double worst_difference(JsonView test, const std::vector<float>& logits) {
  double worst = 0;
  const simdjson::dom::array all = find(test, "top")->get_array().value_unsafe();
  for (const auto pair : all) {
    const simdjson::dom::array both = pair.get_array().value_unsafe();
    const double got = logits.at(static_cast<size_t>(int64_t(both.at(0).value_unsafe())));
    const double off = std::abs(got - double(both.at(1).value_unsafe()));
    worst = std::isnan(off) ? 1e30 : std::max(worst, off);
  }
  return worst;
}

TokenId best(const std::vector<float>& logits) { return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()); }

// Greedy ids must agree but where the reference itself is undecided.
void check_greedy(Runner& runner, JsonView test, std::vector<float> logits, double tolerance, const std::string& where) {
  const std::vector<TokenId> expected = ids_of(test, "generated");
  const simdjson::dom::array gaps = find(test, "gaps")->get_array().value_unsafe();
  for (size_t i = 0; i < expected.size(); i++) {
    const TokenId got = best(logits);
    if (got != expected[i]) {
      EXPECT_LT(double(gaps.at(i).value_unsafe()), 2 * tolerance)
          << where << ": greedy id " << i << " is " << got << ", " << expected[i] << " expected";
      return;
    }
    auto next = runner.step(std::span(&expected[i], 1));
    ASSERT_TRUE(next) << next.error().message;
    logits = std::move(*next);
  }
}

void check(const Oracle& oracle) {
  const auto document = JsonDocument::read(oracle.expected);
  ASSERT_TRUE(document) << document.error().message;
  const double tolerance = std::max(oracle.tolerance, 1e-3 * find_double(document->root(), "tolerance_factor").value_or(1));
  auto runner = Runner::open(oracle.model);
  ASSERT_TRUE(runner) << runner.error().message;
  const simdjson::dom::array cases = find(document->root(), "cases")->get_array().value_unsafe();
  double worst = 0;
  size_t n = 0;
  for (const auto test : cases) {
    const std::string where = oracle.name + " case " + std::to_string(n++);
    const auto reset = (*runner)->reset();
    ASSERT_TRUE(reset) << reset.error().message;
    auto logits = (*runner)->step(ids_of(test, "ids"));
    ASSERT_TRUE(logits) << logits.error().message;
    const double off = worst_difference(test, *logits);
    EXPECT_LE(off, tolerance) << where;
    worst = std::max(worst, off);
    check_greedy(**runner, test, std::move(*logits), tolerance, where);
  }
  std::cout << oracle.name << ": " << n << " prompts, largest logit difference " << worst << "\n";
}

void add_directory(std::vector<Oracle>& oracles, const fs::path& folder, const char* expected, double gemma) {
  if (!fs::is_directory(folder)) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find("tokcls") != name.npos || !fs::exists(entry.path() / expected)) continue;
    oracles.push_back({name, entry.path().string(), (entry.path() / expected).string(), name.starts_with("gemma") ? gemma : 1e-3});
  }
}

void add_gguf(std::vector<Oracle>& oracles, const fs::path& folder) {
  if (!fs::is_directory(folder)) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string(), name = entry.path().filename().string();
    if (path.ends_with(".gguf")) oracles.push_back({name, path, path + ".expected.json", name.starts_with("gemma") ? 5e-3 : 1e-3});
  }
}

std::vector<Oracle> shared_oracles() {
  const char* stated = std::getenv("CALLA_SHARED");
  const fs::path shared = stated ? fs::path(stated) : fs::path(CALLA_SOURCE_DIR) / ".." / "shared", data = shared / "oracles" / "data";
  std::vector<Oracle> oracles;
  add_directory(oracles, data, "expected.json", 1e-3);
  add_directory(oracles, data / "mlx", "expected_mlx.json", 5e-3);
  add_gguf(oracles, data / "gguf");
  if (const char* more = std::getenv("CALLA_ORACLES")) {  // a folder of further ones
    add_directory(oracles, more, "expected.json", 1e-3);
    add_gguf(oracles, more);
  }
  std::ranges::sort(oracles, {}, &Oracle::name);
  return oracles;
}

TEST(Oracle, CheckedIn) {
  std::vector<Oracle> oracles;
  add_gguf(oracles, fs::path(CALLA_SOURCE_DIR) / "tests" / "golden" / "models");
  ASSERT_EQ(oracles.size(), 2u);
  for (const Oracle& oracle : oracles) check(oracle);
}

TEST(Oracle, Shared) {
  const std::vector<Oracle> oracles = shared_oracles();
  if (oracles.empty())
    GTEST_SKIP()
        << "NOTICE: no reference checkpoints: set CALLA_SHARED to the folder that has oracles/data, or keep it beside the sources as ../shared";
  for (const Oracle& oracle : oracles) {
    SCOPED_TRACE(oracle.name);
    check(oracle);
  }
}

}  // namespace
