// watch: one thread that notices clients who have left, and keeps waiting streams alive.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include "wire/socket.h"

class Watcher {
 public:
  explicit Watcher(std::chrono::milliseconds ping_interval);
  ~Watcher();
  // Until remove: `stop` is requested when the peer of `fd` sends its end or fails; `ping` (may be empty, must not block) is called
  // on the watching thread once an interval.
  int add(int fd, std::stop_source stop, std::function<void()> ping);
  void remove(int id);  // afterwards nothing of this entry runs any more
  void stop_all();      // requests every stop, those of entries added later too

 private:
  struct Entry {
    int fd;
    std::stop_source stop;
    std::function<void()> ping;
    Clock::time_point next_ping;
    bool left = false;
  };
  void run(std::stop_token stop);
  void visit(Clock::time_point now, const std::map<int, short>& events);
  const std::chrono::milliseconds interval_;
  Wake wake_;
  std::mutex mutex_;
  std::map<int, Entry> entries_;  // by id
  int next_id_ = 0;
  bool stopped_ = false;
  std::jthread thread_;
};
