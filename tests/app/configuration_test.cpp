// configuration_test: the file in the words of the options table: overrides, models, and errors that name file, line and key.
#include <gtest/gtest.h>
#include <unistd.h>
#include <fstream>
#include "app/commands.h"

namespace {

class ConfigurationTest : public testing::Test {
 protected:
  ConfigurationTest() : path_(testing::TempDir() + "calla-configuration-" + std::to_string(::getpid()) + ".toml") {}
  ~ConfigurationTest() override { ::unlink(path_.c_str()); }
  Result<Options> read(const std::string& text, std::vector<std::string_view> words = {}, std::vector<std::pair<std::string, std::string>> environment = {}) {
    std::ofstream(path_) << text;
    words.insert(words.end(), {"--config", path_});
    for (const Command& command : commands())
      if (std::string_view(command.name) == "serve")
        return parse_options(command, words, [&](const char* variable) -> const char* {
          for (const auto& [name, value] : environment)
            if (name == variable) return value.c_str();
          return nullptr;
        });
    return Error{Code::internal, "no serve"};
  }
  std::string refusal(const std::string& text) {  // without the file's name
    const auto options = read(text);
    if (options) return "";
    EXPECT_TRUE(options.error().message.starts_with(path_ + ":")) << options.error().message;
    return options.error().message.substr(path_.size() + 1);
  }
  const std::string path_;
};

}  // namespace

