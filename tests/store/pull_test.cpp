// pull: downloads from a hub of our own that misbehaves in every way we know of.
#include <fcntl.h>
#include <sys/file.h>
#include <atomic>
#include <thread>
#include "store/fixture.h"

class Pull : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    start_hub();
  }
};

TEST_F(Pull, PlacesAFileInTheSharedLayout) {
  const auto pulled = pull("t/one");
  ASSERT_TRUE(pulled) << pulled.error().message;
  const fs::path link = repo("models--t--one") / "snapshots" / kCommit / "one-Q4_0.gguf";
  EXPECT_EQ(pulled->path, link.string());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_THAT(fs::read_symlink(link).string(), testing::MatchesRegex("\\.\\./\\.\\./blobs/[0-9a-f]+"));
  EXPECT_EQ(contents(repo("models--t--one") / "refs/main"), kCommit);
  EXPECT_EQ(fs::file_size(link), 300000u);
  EXPECT_EQ(*resolve_model("t/one", options_), pulled->path);
  EXPECT_EQ(blobs("models--t--one"), 1u);
  ASSERT_TRUE(pull("t/one"));
  EXPECT_EQ(requests("/cdn/"), 1u) << "what is there is not fetched again";
}

TEST_F(Pull, ReportsProgress) {
  std::vector<Progress> seen;
  ASSERT_TRUE(pull_model("t/one", options_, [&](const Progress& p) { seen.push_back(p); }, {}));
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().file, "one-Q4_0.gguf");
  EXPECT_EQ(seen.back().done_bytes, 300000u);
  EXPECT_EQ(seen.back().total_bytes, 300000u);
  EXPECT_GT(seen.back().bytes_per_second, 0);
}

TEST_F(Pull, ResumesAfterACut) {
  const auto pulled = pull("t/cut");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(fs::file_size(pulled->path), 300000u);
  EXPECT_EQ(requests("\"range\": \"bytes=100000-\""), 2u) << "once at the hub, once where it redirects to";
}

TEST_F(Pull, ResumesAcrossCalls) {
  options_.max_retries = 0;
  EXPECT_THAT(error_of("t/cut"), HasSubstr("cannot read t/cut"));
  EXPECT_THAT(resolve_model("t/cut", options_).error().message, HasSubstr("calla pull t/cut"));
  EXPECT_FALSE(fs::exists(repo("models--t--cut") / "refs/main"));
  const auto pulled = pull("t/cut");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(requests("\"range\": \"bytes=100000-\""), 2u);
}

TEST_F(Pull, StartsAgainWhereRangesAreIgnored) {
  const auto pulled = pull("t/no-ranges");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(fs::file_size(pulled->path), 300000u);
}

TEST_F(Pull, GivesUpAfterTheRetries) {
  EXPECT_THAT(error_of("t/cut-always"), HasSubstr("localhost"));
  EXPECT_EQ(requests("/cdn/"), 4u);
  EXPECT_THAT(error_of("t/broken"), HasSubstr("HTTP 500"));
  EXPECT_EQ(requests("t/broken"), 4u);
}

TEST_F(Pull, ForgetsAStaleBeginning) {  // bytes of an earlier try that are not the file's: hashed, found wrong, fetched anew
  const auto first = pull("t/one");
  const fs::path blob = fs::canonical(first->path);
  put(blob.string() + ".incomplete", std::string(5000, 'x'));
  fs::remove(blob);
  const auto again = pull("t/one");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(contents(again->path).substr(0, 4), "GGUF");
  EXPECT_EQ(blobs("models--t--one"), 1u);
}

TEST_F(Pull, WrongBytesLeaveNothing) {
  for (const auto& [name, words] : {std::pair{"t/wrong-hash", "sha256"}, {"t/wrong-size", "4000 bytes expected"}, {"t/too-long", "more than"}}) {
    const auto pulled = pull(name);
    ASSERT_FALSE(pulled) << name;
    EXPECT_EQ(pulled.error().code, Code::corrupt_file);
    EXPECT_THAT(pulled.error().message, HasSubstr(words));
    const std::string folder = "models--t--" + std::string(name).substr(2);
    EXPECT_EQ(blobs(folder), 0u) << name;
    EXPECT_FALSE(fs::exists(repo(folder) / "snapshots"));
    EXPECT_FALSE(resolve_model(name, options_));
  }
}

