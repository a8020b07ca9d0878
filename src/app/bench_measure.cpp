// bench_measure: runs the cases in turn, each beside a calibration of the same second.
#include <fmt/format.h>
#include <future>
#include <limits>
#include "app/bench.h"
#include "app/console.h"

namespace {

constexpr int kWarmRows = 2048;   // of a prompt: more would repeat the same steps
constexpr int kWarmTokens = 32;   // of an answer: enough for all streams to run side by side

struct Timed { double tokens_per_s = 0; std::vector<TokenId> ids; };

struct Stream {
  std::vector<TokenId> ids;
  std::vector<double> seconds;  // when each of them came
  Status status = ok_status();
};

Generation request_of(const OpenedModel& model, const BenchCase& test, int stream) {
  Generation request;
  const int length = test.decode ? std::max(1, test.depth) : test.tokens;
  request.prompt = bench_ids(length, model.engine->config().vocab_size, static_cast<uint32_t>(stream) * 4093u);
  request.sampling.temperature = 0;
  request.max_tokens = test.decode ? test.tokens : 1;
  request.use_cache = test.decode && test.depth > 1;
  if (request.use_cache) request.snapshot_hints = {test.depth - 1};  // the last token is always computed
  request.keep_end = false;  // contexts stay cached, what is generated behind them would push them out
  return request;
}

Stream run_stream(const OpenedModel& model, const Generation& request) {
  Stream stream;
  stream.ids.reserve(static_cast<size_t>(request.max_tokens)), stream.seconds.reserve(static_cast<size_t>(request.max_tokens));
  const auto finish = model.engine->generate(request, [&](const TokenEvent& event) {
    stream.seconds.push_back(seconds_now());
    stream.ids.push_back(event.id);
    return true;
  });
  if (!finish) stream.status = finish.error();
  return stream;
}

// Tokens of all streams between the moment when the last one has begun and that when the first one has ended.
double rate_together(const std::vector<Stream>& streams) {
  double begin = 0, end = std::numeric_limits<double>::infinity();
  for (const Stream& s : streams) begin = std::max(begin, s.seconds.front()), end = std::min(end, s.seconds.back());
  std::ptrdiff_t tokens = 0;
  for (const Stream& s : streams) tokens += std::ranges::count_if(s.seconds, [&](double t) { return t > begin && t <= end; });
  return end > begin ? static_cast<double>(tokens) / (end - begin) : 0;
}

// Each context alone, so that none is read while other streams decode already: all of them begin in the same few steps.
Status read_contexts(const OpenedModel& model, std::span<const Generation> requests) {
  for (Generation request : requests) {
    if (!request.use_cache) continue;
    request.max_tokens = 1;
    TRY_STATUS(run_stream(model, request).status);
  }
  return ok_status();
}

// Prefill: prompt tokens over the time to the first token. Decode: tokens after the first over the time they took, behind contexts that the
// prefix cache keeps from one repetition to the next.
Result<Timed> time_case(const OpenedModel& model, const BenchCase& test, const std::function<void(int, int)>& progress) {
  std::vector<Generation> requests;
  for (int i = 0; i < test.streams; i++) requests.push_back(request_of(model, test, i));
  requests.front().progress = progress;
  if (test.streams > 1) TRY_STATUS(read_contexts(model, requests));
  const double begin = seconds_now();
  std::vector<std::future<Stream>> others;
  for (size_t i = 1; i < requests.size(); i++) others.push_back(std::async(std::launch::async, [&, i] { return run_stream(model, requests[i]); }));
  std::vector<Stream> streams{run_stream(model, requests.front())};
  for (auto& other : others) streams.push_back(other.get());
  Timed timed;
  for (const Stream& s : streams) {
    TRY_STATUS(s.status);
    timed.ids.insert(timed.ids.end(), s.ids.begin(), s.ids.end());
  }
  timed.tokens_per_s = test.decode ? rate_together(streams) : test.tokens / (streams.front().seconds.front() - begin);
  return timed;
}

std::string words(const BenchCase& test) {
  if (!test.decode) return fmt::format("prefill {}", test.tokens);
  return fmt::format("decode {} at {}{}", test.tokens, test.depth, test.streams > 1 ? fmt::format(", {} at once", test.streams) : "");
}

// Once unmeasured: pages are mapped, kernels and contexts are where the repetitions find them.
Status warm_up(const OpenedModel& model, const BenchReport& report, ProgressLine& line) {
  for (const BenchCase& test : report.cases) {
    BenchCase warm = test;
    warm.tokens = std::min(test.tokens, test.decode ? kWarmTokens : kWarmRows);
    line.show("preparing: " + words(test));
    TRY(const Timed timed, time_case(model, warm, [&](int done, int total) { line.show(fmt::format("preparing: {}: {} of {}", words(test), done, total)); }));
    (void)timed;
  }
  return ok_status();
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<TokenId> bench_ids(int count, int vocab_size, uint32_t first) {
  std::vector<TokenId> ids(static_cast<size_t>(count));
  for (uint32_t i = first; TokenId& id : ids) id = static_cast<TokenId>(i++ * 2654435761u % static_cast<uint32_t>(vocab_size));
  return ids;
}

uint64_t ids_digest(std::span<const TokenId> ids) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const TokenId id : ids)
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ (static_cast<uint32_t>(id) >> shift & 255)) * 0x100000001b3u;
  return hash;
}

Status measure_cases(const Options& options, const OpenedModel& model, BenchReport& report) {
  TRY(const auto calibration, make_calibration(device_options(options)));
  report.unit = calibration->unit, report.isa = calibration->isa, report.best_isa = calibration->best_isa;
  report.threads = calibration->threads, report.physical_cores = calibration->physical_cores;
  ProgressLine line;
  TRY_STATUS(warm_up(model, report, line));
  const ForeignShare foreign;
  for (int repetition = 1; repetition <= options.repetitions; repetition++)
    for (BenchCase& test : report.cases) {
      line.show(fmt::format("repetition {} of {}: {}", repetition, options.repetitions, words(test)));
      const Ceilings ceilings = calibration->measure();
      TRY(const Timed timed, time_case(model, test, {}));
      if (timed.tokens_per_s == 0)
        return Error{Code::invalid_request, fmt::format("cannot measure {} sequences at once: the first ended before the last began; generate more than {} tokens", test.streams, test.tokens)};
      test.samples.push_back({timed.tokens_per_s, ceilings});
      test.digests.push_back(ids_digest(timed.ids));
    }
  report.foreign_share = foreign.measure();
  report.machine = machine_facts();
  return ok_status();
}
