// shelf_test: loading on demand, waiting, eviction, keep_alive by an injected clock, and leaving while answering, with models made of air.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include "app/shelf.h"

namespace {

using namespace std::chrono_literals;

ModelInfo named(std::string name) {
  ModelInfo info;
  info.name = std::move(name);
  return info;
}

// What the fake models do and did; outlives the shelf.
struct World {
  std::mutex mutex;
  std::condition_variable changed;
  size_t memory = 100;                            // all of it; what loaded models hold is subtracted
  std::map<std::string, size_t> sizes{{"a", 40}, {"b", 40}, {"c", 40}, {"big", 90}, {"huge", 1000}};
  std::vector<std::string> log;                   // "load a", "free a"
  std::map<std::string, bool> held;               // loads that wait until let through
  std::map<std::string, std::string> failures;
  std::set<std::string> pinned;
  std::set<std::string> on_gpu;                   // these have 100 bytes of their own
  size_t gpu_memory = 100;
  size_t& memory_of(const std::string& name) { return on_gpu.contains(name) ? gpu_memory : memory; }
  int answering = 0;
  bool answers_wait = false;
  std::atomic<int64_t> clock_s = 1000;

  void say(const std::string& what) {
    const std::lock_guard lock(mutex);
    log.push_back(what);
    changed.notify_all();
  }
  int count(const std::string& what) {
    const std::lock_guard lock(mutex);
    return static_cast<int>(std::ranges::count(log, what));
  }
  template <class F> bool until(F done) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 10s, done);
  }
  bool until_logged(const std::string& what) {
    return until([&] { return std::ranges::count(log, what) > 0; });
  }
  void set(auto change) {
    const std::lock_guard lock(mutex);
    change();
    changed.notify_all();
  }
};

class FakeResident final : public ResidentModel, public Completer {
 public:
  FakeResident(World& world, std::string name) : world_(world), name_(std::move(name)) {}
  ~FakeResident() override {
    world_.set([&] { world_.memory_of(name_) += world_.sizes[name_]; });
    world_.say("free " + name_);
  }
  std::string memory() const override { return world_.on_gpu.contains(name_) ? "cuda:0" : ""; }
  Completer& completer() override { return *this; }
  size_t bytes() const override { return world_.sizes[name_]; }
  void fill_in(ChatRequest& request) const override { request.max_tokens = request.max_tokens.value_or(7); }
  Result<Finish> complete(const ChatRequest& request, const Sink&, std::stop_token stop) override {
    world_.set([&] { world_.answering++; });
    world_.until([&] { return !world_.answers_wait || stop.stop_requested(); });
    world_.set([&] { world_.answering--; });
    return Finish{.completion_tokens = *request.max_tokens};
  }
  std::vector<ModelInfo> models() const override { return {named(name_)}; }
  std::vector<ModelStats> stats() const override { return {{.model = "inner", .running = 3}}; }

 private:
  World& world_;
  const std::string name_;
};

class FakePrepared final : public PreparedModel {
 public:
  FakePrepared(World& world, std::string name) : world_(world), name_(std::move(name)) {}
  std::string memory() const override { return world_.on_gpu.contains(name_) ? "cuda:0" : ""; }
  size_t least_bytes() const override { return world_.sizes[name_]; }
  std::string advice(size_t) const override { return "a context of 5 tokens would fit"; }
  Result<std::unique_ptr<ResidentModel>> load(size_t available) override {
    world_.say("load " + name_);
    world_.until([&] { return !world_.held[name_]; });
    if (!world_.failures[name_].empty()) return Error{Code::corrupt_file, world_.failures[name_]};
    EXPECT_GE(available, world_.sizes[name_]);
    world_.set([&] { world_.memory_of(name_) -= world_.sizes[name_]; });
    return std::unique_ptr<ResidentModel>(std::make_unique<FakeResident>(world_, name_));
  }

 private:
  World& world_;
  const std::string name_;
};

