// socket: POSIX calls behind Socket, Listener and Wake.
#include "wire/socket.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

#ifdef MSG_NOSIGNAL
constexpr int send_flags = MSG_NOSIGNAL;
#else
constexpr int send_flags = 0;  // macOS: SO_NOSIGPIPE is set on the socket
#endif

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// For poll: whole milliseconds, rounded up, at most an hour.
int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

void prepare(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Socket::Wait Socket::wait(Clock::time_point deadline, int wake_fd) const {
  while (true) {
    pollfd polled[2] = {{fd_, POLLIN, 0}, {wake_fd, POLLIN, 0}};
    const int found = poll(polled, 2, milliseconds_until(deadline));
    if (polled[0].revents != 0 && found > 0) return Wait::readable;
    if (polled[1].revents != 0 && found > 0) return Wait::woken;
    if (found <= 0 && Clock::now() >= deadline) return Wait::timeout;
  }
}

int Socket::receive(std::span<char> into) const {
  const auto count = recv(fd_, into.data(), into.size(), 0);
  if (count < 0) return would_block() ? -1 : 0;
  return static_cast<int>(count);
}

int64_t Socket::send_some(std::string_view bytes) const {
  const auto count = send(fd_, bytes.data(), bytes.size(), send_flags);
  if (count < 0) return would_block() ? 0 : -1;
  return count;
}

bool Socket::send_all(std::string_view bytes, std::chrono::seconds patience, const std::stop_token& stop) const {
  auto deadline = Clock::now() + patience;
  while (true) {
    const int64_t sent = send_some(bytes);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
    if (bytes.empty()) return true;
    const auto now = Clock::now();
    if (sent > 0) deadline = now + patience;
    if (now >= deadline || stop.stop_requested()) return false;
    pollfd polled{fd_, POLLOUT, 0};
    poll(&polled, 1, std::min(100, milliseconds_until(deadline)));  // short: `stop` cannot wake a poll
  }
}

void Socket::finish(std::chrono::milliseconds patience) const {
  shutdown(fd_, SHUT_WR);
  const auto deadline = Clock::now() + patience;
  std::array<char, 16384> scrap;
  while (wait(deadline, -1) == Wait::readable && receive(scrap) != 0 && Clock::now() < deadline) {
  }
}

void Socket::shut() const { shutdown(fd_, SHUT_RDWR); }

Result<Listener> listen_on(const std::string& host, int port) {
  const auto refuse = [&](const std::string& seen) { return Error{Code::io, "cannot listen on " + host + ":" + std::to_string(port) + ": " + seen}; };
  sockaddr_storage address{};
  socklen_t size = sizeof(sockaddr_in);
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  const std::string numeric = host == "localhost" ? "127.0.0.1" : host;
  if (port < 0 || port > 65535) return refuse("a port from 0 to 65535 expected");
  if (inet_pton(AF_INET, numeric.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(port));
  } else if (inet_pton(AF_INET6, numeric.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    size = sizeof(sockaddr_in6);
  } else {
    return refuse("a numeric address or localhost expected");
  }
  Socket made(socket(address.ss_family, SOCK_STREAM, 0));
  if (made.fd() < 0) return refuse(std::strerror(errno));
  const int on = 1;
  setsockopt(made.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(made.fd(), reinterpret_cast<sockaddr*>(&address), size) != 0) return refuse(std::strerror(errno));
  if (listen(made.fd(), 512) != 0) return refuse(std::strerror(errno));
  prepare(made.fd());
  if (getsockname(made.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return refuse(std::strerror(errno));
  const int bound = ntohs(address.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
  return Listener{std::move(made), bound};
}

Socket accept_from(const Socket& listener) {
  const int fd = accept(listener.fd(), nullptr, nullptr);
  if (fd < 0) return Socket();
  prepare(fd);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#ifdef SO_NOSIGPIPE
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  return Socket(fd);
}

Wake::Wake() {
  int ends[2] = {-1, -1};
  CHECK(pipe(ends) == 0);
  read_ = Socket(ends[0]);
  write_ = Socket(ends[1]);
  prepare(ends[0]);
  prepare(ends[1]);
}

void Wake::signal() const {
  const char byte = 1;
  [[maybe_unused]] const auto written = write(write_.fd(), &byte, 1);  // a full pipe wakes as well
}

void Wake::clear() const {
  std::array<char, 64> scrap;
  while (read(read_.fd(), scrap.data(), scrap.size()) > 0) {
  }
}
