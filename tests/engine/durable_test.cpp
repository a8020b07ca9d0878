// durable: state on disk outlives the engine and even its death, is the same as computed afresh, and is never used when it is damaged or another's.
#include <sqlite3.h>
#include <sys/stat.h>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include "engine/harness.h"
#include "engine/scratch_dir.h"

using namespace harness;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {
EngineOptions durable(const ScratchDir& dir, size_t bytes = size_t{64} << 20) {
  EngineOptions o{.page_tokens = 16, .snapshot_every_tokens = 64};
  o.cache_dir = dir.path() + "/cache";
  o.cache_disk_bytes = bytes;
  o.cache_key = "fake";
  return o;
}
std::vector<fs::path> blobs(const ScratchDir& dir) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(dir.path()))
    if (entry.is_regular_file() && entry.path().parent_path().filename() == "blobs") found.push_back(entry.path());
  return found;
}
size_t blob_bytes(const ScratchDir& dir) {
  size_t bytes = 0;
  std::error_code gone;  // a file that is being written has another name
  for (const auto& path : blobs(dir))
    if (const auto size = fs::file_size(path, gone); !gone) bytes += size;
  return bytes;
}
void wait_until_written(const Engine& engine) {
  for (uint64_t before = 0, now; (now = engine.stats().disk_writes) != before || now == 0; before = now) std::this_thread::sleep_for(100ms);
}
Ids joined(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
}  // namespace

class Durable : public testing::TestWithParam<fake::Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Durable, testing::Values(paged, hybrid, recurrent), [](const auto& info) { return kind_name(info.param); });

TEST_P(Durable, ARestartedEngineGoesOnWhereTheLastOneEnded) {
  const ScratchDir dir;
  const auto first = request(random_ids(600, 3), 30);
  Ids turn;
  {
    Rig rig(GetParam(), durable(dir));
    turn = joined(first.prompt, ask(rig, first).ids);
  }
  Rig rig(GetParam(), durable(dir));
  const auto next = request(joined(turn, random_ids(20, 4)), 12);
  auto answer = ask(rig, next);
  EXPECT_EQ(answer.ids, expected(GetParam(), next));
  EXPECT_EQ(answer.finish.cached_tokens, GetParam().recurrent ? 629 : 629 / 16 * 16);
  EXPECT_EQ(rig.engine->stats().disk_hits, 1u);
  EXPECT_EQ(rig.engine->stats().disk_hit_tokens, static_cast<uint64_t>(answer.finish.cached_tokens));
  auto branch = first;  // back to the middle of the first prompt, and another way from there
  for (size_t i = 400; i < 600; ++i) branch.prompt[i] = 1;
  answer = ask(rig, branch);
  EXPECT_EQ(answer.ids, expected(GetParam(), branch));
  EXPECT_GE(answer.finish.cached_tokens, 384);
  EXPECT_EQ(ask(rig, next).ids, expected(GetParam(), next));  // and return
  EXPECT_EQ(rig.watch->slot_errors, 0u);
  EXPECT_EQ(rig.engine->stats().disk_corrupted, 0u);
}

TEST_P(Durable, AKilledEngineLosesNothingThatWasWritten) {
  const ScratchDir dir;
  const auto first = request(random_ids(600, 3), 9);
  EXPECT_EXIT(
      {
        Rig rig(GetParam(), durable(dir));
        ask(rig, first);
        wait_until_written(*rig.engine);
        std::raise(SIGKILL);
      },
      testing::KilledBySignal(SIGKILL), "");
  ASSERT_FALSE(blobs(dir).empty());
  std::ofstream(blobs(dir).front().string() + ".part") << "half a file";
  Rig rig(GetParam(), durable(dir));
  for (const auto& path : blobs(dir)) EXPECT_NE(path.extension(), ".part");
  const auto next = request(joined(joined(first.prompt, expected(GetParam(), first)), random_ids(20, 4)), 12);
  const auto answer = ask(rig, next);
  EXPECT_EQ(answer.ids, expected(GetParam(), next));
  EXPECT_GE(answer.finish.cached_tokens, 592);
}

