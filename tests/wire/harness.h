// wire tests: a scripted completer, a server on a free port, and a client that speaks raw bytes.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include "core/json_writer.h"
#include "core/json.h"
#include "wire/wire.h"

using namespace std::chrono_literals;
using Script = std::function<Result<Finish>(const ChatRequest&, const Sink&, std::stop_token)>;

inline Finish finished(Finish::Reason reason = Finish::Reason::stop) {
  return {.reason = reason, .prompt_tokens = 10, .cached_tokens = 4, .completion_tokens = 3, .prefill_s = 0.5, .decode_s = 0.25};
}

class FakeCompleter : public Completer {
 public:
  Script script = [](const ChatRequest&, const Sink& out, std::stop_token) -> Result<Finish> {
    for (const char* text : {"Hello", " wor", "ld ü"}) {
      if (!out({.kind = Delta::Kind::text, .text = text, })) break;
    }
    return finished();
  };
  Result<Finish> complete(const ChatRequest& request, const Sink& out, std::stop_token stop) override {
    {
      const std::lock_guard lock(mutex_);
      last_ = request;
    }
    ++calls;
    return script(request, out, stop);
  }
  std::vector<ModelInfo> models() const override { return {{"starter", 2048, "llama"}, {"acme/other", 4096, "qwen3"}}; }
  ChatRequest last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  std::atomic<int> calls = 0;

 private:
  std::mutex mutex_;
  ChatRequest last_;
};

// Waits for the stop token as an engine in a long prefill would; says how it ended.
struct Prefill {
  std::promise<void> entered;
  std::atomic<bool> cancelled = false;
  Script script(std::chrono::milliseconds limit = 10s) {
    return [this, limit](const ChatRequest&, const Sink&, std::stop_token stop) -> Result<Finish> {
      entered.set_value();
      const auto end = std::chrono::steady_clock::now() + limit;
      while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
      const bool stopped = stop.stop_requested();
      cancelled = stopped;  // whoever waits for it may let go of this object
      return finished(stopped ? Finish::Reason::cancelled : Finish::Reason::stop);
    };
  }
};

inline bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit = 5s) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return condition();
}

class TestServer {
 public:
  explicit TestServer(Completer& completer, ServerOptions options = {}) {
    std::promise<int> opened;
    options.port = 0;
    options.listening = [&](const std::string&, int bound) { opened.set_value(bound); };
    thread_ = std::jthread([&completer, options](std::stop_token stop) { EXPECT_TRUE(serve(completer, options, stop)); });
    port = opened.get_future().get();
  }
  void stop() {
    thread_.request_stop();
    thread_.join();
  }
  void request_stop() { thread_.request_stop(); }
  int port = 0;

 private:
  std::jthread thread_;
};

struct Reply {
  int status = 0;
  std::string head, body;  // body is de-chunked
  Json json() const { return Json::parse(body, nullptr, false); }
  std::string header(const std::string& name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t start = at + name.size() + 4;
    return head.substr(start, head.find("\r\n", start) - start);
  }
};

class Client {
 public:
  explicit Client(int port) {
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  struct Connected { int fd; };
  explicit Client(Connected connected) : fd_(connected.fd) {}
  Client(const Client&) = delete;
  ~Client() { leave(); }
  void leave() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void reset() {  // leaves with RST instead of FIN
    const linger at_once{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    leave();
  }
  void half_close() { shutdown(fd_, SHUT_WR); }
  int fd() const { return fd_; }
  bool send_raw(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // More bytes into the buffer; false at the end or after `limit`.
  bool more(std::chrono::milliseconds limit = 8s) {
    pollfd polled{fd_, POLLIN, 0};
    if (poll(&polled, 1, static_cast<int>(limit.count())) <= 0) return false;
    char bytes[65536];
    const auto count = recv(fd_, bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    buffer.append(bytes, static_cast<size_t>(count));
    return true;
  }
  bool read_until(std::string_view text, std::chrono::milliseconds limit = 8s) {
    while (buffer.find(text) == std::string::npos) {
      if (!more(limit)) return false;
    }
    return true;
  }
  bool at_end(std::chrono::milliseconds limit = 8s) { return !more(limit) && buffer.empty(); }
  Reply reply(bool has_body = true) {
    Reply out;
    if (!read_until("\r\n\r\n")) return out;
    const size_t end = buffer.find("\r\n\r\n") + 4;
    out.head = buffer.substr(0, end);
    buffer.erase(0, end);
    out.status = std::stoi(out.head.substr(9, 3));
    if (!has_body || out.status == 204 || out.status == 100) return out;
    if (out.header("Transfer-Encoding") == "chunked") {
      read_chunks(out.body);
    } else if (out.header("Content-Length").empty()) {
      while (more()) {
      }
      out.body = std::exchange(buffer, {});
    } else {
      const size_t size = std::stoul(out.header("Content-Length"));
      while (buffer.size() < size && more()) {
      }
      out.body = buffer.substr(0, size);
      buffer.erase(0, std::min(size, buffer.size()));
    }
    return out;
  }
  Reply get(const std::string& path, const std::string& headers = "") {
    send_raw("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
    return reply();
  }
  void start_post(const std::string& path, const std::string& body, const std::string& headers = "") {
    send_raw("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
             headers + "\r\n" + body);
  }
  Reply post(const std::string& path, const std::string& body, const std::string& headers = "") {
    start_post(path, body, headers);
    return reply();
  }
  std::string buffer;

 private:
  void read_chunks(std::string& body) {
    while (read_until("\r\n")) {
      const size_t line = buffer.find("\r\n"), size = std::stoul(buffer.substr(0, line), nullptr, 16);
      while (buffer.size() < line + 2 + size + 2 && more()) {
      }
      body += buffer.substr(line + 2, size);
      buffer.erase(0, line + 2 + size + 2);
      if (size == 0) return;
    }
  }
  int fd_;
};

// The JSON of every `data:` event, "[DONE]" as a string.
inline std::vector<Json> events(const std::string& body) {
  std::vector<Json> out;
  for (size_t at = 0; (at = body.find("data: ", at)) != std::string::npos;) {
    const size_t end = body.find("\n\n", at);
    const std::string data = body.substr(at + 6, end - at - 6);
    out.push_back(data == "[DONE]" ? Json(data) : Json::parse(data, nullptr, false));
    at = end;
  }
  return out;
}

inline const std::string chat_path = "/v1/chat/completions", text_path = "/v1/completions";

// A valid chat body with more members: chat_body(R"("seed":1)").
inline std::string chat_body(const std::string& more = "") {
  return R"({"messages":[{"role":"user","content":"hi"}])" + (more.empty() ? "" : "," + more) + "}";
}
inline std::string text_body(const std::string& more = "") { return R"({"prompt":"hi")" + (more.empty() ? "" : "," + more) + "}"; }

class WireTest : public testing::Test {
 protected:
  TestServer& server(ServerOptions options = {}) {
    server_ = std::make_unique<TestServer>(completer, std::move(options));
    return *server_;
  }
  int port() { return server_ ? server_->port : server().port; }
  Reply post(const std::string& path, const std::string& body, const std::string& headers = "") { return Client(port()).post(path, body, headers); }
  int post_ok() { return post(chat_path, chat_body()).status; }  // the server still answers
  FakeCompleter completer;
  std::unique_ptr<TestServer> server_;
};
