// bench_measure: runs the cases in turn, each beside a calibration of the same second.
#include <fmt/format.h>
#include "app/bench.h"
#include "app/console.h"

namespace {

constexpr int kWarmRows = 2048;  // of a prompt: more would repeat the same steps

struct Timed { double tokens_per_s = 0; std::vector<TokenId> ids; };

// Prefill: prompt tokens over the time to the first token. Decode: tokens after the first over the time they took, behind a context
// that the prefix cache keeps from one repetition to the next.
Result<Timed> time_case(const OpenedModel& model, const BenchCase& test, const std::function<void(int, int)>& progress) {
  Generation request;
  request.prompt = bench_ids(test.decode ? std::max(1, test.depth) : test.tokens, model.engine->config().vocab_size);
  request.sampling.temperature = 0;
  request.max_tokens = test.decode ? test.tokens : 1;
  request.use_cache = test.decode && test.depth > 1;
  if (request.use_cache) request.snapshot_hints = {test.depth - 1};  // the last token is always computed
  request.progress = progress;
  Timed timed;
  timed.ids.reserve(static_cast<size_t>(request.max_tokens));
  const double begin = seconds_now();
  double first = 0, last = 0;
  const auto on_token = [&](const TokenEvent& event) {
    last = seconds_now();
    if (event.index == 0) first = last;
    timed.ids.push_back(event.id);
    return true;
  };
  TRY(const Finish finish, model.engine->generate(request, on_token));
  (void)finish;
  timed.tokens_per_s = test.decode ? (test.tokens - 1) / (last - first) : test.tokens / (first - begin);
  return timed;
}

std::string words(const BenchCase& test) {
  return test.decode ? fmt::format("decode {} at {}", test.tokens, test.depth) : fmt::format("prefill {}", test.tokens);
}

// Once unmeasured: pages are mapped, kernels and contexts are where the repetitions find them.
Status warm_up(const OpenedModel& model, const BenchReport& report, ProgressLine& line) {
  for (const BenchCase& test : report.cases) {
    BenchCase warm = test;
    warm.tokens = std::min(test.tokens, test.decode ? 8 : kWarmRows);
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

std::vector<TokenId> bench_ids(int count, int vocab_size) {
  std::vector<TokenId> ids(static_cast<size_t>(count));
  for (uint32_t i = 0; TokenId& id : ids) id = static_cast<TokenId>(i++ * 2654435761u % static_cast<uint32_t>(vocab_size));
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
      test.samples.push_back({timed.tokens_per_s, ceilings});
      test.digests.push_back(ids_digest(timed.ids));
    }
  report.foreign_share = foreign.measure();
  report.machine = machine_facts();
  return ok_status();
}