TEST_P(Durable, DamagedFilesAreDroppedAndNeverUsed) {
  const auto g = request(random_ids(600, 3), 9);
  for (const int damage : {0, 1, 2, 3, 4, 5}) {
    const ScratchDir dir;
    { Rig rig(GetParam(), durable(dir)); ask(rig, g); }
    auto files = blobs(dir);
    std::ranges::sort(files);
    ASSERT_GT(files.size(), 10u);
    const std::string index = files[0].parent_path().parent_path() / "index.sqlite";
    if (damage == 5) {  // rows that say other tokens than their names
      sqlite3* db = nullptr;
      ASSERT_EQ(sqlite3_open(index.c_str(), &db), SQLITE_OK);
      EXPECT_EQ(sqlite3_exec(db, "UPDATE blob SET tokens = substr(tokens, 5) || substr(tokens, 1, 4) WHERE length(tokens) > 4", nullptr, nullptr, nullptr), SQLITE_OK);
      sqlite3_close(db);
    } else if (damage == 4) std::ofstream(index, std::ios::binary | std::ios::trunc) << "no index at all, but long enough to be looked at";
    else
      for (const auto& path : files) {
        const size_t size = fs::file_size(path);
        if (damage == 0) fs::resize_file(path, size - 1);
        if (damage == 1) fs::copy_file(path == files[1] ? files[2] : files[1], path, fs::copy_options::overwrite_existing);  // another blob, whole in itself
        if (damage > 1) {
          std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
          file.seekp(static_cast<std::streamoff>(damage == 2 ? 20 : size - 1));
          const int byte = file.peek();
          file.seekp(static_cast<std::streamoff>(damage == 2 ? 20 : size - 1));
          file.put(static_cast<char>(byte ^ 4));
        }
      }
    Rig rig(GetParam(), durable(dir));
    const auto answer = ask(rig, g);
    EXPECT_EQ(answer.ids, expected(GetParam(), g)) << damage;
    EXPECT_EQ(answer.finish.cached_tokens, 0) << damage;
    EXPECT_GE(rig.engine->stats().disk_corrupted, 1u) << damage;
    EXPECT_EQ(rig.watch->slot_errors, 0u);
  }
}

TEST_P(Durable, OneDamagedFileCostsOnlyWhatStandsBehindIt) {
  const ScratchDir dir;
  const auto g = request(random_ids(600, 3), 9);
  { Rig rig(GetParam(), durable(dir)); ask(rig, g); }
  auto names = blobs(dir);
  std::ranges::sort(names);  // hashes: any order, but always the same
  int cached = 0;
  uint64_t corrupted = 0;
  for (size_t i = 0; i < names.size(); i += 4) {
    const ScratchDir copy;
    fs::copy(dir.path(), copy.path(), fs::copy_options::recursive);
    std::fstream(copy.path() / fs::relative(names[i], dir.path()), std::ios::in | std::ios::out | std::ios::binary).seekp(60).put('!').put('?');
    Rig rig(GetParam(), durable(copy));
    const auto answer = ask(rig, g);
    EXPECT_EQ(answer.ids, expected(GetParam(), g));
    EXPECT_LE(rig.engine->stats().disk_corrupted, 1u);
    EXPECT_EQ(answer.finish.cached_tokens >= 592, rig.engine->stats().disk_corrupted == 0);
    cached += answer.finish.cached_tokens;
    corrupted += rig.engine->stats().disk_corrupted;
  }
  EXPECT_GT(corrupted, 5u);
  EXPECT_GT(cached, 1500);
}

TEST_P(Durable, TheBudgetOnDiskHoldsAndKeepsWhatIsShared) {
  const ScratchDir dir;
  constexpr size_t budget = 200'000;
  const Ids shared = random_ids(128, 1);
  {
    Rig rig(GetParam(), durable(dir, budget));
    for (uint64_t i = 0; i < 40; ++i) {
      ask(rig, request(joined(shared, random_ids(150, 100 + i)), 4));
      ASSERT_LE(rig.engine->stats().cache_disk_bytes, budget);
      ASSERT_LE(blob_bytes(dir), budget);
    }
    wait_until_written(*rig.engine);
    EXPECT_GT(rig.engine->stats().disk_dropped, 10u);
  }
  EXPECT_GT(blob_bytes(dir), budget / 2);
  Rig rig(GetParam(), durable(dir, budget));
  const auto g = request(joined(shared, random_ids(150, 7)), 4);
  const auto answer = ask(rig, g);
  EXPECT_EQ(answer.ids, expected(GetParam(), g));
  EXPECT_EQ(answer.finish.cached_tokens, 128);
}

// The canary: state of one space is found neither in memory nor on disk by another, and no other key's state is.
TEST_P(Durable, SpacesAndKeysShareNothing) {
  const ScratchDir dir;
  auto g = request(random_ids(300, 3), 9);
  g.cache_space = 1;
  auto other = g;
  other.cache_space = 2;
  {
    Rig rig(GetParam(), durable(dir));
    ask(rig, g);
    EXPECT_EQ(ask(rig, other).finish.cached_tokens, 0);
    EXPECT_EQ(ask(rig, g).finish.cached_tokens, 299);
  }
  other.cache_space = 3;
  {
    Rig rig(GetParam(), durable(dir));
    EXPECT_GT(ask(rig, g).finish.cached_tokens, 280);
    EXPECT_EQ(ask(rig, other).finish.cached_tokens, 0);
  }
  auto o = durable(dir);
  o.cache_key = "another model";
  Rig rig(GetParam(), o);
  EXPECT_EQ(ask(rig, g).finish.cached_tokens, 0);
}