class FakeLibrary final : public Library {
 public:
  explicit FakeLibrary(World& world) : world_(world) {}
  std::vector<ShelfModel> list() override {
    std::vector<ShelfModel> all;
    for (const auto& [name, bytes] : world_.sizes) all.push_back({.info = named(name), .path = "/models/" + name + ".gguf", .pinned = world_.pinned.contains(name)});
    return all;
  }
  size_t available_bytes(const std::string& memory) override {
    const std::lock_guard lock(world_.mutex);
    return memory == "cuda:0" ? world_.gpu_memory : world_.memory;
  }
  Result<std::unique_ptr<PreparedModel>> prepare(const ShelfModel& model) override { return std::unique_ptr<PreparedModel>(std::make_unique<FakePrepared>(world_, model.info.name)); }
  Status pull(const std::string&, const Completer::PullProgress&, std::stop_token) override { return ok_status(); }
  Status remove(const ShelfModel& model) override { return world_.say("remove " + model.info.name), ok_status(); }
  Status copy(const ShelfModel& from, const std::string& to) override { return world_.say("copy " + from.info.name + " " + to), ok_status(); }

 private:
  World& world_;
};

class ShelfTest : public testing::Test {
 protected:
  std::unique_ptr<Shelf> make(int max_loaded = 0) {
    return std::make_unique<Shelf>(std::make_unique<FakeLibrary>(world), ShelfOptions{300s, max_loaded, [this] { return ShelfClock::time_point(std::chrono::seconds(world.clock_s)); }});
  }
  static Result<Finish> ask(Shelf& shelf, const std::string& model, std::stop_token stop = {}) {
    ChatRequest request;
    request.model = model;
    return shelf.complete(request, [](const Delta&) { return true; }, stop);
  }
  auto ask_later(Shelf& shelf, const std::string& model, std::stop_token stop = {}) {
    return std::async(std::launch::async, [&shelf, model, stop] { return ask(shelf, model, stop); });
  }
  static bool loaded(Shelf& shelf, const std::string& name) {
    for (const ModelInfo& info : shelf.models())
      if (info.name == name) return info.loaded;
    return false;
  }
  World world;
};

}  // namespace

TEST_F(ShelfTest, LoadsOnceAndAnswersWithTheOwnersDefaults) {
  const auto shelf = make();
  EXPECT_FALSE(loaded(*shelf, "a"));
  EXPECT_EQ(ask(*shelf, "a")->completion_tokens, 7);
  EXPECT_TRUE(ask(*shelf, "a"));
  EXPECT_EQ(world.count("load a"), 1);
  EXPECT_TRUE(loaded(*shelf, "a"));
  EXPECT_FALSE(loaded(*shelf, "b"));
  ASSERT_EQ(shelf->stats().size(), 1u);
  EXPECT_EQ(shelf->stats()[0].model, "a");
  EXPECT_EQ(shelf->stats()[0].running, 3);
  EXPECT_EQ(ask(*shelf, "nobody").error().code, Code::not_found);
}

TEST_F(ShelfTest, NamesAreFoundInEverySpelling) {
  std::vector<ShelfModel> models{{.info = named("small"), .path = "/m/Small.Q4_1.gguf", .other_names = {"Owner/Small-GGUF:Q4_1"}}, {.info = named("owner/repo:Q8_0"), .path = "/m/r-Q8_0.gguf"}};
  for (const char* name : {"", "small", "small:latest", "local/small", "local/small:latest", "Owner/Small-GGUF:Q4_1", "/m/Small.Q4_1.gguf", "Small.Q4_1.gguf", "Small.Q4_1"})
    EXPECT_EQ(find_on_shelf(models, name), &models[0]) << name;
  for (const char* name : {"owner/repo:Q8_0", "owner/repo", "r-Q8_0.gguf", "owner/repo:latest"}) EXPECT_EQ(find_on_shelf(models, name), &models[1]) << name;
  for (const char* name : {"smal", "owner/rep", "Q8_0", "local/", ":latest"}) EXPECT_EQ(find_on_shelf(models, name), nullptr) << name;
}

TEST_F(ShelfTest, RequestsWaitForOneLoadAndOtherModelsGoOn) {
  const auto shelf = make();
  ASSERT_TRUE(ask(*shelf, "a"));
  world.held["b"] = true;
  auto first = ask_later(*shelf, "b"), second = ask_later(*shelf, "b");
  ASSERT_TRUE(world.until_logged("load b"));
  EXPECT_TRUE(ask(*shelf, "a"));  // while b is being loaded
  std::stop_source impatient;
  auto third = ask_later(*shelf, "b", impatient.get_token());
  impatient.request_stop();
  EXPECT_EQ(third.get()->reason, Finish::Reason::cancelled);
  EXPECT_EQ(shelf->unload("b").error().code, Code::overloaded);
  world.set([&] { world.held["b"] = false; });
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_EQ(world.count("load b"), 1);
}

