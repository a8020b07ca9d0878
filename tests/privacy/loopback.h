// privacy tests: an HTTP server of a few lines that does what it is told and keeps every byte it was sent.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

// One connection, seen by a script. Its request has been read.
class Peer {
 public:
  Peer(int socket, SSL* tls) : socket_(socket), tls_(tls) {}
  std::string request;                 // line, headers and body as they came
  int number = 0;                      // of the connection, from 0
  std::string body() const {
    const size_t end = request.find("\r\n\r\n");
    return end == std::string::npos ? "" : request.substr(end + 4);
  }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = tls_ ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())) : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  void answer(int status, std::string_view body, std::string_view type = "application/json", const std::string& more = "") const {
    send("HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Type: " + std::string(type) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "Connection: close\r\n\r\n" + std::string(body));
  }
  void open_stream() const { send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"); }
  void events(std::string_view text) const { open_stream(), send(text); }
  // Whether the other side closes within so many milliseconds.
  bool closed_within(int ms) const {
    pollfd entry{socket_, POLLIN, 0};
    char byte;
    return poll(&entry, 1, ms) == 1 && recv(socket_, &byte, 1, MSG_PEEK) <= 0;
  }

 private:
  friend class Loopback;
  ssize_t read(char* bytes, size_t size) const { return tls_ ? SSL_read(tls_, bytes, static_cast<int>(size)) : recv(socket_, bytes, size, 0); }
  const int socket_;
  SSL* const tls_;
};

class Loopback {
 public:
  using Script = std::function<void(Peer&)>;
  explicit Loopback(Script script, SSL_CTX* tls = nullptr) : script_(std::move(script)), tls_(tls), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    std::signal(SIGPIPE, SIG_IGN);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    acceptor_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
  }
  ~Loopback() { end(); }
  // No more connections; those that are open run to their end.
  void end() {
    acceptor_ = {};
    threads_.clear();
    if (listener_ >= 0) close(std::exchange(listener_, -1));
  }
  std::string url() const { return std::string(tls_ ? "https" : "http") + "://127.0.0.1:" + std::to_string(port) + "/v1"; }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::string all() const {            // every byte that ever came
    std::string out;
    for (const std::string& request : requests()) out += request;
    return out;
  }
  int connections() const { return connections_; }
  int port = 0;

 private:
  void accept_all(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd entry{listener_, POLLIN, 0};
      if (poll(&entry, 1, 10) != 1) continue;
      const int socket = accept(listener_, nullptr, nullptr);
      if (socket < 0) continue;
      const int number = connections_++;
      threads_.emplace_back([this, socket, number] { serve(socket, number); });
    }
  }
  void serve(int socket, int number) {
    SSL* tls = tls_ ? SSL_new(tls_) : nullptr;
    if (tls) SSL_set_fd(tls, socket);
    Peer peer(socket, tls);
    peer.number = number;
    if ((!tls || SSL_accept(tls) == 1) && read(peer)) script_(peer);
    if (tls) SSL_free(tls);
    shutdown(socket, SHUT_WR);
    close(socket);
  }
  bool read(Peer& peer) {
    size_t place;
    {
      const std::lock_guard lock(mutex_);
      place = requests_.size();
      requests_.emplace_back();
    }
    char bytes[16384];
    for (;;) {
      const size_t head = peer.request.find("\r\n\r\n");
      if (head != std::string::npos && peer.request.size() >= head + 4 + length_of(peer.request)) return true;
      const ssize_t count = peer.read(bytes, sizeof bytes);
      if (count <= 0) return false;
      peer.request.append(bytes, static_cast<size_t>(count));
      const std::lock_guard lock(mutex_);
      requests_[place] = peer.request;
    }
  }
  static size_t length_of(const std::string& request) {
    const size_t at = request.find("Content-Length: ");
    return at == std::string::npos ? 0 : std::strtoul(request.c_str() + at + 16, nullptr, 10);
  }

  const Script script_;
  SSL_CTX* const tls_;
  int listener_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::atomic<int> connections_{0};
  std::vector<std::jthread> threads_;
  std::jthread acceptor_;
};

inline std::string header_lines(const std::string& request) { return request.substr(0, request.find("\r\n\r\n") + 2); }
