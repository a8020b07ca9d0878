// bench: prefill and decode speed beside what the memory and the multipliers of this machine could do in the same seconds.
#include "app/bench.h"

#include <fmt/format.h>
#include "app/commands.h"
#include "app/console.h"

namespace {

std::vector<BenchCase> planned_cases(const Options& options) {
  std::vector<BenchCase> cases;
  for (const int n : options.prompt_sizes)
    if (n > 0) cases.push_back({false, n});
  for (const int streams : options.streams)
    for (const int depth : options.depths)
      for (const int n : options.generate_sizes)
        if (n > 0) cases.push_back({true, n, depth, streams});
  return cases;
}

void describe(const Options& options, const OpenedModel& model, BenchReport& report) {
  report.model = model.file.name;
  report.device = model.device_name;
  report.architecture = model.engine->config().architecture;
  report.precision = options.precision;
  report.weight_bytes = model.weight_bytes;
  report.state_bytes_per_token = static_cast<size_t>(model.state.bytes_at(0));
  for (const PartBytes& part : model.parts) {
    report.weight_bytes_per_token += part.per_token_bytes;
    (part.head ? report.head_macs : report.macs_per_token) += part.macs;
  }
  for (BenchCase& test : report.cases) {  // a prompt needs the head for its last token only
    test.bytes_per_token = static_cast<double>(report.weight_bytes_per_token) + model.state.bytes_at(test.depth + test.tokens / 2.0);
    test.macs_per_token = static_cast<double>(report.macs_per_token) + static_cast<double>(report.head_macs) / test.tokens;
  }
}

Result<BenchReport> bench(const Options& options) {
  BenchReport report;
  report.cases = planned_cases(options);
  if (report.cases.empty()) return Error{Code::invalid_request, "cannot measure: -p 0 and -n 0 leave nothing to time"};
  int longest = 0, most = 1;
  for (const BenchCase& test : report.cases) longest = std::max(longest, test.depth + test.tokens + 1), most = std::max(most, test.streams);
  OpenTuning tuning{engine_options(options), false};
  tuning.engine.max_sequences = 2 * most;  // room beside what runs for the contexts that are kept
  tuning.engine.snapshot_every_tokens = 0;  // and none for others
  if (options.context == 0) tuning.engine.context_tokens = longest;
  TRY(const OpenedModel model, open_model(options, tuning));
  if (model.engine->context_tokens() < longest)
    return Error{Code::too_large, fmt::format("cannot measure: {}: {} tokens asked for, the context holds {}", model.file.name, longest, model.engine->context_tokens())};
  describe(options, model, report);
  TRY_STATUS(measure_cases(options, model, report));
  return report;
}

}  // namespace

int bench_command(const Options& options) {
  const auto report = bench(options);
  if (!report) return fail(report.error());
  if (options.json) {
    print_json(bench_json(*report));
  } else {
    print_bench(*report);
  }
  if (std::ranges::all_of(report->cases, &BenchCase::repeats)) return 0;
  return fail({Code::internal, "measured, but the generated ids are not the same in every repetition: " + report->model + ": see the digests"});
}
