// wire: where the server listens and to whom: TLS, unix sockets, keys, public addresses, places, readiness, the log.
#include <openssl/sha.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "wire/tls.h"

namespace {

Status try_serve(ServerOptions options) {
  FakeCompleter completer;
  std::stop_source stop;
  options.listening = [&](const std::string&, int) { stop.request_stop(); };
  return serve(completer, options, stop.get_token());
}

Client connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return Client(Client::Connected{fd});
}

std::string sha256_hex(const std::string& text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::string out;
  for (const unsigned char byte : digest) out += "0123456789abcdef"[byte >> 4], out += "0123456789abcdef"[byte & 15];
  return out;
}

TEST_F(WireTest, TlsWholeStreamedAndLeaving) {
  const Certificate certificate;
  server({.tls_cert_file = certificate.cert(), .tls_key_file = certificate.key()});
  TlsClient client(port());
  ASSERT_TRUE(client.connected);
  client.send(http_post(chat_path, chat_body()));
  EXPECT_TRUE(client.read_until("Hello world"));
  client.send(http_post(chat_path, chat_body(R"("stream":true)"), "Connection: close\r\n"));
  EXPECT_TRUE(client.read_until("[DONE]"));
  EXPECT_TRUE(client.read_until("0\r\n\r\n"));
  EXPECT_TRUE(client.at_end());
  for (const bool reset : {false, true}) {
    Prefill prefill;
    completer.script = prefill.script();
    TlsClient leaving(port());
    leaving.send(http_post(chat_path, chat_body(R"("stream":true)")));
    prefill.entered.get_future().wait();
    reset ? leaving.tcp.reset() : leaving.tcp.leave();
    EXPECT_TRUE(eventually([&] { return prefill.cancelled.load(); }));
  }
}

TEST_F(WireTest, TlsManyAtOnceAndLargeBodies) {
  const Certificate certificate;
  server({.tls_cert_file = certificate.cert(), .tls_key_file = certificate.key()});
  const int to = port();
  std::vector<std::jthread> clients;
  for (int n = 0; n < 6; ++n) {
    clients.emplace_back([to] {
      TlsClient client(to);
      for (int i = 0; i < 3; ++i) {
        client.seen.clear();
        client.send(http_post(chat_path, chat_body(R"("user":")" + std::string(300'000, 'x') + "\"")));
        EXPECT_TRUE(client.read_until("Hello world"));
      }
    });
  }
}

TEST_F(WireTest, TlsRefusesOldVersionsAndOtherBytes) {
  const Certificate certificate;
  server({.tls_cert_file = certificate.cert(), .tls_key_file = certificate.key(), .header_timeout_s = 1});
  EXPECT_FALSE(TlsClient(port(), TLS1_1_VERSION).connected);
  EXPECT_TRUE(TlsClient(port(), TLS1_2_VERSION).connected);
  Client plain(port()), silent(port());
  plain.send_raw("GET /health HTTP/1.1\r\n\r\n");
  plain.more();  // an alert, perhaps
  plain.buffer.clear();
  EXPECT_TRUE(plain.at_end());
  EXPECT_TRUE(silent.at_end());  // no handshake in time
  EXPECT_TRUE(TlsClient(port()).connected);
}

TEST(Serve, TlsFilesThatCannotBeUsedAreNamed) {
  const Certificate one, other;
  const struct {
    std::string cert, key, named;
  } table[] = {{one.folder.file("none.pem"), one.key(), "none.pem"}, {one.cert(), one.folder.file("none.pem"), "none.pem"}, {one.cert(), one.cert(), "cert.pem"},
               {one.cert(), other.key(), other.key()}, {one.cert(), "", "cert.pem"}, {"", one.key(), "key.pem"}};
  for (const auto& row : table) {
    const Status served = try_serve({.port = 0, .tls_cert_file = row.cert, .tls_key_file = row.key});
    ASSERT_FALSE(served);
    EXPECT_NE(served.error().message.find(row.named), std::string::npos) << served.error().message;
  }
}

TEST_F(WireTest, UnixSocket) {
  const TempDir folder;
  const std::string path = folder.file("calla.sock");
  server({.host = "unix:" + path});
  struct stat seen {};
  ASSERT_EQ(stat(path.c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0600u);
  Client client = connect_unix(path);
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(client.post(chat_path, chat_body()).status, 200);
  const Status second = try_serve({.host = "unix:" + path});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::io);
  server_->stop();
  EXPECT_NE(stat(path.c_str(), &seen), 0);
}

TEST(Serve, UnixSocketsLeftBehindAreReplacedAndOtherFilesAreNot) {
  const TempDir folder;
  const std::string stale = folder.file("stale.sock"), file = folder.file("file");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(stale.begin(), stale.end(), address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);
  EXPECT_TRUE(try_serve({.host = "unix:" + stale}));
  std::fclose(std::fopen(file.c_str(), "w"));
  EXPECT_FALSE(try_serve({.host = "unix:" + file}));
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_FALSE(try_serve({.host = "unix:"}));
  EXPECT_FALSE(try_serve({.host = "unix:" + folder.file("no/such/folder")}));
}

TEST(Serve, APublicAddressNeedsAKey) {
  for (const char* host : {"0.0.0.0", "::"}) {
    const Status refused = try_serve({.host = host, .port = 0});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::denied);
  }
  EXPECT_TRUE(try_serve({.host = "0.0.0.0", .port = 0, .insecure = true}));
  EXPECT_TRUE(try_serve({.host = "0.0.0.0", .port = 0, .api_keys = {"sesame"}}));
  EXPECT_TRUE(try_serve({.host = "127.0.0.1", .port = 0}));
}

