// socket: one connected TCP socket with deadlines; never blocks longer than it was told to.
#pragma once
#include <chrono>
#include <stop_token>
#include <string_view>
#include "core/core.h"

using Clock = std::chrono::steady_clock;

// Owns a file descriptor.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }

  enum class Wait : uint8_t { readable, timeout, woken };
  // Until there is something to read (also an end), `deadline`, or `wake_fd` becomes readable (-1: none). Data wins over a wake.
  Wait wait(Clock::time_point deadline, int wake_fd) const;
  // Bytes read; 0 at the end or on an error; -1 when there is nothing now.
  int receive(std::span<char> into) const;
  // What the peer's buffer takes at once; -1 on an error.
  int64_t send_some(std::string_view bytes) const;
  // All of it. False when the peer is gone, takes nothing for `patience`, or `stop` is requested while waiting.
  bool send_all(std::string_view bytes, std::chrono::seconds patience, const std::stop_token& stop) const;
  // Says that nothing more will be sent, then reads what the peer still sends, so that the answer is not lost to a reset.
  void finish(std::chrono::milliseconds patience) const;
  void shut() const;  // ends both directions; the descriptor stays valid

 private:
  int fd_;
};

struct Listener {
  Socket socket;
  int port = 0;
};
Result<Listener> listen_on(const std::string& host, int port);
Socket accept_from(const Socket& listener);  // fd() < 0 when there is none

// A pipe whose reading end wakes a poll. Signalled once it stays so until cleared.
class Wake {
 public:
  Wake();
  int fd() const { return read_.fd(); }
  void signal() const;
  void clear() const;

 private:
  Socket read_, write_;
};
