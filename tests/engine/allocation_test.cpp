// allocation: after warm-up a decode step allocates nothing on the engine thread. Counts by replacing operator new.
#include <cstdlib>
#include <new>
#include <cmath>
#include "engine/harness.h"
#include "file/file.h"

namespace {
thread_local uint64_t allocations = 0;
void* counted(size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
}  // namespace
// Not inlined: g++ would see a malloc freed by delete and take it for a mistake.
[[gnu::noinline]] void* operator new(size_t bytes) { return counted(bytes); }
[[gnu::noinline]] void* operator new[](size_t bytes) { return counted(bytes); }
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return ++allocations, std::malloc(bytes ? bytes : 1); }
[[gnu::noinline]] void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return ++allocations, std::malloc(bytes ? bytes : 1); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, size_t) noexcept { std::free(p); }

using namespace harness;

TEST(Allocation, DecodeStepsAllocateNothing) {
  Rig rig(hybrid, {.page_tokens = 8});
  rig.watch->allocations_at_step.reserve(5000);
  rig.watch->count_allocations = [] { return allocations; };
  std::vector<Generation> requests;
  for (int i = 0; i < 4; ++i) {
    requests.push_back(request(random_ids(30, static_cast<uint64_t>(i)), 500, {.temperature = i ? 0.9f : 0.0f, .top_p = i == 1 ? 0.9f : 1.0f, .seed = 3}));
    requests.back().sampling.top_k = i == 2 ? 40 : 0;
    requests.back().sampling.repetition_penalty = i == 3 ? 1.1f : 1.0f;
    requests.back().want_logits = i == 1;
  }
  const auto answers = ask_all(rig, requests);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(answers[i].ids, expected(hybrid, requests[i]));
  const auto& counts = rig.watch->allocations_at_step;
  size_t quiet = 0, loud = 0;
  for (size_t i = 1; i < counts.size(); ++i) (counts[i] == counts[i - 1] ? quiet : loud)++;
  // What remains are the steps in which a request arrives, its prompt is computed, or its state goes to the cache at the end.
  EXPECT_GT(quiet, 450u);
  EXPECT_LE(loud, 4 * 5u);
  for (size_t i = 0, run = 0; i + 1 < counts.size(); ++i) {  // and in the middle there is not one
    run = counts[i + 1] == counts[i] ? run + 1 : 0;
    if (run > 300) return;
  }
  ADD_FAILURE() << "no 300 steps in a row without an allocation";
}

// The same on the real CPU device with real (tiny) checkpoints: one thread, so that everything the step does is counted here.
TEST(Allocation, ARealModelsDecodeStepAllocatesNothing) {
  for (const char* name : {"qwen3_5_moe-Q4_0.gguf", "llama-Q6_K.gguf"})
    for (const Precision precision : {Precision::exact, Precision::fast}) {
      auto file = open_weights(std::string(CALLA_SOURCE_DIR) + "/tests/golden/models/" + name);
      ASSERT_TRUE(file) << file.error().message;
      DeviceOptions options;
      options.threads = 1;
      options.precision = precision;
      auto device = make_cpu_device(options);
      ASSERT_TRUE(device) << device.error().message;
      auto loaded = load_model(**file, **device);
      ASSERT_TRUE(loaded) << loaded.error().message;
      ASSERT_TRUE((*device)->allocate_state(loaded->model->states(), {4, 32, 1}));
      (*device)->clear_slot(0);
      const int32_t pages[] = {0, 1, 2, 3}, logit_row[] = {0};
      uint64_t before = 0;
      for (int32_t i = 0; i < 100; i++) {
        const TokenId id[] = {(i * 7) % 600};
        const SequenceRows rows[] = {{0, 1, i, pages, 0}};
        if (i == 4) before = allocations;  // warm-up: the arena and the recording have found their size
        Encoder& e = (*device)->begin();
        const Tensor logits = loaded->model->forward(e, {id, {&i, 1}, rows, logit_row});
        ASSERT_TRUE((*device)->finish());
        ASSERT_TRUE(std::isfinite((*device)->host(logits)[0]));
      }
      EXPECT_EQ(allocations, before) << name;
    }
}
