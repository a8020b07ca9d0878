// privacy tests: a gate made from a configuration: what keeps it from starting, and what it leaves on the disk when it dies.
#include <fcntl.h>
#include <sys/wait.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include "privacy/gate_harness.h"

namespace {

class GateMake : public testing::Test {
 protected:
  GateMake() {
    std::string pattern = (std::filesystem::temp_directory_path() / "calla-gate-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    config.upstreams.push_back(options_for(cloud));
    config.audit.path = folder + "/audit.jsonl";
    config.audit.key_file = folder + "/audit.key";
    config.policy.cloud_by_default = true;
    config.policy.sha256 = std::string(64, 'a');
    config.policy.vault_dir = folder + "/state";
  }
  ~GateMake() override { std::filesystem::remove_all(folder); }
  std::vector<Json> lines() const {
    std::vector<Json> out;
    std::ifstream file(config.audit.path);
    for (std::string line; std::getline(file, line);) {
      Json json = Json::parse(line, nullptr, false);
      if (json.is_object() && json.value("kind", "") == "request") out.push_back(std::move(json));
    }
    return out;
  }
  void answer_with(std::function<void(Peer&)> next) {  // the one who asks may be another process
    const std::lock_guard lock(script_mutex);
    script = std::move(next);
  }
  std::mutex script_mutex;
  std::function<void(Peer&)> script = say_ok;
  Loopback cloud{[this](Peer& peer) {
    std::unique_lock lock(script_mutex);
    const auto now = script;
    lock.unlock();
    now(peer);
  }};
  LocalModel local;
  GateConfig config;
  std::string folder;
};

TEST_F(GateMake, AnUpstreamWithoutALogOrAKeyIsNotServed) {
  GateConfig blind = config;
  blind.audit.path.clear();
  EXPECT_FALSE(Gate::make(blind, local));
  GateConfig keyless = config;
  keyless.upstreams[0].api_key_env = "CALLA_TEST_NO_SUCH_KEY";
  EXPECT_FALSE(Gate::make(keyless, local));
  GateConfig plain = config;
  plain.upstreams[0].base_url = "http://api.example/v1";
  EXPECT_FALSE(Gate::make(plain, local));
}

TEST_F(GateMake, ADryGateNeedsNeitherAndSendsNothing) {
  config.audit.path.clear();
  config.upstreams[0].api_key_env = "CALLA_TEST_NO_SUCH_KEY";
  auto gate = make_dry_gate(config);
  ASSERT_TRUE(gate) << gate.error().message;
  ChatRequest request = asking("what is a rainbow");
  request.model = "cloud/big-1";
  const auto explained = (*gate)->explain(request);
  ASSERT_TRUE(explained);
  EXPECT_EQ((*explained)["route"], "cloud");
  const auto answer = (*gate)->complete(request, [](const Delta&) { return true; }, {});
  EXPECT_FALSE(answer);
  EXPECT_EQ(cloud.connections(), 0);
}

TEST_F(GateMake, ARequestIsInTheLogEvenIfTheProgramDies) {
  answer_with([](Peer& peer) {
    peer.events(said("a"));
    peer.closed_within(5000);
  });
  const pid_t child = fork();
  if (child == 0) {                    // the cloud's threads stay with the parent
    auto gate = Gate::make(config, local);
    if (!gate) _exit(2);
    ChatRequest request = asking("what is a rainbow");
    request.model = "auto";
    static_cast<void>((*gate)->complete(request, [](const Delta&) { return kill(getpid(), SIGKILL) == 0; }, {}));
    _exit(3);
  }
  int state = 0;
  waitpid(child, &state, 0);
  ASSERT_TRUE(WIFSIGNALED(state)) << WEXITSTATUS(state);
  EXPECT_TRUE(lines().empty());
  const auto gate = Gate::make(config, local);
  ASSERT_TRUE(gate) << gate.error().message;
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(lines()[0]["code"], "interrupted");
  EXPECT_EQ(lines()[0]["route"], "cloud");
  EXPECT_GT(lines()[0]["bytes_upstream"], 0);
  EXPECT_TRUE(std::filesystem::is_empty(config.audit.path + ".pending"));
}

TEST_F(GateMake, WhatHasALineIsNotPending) {
  const auto gate = Gate::make(config, local);
  ASSERT_TRUE(gate) << gate.error().message;
  ChatRequest request = asking("what is a rainbow");
  request.model = "auto";
  ASSERT_TRUE((*gate)->complete(request, [](const Delta&) { return true; }, {}));
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(lines()[0]["route"], "cloud");
  EXPECT_TRUE(std::filesystem::is_empty(config.audit.path + ".pending"));
}

}  // namespace
