// metrics: the counters behind Metrics, and their text.
#include "wire/metrics.h"

#include <algorithm>
#include <fmt/format.h>
#include "wire/exchange.h"

namespace {

// In seconds: from a cached prompt of a small model to a long one read by a slow machine.
constexpr double first_token_bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 640};
constexpr double per_token_bounds[] = {0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5};

struct Gauge {
  const char* name;
  const char* type;
  const char* help;
  uint64_t (*value)(const ModelStats&);
};
constexpr Gauge gauges[] = {
    {"calla_model_up", "gauge", "1 while the model answers, 0 when its device has failed.", [](const ModelStats& s) -> uint64_t { return s.fault.empty(); }},
    {"calla_model_weight_bytes", "gauge", "Memory of the weights.", [](const ModelStats& s) -> uint64_t { return s.weight_bytes; }},
    {"calla_model_state_bytes", "gauge", "Memory of running sequences: pages and recurrent states.", [](const ModelStats& s) -> uint64_t { return s.state_bytes; }},
    {"calla_model_cache_bytes", "gauge", "Memory of the prefix cache.", [](const ModelStats& s) -> uint64_t { return s.cache_bytes; }},
    {"calla_model_cache_disk_bytes", "gauge", "Disk space of the prefix cache.", [](const ModelStats& s) -> uint64_t { return s.cache_disk_bytes; }},
    {"calla_model_snapshots", "gauge", "Recurrent states kept in the prefix cache.", [](const ModelStats& s) -> uint64_t { return s.snapshots; }},
    {"calla_model_running", "gauge", "Sequences being computed.", [](const ModelStats& s) { return static_cast<uint64_t>(std::max(0, s.running)); }},
    {"calla_model_waiting", "gauge", "Sequences that wait for a place.", [](const ModelStats& s) { return static_cast<uint64_t>(std::max(0, s.waiting)); }},
    {"calla_model_preemptions_total", "counter", "Sequences put aside for others.", [](const ModelStats& s) -> uint64_t { return s.preemptions; }},
};

// A label's value with what the format gives a meaning escaped.
std::string label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

template <class T> void single(std::string& out, std::string_view name, std::string_view type, std::string_view help, T value) {
  head(out, name, type, help);
  out += fmt::format("{} {}\n", name, value);
}

}  // namespace

void Histogram::observe(double value) {
  ++counts_[static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin())];
  sum_ += value;
}

void Histogram::append(std::string& out, std::string_view name, std::string_view help) const {
  head(out, name, "histogram", help);
  uint64_t below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf", below);
  }
  out += fmt::format("{0}_sum {1}\n{0}_count {2}\n", name, sum_, below);
}

Metrics::Metrics() : first_token_s_(first_token_bounds), per_token_s_(per_token_bounds) {}

void Metrics::answered(std::string_view endpoint, int status) {
  const std::lock_guard lock(mutex_);
  ++answered_[{std::string(endpoint), status}];
}

void Metrics::first_token(double seconds) {
  const std::lock_guard lock(mutex_);
  first_token_s_.observe(seconds);
}

void Metrics::finished(const Result<Finish>& finish) {
  const std::lock_guard lock(mutex_);
  if (finish ? finish->reason == Finish::Reason::cancelled : finish.error().code == Code::cancelled) ++cancelled_;
  if (!finish) return;
  const auto count = [](int tokens) { return static_cast<uint64_t>(std::max(0, tokens)); };
  prefilled_ += count(finish->prompt_tokens - finish->cached_tokens);
  cached_ += count(finish->cached_tokens);
  generated_ += count(finish->completion_tokens);
  if (finish->completion_tokens > 0 && finish->decode_s > 0) per_token_s_.observe(finish->decode_s / finish->completion_tokens);
}

std::string Metrics::text(const std::vector<ModelStats>& models) const {
  int waiting = 0;
  for (const ModelStats& stats : models) waiting += stats.waiting;
  std::string out;
  single(out, "calla_requests_running", "gauge", "Answers being computed.", std::max(0, open_ - waiting));
  single(out, "calla_requests_queued", "gauge", "Answers that wait for a place.", waiting);
  {
    const std::lock_guard lock(mutex_);
    head(out, "calla_requests_total", "counter", "Requests answered.");
    for (const auto& [key, count] : answered_) {
      out += fmt::format("calla_requests_total{{endpoint=\"{}\",status=\"{}\"}} {}\n", label(key.first), key.second, count);
    }
    single(out, "calla_requests_cancelled_total", "counter", "Answers cancelled, by a client that left or by the server.", cancelled_);
    single(out, "calla_tokens_prefilled_total", "counter", "Prompt tokens computed.", prefilled_);
    single(out, "calla_tokens_generated_total", "counter", "Tokens sampled.", generated_);
    single(out, "calla_cache_hit_tokens_total", "counter", "Prompt tokens taken from the prefix cache.", cached_);
    first_token_s_.append(out, "calla_time_to_first_token_seconds", "From a whole request to the first piece of its answer.");
    per_token_s_.append(out, "calla_time_per_token_seconds", "Mean time between two tokens of an answer.");
  }
  for (const Gauge& gauge : gauges) {
    if (models.empty()) break;
    head(out, gauge.name, gauge.type, gauge.help);
    for (const ModelStats& stats : models) out += fmt::format("{}{{model=\"{}\"}} {}\n", gauge.name, label(stats.model), gauge.value(stats));
  }
  return out;
}

RequestMeter::RequestMeter(Exchange& exchange, std::string_view model) : exchange_(exchange) {
  exchange_.note(model);
  exchange_.metrics().begin();
}

RequestMeter::~RequestMeter() { exchange_.metrics().end(); }

void RequestMeter::first_delta() {
  if (std::exchange(seen_, true)) return;
  exchange_.metrics().first_token(std::chrono::duration<double>(Clock::now() - exchange_.started()).count());
}

void RequestMeter::finish(const Result<Finish>& finish) {
  exchange_.metrics().finished(finish);
  if (finish) exchange_.note(*finish);
}