TEST_F(Pull, RefusesBeforeTheDiskIsFull) {
  const auto pulled = pull("t/huge");
  ASSERT_FALSE(pulled);
  EXPECT_THAT(pulled.error().message, HasSubstr("not enough space"));
  EXPECT_EQ(requests("/cdn/"), 0u);
}

TEST_F(Pull, SaysWhatARefusalMeans) {
  EXPECT_THAT(error_of("t/gated"), testing::AllOf(HasSubstr("gated"), HasSubstr("HF_TOKEN")));
  EXPECT_EQ(pull("t/gated").error().code, Code::denied);
  EXPECT_THAT(error_of("t/private"), HasSubstr("HTTP 401"));
  EXPECT_EQ(pull("t/absent").error().code, Code::not_found);
  EXPECT_THAT(error_of("t/absent"), Not(HasSubstr("secret")));
  EXPECT_EQ(pull("t/bin").error().code, Code::unsupported);
  EXPECT_THAT(error_of("t/bin"), HasSubstr(".bin"));
  EXPECT_THAT(error_of("t/evil"), HasSubstr("leave its folder"));
  EXPECT_THAT(error_of("t/torn-split"), HasSubstr("2 of 3 shards"));
}

TEST_F(Pull, KeepsTheTokenToTheHub) {
  options_.token = "hf_sesame";
  ASSERT_TRUE(pull("t/gated"));
  EXPECT_GT(requests("Bearer hf_sesame"), 0u);
  EXPECT_EQ(requests("\"host\": \"localhost\""), 1u);
  std::istringstream lines(contents(log_path()));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"host\": \"localhost\"") == line.npos) continue;
    EXPECT_THAT(line, Not(HasSubstr("sesame")));
  }
  for (const char* name : {"t/private", "t/absent", "t/broken", "t/cut-always", "t/wrong-hash"})
    EXPECT_THAT(error_of(name), Not(HasSubstr("sesame"))) << name;
  EXPECT_THAT(error_of("t/cut-always"), Not(HasSubstr("very-secret")));
}

TEST_F(Pull, WaitsWhenAskedTo) {
  const auto started = std::chrono::steady_clock::now();
  ASSERT_TRUE(pull("t/busy"));
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(950));
  EXPECT_TRUE(pull("t/flaky"));
}

TEST_F(Pull, AsksWithHeadForWhatTheListingLacks) {
  const auto pulled = pull("t/bare");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(requests("HEAD"), 1u);
  EXPECT_EQ(fs::file_size(pulled->path), 300000u);
}

TEST_F(Pull, ChoosesAmongQuantisationsAndSaysWhy) {
  const auto best = pull("t/quants");
  ASSERT_TRUE(best) << best.error().message;
  EXPECT_EQ(best->chosen_file, "tiny-Q4_0.gguf");
  EXPECT_THAT(best->reason, testing::AllOf(HasSubstr("Q4_0 of"), HasSubstr("Q8_0"), HasSubstr("preference"), Not(HasSubstr("mmproj"))));
  EXPECT_EQ(pull("t/quants:q8_0")->chosen_file, "tiny-Q8_0.gguf");
  EXPECT_EQ(*resolve_model("t/quants:Q8_0", options_), (repo("models--t--quants") / "snapshots" / kCommit / "tiny-Q8_0.gguf").string());
  EXPECT_THAT(error_of("t/quants:Q2_K"), testing::AllOf(HasSubstr("has no Q2_K"), HasSubstr("F16")));
  EXPECT_THAT(resolve_model("t/quants:F16", options_).error().message, testing::AllOf(HasSubstr("Q8_0"), HasSubstr("calla pull t/quants:F16")));
}

