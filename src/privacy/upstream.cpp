// upstream: one exchange with a model elsewhere: attempts with backoff and the same bytes, the breaker, and what went wrong in words of ours.
#include "privacy/upstream.h"

#include <algorithm>
#include <condition_variable>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <random>
#include "privacy/breaker.h"
#include "privacy/digest.h"
#include "privacy/upstream_answer.h"
#include "privacy/upstream_body.h"
#include "privacy/upstream_http.h"
#include "privacy/upstream_key.h"
#include "privacy/upstream_parts.h"

namespace {

using Failure = UpstreamFailure;
using Came = HttpOutcome::Kind;

constexpr auto user_agent = "User-Agent: calla/0.1.0";
constexpr int grace_ms = 50, usage_grace_ms = 1000;      // for the end of an answer that says it is over; for its figures
constexpr int first_wait_ms = 250, longest_wait_ms = 4000, longest_retry_after_s = 10;

bool wait_ms(int ms, const std::stop_token& stop) {      // false: stopped
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, std::chrono::milliseconds(ms), [] { return false; });
  return !stop.stop_requested();
}

// How long to wait before attempt number `attempt`, from 1; nothing: the upstream wants more patience than we have.
std::optional<int> backoff_ms(int attempt, int retry_after_s) {
  if (retry_after_s > longest_retry_after_s) return std::nullopt;
  thread_local std::minstd_rand random{std::random_device{}()};
  const int whole = std::min(first_wait_ms << std::min(attempt - 1, 10), longest_wait_ms);
  const int jittered = std::uniform_int_distribution<int>(whole / 2, whole)(random);
  return std::max(jittered, retry_after_s * 1000);
}

bool busy(int status) { return status == 408 || status == 429 || status >= 500; }

// Worth another attempt: nothing of an answer was seen, and another moment may do better.
bool passing(const HttpOutcome& came) {
  if (came.kind == Came::unreachable) return true;
  if (came.kind == Came::cut) return came.status == 0;
  return came.kind == Came::whole && busy(came.status);
}

Failure failure_of(const HttpOutcome& came, const AnswerBuilder& answer, const std::string& name) {
  const auto say = [&](Failure::Kind kind, const std::string& what) { return Failure{kind, came.status, "cannot ask upstream " + name + ": " + what}; };
  if (came.kind == Came::stopped || answer.left()) return {Failure::Kind::cancelled, came.status, "the answer was cancelled"};
  if (came.kind == Came::unreachable) return say(Failure::Kind::refused, "it cannot be reached");
  if (came.kind == Came::untrusted) return say(Failure::Kind::refused, "its certificate is not trusted, or it speaks no TLS");
  if (came.status >= 300 && came.status < 400) return say(Failure::Kind::refused, fmt::format("it answers {}, and redirects are not followed", came.status));
  if (came.status != 0 && (came.status < 200 || came.status > 299)) return say(Failure::Kind::refused, fmt::format("it answers {}", came.status));
  if (answer.fault_text()) return say(Failure::Kind::broken, answer.fault_text());
  if (answer.complete()) return {};
  if (came.kind == Came::timeout) return say(Failure::Kind::timeout, "it did not answer in time");
  if (came.kind == Came::too_long) return say(Failure::Kind::broken, "its answer is too long");
  return say(Failure::Kind::broken, came.kind == Came::cut ? "its answer was cut off" : "its answer ended before it was complete");
}

Breaker::Outcome judged(const Failure& failure) {
  if (failure.kind == Failure::Kind::cancelled) return Breaker::Outcome::unknown;
  if (failure.kind == Failure::Kind::refused && failure.status != 0 && failure.status < 500) return Breaker::Outcome::good;  // it is there and says no
  return failure.kind == Failure::Kind::none ? Breaker::Outcome::good : Breaker::Outcome::bad;
}

class HttpUpstream : public Upstream {
 public:
  HttpUpstream(UpstreamOptions options, Secret key, std::unique_ptr<HttpPoster> poster) : options_(std::move(options)), key_(std::move(key)), poster_(std::move(poster)) {}

  const UpstreamOptions& options() const override { return options_; }
  bool open() const override { return breaker_.closed(); }

  std::string body(const CleanRequest& request, const std::string& model, bool stream) const override {
    return options_.wire == Wire::anthropic ? anthropic_body(request, model, stream) : openai_body(request, model, stream);
  }

