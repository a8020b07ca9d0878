// chat: what a completer says that does nothing but answer, and several answers at once: a thread for each, one lock in front of their reader.
#include "chat/chat.h"

#include <mutex>
#include <system_error>
#include <thread>

namespace {

Error cannot(const char* what) { return {Code::unsupported, std::string("cannot ") + what + " here"}; }

// The answers to several requests while they run.
class Race {
 public:
  Race(Completer& completer, std::span<const ChatRequest> requests, const ChoiceSink& sink) : completer_(completer), requests_(requests), sink_(sink), finishes_(requests.size()) {}

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
  // No exception may leave a thread.
  Result<Finish> guarded(size_t choice, const Sink& sink) {
    try {
      return completer_.complete(requests_[choice], sink, stop_.get_token());
    } catch (const std::exception&) {
      return Error{Code::internal, "cannot answer: an internal error"};
    }
  }

  void answer(size_t choice) {
    const auto finish = guarded(choice, [&](const Delta& delta) {
      const std::lock_guard lock(mutex_);
      return !stop_.stop_requested() && sink_.delta(choice, delta);
    });
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

  Completer& completer_;
  const std::span<const ChatRequest> requests_;
  const ChoiceSink& sink_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::optional<Error> error_;
  std::vector<Finish> finishes_;
};

}  // namespace

Result<std::vector<Finish>> Completer::complete_all(std::span<const ChatRequest> requests, const ChoiceSink& out, std::stop_token stop) {
  if (requests.size() > 1) return Race(*this, requests, out).run(stop);
  if (requests.empty()) return std::vector<Finish>{};
  TRY(const Finish finish, complete(requests.front(), [&](const Delta& delta) { return out.delta(0, delta); }, stop));
  out.end(0, finish);
  return std::vector<Finish>{finish};
}

Result<std::string> Completer::render(const ChatRequest&) { return cannot("render a prompt"); }
Result<std::vector<TokenId>> Completer::tokenize(const std::string&, std::string_view, bool, bool) { return cannot("tokenize"); }
Result<std::string> Completer::detokenize(const std::string&, std::span<const TokenId>) { return cannot("detokenize"); }
Result<Embeddings> Completer::embed(const EmbedRequest&, std::stop_token) { return cannot("make embeddings"); }
Status Completer::load(const std::string&, std::optional<std::chrono::seconds>) { return cannot("load another model"); }
Status Completer::unload(const std::string&) { return cannot("unload a model"); }
Status Completer::pull(const std::string&, const PullProgress&, std::stop_token) { return cannot("fetch a model"); }
Status Completer::remove(const std::string&) { return cannot("remove a model"); }
Status Completer::copy(const std::string&, const std::string&) { return cannot("name a model anew"); }
