// bench_report: medians, spreads and shares as a table or as JSON, and the facts that explain them.
#include <fmt/format.h>
#include "app/bench.h"
#include "app/console.h"

namespace {

struct Spread { double low, middle, high; };
Spread spread(const std::vector<double>& values) {
  return values.empty() ? Spread{} : Spread{std::ranges::min(values), median(values), std::ranges::max(values)};
}

std::vector<double> ceilings(const BenchReport& r, double Ceilings::* which) {
  std::vector<double> all;
  for (const BenchCase& test : r.cases)
    for (const BenchSample& s : test.samples) all.push_back(s.ceilings.*which);
  return all;
}

std::string hex(uint64_t digest) { return fmt::format("{:016x}", digest); }
const char* word(const BenchCase& test) { return test.decode ? "decode" : "prefill"; }
const char* word(Precision p) { return p == Precision::exact ? "exact" : "fast"; }
std::string size(double bytes) { return human_bytes(bytes); }

Json spread_json(const std::vector<double>& values) {
  const Spread s = spread(values);
  return {{"median", s.middle}, {"low", s.low}, {"high", s.high}};
}

Json case_json(const BenchReport& r, const BenchCase& test) {
  const Spread s = spread(rates(test));
  Json row = {{"test", word(test)}, {"tokens", test.tokens}, {"depth", test.depth}, {"tokens_per_second", s.middle}, {"low", s.low}, {"high", s.high}, {"all", rates(test)}};
  if (test.decode) {
    row["streams"] = test.streams;
  }
  if (test.decode && test.streams == 1) {
    row["bytes_per_token"] = test.bytes_per_token;
    row["bandwidth_share"] = share_of(test);
    row["weights_bandwidth_share"] = share_of(test) * static_cast<double>(r.weight_bytes_per_token) / test.bytes_per_token;
  } else if (!test.decode) {
    row[r.unit + "_share"] = share_of(test);
  }
  Json digests = Json::array();
  for (const uint64_t digest : test.digests) digests.push_back(hex(digest));
  row["digests"] = digests;
  row["repeats"] = test.repeats();
  return row;
}

}  // namespace

std::vector<double> rates(const BenchCase& test) {
  std::vector<double> all;
  for (const BenchSample& s : test.samples) all.push_back(s.tokens_per_s);
  return all;
}

double share_of(const BenchCase& test) {
  if (test.streams > 1) return 0;
  std::vector<double> shares;
  for (const BenchSample& s : test.samples) {
    const double ceiling = test.decode ? s.ceilings.read_bytes_per_s : s.ceilings.macs_per_s;
    if (ceiling > 0) shares.push_back(s.tokens_per_s * (test.decode ? test.bytes_per_token : test.macs_per_token) / ceiling);
  }
  return median(shares);
}

Explanation explain(const BenchReport& r) {
  SpeedFacts f;
  f.read_bytes_per_s = median(ceilings(r, &Ceilings::read_bytes_per_s));
  f.unit = r.unit;
  f.macs_per_s = median(ceilings(r, &Ceilings::macs_per_s));
  const BenchCase *shallow = nullptr, *deep = nullptr;
  for (const BenchCase& test : r.cases) {
    if (!test.decode) f.prefill_share = std::max(f.prefill_share, share_of(test));
    if (test.decode && test.streams == 1 && (!shallow || test.depth < shallow->depth)) shallow = &test;
    if (test.decode && test.streams == 1 && (!deep || test.depth > deep->depth)) deep = &test;
  }
  f.bytes_per_token = static_cast<double>(r.weight_bytes_per_token);
  if (shallow) f.decode_share = share_of(*shallow);
  if (deep) f.depth = deep->depth, f.state_share = 1 - f.bytes_per_token / deep->bytes_per_token;
  const uint64_t weights = r.macs_per_token + r.head_macs;
  f.bits_per_weight = weights > 0 ? 8 * f.bytes_per_token / static_cast<double>(weights) : 0;
  f.threads = r.threads, f.physical_cores = r.physical_cores, f.numa_nodes = r.machine.numa_nodes;
  f.isa = r.isa, f.best_isa = r.best_isa, f.huge_pages = r.machine.huge_pages;
  f.exact = r.precision == Precision::exact;
  f.foreign_share = r.foreign_share, f.swapped_bytes = r.machine.swapped_bytes;
  return explain(f);
}