TEST_F(ConfigurationTest, EveryOptionOfServeIsAKey) {
  const auto o = read(R"([server]
listen = "0.0.0.0:9000"
max_connections = 12
api_key = ["one", "two"]
cors_origin = "https://example.org"
alias = { "gpt-4o" = "small", "*" = "small" }
max_body = "8M"
drain_timeout = "5s"
ctx_size = 4096
temp = 0.25
verbose = true
prefix_cache = false

[local]
model = "/models/x.gguf"
name = "small"
keep_alive = "10m"
)");
  ASSERT_TRUE(o) << o.error().message;
  EXPECT_EQ(o->host, "0.0.0.0");
  EXPECT_EQ(o->port, 9000);
  EXPECT_EQ(o->max_connections, 12);
  EXPECT_EQ(o->api_keys, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(o->cors_origins, std::vector<std::string>{"https://example.org"});
  EXPECT_EQ(o->aliases.size(), 2u);
  EXPECT_EQ(o->max_body_bytes, size_t{8} << 20);
  EXPECT_EQ(o->drain_timeout_s, 5);
  EXPECT_TRUE(o->verbose);
  EXPECT_FALSE(o->prefix_cache);
  EXPECT_EQ(o->model, "");
  ASSERT_EQ(o->locals.size(), 1u);
  EXPECT_EQ(o->locals[0].model, "/models/x.gguf");
  EXPECT_EQ(o->locals[0].served_name, "small");
  EXPECT_EQ(o->locals[0].keep_alive, std::chrono::seconds(600));
  EXPECT_EQ(o->locals[0].context, 4096);  // from [server]
  EXPECT_FLOAT_EQ(*o->locals[0].temperature, 0.25f);
}

TEST_F(ConfigurationTest, ManyModelsEachWithItsOwn) {
  const auto o = read("[[local]]\nmodel = \"a\"\nctx_size = 100\npinned = false\n[[local]]\nmodel = \"b\"\nparallel = 2\npinned = true\n[server]\nctx_size = 7\n");
  ASSERT_TRUE(o) << o.error().message;
  ASSERT_EQ(o->locals.size(), 2u);
  EXPECT_EQ(o->locals[0].context, 100);
  EXPECT_EQ(o->locals[1].context, 7);  // wherever [server] stands
  EXPECT_EQ(o->locals[1].parallel, 2);
  EXPECT_EQ(o->locals[0].parallel, 16);
  EXPECT_EQ(o->locals[0].pinned, false);
  EXPECT_EQ(o->locals[1].pinned, true);
}

TEST_F(ConfigurationTest, TheCommandLineAndTheEnvironmentGoFirst) {
  const std::string text = "[server]\nlisten = \"0.0.0.0:9000\"\nctx_size = 1\nthreads = 3\napi_key = \"file\"\n[local]\nmodel = \"a\"\nctx_size = 2\n";
  const auto o = read(text, {"--port", "5", "-c", "4", "--api-key", "word"}, {{"CALLA_THREADS", "2"}});
  ASSERT_TRUE(o) << o.error().message;
  EXPECT_EQ(o->host, "0.0.0.0");
  EXPECT_EQ(o->port, 5);
  EXPECT_EQ(o->threads, 2);
  EXPECT_EQ(o->api_keys, std::vector<std::string>{"word"});
  EXPECT_EQ(o->locals[0].context, 4);
  EXPECT_EQ(o->locals[0].model, "a");
  EXPECT_EQ(read("[server]\nhost = \"0.0.0.0\"\n", {"--listen", "127.0.0.1:7"})->host, "127.0.0.1");
}

TEST_F(ConfigurationTest, ErrorsNameTheLineAndTheKey) {
  EXPECT_EQ(refusal("[server]\n\nprot = 1\n"), "3: server.prot: no such key, did you mean server.port?");
  EXPECT_EQ(refusal("[server]\nwholly_unlike = 1\n"), "2: server.wholly_unlike: no such key");
  EXPECT_EQ(refusal("[local]\nmodel = \"a\"\nport = 1\n"), "3: local.port: no such key");
  EXPECT_EQ(refusal("[sever]\n"), "1: sever: no such key, did you mean server?");
  EXPECT_EQ(refusal("port = 1\n"), "1: port: no such key");
  EXPECT_EQ(refusal("[server]\nport = 70000\n"), "2: server.port: '70000': a whole number from 0 to 65535 expected");
  EXPECT_EQ(refusal("[server]\nport = true\n"), "2: server.port: a whole number from 0 to 65535 expected");
  EXPECT_EQ(refusal("[server]\nport = [1]\n"), "2: server.port: a whole number from 0 to 65535 expected");
  EXPECT_EQ(refusal("[server]\npin = 1\n"), "2: server.pin: true or false expected");
  EXPECT_EQ(refusal("[server]\nconfig = \"x\"\n"), "2: server.config: no such key");
  EXPECT_EQ(refusal("[server]\ngpu_layers = 1\n"), "2: server.gpu_layers: no such key");
  EXPECT_EQ(refusal("[[local]]\nmodel = \"a\"\n[[local]]\nname = \"b\"\n"), "3: local.model: missing");
  EXPECT_EQ(refusal("[[local]]\nmodel = \"a\"\nname = \"n\"\n[[local]]\nmodel = \"b\"\nname = \"n\"\n"), "4: local.name: another model has this name");
  EXPECT_EQ(refusal("local = 1\n"), "1: local: a table expected");
  EXPECT_EQ(refusal("[privcy]\n"), "1: privcy: no such key, did you mean privacy?");
  EXPECT_TRUE(refusal("[server]\nport = \n").starts_with("2: ")) << refusal("[server]\nport = \n");
  EXPECT_TRUE(refusal("[server]\nport = 1\nport = 2\n").starts_with("3: "));
}

// Their keys are the gate's to read (privacy/gate_config); here they say that there is one.
TEST_F(ConfigurationTest, AGateIsSetUpByAnyOfItsSections) {
  EXPECT_FALSE(read("[server]\nport = 0\n[local]\nmodel = \"a\"\n")->gated);
  for (const char* section : {"[upstream.cloud]\nbase_url = \"https://x.example/v1\"\n", "[privacy]\nid = \"p\"\n", "[audit]\npath = \"a.jsonl\"\n"}) {
    const auto o = read(std::string("[local]\nmodel = \"a\"\n") + section);
    ASSERT_TRUE(o) << o.error().message;
    EXPECT_TRUE(o->gated) << section;
    EXPECT_FALSE(o->locals[0].gated);
  }
}

TEST_F(ConfigurationTest, ChatRunAndListTakeAFileButNoVariable) {
  std::ofstream(path_) << "[privacy]\nid = \"p\"\n";
  const auto parse = [&](const char* name, std::vector<std::string_view> words) -> Result<Options> {
    for (const Command& command : commands())
      if (std::string_view(command.name) == name) return parse_options(command, words, [&](const char* variable) { return std::string_view(variable) == "CALLA_CONFIG" ? path_.c_str() : nullptr; });
    return Error{Code::internal, "no such command"};
  };
  for (const char* name : {"chat", "list"}) {
    EXPECT_TRUE(parse(name, {"--config", path_})->gated) << name;
    EXPECT_FALSE(parse(name, {})->gated) << name;
  }
  const auto run = parse("run", {"--config", path_, "--model", "auto", "Hello"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->gated);
  EXPECT_EQ(run->model, "auto");
  EXPECT_EQ(run->arguments, std::vector<std::string>{"Hello"});
}