TEST_F(ShelfTest, AFailedLoadFailsItsWaitersAndTheNextRequestTriesAgain) {
  const auto shelf = make();
  world.failures["a"] = "cannot load a: it is broken";
  EXPECT_EQ(ask(*shelf, "a").error().message, "cannot load a: it is broken");
  world.failures.clear();
  EXPECT_TRUE(ask(*shelf, "a"));
}

TEST_F(ShelfTest, TheLeastRecentlyUsedMakesRoom) {
  const auto shelf = make();
  ASSERT_TRUE(ask(*shelf, "a"));
  world.clock_s++;
  ASSERT_TRUE(ask(*shelf, "b"));
  world.clock_s++;
  ASSERT_TRUE(ask(*shelf, "a"));
  world.clock_s++;
  ASSERT_TRUE(ask(*shelf, "c"));
  EXPECT_EQ(world.count("free b"), 1);
  EXPECT_TRUE(loaded(*shelf, "a"));
  EXPECT_TRUE(loaded(*shelf, "c"));
}

TEST_F(ShelfTest, OnlyModelsOfTheSameMemoryMakeRoom) {
  world.on_gpu = {"b", "big"};
  const auto shelf = make();
  ASSERT_TRUE(ask(*shelf, "a"));
  world.clock_s++;
  ASSERT_TRUE(ask(*shelf, "b"));
  world.clock_s++;
  ASSERT_TRUE(ask(*shelf, "big"));
  EXPECT_EQ(world.count("free a"), 0);  // longer unused, but elsewhere
  EXPECT_EQ(world.count("free b"), 1);
  world.sizes["huge"] = 120;
  world.on_gpu.insert("huge");
  const auto huge = ask(*shelf, "huge");
  ASSERT_FALSE(huge);
  EXPECT_TRUE(huge.error().message.starts_with("cannot load huge: it takes at least 120 B, 10 B are available in the memory of cuda:0; loaded: big (90 B)")) << huge.error().message;
  EXPECT_EQ(huge.error().message.find("a (40 B)"), std::string::npos);
}

TEST_F(ShelfTest, ThePinnedStayAndTheRefusalSaysWhat) {
  world.pinned = {"a"};
  const auto shelf = make();
  ASSERT_TRUE(ask(*shelf, "a"));
  const auto big = ask(*shelf, "big");
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().code, Code::overloaded);
  EXPECT_EQ(big.error().message, "cannot load big: it takes at least 90 B, 60 B are available; loaded: a (40 B, pinned), of which unloading makes room; a context of 5 tokens would fit");
  EXPECT_EQ(ask(*shelf, "huge").error().code, Code::too_large);
  EXPECT_EQ(world.count("free a"), 0);
  world.clock_s += 100000;
  shelf->wake();
  EXPECT_TRUE(ask(*shelf, "b"));
  EXPECT_EQ(world.count("free a"), 0);
  EXPECT_TRUE(shelf->unload("b"));
  EXPECT_TRUE(shelf->unload("a"));  // asked for by name
  EXPECT_TRUE(ask(*shelf, "big"));
}

TEST_F(ShelfTest, NothingIsUnloadedForAModelThatCannotFitAnyway) {
  const auto shelf = make();
  ASSERT_TRUE(ask(*shelf, "a"));
  EXPECT_FALSE(ask(*shelf, "huge"));
  EXPECT_TRUE(loaded(*shelf, "a"));
}

TEST_F(ShelfTest, NoMoreThanSoManyAtOnce) {
  const auto shelf = make(1);
  ASSERT_TRUE(ask(*shelf, "a"));
  ASSERT_TRUE(ask(*shelf, "b"));
  EXPECT_EQ(world.count("free a"), 1);
}

