// bench: what is timed and what came of it, shared by the measuring and the reporting half.
#pragma once
#include <algorithm>
#include "app/explain.h"
#include "app/machine.h"
#include "app/open.h"
#include "core/json_writer.h"

struct BenchSample { double tokens_per_s = 0; Ceilings ceilings; };  // with what the machine could do right before
struct BenchCase {
  bool decode = false;
  int tokens = 0, depth = 0;             // decode: generated behind `depth` tokens of context
  int streams = 1;                       // decode: so many sequences at once, each generates `tokens`
  double bytes_per_token = 0;            // decode: weights, state, and keys and values at this depth
  double macs_per_token = 0;             // prefill
  std::vector<BenchSample> samples = {}; // one per repetition
  std::vector<uint64_t> digests = {};    // of the generated ids
  bool repeats() const { return std::ranges::all_of(digests, [&](uint64_t d) { return d == digests.front(); }); }
};

struct BenchReport {
  std::vector<BenchCase> cases;
  std::string model, device, architecture, unit, isa, best_isa;
  Precision precision = Precision::fast;
  size_t weight_bytes = 0, weight_bytes_per_token = 0, state_bytes_per_token = 0;  // state: at no context
  uint64_t macs_per_token = 0, head_macs = 0;
  int threads = 1, physical_cores = 1;
  MachineFacts machine;
  double foreign_share = 0;
};

double median(std::vector<double> values);
std::vector<TokenId> bench_ids(int count, int vocab_size, uint32_t first = 0);  // Lily's: (i * 2654435761 mod 2^32) mod vocabulary, i from `first` on
uint64_t ids_digest(std::span<const TokenId> ids);                     // FNV-1a, 64 bits
Status measure_cases(const Options& options, const OpenedModel& model, BenchReport& report);

// Of one case: the tokens/s of its samples, all streams together, and the median share of the ceiling that holds it (0: none known; nor is
// one for several streams, which share what is read).
std::vector<double> rates(const BenchCase& test);
double share_of(const BenchCase& test);
Explanation explain(const BenchReport& report);
Json bench_json(const BenchReport& report);
void print_bench(const BenchReport& report);
