// wire: the counters, their text, and what the server counts of its requests.
#include "wire/metrics.h"
#include "wire/harness.h"

namespace {

// The value behind `sample` ("name{labels}"), or "" when there is none.
std::string value_of(const std::string& text, const std::string& sample) {
  const size_t at = ("\n" + text).find("\n" + sample + " ");
  if (at == std::string::npos) return "";
  const size_t start = at + sample.size() + 1;
  return text.substr(start, text.find('\n', start) - start);
}

TEST(Metrics, CountsTokensAndTimes) {
  Metrics metrics;
  metrics.first_token(0.03);
  metrics.first_token(3);
  metrics.finished(Finish{.prompt_tokens = 10, .cached_tokens = 4, .completion_tokens = 5, .decode_s = 0.1});
  metrics.finished(Finish{.reason = Finish::Reason::cancelled, .prompt_tokens = 1});
  metrics.finished(Error{Code::cancelled, ""});
  metrics.finished(Error{Code::overloaded, ""});
  const std::string text = metrics.text({});
  EXPECT_EQ(value_of(text, "calla_tokens_prefilled_total"), "7");
  EXPECT_EQ(value_of(text, "calla_cache_hit_tokens_total"), "4");
  EXPECT_EQ(value_of(text, "calla_tokens_generated_total"), "5");
  EXPECT_EQ(value_of(text, "calla_requests_cancelled_total"), "2");
  EXPECT_EQ(value_of(text, "calla_time_to_first_token_seconds_bucket{le=\"0.025\"}"), "0");
  EXPECT_EQ(value_of(text, "calla_time_to_first_token_seconds_bucket{le=\"0.05\"}"), "1");
  EXPECT_EQ(value_of(text, "calla_time_to_first_token_seconds_bucket{le=\"5\"}"), "2");
  EXPECT_EQ(value_of(text, "calla_time_to_first_token_seconds_bucket{le=\"+Inf\"}"), "2");
  EXPECT_EQ(value_of(text, "calla_time_to_first_token_seconds_count"), "2");
  EXPECT_EQ(value_of(text, "calla_time_per_token_seconds_bucket{le=\"0.015\"}"), "0");
  EXPECT_EQ(value_of(text, "calla_time_per_token_seconds_bucket{le=\"0.02\"}"), "1");
}

TEST(Metrics, GaugesPerModelAndWaiting) {
  Metrics metrics;
  for (int i = 0; i < 5; ++i) metrics.begin();
  metrics.end();
  ModelStats stats{.model = "a\"b\\", .running = 1, .waiting = 3, .preemptions = 9, .weight_bytes = 123};
  const std::string text = metrics.text({stats});
  EXPECT_EQ(value_of(text, "calla_requests_running"), "1");
  EXPECT_EQ(value_of(text, "calla_requests_queued"), "3");
  EXPECT_EQ(value_of(text, R"(calla_model_weight_bytes{model="a\"b\\"})"), "123");
  EXPECT_EQ(value_of(text, R"(calla_model_up{model="a\"b\\"})"), "1");
  stats.fault = "the GPU is out of order";
  EXPECT_EQ(value_of(metrics.text({stats}), R"(calla_model_up{model="a\"b\\"})"), "0");
  EXPECT_EQ(value_of(text, R"(calla_model_preemptions_total{model="a\"b\\"})"), "9");
}

class Faulty : public FakeCompleter {
 public:
  std::vector<ModelStats> stats() const override {
    const std::lock_guard lock(mutex_);
    return all_;
  }
  void fail(size_t model, std::string why) {
    const std::lock_guard lock(mutex_);
    all_[model].fault = std::move(why);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<ModelStats> all_{{.model = "a"}, {.model = "b"}};
};

TEST(Health, TellsOfDevicesThatFailed) {
  Faulty completer;
  TestServer server(completer);
  const auto health = [&] { return Client(server.port).get("/health"); };
  EXPECT_EQ(health().status, 200);
  EXPECT_EQ(health().json()["status"], "ok");
  completer.fail(0, "the GPU is out of order");
  EXPECT_EQ(health().status, 200);
  EXPECT_EQ(health().json(), Json::parse(R"({"status":"degraded","reason":"the GPU is out of order"})"));
  completer.fail(1, "the other one too");
  EXPECT_EQ(health().status, 503);
  EXPECT_EQ(health().json()["status"], "failed");
}

TEST_F(WireTest, MetricsOverHttp) {
  post(chat_path, "{");
  post(chat_path, chat_body());
  Client(port()).get("/v1/models/starter");
  Client(port()).get("/nothing/at/all");
  EXPECT_TRUE(eventually([&] { return Client(port()).get("/metrics").body.find("/v1/models/{id...}") != std::string::npos; }));  // counted once answered
  const Reply reply = Client(port()).get("/metrics");
  EXPECT_TRUE(reply.header("Content-Type").starts_with("text/plain; version=0.0.4")) << reply.head;
  EXPECT_EQ(value_of(reply.body, R"(calla_requests_total{endpoint="/v1/chat/completions",status="400"})"), "1");
  EXPECT_EQ(value_of(reply.body, R"(calla_requests_total{endpoint="/v1/chat/completions",status="200"})"), "1");
  EXPECT_EQ(value_of(reply.body, R"(calla_requests_total{endpoint="/v1/models/{id...}",status="200"})"), "1");
}

}  // namespace
