// bench: prefill and decode speed beside the memory bandwidth of the same minute.
#include <fmt/format.h>
#include <algorithm>
#include "app/commands.h"
#include "app/console.h"
#include "app/memory.h"
#include "app/open.h"

namespace {

struct Case {
  bool decode = false;
  int tokens = 0;
  std::vector<double> rates = {};  // tokens/s, one per repetition
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Ids spread over the vocabulary; another run of them in every repetition, so that no cache can help.
std::vector<TokenId> some_ids(int count, int vocabulary, uint32_t seed) {
  std::vector<TokenId> ids;
  for (int i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    ids.push_back(static_cast<TokenId>((seed >> 8) % static_cast<uint32_t>(vocabulary)));
  }
  return ids;
}

// Prefill: prompt tokens over the time to the first token. Decode: tokens after the first over the time they took.
Result<double> time_case(const OpenedModel& model, const Case& test, uint32_t seed) {
  Generation request;
  request.prompt = some_ids(test.decode ? 1 : test.tokens, model.engine->config().vocab_size, seed);
  request.sampling.temperature = 0;
  request.max_tokens = test.decode ? test.tokens : 1;
  request.use_cache = false;
  const double begin = seconds_now();
  double first = 0, last = 0;
  const auto on_token = [&](const TokenEvent& event) {
    last = seconds_now();
    if (event.index == 0) first = last;
    return true;
  };
  TRY(const Finish finish, model.engine->generate(request, on_token));
  (void)finish;
  return test.decode ? (test.tokens - 1) / (last - first) : test.tokens / (first - begin);
}

struct Report {
  std::vector<Case> cases;
  double bytes_per_second = 0;
  size_t bytes_per_token = 0, weight_bytes = 0;
  std::string model, device, architecture;
  Precision precision = Precision::fast;
};

Status measure(const Options& options, const OpenedModel& model, Report& report) {
  BandwidthProbe probe(options.threads);
  ProgressLine line;
  std::vector<double> bandwidth;
  for (Case& test : report.cases) {  // once unmeasured: pages are mapped, kernels chosen
    Case warm{test.decode, std::min(test.tokens, 32)};
    TRY(const double rate, time_case(model, warm, 7));
    (void)rate;
  }
  for (int repetition = 0; repetition < options.repetitions; repetition++) {
    bandwidth.push_back(probe.measure());
    for (Case& test : report.cases) {
      line.show(fmt::format("repetition {} of {}: {} {}", repetition + 1, options.repetitions, test.decode ? "decode" : "prefill", test.tokens));
      TRY(const double rate, time_case(model, test, static_cast<uint32_t>(repetition * 1000 + test.tokens)));
      test.rates.push_back(rate);
    }
  }
  report.bytes_per_second = median(bandwidth);
  return ok_status();
}

Result<Report> bench(const Options& options) {
  Report report;
  for (const int n : options.prompt_sizes.empty() ? std::vector{512} : options.prompt_sizes) report.cases.push_back({false, n});
  for (const int n : options.generate_sizes.empty() ? std::vector{128} : options.generate_sizes) report.cases.push_back({true, n});
  OpenTuning tuning{engine_options(options), false};
  tuning.engine.max_sequences = 1;
  tuning.engine.prefix_cache = false;
  int longest = 0;
  for (const Case& test : report.cases) longest = std::max(longest, test.tokens + 1);
  if (options.context == 0) tuning.engine.context_tokens = longest;
  TRY(const OpenedModel model, open_model(options, tuning));
  if (model.engine->context_tokens() < longest)
    return Error{Code::too_large, fmt::format("cannot measure: {}: {} tokens asked for, the context holds {}", model.file.name, longest, model.engine->context_tokens())};
  report.model = model.file.name;
  report.device = model.device_name;
  report.architecture = model.engine->config().architecture;
  report.precision = options.precision;
  report.weight_bytes = model.weight_bytes;
  for (const PartBytes& part : model.parts) report.bytes_per_token += part.per_token_bytes;
  TRY_STATUS(measure(options, model, report));
  return report;
}

double share_of(const Report& report, const Case& test) {
  return report.bytes_per_second > 0 ? median(test.rates) * static_cast<double>(report.bytes_per_token) / report.bytes_per_second : 0;
}

Json as_json(const Report& r) {
  Json results = Json::array();
  for (const Case& test : r.cases) {
    Json row = {{"test", test.decode ? "decode" : "prefill"}, {"tokens", test.tokens}, {"tokens_per_second", median(test.rates)}, {"all", test.rates}};
    if (test.decode) row["bandwidth_share"] = share_of(r, test);
    results.push_back(row);
  }
  return {{"model", r.model}, {"architecture", r.architecture}, {"device", r.device}, {"precision", r.precision == Precision::exact ? "exact" : "fast"},
          {"weight_bytes", r.weight_bytes}, {"bytes_per_token", r.bytes_per_token}, {"read_bytes_per_second", r.bytes_per_second}, {"results", results}};
}

void print(const Report& r) {
  fmt::print("{} ({}), {}, {} precision, weights {}\n", r.model, r.architecture, r.device, r.precision == Precision::exact ? "exact" : "fast", human_bytes(static_cast<double>(r.weight_bytes)));
  fmt::print("memory reads {}/s; a decoded token reads {} of weights\n\n", human_bytes(r.bytes_per_second), human_bytes(static_cast<double>(r.bytes_per_token)));
  fmt::print("{:8} {:>7} {:>12}   {}\n", "test", "tokens", "tokens/s", "share of bandwidth");
  for (const Case& test : r.cases)
    fmt::print("{:8} {:>7} {:>12.1f}   {}\n", test.decode ? "decode" : "prefill", test.tokens, median(test.rates), test.decode ? fmt::format("{:.0f} %", 100 * share_of(r, test)) : "-");
}

}  // namespace

int bench_command(const Options& options) {
  const auto report = bench(options);
  if (!report) return fail(report.error());
  if (options.json) {
    print_json(as_json(*report));
  } else {
    print(*report);
  }
  return 0;
}
