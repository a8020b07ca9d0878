// linear: speed of one weight matrix times rows of activations, quantising them included, for every ISA of this machine.
// linear [threads...]: prints a line per format, ISA, thread count and number of rows.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include "device/cpu/features.h"
#include "device/cpu/linear_ops.h"
#include "device/matrices.h"

namespace {
using namespace cpu;
using Clock = std::chrono::steady_clock;

struct Bench {
  const PackedMatrix& w;
  const Kernels& kernels;
  std::vector<float> x, y;
  int64_t rows;
  Team team;
  Step step;
  std::vector<std::vector<float>> scratch;

  Bench(const PackedMatrix& matrix, const Kernels& k, int64_t n, int threads)
      : w(matrix), kernels(k), x(static_cast<size_t>(n * w.cols)), y(static_cast<size_t>(n * w.rows)), rows(n), team(threads, false),
        step(threads), scratch(static_cast<size_t>(threads), std::vector<float>(1024)) {
    std::mt19937 random(1);
    for (float& v : x) v = static_cast<float>(random() % 2001) / 1000 - 1;
  }
  double once() {
    step.reset();
    const PackedMatrix* const all[] = {&w};
    const LinearTarget target[] = {{&w, y.data(), nullptr}};
    const Inputs in = prepare_inputs(step, x.data(), rows, w.cols, all, false);
    record_linears(step, in, target, false);
    const Clock::time_point begin = Clock::now();
    step.replay(team, kernels, scratch);
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  double best() {  // of at least five runs and a quarter of a second
    double least = once(), total = 0;
    for (int i = 0; i < 5 || total < 0.25; i++) {
      const double t = once();
      least = std::min(least, t);
      total += t;
    }
    return least;
  }
};
}  // namespace

int main(int argc, char** argv) {
  constexpr int64_t kSize = 2048;
  std::vector<int> threads;
  for (int i = 1; i < argc; i++) threads.push_back(std::max(1, std::atoi(argv[i])));
  if (threads.empty()) threads = {1, features().physical_cores};
  std::printf("%s\n%-12s %-8s %7s %5s %10s %8s\n", features().describe().c_str(), "format", "isa", "threads", "rows", "us", "TOPS");
  Team team(features().physical_cores, false);
  for (const char* format : {"Q4_0", "affine4g64", "Q4_K", "Q8_0", "Q6_K"}) {
    const TestMatrix m = random_matrix(format, kSize, kSize, 1);
    const auto packed = pack({{m.stored}, {}, 1}, team);
    for (const IsaEntry& isa : isa_list()) {
      if (!isa.why_not.empty() || std::string_view(isa.name) == "scalar") continue;
      for (const int n_threads : threads)
        for (const int64_t rows : {1, 16, 128, 512, 4096}) {
          const double t = Bench(**packed, *isa.kernels, rows, n_threads).best();
          std::printf("%-12s %-8s %7d %5lld %10.1f %8.3f\n", format, isa.name, n_threads, static_cast<long long>(rows), t * 1e6, 2e-12 * kSize * kSize * static_cast<double>(rows) / t);
          std::fflush(stdout);
        }
    }
  }
}