TEST_F(WireTest, KeysAreHashesToo) {
  std::string upper = sha256_hex("other");
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  server({.api_keys = {"sesame", "sha256:" + upper}});
  Client client(port());
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer sesame\r\n").status, 200);
  EXPECT_EQ(client.get("/v1/models", "x-api-key: other\r\n").status, 200);
  EXPECT_EQ(client.get("/v1/models", "api-key: other\r\n").status, 200);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer wrong\r\nx-api-key: other\r\n").status, 200);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer sha256:" + upper + "\r\n").status, 401);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Basic sesame\r\n").status, 401);
  EXPECT_EQ(client.get("/metrics").status, 401);
  for (const char* bad : {"", "sha256:", "sha256:abc"}) {
    const Status refused = try_serve({.port = 0, .api_keys = {bad}});
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::invalid_request);
  }
}

TEST_F(WireTest, OneLogLinePerRequestWithoutTextOrKeys) {
  std::mutex mutex;
  std::vector<Json> lines;
  std::string all;
  server({.api_keys = {"sesame"}, .log = [&](const std::string& line) {
            const std::lock_guard lock(mutex);
            lines.push_back(Json::parse(line, nullptr, false));
            all += line;
          }});
  Client client(port());
  const std::string key = "Authorization: Bearer sesame\r\n";
  EXPECT_EQ(client.post(chat_path, R"({"messages":[{"role":"user","content":"a secret"}]})", key + "X-Request-Id: first\r\n").status, 200);
  EXPECT_EQ(client.get("/v1/models?q=secret", "Authorization: Bearer wrong\r\n").status, 401);
  client.send_raw("POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n");
  EXPECT_EQ(client.reply().status, 413);
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return lines.size() == 3;
  }));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(lines[0]["id"], "first");
  EXPECT_EQ(lines[0]["method"], "POST");
  EXPECT_EQ(lines[0]["path"], chat_path);
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["tenant"], sha256_hex("sesame").substr(0, 8));
  EXPECT_GE(lines[0]["ms"], 0.0);
  EXPECT_EQ(lines[0]["time"].get<std::string>().size(), std::string("2026-11-30T13:20:11.123Z").size());
  EXPECT_EQ(lines[1]["status"], 401);
  EXPECT_EQ(lines[1]["tenant"], "");
  EXPECT_EQ(lines[2]["status"], 413);
  for (const char* never : {"secret", "sesame", "wrong", "Hello"}) EXPECT_EQ(all.find(never), std::string::npos) << never;
}

TEST_F(WireTest, PlacesAreBounded) {
  server({.max_running = 1});
  Prefill prefill;
  completer.script = [long_one = prefill.script(), short_one = completer.script](const ChatRequest& request, const Sink& out, std::stop_token stop) {
    return (request.seed == 1u ? long_one : short_one)(request, out, stop);
  };
  Client busy(port()), other(port());
  busy.start_post(chat_path, chat_body(R"("seed":1)"));
  prefill.entered.get_future().wait();
  const Reply refused = other.post(chat_path, chat_body());
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(refused.json()["error"]["code"], "overloaded");
  for (const char* path : {"/health", "/metrics", "/v1/models"}) EXPECT_EQ(other.get(path).status, 200);
  busy.leave();
  EXPECT_TRUE(eventually([&] { return other.post(chat_path, chat_body()).status == 200; }));
}

TEST_F(WireTest, BodiesAreBoundedTogether) {
  server({.max_bodies_bytes = 400'000});
  Client holding(port());
  holding.send_raw("POST /v1/completions HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + std::string(300'000, ' '));
  EXPECT_TRUE(eventually([&] {
    const Reply refused = post(text_path, text_body(R"("user":")" + std::string(200'000, 'x') + "\""));
    EXPECT_TRUE(refused.status == 503 || refused.status == 200);
    return refused.status == 503 && refused.header("Retry-After") == "1";
  }));
  EXPECT_EQ(post(chat_path, chat_body()).status, 200);
  holding.leave();
  EXPECT_TRUE(eventually([&] { return post(text_path, text_body(R"("user":")" + std::string(200'000, 'x') + "\"")).status == 200; }));
}

TEST_F(WireTest, ReadinessAndWhatProbesAsk) {
  std::atomic<bool> ready = false;
  server({.api_keys = {"sesame"}, .ready = [&] { return ready.load(); }});
  for (const char* path : {"/health", "/v1/health", "/ping"}) {
    const Reply loading = Client(port()).get(path);
    EXPECT_EQ(loading.status, 503) << path;
    EXPECT_EQ(loading.json()["status"], "loading");
  }
  ready = true;
  for (const char* path : {"/health", "/v1/health", "/ping"}) EXPECT_EQ(Client(port()).get(path).json()["status"], "ok") << path;
  EXPECT_EQ(Client(port()).get("/").body, "Calla is running");
  Client probe(port());
  probe.send_raw("HEAD / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(probe.reply(false).status, 200);
}

TEST_F(WireTest, AResetIsNoticedAtOnce) {
  Prefill prefill;
  completer.script = prefill.script();
  Client client(port());
  client.start_post(chat_path, chat_body());
  prefill.entered.get_future().wait();
  const auto start = std::chrono::steady_clock::now();
  client.reset();
  EXPECT_TRUE(eventually([&] { return prefill.cancelled.load(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 500ms);
}

}  // namespace