  UpstreamAnswer send(const CleanRequest& request, const std::string& model, const ChoiceSink& sink, std::stop_token stop) override {
    UpstreamAnswer out;
    if (stop.stop_requested()) return out.failure = {Failure::Kind::cancelled, 0, "the answer was cancelled"}, out;
    if (!breaker_.enter()) return out.failure = {Failure::Kind::refused, 0, "cannot ask upstream " + options_.name + ": it has failed several times and is left alone for a while"}, out;
    try {
      attempts(request, body(request, model, true), sink, stop, out);
    } catch (...) {
      breaker_.leave(Breaker::Outcome::unknown);
      throw;
    }
    breaker_.leave(judged(out.failure));
    return out;
  }

 private:
  void attempts(const CleanRequest& request, const std::string& body, const ChoiceSink& sink, const std::stop_token& stop, UpstreamAnswer& out) {
    const std::string digest = sha256_hex(body);
    const auto started = std::chrono::steady_clock::now();
    for (int attempt = 1;; ++attempt) {
      AnswerBuilder answer(static_cast<size_t>(std::max(request.n(), 1)), sink);
      const HttpOutcome came = once(request.prompt().has_value(), body, answer, stop);
      if (came.sent) out.sent.bytes = body.size(), out.sent.sha256 = digest;
      out.sent.attempts = attempt;
      out.failure = failure_of(came, answer, options_.name);
      out.first_byte_us = came.first_byte_us;
      out.total_us = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started).count();
      if (out.failure.kind == Failure::Kind::none) return end(answer, sink, out);
      if (out.failure.kind == Failure::Kind::cancelled || answer.began() || attempt > options_.retries || !passing(came)) return;
      const auto wait = backoff_ms(attempt, came.retry_after_s);
      if (!wait) return;
      if (!wait_ms(*wait, stop)) return void(out.failure = {Failure::Kind::cancelled, came.status, "the answer was cancelled"});
    }
  }

  HttpOutcome once(bool completion, const std::string& body, AnswerBuilder& answer, const std::stop_token& stop) {
    const bool anthropic = options_.wire == Wire::anthropic;
    const auto reader = anthropic ? anthropic_reader(answer) : openai_reader(answer);
    AnswerBytes bytes(*reader, answer);
    std::string secret;
    if (!key_.view().empty()) {
      secret.reserve(most_key_bytes + 64);  // so that no copy is left behind by growing
      secret += anthropic ? "x-api-key: " : "Authorization: Bearer ";
      secret += key_.view();
    }
    HttpPost post{body, secret, {"Content-Type: application/json", "Accept: application/json, text/event-stream", user_agent}};
    if (anthropic) post.headers.emplace_back("anthropic-version: 2023-06-01");
    const HttpReader into{[&](std::string_view some) { return bytes.add(some); },
                          [&] { return !answer.complete() ? -1 : answer.said_done() ? grace_ms : usage_grace_ms; }};
    const HttpOutcome came = poster_->post(anthropic ? "/messages" : completion ? "/completions" : "/chat/completions", post, into, stop);
    OPENSSL_cleanse(secret.data(), secret.size());
    if (came.status >= 200 && came.status < 300 && came.kind != Came::stopped) bytes.finish();
    return came;
  }

  void end(const AnswerBuilder& answer, const ChoiceSink& sink, UpstreamAnswer& out) {
    out.finishes = answer.finishes();
    for (size_t i = 0; i < out.finishes.size() && sink.end; ++i) {
      if (!sink.end(i, out.finishes[i])) return void(out.failure = {Failure::Kind::cancelled, 200, "the answer was cancelled"});
    }
  }

  const UpstreamOptions options_;
  const Secret key_;
  const std::unique_ptr<HttpPoster> poster_;
  Breaker breaker_;
};

Result<std::unique_ptr<Upstream>> with_key(UpstreamOptions options, Secret key) {
  HttpLimits limits;
  limits.idle_ms = std::max(options.timeout_s, 1) * 1000;
  limits.connect_ms = std::min(limits.connect_ms, limits.idle_ms);
  limits.total_ms = 10 * limits.idle_ms;
  auto poster = HttpPoster::make(options.base_url, limits);
  if (!poster) return Error{poster.error().code, "cannot use upstream " + options.name + ": " + poster.error().message};
  if (options.models.empty()) return Error{Code::invalid_request, "cannot use upstream " + options.name + ": it has no models"};
  return std::unique_ptr<Upstream>(new HttpUpstream(std::move(options), std::move(key), std::move(*poster)));
}

}  // namespace

Result<std::unique_ptr<Upstream>> Upstream::make(UpstreamOptions options) {
  TRY(Secret key, read_upstream_key(options));
  return with_key(std::move(options), std::move(key));
}

Result<std::unique_ptr<Upstream>> keyless_upstream(UpstreamOptions options) { return with_key(std::move(options), Secret()); }
