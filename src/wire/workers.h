// workers: threads for what blocks; as many as run at once, kept for the next.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Workers {
 public:
  ~Workers();  // runs what was given, then joins
  // Starts `job` at once, which must not throw. False when no thread can be had.
  bool run(std::function<void()> job);

 private:
  void loop();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool ending_ = false;
};