TEST_F(ShelfTest, AnAnswerIsNeverCutToMakeRoom) {
  const auto shelf = make();
  world.answers_wait = true;
  auto one = ask_later(*shelf, "big");
  ASSERT_TRUE(world.until([&] { return world.answering == 1; }));
  auto other = ask_later(*shelf, "a");
  EXPECT_EQ(other.wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(world.count("free big"), 0);
  auto late = ask_later(*shelf, "big");  // waits, or the model would never come free
  EXPECT_EQ(late.wait_for(50ms), std::future_status::timeout);
  world.set([&] { world.answers_wait = false; });
  EXPECT_TRUE(one.get());
  EXPECT_TRUE(other.get());
  EXPECT_TRUE(late.get());
  const std::lock_guard lock(world.mutex);
  EXPECT_EQ(world.log[0], "load big");
  EXPECT_EQ(world.log[1], "free big");
  EXPECT_EQ(world.log[2], "load a");
}

TEST_F(ShelfTest, WhoLeavesBeforeThereIsRoomDoesNotHoldTheModelBack) {
  const auto shelf = make();
  world.answers_wait = true;
  auto one = ask_later(*shelf, "big");
  ASSERT_TRUE(world.until([&] { return world.answering == 1; }));
  std::stop_source impatient;
  auto other = ask_later(*shelf, "a", impatient.get_token());
  EXPECT_EQ(other.wait_for(50ms), std::future_status::timeout);
  impatient.request_stop();
  EXPECT_EQ(other.get()->reason, Finish::Reason::cancelled);
  auto late = ask_later(*shelf, "big");
  EXPECT_TRUE(world.until([&] { return world.answering == 2; }));
  world.set([&] { world.answers_wait = false; });
  EXPECT_TRUE(one.get());
  EXPECT_TRUE(late.get());
  EXPECT_EQ(world.count("free big"), 0);
}

TEST_F(ShelfTest, IdleModelsLeaveWhenTheirTimeIsUp) {
  const auto shelf = make();
  ASSERT_TRUE(ask(*shelf, "a"));
  world.clock_s += 299;
  shelf->wake();
  ASSERT_TRUE(ask(*shelf, "a"));  // starts the time again
  world.clock_s += 299;
  shelf->wake();
  EXPECT_TRUE(loaded(*shelf, "a"));
  world.clock_s += 1;
  shelf->wake();
  EXPECT_TRUE(world.until_logged("free a"));
}

TEST_F(ShelfTest, KeepAliveOfARequest) {
  const auto shelf = make();
  ASSERT_TRUE(shelf->load("a", 10s));
  for (const ModelInfo& info : shelf->models()) EXPECT_EQ(info.expires_unix_s.has_value(), info.name == "a");
  ASSERT_TRUE(shelf->load("b", -1s));
  world.clock_s += 10;
  shelf->wake();
  EXPECT_TRUE(world.until_logged("free a"));
  world.clock_s += 1000000;
  shelf->wake();
  EXPECT_TRUE(loaded(*shelf, "b"));
  EXPECT_TRUE(shelf->load("b", 0s));
  EXPECT_EQ(world.count("free b"), 1);
  EXPECT_TRUE(shelf->load("b", 0s));  // not there: nothing to do
  EXPECT_EQ(world.count("load b"), 1);
}

TEST_F(ShelfTest, UnloadWaitsForTheAnswer) {
  const auto shelf = make();
  world.answers_wait = true;
  auto one = ask_later(*shelf, "a");
  ASSERT_TRUE(world.until([&] { return world.answering == 1; }));
  auto unloaded = std::async(std::launch::async, [&] { return shelf->unload("a"); });
  EXPECT_EQ(unloaded.wait_for(50ms), std::future_status::timeout);
  EXPECT_TRUE(shelf->answering());
  world.set([&] { world.answers_wait = false; });
  EXPECT_TRUE(one.get());
  EXPECT_TRUE(unloaded.get());
  EXPECT_EQ(world.count("free a"), 1);
  EXPECT_FALSE(shelf->answering());
}

TEST_F(ShelfTest, RemoveUnloadsFirst) {
  const auto shelf = make();
  ASSERT_TRUE(ask(*shelf, "a"));
  EXPECT_TRUE(shelf->remove("a"));
  EXPECT_TRUE(shelf->copy("b", "other"));
  const std::lock_guard lock(world.mutex);
  EXPECT_EQ(world.log, (std::vector<std::string>{"load a", "free a", "remove a", "copy b other"}));
}

TEST_F(ShelfTest, ManyThreadsManyModels) {
  const auto shelf = make();
  std::vector<std::future<int>> askers;
  for (int t = 0; t < 8; t++)
    askers.push_back(std::async(std::launch::async, [&, t] {
      int answered = 0;
      for (int i = 0; i < 50; i++) answered += static_cast<bool>(ask(*shelf, std::string(1, static_cast<char>('a' + (t + i * 7) % 3))));
      return answered;
    }));
  for (auto& asker : askers) EXPECT_EQ(asker.get(), 50);
}
