// wire: the framings of streams, pings, and what a meter counts, without a socket.
#include "wire/exchange.h"
#include <gtest/gtest.h>

namespace {

class FakePeer final : public Peer {
 public:
  bool send(std::string bytes, const std::stop_token&) override { return sent += bytes, !broken; }
  bool idle() const override { return quiet; }
  std::stop_token left() const override { return stop.get_token(); }
  void set_ping(std::function<void()> ping) override { this->ping = std::move(ping); }
  std::string sent;
  bool quiet = true, broken = false;
  std::stop_source stop;
  std::function<void()> ping;
};

struct ExchangeTest : testing::Test {
  std::string body() const { return peer.sent.substr(peer.sent.find("\r\n\r\n") + 4); }
  static HttpRequest http10() {
    HttpRequest request;
    request.http11 = false;
    return request;
  }
  const HttpRequest request = http10();  // its streams are not chunked
  ServerOptions options;
  FakePeer peer;
  Metrics metrics;
  Exchange exchange{request, peer, options, metrics, {}, true};
};

TEST_F(ExchangeTest, ServerSentEvents) {
  exchange.streamed({}, [&](EventStream& events, std::stop_token) {
    EXPECT_FALSE(events.started());
    EXPECT_TRUE(events.send("1"));
    EXPECT_TRUE(events.send_event("message_stop", "{}"));
    peer.ping();
    peer.quiet = false;
    peer.ping();  // something is being sent
  });
  EXPECT_EQ(body(), "data: 1\n\nevent: message_stop\ndata: {}\n\n: still working\n\n");
  EXPECT_NE(peer.sent.find("\r\nContent-Type: text/event-stream\r\n"), std::string::npos);
  EXPECT_EQ(exchange.status(), 200);
  EXPECT_FALSE(exchange.keep_alive());  // the end of the connection ends the body
  EXPECT_FALSE(peer.ping);
}

TEST_F(ExchangeTest, LinesArePingedOnlyWhenAsked) {
  exchange.streamed({}, [&](EventStream& events, std::stop_token) {
    EXPECT_FALSE(peer.ping);
    events.send(R"({"done":true})");
  }, Framing::ndjson);
  EXPECT_EQ(body(), "{\"done\":true}\n");
  EXPECT_NE(peer.sent.find("\r\nContent-Type: application/x-ndjson\r\n"), std::string::npos);
}

TEST_F(ExchangeTest, PingsOfADialectsOwn) {
  exchange.streamed({}, [&](EventStream&, std::stop_token) { peer.ping(); }, Framing::sse, "event: ping\ndata: {\"type\": \"ping\"}\n\n");
  EXPECT_EQ(body(), "event: ping\ndata: {\"type\": \"ping\"}\n\n");
}

TEST_F(ExchangeTest, AStreamThatSaidNothingIsAnsweredPlainly) {
  exchange.streamed({}, [](EventStream&, std::stop_token) {});
  EXPECT_EQ(exchange.status(), 0);
  exchange.fail({429, "no", "rate_limit_error", "", "overloaded", Json()});
  EXPECT_EQ(peer.sent.substr(0, 33), "HTTP/1.1 429 Too Many Requests\r\nR");
  EXPECT_NE(peer.sent.find("\r\nRetry-After: 1\r\n"), std::string::npos);
}

TEST_F(ExchangeTest, ErrorsAreWordedAsTheRouteSays) {
  exchange.route([](const ApiError& error) -> Json { return {{"error", error.message}}; }, {{"id", "a/b"}});
  EXPECT_EQ(exchange.part("id"), "a/b");
  EXPECT_EQ(exchange.part("other"), "");
  exchange.fail({404, "gone", "not_found_error", "", "", Json()});
  EXPECT_EQ(body(), "{\"error\":\"gone\"}\n");
}

TEST_F(ExchangeTest, AMeterCountsAndNotes) {
  {
    RequestMeter meter(exchange, "starter");
    EXPECT_NE(metrics.text({}).find("\ncalla_requests_running 1\n"), std::string::npos);
    meter.first_delta();
    meter.first_delta();
    meter.finish(Finish{.prompt_tokens = 9, .cached_tokens = 2, .completion_tokens = 3});
  }
  {
    RequestMeter meter(exchange, "starter");
    meter.finish(Finish{.reason = Finish::Reason::cancelled, .prompt_tokens = 9});
  }
  const std::string text = metrics.text({});
  EXPECT_NE(text.find("\ncalla_requests_running 0\n"), std::string::npos);
  EXPECT_NE(text.find("\ncalla_requests_cancelled_total 1\n"), std::string::npos);
  EXPECT_NE(text.find("\ncalla_time_to_first_token_seconds_count 1\n"), std::string::npos);
  EXPECT_EQ(exchange.notes().model, "starter");
  EXPECT_EQ(exchange.notes().prompt_tokens, 18);
  EXPECT_EQ(exchange.notes().cached_tokens, 2);
  EXPECT_EQ(exchange.notes().completion_tokens, 3);
}

}  // namespace