TEST(Durable, FilesAreForTheirOwnerAndOneEngineAtATime) {
  const ScratchDir dir;
  Rig rig(hybrid, durable(dir));
  EXPECT_TRUE(rig.engine->notes().empty());
  Rig second(hybrid, durable(dir));
  ASSERT_EQ(second.engine->notes().size(), 1u);
  EXPECT_NE(second.engine->notes()[0].find("another process"), std::string::npos);
  const auto g = request(random_ids(300, 3), 9);
  EXPECT_EQ(ask(second, g).ids, ask(rig, g).ids);
  wait_until_written(*rig.engine);
  for (const auto& entry : fs::recursive_directory_iterator(dir.path() + "/cache")) {
    struct stat info {};
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, entry.is_directory() ? 0700u : 0600u) << entry.path();
  }
}

// Folders of other keys go when there is no room for them, and only those that look like a cache's own.
TEST(Durable, TheBudgetHoldsOverModels) {
  const ScratchDir dir;
  for (const char* key : {"a", "b"}) {
    auto o = durable(dir);
    o.cache_key = key;
    Rig rig(hybrid, o);
    ask(rig, request(random_ids(600, 3), 9));
  }
  std::ofstream(dir.path() + "/cache/mine") << "not to be touched";
  const size_t both = blob_bytes(dir);
  auto o = durable(dir, both / 4);
  o.cache_key = "c";
  Rig rig(hybrid, o);
  EXPECT_LE(blob_bytes(dir), both / 4);
  EXPECT_TRUE(fs::exists(dir.path() + "/cache/mine"));
}

TEST(Durable, CancelledWhileItsStateIsRead) {
  const ScratchDir dir;
  const auto g = request(random_ids(1500, 3), 5);
  { Rig rig(hybrid, durable(dir)); ask(rig, g); }
  Rig rig(hybrid, durable(dir));
  for (int i = 0; i < 20; ++i) {
    std::stop_source source;
    auto asked = std::async(std::launch::async, [&] { return ask(rig, g, source.get_token()); });
    std::this_thread::sleep_for(std::chrono::microseconds(i * 150));
    source.request_stop();
    asked.get();
  }
  EXPECT_EQ(ask(rig, g).ids, expected(hybrid, g));
  EXPECT_EQ(rig.engine->stats().pages_free, rig.engine->stats().pages_total);
  EXPECT_EQ(rig.watch->slot_errors, 0u);
}

TEST_P(Durable, ManyAtOnceFromDiskEqualEachAlone) {
  const ScratchDir dir;
  std::vector<Generation> requests;
  for (int i = 0; i < 12; ++i) requests.push_back(request(joined(random_ids(200, static_cast<uint64_t>(i % 3)), random_ids(100, static_cast<uint64_t>(i))), 20));
  { Rig rig(GetParam(), durable(dir)); ask_all(rig, requests); }
  auto o = durable(dir);
  o.max_sequences = 5;
  Rig rig(GetParam(), o);
  for (auto& g : requests) g.prompt = joined(g.prompt, {1, 2, 3});
  const auto answers = ask_all(rig, requests);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(answers[i].ids, expected(GetParam(), requests[i])) << i;
  EXPECT_GT(rig.engine->stats().disk_hits, 0u);
  EXPECT_EQ(rig.watch->slot_errors, 0u);
}

// Room for one and a half long sequences: those that give way come back from disk, where their place in memory was taken.
TEST_P(Durable, PreemptedSequencesComeBack) {
  const ScratchDir dir;
  auto o = durable(dir);
  o.max_sequences = 8;
  o.page_tokens = 8;
  o.context_tokens = 400;
  o.state_bytes = 75 * (GetParam().paged ? 8 * 64 : 0) + 10 * 4096;
  Rig rig(GetParam(), o);
  std::vector<Generation> requests;
  for (int i = 0; i < 12; ++i) requests.push_back(request(random_ids(120 + 3 * i, static_cast<uint64_t>(i)), 200, {.temperature = 0.9f, .seed = 5}));
  const auto answers = ask_all(rig, requests);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(answers[i].ids, expected(GetParam(), requests[i])) << i;
  const auto stats = rig.engine->stats();
  EXPECT_EQ(stats.preemptions > 0, GetParam().paged);
  EXPECT_EQ(stats.disk_corrupted, 0u);
  EXPECT_EQ(rig.watch->slot_errors, 0u);
  EXPECT_EQ(stats.pages_free, stats.pages_total);
}