TEST_F(Pull, TakesAllShards) {
  const auto pulled = pull("t/split");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(pulled->chosen_file, "sub/big-Q4_K_M-00001-of-00003.gguf");
  EXPECT_EQ(fs::file_size(pulled->path), 2000u);
  EXPECT_EQ(blobs("models--t--split"), 3u);
  fs::remove(repo("models--t--split") / "snapshots" / kCommit / "sub/big-Q4_K_M-00003-of-00003.gguf");
  EXPECT_THAT(resolve_model("t/split", options_).error().message, HasSubstr("2 of 3 shards"));
}

TEST_F(Pull, TakesWhatBelongsToSafetensors) {
  const auto pulled = pull("t/mlx");
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(pulled->path, (repo("models--t--mlx") / "snapshots" / kCommit).string());
  EXPECT_EQ(*resolve_model("t/mlx", options_), pulled->path);
  EXPECT_EQ(blobs("models--t--mlx"), 5u);
  EXPECT_FALSE(fs::exists(fs::path(pulled->path) / "onnx"));
  fs::remove(fs::path(pulled->path) / "model-00002-of-00002.safetensors");
  EXPECT_THAT(resolve_model("t/mlx", options_).error().message, HasSubstr("only in part"));
}

TEST_F(Pull, StopsAtOnceAndResumesLater) {
  std::stop_source source;
  const auto progress = [&](const Progress& p) {
    if (p.done_bytes > 5000) source.request_stop();
  };
  std::chrono::steady_clock::time_point asked;
  const std::stop_callback note(source.get_token(), [&] { asked = std::chrono::steady_clock::now(); });
  const auto pulled = pull_model("t/slow", options_, progress, source.get_token());
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::milliseconds(300));
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, Code::cancelled);
  EXPECT_FALSE(fs::exists(repo("models--t--slow") / "snapshots"));
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_EQ(pull_model("t/one", options_, nullptr, stopped.get_token()).error().code, Code::cancelled);
}

TEST_F(Pull, TwoPullsFetchOnce) {
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; i++) threads.emplace_back([&] { good += pull("t/one").has_value(); });
  threads.clear();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(requests("/cdn/"), 1u);
}

TEST_F(Pull, WaitsForAnotherProcessAndCanBeStopped) {
  ASSERT_TRUE(pull("t/one"));
  const fs::path blob = fs::canonical(*resolve_model("t/one", options_));
  fs::remove(blob);
  const fs::path lock = fs::path(options_.cache_dir) / ".locks/models--t--one" / (blob.filename().string() + ".lock");
  ASSERT_TRUE(fs::exists(lock)) << "where huggingface_hub has its lock";
  const int descriptor = ::open(lock.c_str(), O_RDWR);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    source.request_stop();
  });
  EXPECT_EQ(pull_model("t/one", options_, nullptr, source.get_token()).error().code, Code::cancelled);
  ::close(descriptor);
  EXPECT_TRUE(pull("t/one"));
}

TEST_F(Pull, OfflineUsesOnlyWhatIsHere) {
  ASSERT_TRUE(pull("t/one"));
  const size_t before = requests("");
  options_.offline = true;
  EXPECT_TRUE(pull("t/one"));
  EXPECT_THAT(error_of("t/quants"), HasSubstr("HF_HUB_OFFLINE"));
  EXPECT_EQ(requests(""), before);
}

TEST_F(Pull, KeepsTheCopyWhenTheHubIsGone) {
  const auto first = pull("t/one");
  ASSERT_TRUE(first);
  options_.endpoint = "http://127.0.0.1:1";
  const auto again = pull("t/one");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->path, first->path);
  EXPECT_THAT(again->reason, HasSubstr("cannot be reached"));
  const auto started = std::chrono::steady_clock::now();
  EXPECT_THAT(error_of("t/mlx"), HasSubstr("cannot reach the hub"));
  options_.endpoint = "http://no-such-host.invalid";
  EXPECT_THAT(error_of("t/mlx"), HasSubstr("no-such-host.invalid"));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(2));
}

