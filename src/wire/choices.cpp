// choices: a thread for each answer, and one lock in front of their reader.
#include "wire/choices.h"

#include <mutex>
#include <system_error>
#include <thread>

namespace {

// The answers to several requests while they run.
class Race {
 public:
  Race(const Backend& backend, Exchange& exchange, std::span<const ChatRequest> requests, const ChoiceSink& sink) : backend_(backend), exchange_(exchange), requests_(requests), sink_(sink), finishes_(requests.size()) {}

  Result<std::vector<Finish>> run(const std::stop_token& stop) {
    const std::stop_callback chain(stop, [this] { stop_.request_stop(); });
    {
      std::vector<std::jthread> threads;
      try {
        for (size_t i = 0; i < requests_.size(); ++i) threads.emplace_back([this, i] { answer(i); });
      } catch (const std::system_error&) {
        fail({Code::overloaded, "cannot answer: no more threads"});
      }
    }
    if (error_) return *error_;
    return std::move(finishes_);
  }

 private:
  void answer(size_t choice) {
    const auto sink = [&](const Delta& delta) {
      const std::lock_guard lock(mutex_);
      return !stop_.stop_requested() && sink_.delta(choice, delta);
    };
    const auto finish = backend_.complete(exchange_, requests_[choice], sink, stop_.get_token());
    if (!finish) return fail(finish.error());
    const std::lock_guard lock(mutex_);
    finishes_[choice] = *finish;
    sink_.end(choice, *finish);
  }

  void fail(const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = error;
    }
    stop_.request_stop();
  }

  const Backend& backend_;
  Exchange& exchange_;
  const std::span<const ChatRequest> requests_;
  const ChoiceSink& sink_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::optional<Error> error_;
  std::vector<Finish> finishes_;
};

}  // namespace

Result<std::vector<Finish>> complete_all(const Backend& backend, Exchange& exchange, std::span<const ChatRequest> requests, const ChoiceSink& sink,
                                         const std::stop_token& stop) {
  if (requests.size() > 1) return Race(backend, exchange, requests, sink).run(stop);
  TRY(const Finish finish, backend.complete(exchange, requests.front(), [&](const Delta& delta) { return sink.delta(0, delta); }, stop));
  sink.end(0, finish);
  return std::vector<Finish>{finish};
}