Json bench_json(const BenchReport& r) {
  Json results = Json::array();
  for (const BenchCase& test : r.cases) results.push_back(case_json(r, test));
  const Explanation e = explain(r);
  const auto reads = ceilings(r, &Ceilings::read_bytes_per_s), macs = ceilings(r, &Ceilings::macs_per_s);
  return {{"model", r.model}, {"architecture", r.architecture}, {"device", r.device}, {"precision", word(r.precision)},
          {"weight_bytes", r.weight_bytes}, {"bytes_per_token", r.weight_bytes_per_token}, {"state_bytes_per_token", r.state_bytes_per_token},
          {"macs_per_token", r.macs_per_token}, {"head_macs", r.head_macs},
          {"read_bytes_per_second", median(reads)}, {r.unit + "_macs_per_second", median(macs)},
          {"calibration", {{"read_bytes_per_second", spread_json(reads)}, {r.unit + "_macs_per_second", spread_json(macs)}}},
          {"machine", {{"processor", r.machine.processor}, {"isa", r.isa}, {"best_isa", r.best_isa}, {"threads", r.threads}, {"physical_cores", r.physical_cores},
                       {"numa_nodes", r.machine.numa_nodes}, {"huge_pages", r.machine.huge_pages}, {"swapped_bytes", r.machine.swapped_bytes}, {"foreign_share", r.foreign_share}}},
          {"results", results}, {"bottleneck", e.bottleneck}, {"suggestion", e.suggestion}, {"disturbance", e.disturbance}};
}

void print_bench(const BenchReport& r) {
  fmt::print("{} ({}), {}, {} precision, weights {}\n", r.model, r.architecture, r.device, word(r.precision), size(static_cast<double>(r.weight_bytes)));
  if (!r.machine.processor.empty()) fmt::print("{}, {} {}\n", r.machine.processor, r.physical_cores, r.unit == "half" ? "multiprocessors of the GPU" : "cores");
  const Spread reads = spread(ceilings(r, &Ceilings::read_bytes_per_s)), macs = spread(ceilings(r, &Ceilings::macs_per_s));
  fmt::print("calibration: memory reads {}/s ({} to {}), {} {:.2f} TOPS ({:.2f} to {:.2f})\n", size(reads.middle), size(reads.low), size(reads.high), r.unit, 2e-12 * macs.middle, 2e-12 * macs.low,
             2e-12 * macs.high);
  const std::string state = r.state_bytes_per_token > 0 ? ", moves " + size(static_cast<double>(r.state_bytes_per_token)) + " of recurrent state" : "";
  fmt::print("a decoded token reads {} of weights{}; a prompt token takes {:.2f} G multiply-adds\n\n", size(static_cast<double>(r.weight_bytes_per_token)), state,
             1e-9 * static_cast<double>(r.macs_per_token));
  fmt::print("{:7} {:>6} {:>6} {:>5} {:>9}  {:>17}  {:>9}  {:18}  {}\n", "test", "tokens", "depth", "batch", "tokens/s", "low to high", "a token", "share", "ids");
  for (const BenchCase& test : r.cases) {
    const Spread s = spread(rates(test));
    fmt::print("{:7} {:>6} {:>6} {:>5} {:>9.1f}  {:>17}  {:>9}  {:18}  {}\n", word(test), test.tokens, test.depth, test.streams, s.middle, fmt::format("{:.1f} to {:.1f}", s.low, s.high),
               test.decode && test.streams == 1 ? size(test.bytes_per_token) : "-", test.streams > 1 ? "-" : fmt::format("{:.0f} % of {}", 100 * share_of(test), test.decode ? "bandwidth" : r.unit),
               test.repeats() ? hex(test.digests.front()) : "differ");
  }
  const Explanation e = explain(r);
  fmt::print("\n");
  if (!e.disturbance.empty()) fmt::print("{}\n", e.disturbance);
  fmt::print("{}\n{}\n", e.bottleneck, e.suggestion);
}