TEST_F(Pull, RemovesWhatNothingElseUses) {
  ASSERT_TRUE(pull("t/quants:Q4_0"));
  ASSERT_TRUE(pull("t/quants:Q8_0"));
  const fs::path folder = repo("models--t--quants"), q4 = fs::canonical(*resolve_model("t/quants:Q4_0", options_));
  fs::create_directories(folder / "snapshots/older");
  fs::create_symlink("../../blobs/" + q4.filename().string(), folder / "snapshots/older/kept.bin");
  EXPECT_EQ(*remove_model("t/quants:Q4_0", options_), 0u) << "another snapshot uses the blob";
  EXPECT_TRUE(fs::exists(q4));
  EXPECT_FALSE(resolve_model("t/quants:Q4_0", options_));
  EXPECT_TRUE(resolve_model("t/quants:Q8_0", options_));
  EXPECT_EQ(*remove_model("t/quants:Q8_0", options_), 5000u + 40u) << "the last weights take the folder with them";
  EXPECT_FALSE(fs::exists(folder));
  ASSERT_TRUE(pull("t/mlx"));
  EXPECT_GT(*remove_model("t/mlx", options_), 4000u);
  EXPECT_EQ(remove_model("t/mlx", options_).error().code, Code::not_found);
}

TEST_F(Pull, ListsWhatIsHere) {
  for (const char* name : {"t/quants:Q4_0", "t/quants:Q8_0", "t/mlx", "t/split"}) ASSERT_TRUE(pull(name)) << name;
  const auto models = list_models(options_);
  ASSERT_TRUE(models);
  std::vector<std::string> lines;
  for (const LocalModel& m : *models) {
    lines.push_back(m.name + " " + m.container + " " + m.quantisation);
    EXPECT_EQ(*resolve_model(m.name, options_), m.path) << "the listed name is one to type";
    EXPECT_GT(m.modified_unix_s, 1'600'000'000);
  }
  EXPECT_THAT(lines, testing::ElementsAre("t/mlx safetensors 4-bit group 64", "t/quants:Q4_0 gguf Q4_0", "t/quants:Q8_0 gguf Q8_0",
                                          "t/split:Q4_K_M gguf Q4_K_M"));
  EXPECT_EQ((*models)[3].bytes, 6000u);
}

// With CALLA_HF_PYTHON naming a python that has huggingface_hub: each finds what the other pulled, and fetches nothing again.
TEST_F(Pull, SharesItsCacheWithHuggingfaceHub) {
  const char* python = std::getenv("CALLA_HF_PYTHON");
  if (!python) GTEST_SKIP() << "CALLA_HF_PYTHON is not set";
  ASSERT_TRUE(pull("t/mlx"));
  const std::string environment = "HF_HUB_CACHE=" + options_.cache_dir + " HF_HUB_DISABLE_XET=1 HF_ENDPOINT=" + options_.endpoint + " ";
  put(root_ / "theirs.py",
      "from huggingface_hub import *\nimport sys\nprint(hf_hub_download(sys.argv[1], sys.argv[2]))\nassert not scan_cache_dir().warnings\n");
  const auto theirs = [&](const std::string& more, const std::string& repo, const std::string& file) {
    return std::system((environment + more + python + " " + (root_ / "theirs.py").string() + " " + repo + " " + file + " >" +
                        (root_ / "out").string() + " 2>" + (root_ / "err").string())
                           .c_str());
  };
  ASSERT_EQ(theirs("HF_HUB_OFFLINE=1 ", "t/mlx", "model-00001-of-00002.safetensors"), 0);
  EXPECT_EQ(contents(root_ / "out"), *resolve_model("t/mlx", options_) + "/model-00001-of-00002.safetensors\n");
  ASSERT_EQ(theirs("", "t/one", "one-Q4_0.gguf"), 0) << contents(root_ / "err");
  EXPECT_EQ(contents(root_ / "out"), *resolve_model("t/one", options_) + "\n");
  const size_t before = requests("/cdn/t/one");
  ASSERT_TRUE(pull("t/one"));
  EXPECT_EQ(requests("/cdn/t/one"), before);
  EXPECT_EQ(*remove_model("t/one:Q4_0", options_), 300040u);
}
