// library_test: what is listed and under which names, copies that stay, plans that are exact, and a model that is really loaded.
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include "app/library.h"
#include "app/memory_plan.h"
#include "app/open.h"

namespace {

namespace fs = std::filesystem;
const std::string kModels = CALLA_SOURCE_DIR "/tests/golden/models";
const std::string kLlama = kModels + "/llama-Q6_K.gguf", kHybrid = kModels + "/qwen3_5_moe-Q4_0.gguf";

class LibraryTest : public testing::Test {
 protected:
  LibraryTest() : folder_(testing::TempDir() + "calla-library-" + std::to_string(::getpid())) {
    fs::create_directories(folder_);
    ::setenv("HF_HUB_CACHE", (folder_ + "/hub").c_str(), 1);
    options_.state_dir = folder_ + "/state";
    options_.models_dir = kModels;
    options_.offline = true;
    options_.threads = 1;
    options_.context = 128;
    options_.parallel = 2;
  }
  ~LibraryTest() override { fs::remove_all(folder_); }
  static std::vector<std::string> names(Library& library) {
    std::vector<std::string> out;
    for (const ShelfModel& m : library.list()) out.push_back(m.info.name);
    std::ranges::sort(out);
    return out;
  }
  const std::string folder_;
  Options options_;
};

}  // namespace

TEST_F(LibraryTest, ListsWhatFilesSay) {
  const auto library = make_library(options_);
  EXPECT_EQ(names(*library), (std::vector<std::string>{"llama-Q6_K", "qwen3_5_moe-Q4_0"}));
  const auto all = library->list();
  const ShelfModel* llama = find_on_shelf(all, "llama-Q6_K.gguf");
  ASSERT_NE(llama, nullptr);
  EXPECT_EQ(llama->info.architecture, "llama");
  EXPECT_EQ(llama->info.format, "gguf");
  EXPECT_EQ(llama->info.quantization, "Q6_K");
  EXPECT_EQ(llama->info.context_tokens, 128);
  EXPECT_GT(llama->info.bytes, 1000u);
  EXPECT_FALSE(llama->info.parameters.empty());
  EXPECT_FALSE(llama->info.loaded || llama->pinned);
  EXPECT_GT(llama->info.modified_unix_s, 0);
}

TEST_F(LibraryTest, TheNamedGoFirstAndKeepWhatIsTheirs) {
  options_.model = kHybrid;
  options_.served_name = "big";
  Options other = options_;
  other.model = kLlama;
  other.served_name = "";
  other.keep_alive = std::chrono::seconds(7);
  options_.locals = {other};
  const auto all = make_library(options_)->list();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].info.name, "big");
  EXPECT_TRUE(all[0].pinned);
  EXPECT_EQ(all[1].info.name, "llama-Q6_K");
  EXPECT_FALSE(all[1].pinned);
  EXPECT_EQ(all[1].keep_alive, std::chrono::seconds(7));
  EXPECT_EQ(find_on_shelf(all, "qwen3_5_moe-Q4_0"), &all[0]);
  EXPECT_EQ(find_on_shelf(all, kLlama), &all[1]);
  EXPECT_TRUE(check_named(options_));
  options_.locals[0].model = "/nowhere.gguf";
  EXPECT_FALSE(check_named(options_));
}

TEST_F(LibraryTest, CopiesStayAndCanBeRemoved) {
  {
    const auto library = make_library(options_);
    const auto all = library->list();
    ASSERT_TRUE(library->copy(*find_on_shelf(all, "llama-Q6_K"), "mine:latest"));
    EXPECT_EQ(library->copy(*find_on_shelf(all, "llama-Q6_K"), "qwen3_5_moe-Q4_0").error().code, Code::invalid_request);
    EXPECT_EQ(library->copy(*find_on_shelf(all, "llama-Q6_K"), "a b").error().code, Code::invalid_request);
    EXPECT_EQ(library->remove(*find_on_shelf(all, "llama-Q6_K")).error().code, Code::denied);
  }
  const auto library = make_library(options_);
  const auto all = library->list();
  const ShelfModel* copy = find_on_shelf(all, "mine");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->place(), "llama-Q6_K");
  EXPECT_EQ(copy->path, kLlama);
  ASSERT_TRUE(library->remove(*copy));
  EXPECT_EQ(names(*library).size(), 2u);
  EXPECT_TRUE(fs::exists(kLlama));
}

TEST_F(LibraryTest, PlansAreWhatLoadingTakes) {
  for (const std::string& path : {kLlama, kHybrid}) {
    options_.model = path;
    auto opened = open_parts(options_);
    ASSERT_TRUE(opened) << opened.error().message;
    auto planner = MemoryPlanner::open(*opened->file.weights, device_options(options_), engine_options(options_));
    ASSERT_TRUE(planner) << planner.error().message;
    constexpr size_t kPlenty = size_t{4} << 30;
    const auto plan = planner->plan(kPlenty);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_TRUE(load_parts(*opened, options_, OpenTuning{plan->engine, true}));
    EXPECT_EQ(opened->weight_bytes, plan->weight_bytes) << path;
    EXPECT_EQ(opened->engine->context_tokens(), 128);
    EXPECT_EQ(opened->engine->stats().pages_total, static_cast<size_t>(plan->state.state.n_pages));
    EXPECT_GT(plan->scratch_bytes, 0u);
    EXPECT_GE(plan->total_bytes(), planner->least_bytes());
    const auto refused = planner->plan(planner->least_bytes() - 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::too_large);
    EXPECT_TRUE(planner->plan(planner->least_bytes())) << "what is least is enough";
    EXPECT_GE(planner->fitting_context(kPlenty), 0);
    EXPECT_EQ(planner->fitting_context(0), 0);
  }
}

TEST_F(LibraryTest, AModelIsLoadedAnswersAndLeaves) {
  options_.models_dir.clear();
  options_.model = kLlama;
  options_.max_tokens = 3;
  options_.temperature = 0.0f;
  Shelf shelf(make_library(options_), {});
  ChatRequest request;
  request.model = "llama-Q6_K";
  request.prompt = "Hello";
  request.ignore_eos = true;
  const auto finish = shelf.complete(request, [](const Delta&) { return true; }, {});
  ASSERT_TRUE(finish) << finish.error().message;
  EXPECT_EQ(finish->completion_tokens, 3);
  EXPECT_TRUE(shelf.models()[0].loaded);
  EXPECT_FALSE(shelf.models()[0].expires_unix_s);
  EXPECT_TRUE(shelf.unload("llama-Q6_K"));
  EXPECT_FALSE(shelf.models()[0].loaded);
}
