// metrics: what the server counts, in Prometheus' text form, and the meter that counts one answer.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "chat/chat.h"

class Exchange;

// Counts of values up to each bound, as Prometheus wants them.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void observe(double value);
  void append(std::string& out, std::string_view name, std::string_view help) const;

 private:
  std::span<const double> bounds_;
  std::vector<uint64_t> counts_;  // per bucket; the last is beyond every bound
  double sum_ = 0;
};

// Safe from every thread.
class Metrics {
 public:
  Metrics();
  void answered(std::string_view endpoint, int status);  // one request; `endpoint` is a route's pattern, so there are few
  void begin() { ++open_; }
  void end() { --open_; }
  void first_token(double seconds);
  void finished(const Result<Finish>& finish);
  // The exposition; gauges come from `models`.
  std::string text(const std::vector<ModelStats>& models) const;

 private:
  std::atomic<int> open_ = 0;                            // calls of complete that run or wait
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> answered_;
  uint64_t cancelled_ = 0, prefilled_ = 0, generated_ = 0, cached_ = 0;
  Histogram first_token_s_, per_token_s_;
};

// Counts one call of Completer::complete, and notes its model and tokens for the log. Around every call:
//   RequestMeter meter(exchange, model.name);
//   auto finish = completer.complete(request, [&](const Delta& delta) { meter.first_delta(); … }, stop);
//   meter.finish(finish);
class RequestMeter {
 public:
  RequestMeter(Exchange& exchange, std::string_view model);
  RequestMeter(const RequestMeter&) = delete;
  ~RequestMeter();
  void first_delta();                          // of text, reasoning or a call; calls after the first do nothing
  void finish(const Result<Finish>& finish);   // cancelled: a reason or an error that says so

 private:
  Exchange& exchange_;
  bool seen_ = false;
};
