// wire: the protocol: routes, keys, origins, keep-alive, pipelining, limits, slow and leaving peers, stopping.
#include "wire/harness.h"

namespace {

struct Route {
  const char* request;
  int status;
  const char* header;  // "Name: value" that must be there, or ""
};

const Route routes[] = {
    {"GET /health HTTP/1.1\r\n\r\n", 200, "Connection: keep-alive"},
    {"GET /health?x=1 HTTP/1.1\r\n\r\n", 200, ""},
    {"GET /health HTTP/1.0\r\n\r\n", 200, "Connection: close"},
    {"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", 200, "Connection: close"},
    {"GET /nothing HTTP/1.1\r\n\r\n", 404, ""},
    {"GET / HTTP/1.1\r\n\r\n", 200, "Content-Type: text/plain"},
    {"GET /v1/chat/completions HTTP/1.1\r\n\r\n", 405, "Allow: POST, OPTIONS"},
    {"DELETE /v1/models HTTP/1.1\r\n\r\n", 405, "Allow: GET, HEAD, OPTIONS"},
    {"POST /health HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405, ""},
    {"GET /health HTTP/1.1\r\nX-Request-Id: abc\r\n\r\n", 200, "X-Request-Id: abc"},
    {"NONSENSE\r\n\r\n", 400, "Connection: close"},
    {"GET /health HTTP/9.9\r\n\r\n", 400, ""},
    {"GET /health HTTP/1.1\r\nbad header\r\n\r\n", 400, ""},
    {"POST /v1/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, ""},
    {"POST /v1/completions HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400, ""},
    {"POST /v1/completions HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400, ""},
    {"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, ""},
    {"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413, "Connection: close"},
    {"OPTIONS /v1/chat/completions HTTP/1.1\r\nOrigin: http://localhost:3000\r\nAccess-Control-Request-Headers: x-foo\r\n\r\n", 204,
     "Access-Control-Allow-Headers: Authorization, Content-Type, x-api-key, anthropic-version, X-Calla-Conversation, X-Calla-Privacy, X-Calla-Consent, X-Consent, x-request-id, x-foo"},
    {"OPTIONS /v1/models HTTP/1.1\r\n\r\n", 204, "Access-Control-Allow-Methods: GET, POST, DELETE, OPTIONS"},
    {"GET /v1/models HTTP/1.1\r\nOrigin: http://localhost:3000\r\n\r\n", 200, "Access-Control-Allow-Origin: http://localhost:3000"},
    {"GET /v1/models HTTP/1.1\r\nOrigin: http://[::1]:3000\r\n\r\n", 200, "Access-Control-Allow-Origin: http://[::1]:3000"},
    {"GET /v1/models HTTP/1.1\r\nOrigin: vscode-webview://x\r\n\r\n", 200, "Access-Control-Allow-Origin: vscode-webview://x"},
    {"GET /v1/models HTTP/1.1\r\nOrigin: https://evil.example\r\n\r\n", 403, ""},
    {"GET /v1/models HTTP/1.1\r\nOrigin: http://localhost.evil.example\r\n\r\n", 403, ""},
    {"GET /v1/models HTTP/1.1\r\nOrigin: null\r\n\r\n", 403, ""},
};

TEST_F(WireTest, Routes) {
  for (const Route& route : routes) {
    Client client(port());
    client.send_raw(route.request);
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, route.status) << route.request << reply.head;
    EXPECT_NE(reply.head.find(std::string("\r\n") + route.header), std::string::npos) << route.request << reply.head;
    EXPECT_FALSE(reply.header("X-Request-Id").empty());
    if (reply.status >= 400) {
      const Json error = reply.json()["error"];
      for (const char* key : {"message", "type", "param", "code"}) EXPECT_TRUE(error.contains(key)) << route.request;
    }
    if (reply.header("Connection") == "close") {
      EXPECT_TRUE(client.at_end()) << route.request;
    }
  }
}

TEST_F(WireTest, AnyOriginWhenAsked) {
  server({.cors_origins = {"*"}});
  EXPECT_EQ(Client(port()).get("/health", "Origin: https://evil.example\r\n").status, 200);
}

TEST_F(WireTest, Head) {
  Client client(port());
  client.send_raw("HEAD /health HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.reply(false).status, 200);
  EXPECT_EQ(client.get("/health").status, 200);  // no body was left in between
}

TEST_F(WireTest, Keys) {
  server({.api_keys = {"sesame", "other"}});
  Client client(port());
  EXPECT_EQ(client.get("/v1/models").status, 401);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer sesam\r\n").status, 401);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer sesamesesame\r\n").status, 401);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer \r\n").status, 401);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer sesame\r\n").status, 200);
  EXPECT_EQ(client.get("/v1/models", "authorization: bearer other\r\n").status, 200);
  EXPECT_EQ(client.get("/v1/models", "X-Api-Key: sesame\r\n").status, 200);
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(client.post(chat_path, chat_body()).status, 401);
  EXPECT_EQ(client.get("/v1/models").header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(completer.calls, 0);
}

TEST_F(WireTest, KeepAliveAndPipelining) {
  Client client(port());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.post(chat_path, chat_body()).status, 200);
    EXPECT_EQ(client.post(chat_path, chat_body(R"("stream":true)")).status, 200);
    EXPECT_EQ(client.post(chat_path, "{").status, 400);
  }
  const std::string body = text_body(), post = "POST /v1/completions HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  client.send_raw("GET /health HTTP/1.1\r\n\r\n" + post + "GET /nothing HTTP/1.1\r\n\r\n" + post);
  EXPECT_EQ(client.reply().json()["status"], "ok");
  EXPECT_EQ(client.reply().json()["object"], "text_completion");
  EXPECT_EQ(client.reply().status, 404);
  EXPECT_EQ(client.reply().json()["object"], "text_completion");
}

TEST_F(WireTest, ByteByByteAndChunked) {
  Client client(port());
  const std::string request = "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"pr\r\n9\r\nompt\":\"x\"\r\n1\r\n}\r\n0\r\n\r\n";
  for (const char byte : request) client.send_raw(std::string_view(&byte, 1));
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(completer.last().prompt, "x");
}

TEST_F(WireTest, ExpectContinue) {
  Client client(port());
  const std::string body = text_body();
  client.send_raw("POST /v1/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.reply().status, 100);
  client.send_raw(body);
  EXPECT_EQ(client.reply().status, 200);
}

TEST_F(WireTest, Http10StreamEndsWithTheConnection) {
  Client client(port());
  const std::string body = chat_body(R"("stream":true)");
  client.send_raw("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  const Reply reply = client.reply();
  EXPECT_EQ(reply.header("Transfer-Encoding"), "");
  EXPECT_EQ(events(reply.body).back(), "[DONE]");
}

TEST_F(WireTest, BodyAndHeaderLimits) {
  server({.max_body_bytes = 1000, .max_header_bytes = 2000});
  EXPECT_EQ(post(chat_path, chat_body(R"("user":")" + std::string(2000, 'x') + "\"")).status, 413);
  EXPECT_EQ(post(chat_path, std::string(3'000'000, 'x')).status, 413);  // sent whole: the answer survives
  Client chunked(port());
  chunked.send_raw("POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + std::string(2000, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.reply().status, 413);
  Client chunk_head(port());
  chunk_head.send_raw("POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(100'000, 'x'));
  EXPECT_EQ(chunk_head.reply().status, 400);
  EXPECT_EQ(Client(port()).get("/health", "X: " + std::string(5000, 'y') + "\r\n").status, 431);
  EXPECT_EQ(post(chat_path, chat_body()).status, 200);
  EXPECT_EQ(completer.calls, 1);
}

TEST_F(WireTest, SlowHeadersAndBodiesTimeOut) {
  server({.header_timeout_s = 1, .idle_timeout_s = 1});
  Client header(port()), body(port()), idle(port());
  header.send_raw("GET /health HT");
  body.send_raw("POST /v1/completions HTTP/1.1\r\nContent-Length: 500\r\n\r\n{");
  std::jthread dribble([&](std::stop_token stop) {
    while (!stop.stop_requested() && header.send_raw("x") && body.send_raw(" ")) std::this_thread::sleep_for(100ms);
  });
  EXPECT_EQ(header.reply().status, 408);
  EXPECT_EQ(body.reply().status, 408);
  EXPECT_TRUE(idle.at_end());
}

TEST_F(WireTest, TooManyConnections) {
  server({.max_connections = 2});
  Client first(port());
  EXPECT_EQ(first.get("/health").status, 200);
  auto second = std::make_unique<Client>(port());
  EXPECT_EQ(second->get("/health").status, 200);
  for (int i = 0; i < 3; ++i) {
    const Reply refused = Client(port()).get("/health");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.header("Retry-After"), "1");
    EXPECT_EQ(refused.json()["error"]["code"], "overloaded");
  }
  second.reset();
  EXPECT_TRUE(eventually([&] { return Client(port()).get("/health").status == 200; }));
  EXPECT_EQ(first.get("/health").status, 200);
}

TEST_F(WireTest, HalfCloseIsAnsweredWhereNothingRuns) {
  Client client(port());
  client.send_raw("GET /health HTTP/1.1\r\n\r\n");
  client.half_close();
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_TRUE(client.at_end());
  Client cut(port());
  cut.send_raw("POST /v1/completions HTTP/1.1\r\nContent-Length: 50\r\n\r\n{");
  cut.half_close();
  EXPECT_TRUE(cut.at_end());
  EXPECT_EQ(completer.calls, 0);
}

// A client that leaves, in every way, streamed or not, also with a pipelined request behind the one that runs.
TEST_F(WireTest, LeavingCancels) {
  for (const char* more : {"", R"("stream":true)"}) {
    for (const bool half : {false, true}) {
      for (const bool pipelined : {false, true}) {
        Prefill prefill;
        completer.script = prefill.script();
        Client client(port());
        client.start_post(chat_path, chat_body(more));
        prefill.entered.get_future().wait();
        if (pipelined) client.send_raw("GET /health HTTP/1.1\r\n\r\n");
        const auto start = std::chrono::steady_clock::now();
        half ? client.half_close() : client.leave();
        EXPECT_TRUE(eventually([&] { return prefill.cancelled.load(); })) << more << half << pipelined;
        EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
      }
    }
  }
}

TEST_F(WireTest, LeavingCancelsDecode) {
  std::atomic<bool> ended = false;
  completer.script = [&](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> {
    while (out({.kind = Delta::Kind::text, .text = "word ", })) std::this_thread::sleep_for(1ms);
    ended = true;
    return finished();
  };
  for (const char* more : {"", R"("stream":true)"}) {
    ended = false;
    Client client(port());
    client.start_post(chat_path, chat_body(more));
    if (*more != 0) {
      EXPECT_TRUE(client.read_until("word"));
    }
    client.leave();
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
  }
}

TEST_F(WireTest, PingsDuringALongPrefill) {
  server({.ping_interval_s = 1});
  completer.script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> {
    std::this_thread::sleep_for(2300ms);
    out({.kind = Delta::Kind::text, .text = "late", });
    return finished();
  };
  Client client(port());
  const Reply reply = client.post(chat_path, chat_body(R"("stream":true)"));
  EXPECT_TRUE(reply.body.starts_with(": still working\n\n: still working\n\ndata: ")) << reply.body;
  EXPECT_EQ(events(reply.body).back(), "[DONE]");
  EXPECT_EQ(client.get("/health").status, 200);
}

TEST_F(WireTest, ErrorAfterAPingIsAnEvent) {
  server({.ping_interval_s = 1});
  completer.script = [](const ChatRequest&, const Sink&, std::stop_token) -> Result<Finish> {
    std::this_thread::sleep_for(1300ms);
    return Error{Code::overloaded, "too much"};
  };
  const Reply reply = post(chat_path, chat_body(R"("stream":true)"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(events(reply.body).back()["error"]["code"], "overloaded");
}

TEST_F(WireTest, ASlowReaderPausesOnlyItself) {
  server({.write_timeout_s = 1});
  std::atomic<bool> gave_up = false;
  const std::string block(size_t{1} << 20, 'x');
  completer.script = [&](const ChatRequest& request, const Sink& out, std::stop_token) -> Result<Finish> {
    if (request.seed == 1u) {
      while (out({.kind = Delta::Kind::text, .text = block, })) {
      }
      gave_up = true;
    }
    return finished();
  };
  Client slow(port());
  slow.start_post(chat_path, chat_body(R"("stream":true,"seed":1)"));
  EXPECT_TRUE(slow.read_until("xxx"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(post(chat_path, chat_body()).status, 200);
  EXPECT_TRUE(eventually([&] { return gave_up.load(); }, 60s));  // and not for ever
}

TEST_F(WireTest, ManyAtOnce) {
  completer.script = [](const ChatRequest& request, const Sink& out, std::stop_token) -> Result<Finish> {
    for (int i = 0; i < 50; ++i) {
      if (!out({.kind = Delta::Kind::text, .text = std::to_string(*request.seed) + " ", })) break;
    }
    return finished();
  };
  std::vector<std::jthread> clients;
  const int to = port();
  for (int n = 0; n < 16; ++n) {
    clients.emplace_back([n, to] {
      Client client(to);
      for (int i = 0; i < 5; ++i) {
        std::string text, expected;
        for (int k = 0; k < 50; ++k) expected += std::to_string(n) + " ";
        for (const Json& event : events(client.post(text_path, text_body(R"("stream":true,"seed":)" + std::to_string(n))).body)) {
          if (event.is_object()) text += event["choices"][0]["text"];
        }
        EXPECT_EQ(text, expected);
      }
    });
  }
}

TEST_F(WireTest, StoppingAnswersWhatRuns) {
  Prefill prefill;
  completer.script = prefill.script(700ms);
  TestServer& running = server();
  Client idle(port()), busy(port());
  EXPECT_EQ(idle.get("/health").status, 200);
  busy.start_post(chat_path, chat_body());
  prefill.entered.get_future().wait();
  running.request_stop();
  EXPECT_TRUE(idle.at_end());
  const Reply reply = busy.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(prefill.cancelled);
  EXPECT_TRUE(busy.at_end());
  running.stop();
}

TEST_F(WireTest, StoppingCancelsWhatOutlastsTheDrain) {
  Prefill prefill;
  completer.script = prefill.script();
  TestServer& running = server({.drain_timeout_s = 0});
  Client busy(port());
  busy.start_post(chat_path, chat_body(R"("stream":true)"));
  prefill.entered.get_future().wait();
  const auto start = std::chrono::steady_clock::now();
  running.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_TRUE(prefill.cancelled);
  EXPECT_EQ(busy.reply().status, 503);
}

TEST(Serve, SaysWhyThePortCannotBeHad) {
  FakeCompleter completer;
  TestServer first(completer);
  ServerOptions options;
  options.port = first.port;
  const Status second = serve(completer, options, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::io);
  options.host = "not-a-host";
  EXPECT_FALSE(serve(completer, options, {}));
  options.host = "127.0.0.1";
  options.port = 70000;
  EXPECT_FALSE(serve(completer, options, {}));
}

}  // namespace
