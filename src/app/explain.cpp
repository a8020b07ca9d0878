// explain: the rules, most telling first. Every sentence rests on a figure that was measured or a fact that the system stated.
#include "app/explain.h"

#include <fmt/format.h>
#include "app/console.h"

namespace {

constexpr double kMemoryBound = 0.7, kComputeBound = 0.45, kSmallModel = 200e6, kWideWeights = 5.5, kMuchState = 0.3;

std::string decode_words(const SpeedFacts& f) {
  const std::string share = fmt::format("{:.0f} % of {}/s", 100 * f.decode_share, human_bytes(f.read_bytes_per_s));
  if (f.decode_share >= kMemoryBound) return "decode is memory-bound at " + share;
  return "decode reads at " + share + ", so that more than memory holds it up";
}

std::string prefill_words(const SpeedFacts& f) {
  const std::string share = fmt::format("{:.0f} % of {:.2f} TOPS ({}, {})", 100 * f.prefill_share, 2e-12 * f.macs_per_s, f.unit, f.isa);
  return (f.prefill_share >= kComputeBound ? "prefill is compute-bound at " : "prefill reaches ") + share;
}

std::string suggest_state(const SpeedFacts& f) { return fmt::format("at {} tokens of context {:.0f} % of the bytes are keys, values and state: a shorter context is faster", f.depth, 100 * f.state_share); }
std::string suggest_fewer_bits(const SpeedFacts& f) { return fmt::format("fewer bytes are the way to more tokens/s: a weight takes {:.1f} bits here, a 4-bit quantisation {:.1f}", f.bits_per_weight, 4.5); }

std::string suggest_for_gpu(const SpeedFacts& f) {
  if (f.exact) return "--precision fast multiplies on tensor cores and keeps keys and values in half the bytes";
  if (f.state_share > kMuchState) return suggest_state(f) + ", and --kv int8 halves those of attention";
  if (f.decode_share >= kMemoryBound && f.bits_per_weight > kWideWeights) return suggest_fewer_bits(f);
  if (f.decode_share >= kMemoryBound) return "one sequence is as fast as this GPU's memory; several at once share what is read";
  if (f.decode_share > 0) return "a decoded token is a chain of short stages that wait for each other (--profile shows them): several sequences at once fill the gaps";
  return "longer prompts fill the GPU better: --profile shows which operations are far from their floor";
}

std::string suggest(const SpeedFacts& f) {
  if (f.gpu()) return suggest_for_gpu(f);
  if (f.swapped_bytes > 0) return human_bytes(static_cast<double>(f.swapped_bytes)) + " of the model were swapped out: close other programs or take a smaller quantisation";
  if (f.foreign_share > kDisturbingShare) return "other programs want these cores too: fewer threads (--threads) may be faster beside them";
  if (f.isa != f.best_isa) return fmt::format("--isa {} was asked for; {} is the best that this machine has", f.isa, f.best_isa);
  if (f.threads < f.physical_cores) return fmt::format("{} of {} cores were left idle: --threads {}", f.physical_cores - f.threads, f.physical_cores, f.physical_cores);
  if (f.threads > f.physical_cores) return fmt::format("{} threads share {} cores: --threads {}", f.threads, f.physical_cores, f.physical_cores);
  if (f.exact) return "--precision fast computes wide matrices with int8 activations and keeps keys and values in half the bytes";
  if (f.huge_pages == "never") return "2 MB pages are off: write madvise to /sys/kernel/mm/transparent_hugepage/enabled";
  if (f.numa_nodes > 1 && f.decode_share > 0 && f.decode_share < kMemoryBound)
    return fmt::format("memory is spread over {} nodes: compare with numactl --interleave=all, and with --cpunodebind=0 --membind=0", f.numa_nodes);
  if (f.state_share > kMuchState) return suggest_state(f);
  if (f.decode_share >= kMemoryBound && f.bits_per_weight > kWideWeights) return suggest_fewer_bits(f);
  if (f.decode_share >= kMemoryBound) return "only faster memory or fewer active weights would help decoding: see that every memory channel has its module";
  if (f.decode_share > 0 && f.bytes_per_token < kSmallModel) return "in a model this small threads wait for each other: compare with fewer (--threads)";
  if (f.prefill_share >= kComputeBound && (f.best_isa == "avx512" || f.best_isa == "avx2")) return fmt::format("this processor has no AMX; {} is its best, so prompts are as fast as its cores", f.best_isa);
  return "nothing on this machine stands out: what is missing is missing in Calla";
}

}  // namespace

Explanation explain(const SpeedFacts& f) {
  Explanation e;
  if (f.decode_share > 0) e.bottleneck = decode_words(f);
  if (f.prefill_share > 0) e.bottleneck += (e.bottleneck.empty() ? "" : "; ") + prefill_words(f);
  if (f.foreign_share > kDisturbingShare && !f.gpu()) e.disturbance = fmt::format("other programs took {:.0f} % of the cores: these figures are disturbed", 100 * f.foreign_share);
  e.suggestion = suggest(f);
  return e;
}
