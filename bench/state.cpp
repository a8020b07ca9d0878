// state: speed of attention and of the delta rule at the shapes of Qwen3.6-35B-A3B, for every ISA of this machine.
// state [threads]: a line per ISA and case with GFLOP/s, share of the ISA's measured multiply-add peak, and GB/s of state read.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <random>
#include "device/cpu/features.h"
#include "device/cpu/state_ops.h"

namespace {
using namespace cpu;

// Seconds of this thread's own work, so that a busy machine does not count; with more threads, of the wall clock.
bool own_time = true;
double now() {
  timespec t;
  clock_gettime(own_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::vector<float> noise(int64_t n) {
  std::mt19937 random(1);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = static_cast<float>(random() % 2001) / 1000 - 1;
  return x;
}

// GFLOP/s of twelve independent chains of multiply-adds in registers (asm: needs no compiler flag).
#define CHAIN(reg, n) "vfmadd213ps %%" reg "13, %%" reg "12, %%" reg n "\n"
#define CHAINS(reg) \
  CHAIN(reg, "0") CHAIN(reg, "1") CHAIN(reg, "2") CHAIN(reg, "3") CHAIN(reg, "4") CHAIN(reg, "5") CHAIN(reg, "6") CHAIN(reg, "7") CHAIN(reg, "8") CHAIN(reg, "9") CHAIN(reg, "10") CHAIN(reg, "11")
#define CLOBBERS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13"
double peak(bool wide) {
  double best = 0;
  for (int run = 0; run < 20; run++) {
    constexpr int kTimes = 100000;
    const double begin = now();
    asm volatile("vzeroall" ::: CLOBBERS);
    for (int i = 0; i < kTimes; i++) {
      if (wide) asm volatile(CHAINS("zmm") ::: CLOBBERS);
      else asm volatile(CHAINS("ymm") ::: CLOBBERS);
    }
    asm volatile("vzeroall" ::: CLOBBERS);
    best = std::max(best, 12.0 * kTimes * (wide ? 32 : 16) * 1e-9 / (now() - begin));
  }
  return best;
}

struct Bench {
  State state;
  Team team;
  Step step;
  std::vector<std::vector<float>> scratch;
  explicit Bench(int threads) : team(threads, false), step(threads), scratch(static_cast<size_t>(threads)) {}
  void allocate(const StateSpec& spec, StatePlan plan, bool int8) {
    if (!state.allocate({&spec, 1}, plan, int8 ? CacheType::int8 : CacheType::half)) std::exit(1);
    for (auto& s : scratch) s.resize(static_cast<size_t>(state_scratch_floats({&spec, 1})));
  }
  template <class Record> double best(const Kernels& kernels, Record&& record) {  // of at least three runs and 0.3 s
    double least = 1e9, total = 0;
    for (int i = 0; i < 3 || total < 0.3; i++) {
      step.reset();
      record();
      const double begin = now();
      step.replay(team, kernels, scratch);
      const double t = (now() - begin);
      least = std::min(least, t), total += t;
    }
    return least;
  }
};

void attention(const IsaEntry& isa, double peak, int threads, int n_kv, int heads, int dim, int past, int rows, bool int8) {
  Bench bench(threads);
  StateSpec spec;
  spec.kind = StateSpec::Kind::paged_kv;
  spec.n_kv_heads = n_kv, spec.key_dim = dim, spec.value_dim = dim;
  const int total = past + rows, n_pages = (total + 31) / 32;
  bench.allocate(spec, {n_pages, 32, 0}, int8);
  std::vector<int32_t> pages(static_cast<size_t>(n_pages));
  std::iota(pages.begin(), pages.end(), 0);
  std::vector<float> k = noise(int64_t{total} * n_kv * dim), q = noise(int64_t{rows} * n_kv * heads * dim), out(q.size());
  std::vector<TokenId> ids(static_cast<size_t>(total));
  const SequenceRows all[] = {{0, total, 0, pages.data(), 0}}, last[] = {{0, rows, past, pages.data(), 0}};
  const Tensor keys{k.data(), {total, n_kv, dim}}, query{q.data(), {rows, n_kv * heads, dim}};
  bench.step.reset();
  record_append(bench.step, bench.state, {0}, keys, keys, Batch{ids, {}, all, {}});
  bench.step.replay(bench.team, *isa.kernels, bench.scratch);
  const double t = bench.best(*isa.kernels, [&] {
    record_attention(bench.step, bench.state, {0}, query, Batch{std::span(ids).first(static_cast<size_t>(rows)), {}, last, {}}, {0.0625f, 0, true}, out.data());
  });
  const double pairs = static_cast<double>(rows) * past + 0.5 * rows * (rows + 1.0), gflops = pairs * n_kv * heads * dim * 4 / t * 1e-9;
  const double bytes = static_cast<double>(total) * n_kv * (int8 ? 2 * dim + 8 : 4 * dim);
  std::printf("%-7s attention %-4s dim %3d, heads %dx%d, past %5d, rows %4d: %9.1f us %7.1f GFLOP/s %5.1f %% of peak %6.1f GB/s\n", isa.name, int8 ? "int8" : "half", dim, n_kv, heads,
              past, rows, t * 1e6, gflops, gflops / peak / threads * 100, bytes / t * 1e-9);
  std::fflush(stdout);
}

void delta(const IsaEntry& isa, double peak, int threads, int rows) {
  constexpr int kKeyHeads = 16, kHeads = 32, kDim = 128, kWidth = 2 * kKeyHeads * kDim + kHeads * kDim;
  Bench bench(threads);
  StateSpec spec;
  spec.kind = StateSpec::Kind::recurrent;
  spec.conv_channels = kWidth, spec.conv_kernel = 4, spec.n_heads = kHeads, spec.head_key_dim = kDim, spec.head_value_dim = kDim;
  bench.allocate(spec, {0, 32, 1}, false);
  std::vector<float> qkv = noise(int64_t{rows} * kWidth), gates = noise(int64_t{rows} * kHeads), heads = noise(kHeads), out(static_cast<size_t>(rows) * kHeads * kDim), taps = noise(4 * kWidth);
  for (float& x : heads) x = -0.1f;
  const SequenceRows sequence[] = {{0, rows, 0, nullptr, 0}};
  const std::vector<TokenId> ids(static_cast<size_t>(rows));
  const double t = bench.best(*isa.kernels, [&] {
    record_delta_block(bench.step, bench.state, {0}, {qkv.data(), qkv.data(), gates.data(), gates.data(), taps.data(), heads.data(), heads.data(), qkv.data(), 1e-6f}, {kKeyHeads, kHeads, kDim, kDim, false}, Batch{ids, {}, sequence, {}}, out.data());
  });
  const double gflops = 6.0 * rows * kHeads * kDim * kDim / t * 1e-9;  // read, write, query
  std::printf("%-7s delta rows %4d: %9.1f us, %6.2f us a row, %7.1f GFLOP/s %5.1f %% of peak\n", isa.name, rows, t * 1e6, t * 1e6 / rows, gflops, gflops / peak / threads * 100);
  std::fflush(stdout);
}
}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  own_time = threads == 1;
  std::printf("%s\n", features().describe().c_str());
  for (const IsaEntry& isa : isa_list()) {
    if (!isa.why_not.empty() || (std::strcmp(isa.name, "avx512") != 0 && std::strcmp(isa.name, "avx2") != 0)) continue;
    const double most = peak(std::strcmp(isa.name, "avx512") == 0);
    std::printf("%s: peak %.1f GFLOP/s a thread\n", isa.name, most);
    for (const int past : {512, 4096, 32768}) attention(isa, most, threads, 2, 8, 256, past, 1, false);
    attention(isa, most, threads, 2, 8, 256, 4096, 4, false);
    for (const int past : {0, 4096}) attention(isa, most, threads, 2, 8, 256, past, 512, false);
    attention(isa, most, threads, 3, 3, 64, 512, 512, false);
    attention(isa, most, threads, 3, 3, 64, 512, 1, false);
    for (const int rows : {1, 16, 512}) delta(isa, most, threads, rows);
  }
}
