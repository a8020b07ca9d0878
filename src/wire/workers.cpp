// workers: hands jobs to idle threads and makes a new one when there is none.
#include "wire/workers.h"

#include <system_error>
#include <utility>

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::run(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (jobs_.size() >= idle_) {
    try {
      threads_.emplace_back([this] { loop(); });
    } catch (const std::system_error&) {
      return false;
    }
  }
  jobs_.push_back(std::move(job));
  changed_.notify_one();
  return true;
}

void Workers::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    const auto job = std::exchange(jobs_.front(), {});
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}
