// wire: what strangers and broken clients send: refused or cut, within bounded memory, while others are served.
#include <filesystem>
#include <fstream>
#include "wire/tls.h"

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

// Resident memory of this process; 0 where that cannot be told or means nothing.
size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0, resident = 0;
  if (sanitized || !(statm >> pages >> resident)) return 0;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t open_files() {
  size_t count = 0;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator("/proc/self/fd", error); !error && at != std::filesystem::directory_iterator(); ++at) ++count;
  return count;
}

using namespace std::string_literals;

struct Sent {
  std::string bytes;
  int status;  // 0: closed without an answer
};

std::string many_fields(int count) {
  std::string out = "GET /health HTTP/1.1\r\n";
  for (int i = 0; i < count; ++i) out += "X-" + std::to_string(i) + ": y\r\n";
  return out + "\r\n";
}

TEST_F(WireTest, WhatIsNotHttpIsRefused) {
  const std::string post = "POST /v1/completions HTTP/1.1\r\n", chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  const Sent table[] = {
      {many_fields(101), 431},
      {many_fields(99), 200},
      {"GET /" + std::string(40'000, 'a') + " HTTP/1.1\r\n\r\n", 431},
      {"GET /health HTTP/1.1\r\nX: a\0b\r\n\r\n"s, 400},
      {"GET /hea\0lth HTTP/1.1\r\n\r\n"s, 400},
      {"G\0T /health HTTP/1.1\r\n\r\n"s, 400},
      {"\0\0\0\0\r\n\r\n"s, 400},
      {"GET /%00 HTTP/1.1\r\n\r\n", 404},
      {"GET /%zz%%% HTTP/1.1\r\n\r\n", 404},
      {"GE T /health HTTP/1.1\r\n\r\n", 400},
      {"BREW /health HTTP/1.1\r\n\r\n", 405},
      {"get /health HTTP/1.1\r\n\r\n", 405},
      {"TRACE /health HTTP/1.1\r\n\r\n", 405},
      {"CONNECT example.org:443 HTTP/1.1\r\n\r\n", 404},
      {"GET http://example.org/ HTTP/1.1\r\n\r\n", 404},
      {"GET /health HTTP/1.1\nX: bare line feeds\n\n", 400},
      {"GET /health HTTP/1.1\r\n: no name\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nX : space before the colon\r\n\r\n", 400},
      {"GET /health\r\n\r\n", 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 tls client hello\r\n\r\n"s, 400},
      {post + "Content-Length: -1\r\n\r\n", 400},
      {post + "Content-Length: +5\r\n\r\n12345", 400},
      {post + "Content-Length: 0x10\r\n\r\n", 400},
      {post + "Content-Length: 1e3\r\n\r\n", 400},
      {post + "Content-Length: 5, 5\r\n\r\n12345", 400},
      {post + "Content-Length: 18446744073709551616\r\n\r\n", 400},
      {post + "Content-Length: 18446744073709551615\r\n\r\n", 413},
      {post + "Content-Length: 1073741824\r\n\r\n", 413},
      {post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
      {post + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n", 400},
      {chunked + "-1\r\n", 400},
      {chunked + "fffffffffffffffff\r\n", 400},
      {chunked + "ffffffffffffffff\r\nx", 413},
      {chunked + "40000000\r\nx", 413},
      {chunked + "3\r\nabcdef\r\n0\r\n\r\n", 400},
      {chunked + "\r\n\r\n", 400},
      {chunked + "0\r\nbad trailer\r\n\r\n", 400},
  };
  for (const Sent& sent : table) {
    Client client(port());
    client.send_raw(sent.bytes);
    client.half_close();
    EXPECT_EQ(client.reply().status, sent.status) << testing::PrintToString(sent.bytes.substr(0, 200));
    EXPECT_TRUE(client.at_end()) << testing::PrintToString(sent.bytes.substr(0, 200));
  }
  EXPECT_EQ(completer.calls, 0);
  EXPECT_EQ(post_ok(), 200);
}

TEST_F(WireTest, EndlessHeadersAndBodiesAreCutInBoundedMemory) {
  const size_t before = resident_bytes();
  const std::string block(size_t{1} << 20, 'x');
  for (const std::string& start : {"GET /health HTTP/1.1\r\nX: "s, "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;"s,
                                   "POST /v1/completions HTTP/1.1\r\nContent-Length: 1073741824\r\n\r\n"s,
                                   "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n40000000\r\n"s}) {
    Client client(port());
    client.send_raw(start);
    int sent = 0;
    while (sent < 1024 && client.send_raw(block)) ++sent;  // a gigabyte, unless the server hangs up
    EXPECT_LT(sent, 1024) << start;
  }
  EXPECT_LE(resident_bytes(), before + (size_t{100} << 20));
  EXPECT_EQ(post_ok(), 200);
}

TEST_F(WireTest, SlowPeersDoNotHoldOthersUp) {
  server({.header_timeout_s = 1, .idle_timeout_s = 1});
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 150; ++i) {
    slow.push_back(std::make_unique<Client>(port()));
    slow.back()->send_raw(i % 3 == 0 ? "" : i % 3 == 1 ? "GET /hea" : "POST /v1/completions HTTP/1.1\r\nContent-Length: 90\r\n\r\n{");
  }
  EXPECT_EQ(post_ok(), 200);
  for (size_t i = 0; i < slow.size(); ++i) {
    EXPECT_EQ(slow[i]->reply().status, i % 3 == 0 ? 0 : 408);
    EXPECT_TRUE(slow[i]->at_end());
  }
}

TEST_F(WireTest, PipelinedWithoutReadingIsBounded) {
  const size_t before = resident_bytes();
  Client client(port());
  std::string burst;
  for (int i = 0; i < 200; ++i) burst += "GET /metrics HTTP/1.1\r\n\r\n";
  const timeval patience{0, 500'000};
  setsockopt(client.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  int bursts = 0;
  while (bursts < 10'000 && client.send_raw(burst)) ++bursts;  // 50 MB of requests, 10 GB of answers, unless the server stops reading
  EXPECT_LT(bursts, 10'000);
  EXPECT_LE(resident_bytes(), before + (size_t{50} << 20));
  EXPECT_EQ(post_ok(), 200);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(client.reply().status, 200);
}

TEST_F(WireTest, NobodyIsLeftBehind) {
  EXPECT_EQ(post_ok(), 200);
  const size_t before = open_files();
  for (int i = 0; i < 300; ++i) {
    Client client(port());
    if (i % 4 == 1) client.send_raw("POST /v1/completions HTTP/1.1\r\nContent-Length: 90\r\n\r\n{");
    if (i % 4 == 2) client.start_post(chat_path, chat_body(R"("stream":true)"));
    if (i % 4 == 3) client.send_raw("\0garbage\r\n\r\n"s);
    if (i % 2 == 0) client.reset();
  }
  EXPECT_TRUE(eventually([&] { return open_files() <= before; })) << open_files() << " open, " << before << " before";
}

TEST_F(WireTest, GarbageOverTls) {
  const Certificate certificate;
  server({.tls_cert_file = certificate.cert(), .tls_key_file = certificate.key()});
  uint32_t state = 1;
  for (int i = 0; i < 50; ++i) {
    std::string bytes = i % 2 == 0 ? "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s : ""s;
    for (int k = 0; k < 600; ++k) bytes += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    Client client(port());
    client.send_raw(bytes);
    client.half_close();
    while (client.more()) {
    }
  }
  TlsClient good(port());
  ASSERT_TRUE(good.connected);
  good.send("GET /health HTTP/1.1\r\n\r\nNONSENSE\r\n\r\n");
  EXPECT_TRUE(good.read_until("HTTP/1.1 400 "));
}

}  // namespace
