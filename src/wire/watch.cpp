// watch: polls the sockets of running requests for the peer's end.
#include "wire/watch.h"

#include <poll.h>
#include <sys/socket.h>

namespace {

#ifdef POLLRDHUP
constexpr short end_event = POLLRDHUP;  // seen even behind unread bytes
bool has_left(int, short events) { return (events & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0; }
#else
constexpr short end_event = POLLIN;
bool has_left(int fd, short events) {
  char byte;
  return (events & (POLLHUP | POLLERR | POLLNVAL)) != 0 || ((events & POLLIN) != 0 && recv(fd, &byte, 1, MSG_PEEK) == 0);
}
#endif

}  // namespace

Watcher::Watcher(std::chrono::milliseconds ping_interval) : interval_(ping_interval), thread_([this](std::stop_token stop) { run(stop); }) {}

Watcher::~Watcher() {
  thread_.request_stop();
  wake_.signal();
}

int Watcher::add(int fd, std::stop_source stop, std::function<void()> ping) {
  const std::lock_guard lock(mutex_);
  if (stopped_) stop.request_stop();
  entries_.emplace(next_id_, Entry{fd, std::move(stop), std::move(ping), Clock::now() + interval_});
  wake_.signal();
  return next_id_++;
}

void Watcher::remove(int id) {
  const std::lock_guard lock(mutex_);
  entries_.erase(id);
}

void Watcher::stop_all() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (auto& [id, entry] : entries_) entry.stop.request_stop();
}

void Watcher::run(std::stop_token stop) {
  std::vector<pollfd> polled;
  std::vector<int> ids;
  while (!stop.stop_requested()) {
    polled.assign(1, {wake_.fd(), POLLIN, 0});
    ids.assign(1, -1);
    auto until = Clock::now() + std::chrono::hours(1);
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [id, entry] : entries_) {
        if (entry.left) continue;
        polled.push_back({entry.fd, end_event, 0});
        ids.push_back(id);
        if (entry.ping) until = std::min(until, entry.next_ping);
      }
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    poll(polled.data(), static_cast<nfds_t>(polled.size()), static_cast<int>(std::max<int64_t>(wait, 0)));
    wake_.clear();
    std::map<int, short> events;
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents != 0) events[ids[i]] = polled[i].revents;
    }
    visit(Clock::now(), events);
  }
}

void Watcher::visit(Clock::time_point now, const std::map<int, short>& events) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, entry] : entries_) {
    if (const auto event = events.find(id); event != events.end()) {
      entry.left = true;  // or there are bytes to read, which hide an end where there is no POLLRDHUP
      if (has_left(entry.fd, event->second)) entry.stop.request_stop();
    }
    if (entry.left || !entry.ping || now < entry.next_ping) continue;
    entry.next_ping = now + interval_;
    entry.ping();
  }
}
