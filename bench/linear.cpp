// linear: speed of weight matrices times rows of activations, quantising them included, for every ISA of this machine.
// linear [WORD...]: a word is a format, an ISA, a shape (512x2048), `rN` for N rows, `tN` for N threads, `fine` for 16-bit activations
// or `stream` for decoding from memory; without a word of its kind every usual value is run. Prints a line per combination. `share` is
// of this machine's own peak: a loop of nothing but the ISA's integer dot products, run beside each measurement.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include "device/cpu/features.h"
#include "device/cpu/linear_ops.h"
#include "device/matrices.h"

namespace {
using namespace cpu;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// 12 independent chains of the dot product of an ISA, without a memory operand; `products` are multiply-adds of one pass.
struct Peak { void (*loop)(int passes); double products; };
#if defined(__x86_64__)
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CLOBBERED "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define VNNI(n) "vpdpbusd %%zmm13, %%zmm14, %%zmm" #n "\n"
#define MADD(n) "vpmaddubsw %%ymm13, %%ymm14, %%ymm12\n vpaddw %%ymm12, %%ymm" #n ", %%ymm" #n "\n"
void avx512_loop(int passes) {
  for (int i = 0; i < passes; i++) asm volatile(CHAINS(VNNI)::: CLOBBERED);
  asm volatile("vzeroupper");
}
void avx2_loop(int passes) {  // at its best: sums of pairs are widened so rarely that it does not show
  for (int i = 0; i < passes; i++) asm volatile(CHAINS(MADD)::: CLOBBERED);
  asm volatile("vzeroupper");
}
Peak peak_of(std::string_view isa) { return isa == "avx2" ? Peak{avx2_loop, 12 * 32} : Peak{avx512_loop, 12 * 64}; }  // AMX: in units of VNNI
#else
Peak peak_of(std::string_view) { return {}; }
#endif

double peak_tops(const Peak& peak, int threads) {
  if (!peak.loop) return 0;
  constexpr int kPasses = 2000;
  double least = 1;
  for (int i = 0; i < 300; i++) {
    const Clock::time_point begin = Clock::now();
    peak.loop(kPasses);
    least = std::min(least, seconds_since(begin));
  }
  return 2e-12 * peak.products * kPasses / least * threads;
}

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
    return seconds_since(begin);
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

struct Size { int64_t rows, cols; };
struct Filter {
  std::vector<std::string> formats, isas;
  std::vector<Size> shapes;
  std::vector<int64_t> rows;
  std::vector<int> threads;
  bool fine = false, stream = false;

  explicit Filter(std::span<char*> words) {
    for (const std::string word : words) {
      Size s{};
      if (word == "fine") fine = true;
      else if (word == "stream") stream = true;
      else if (find_format(word)) formats.push_back(word);
      else if (std::sscanf(word.c_str(), "%ldx%ld", &s.rows, &s.cols) == 2) shapes.push_back(s);
      else if ((word[0] == 'r' || word[0] == 't') && std::atoi(word.c_str() + 1) > 0) {
        const int n = std::atoi(word.c_str() + 1);
        if (word[0] == 'r') rows.push_back(n);
        else threads.push_back(n);
      } else isas.push_back(word);
    }
    if (formats.empty()) formats = {"Q4_0", "affine4g64", "Q4_K", "Q8_0", "Q6_K"};
    if (shapes.empty()) shapes = stream ? std::vector<Size>{{262144, 2048}} : std::vector<Size>{{2048, 2048}, {512, 2048}, {2048, 512}};
    if (rows.empty()) rows = stream ? std::vector<int64_t>{1, 2, 4, 7} : std::vector<int64_t>{1, 4, 16, 64, 128, 512};
    if (threads.empty()) threads = {1, features().physical_cores};
  }
  bool wants(const IsaEntry& isa) const {
    if (!isa.why_not.empty()) return false;
    return isas.empty() ? std::string_view(isa.name) != "scalar" : std::ranges::find(isas, isa.name) != isas.end();
  }
};
}  // namespace

int main(int argc, char** argv) {
  const Filter filter({argv + 1, static_cast<size_t>(argc - 1)});
  std::printf("%s\n%-12s %11s %-8s %7s %5s %10s %8s %8s %6s %6s\n", features().describe().c_str(), "format", "shape", "isa", "threads", "rows", "us", "TOPS", "peak", "share", "GB/s");
  Team team(features().physical_cores, false);
  for (const std::string& format : filter.formats)
    for (const Size& size : filter.shapes) {
      const TestMatrix m = random_matrix(format, size.rows, size.cols, 1);
      const auto packed = pack({{m.stored}, {}, 1}, team);
      (*packed)->fine = filter.fine;
      for (const IsaEntry& isa : isa_list()) {
        if (!filter.wants(isa)) continue;
        for (const int threads : filter.threads)
          for (const int64_t rows : filter.rows) {
            (*packed)->wide = isa.kernels->wide && !filter.fine;
            const double peak = peak_tops(peak_of(isa.name), threads), t = Bench(**packed, *isa.kernels, rows, threads).best();
            const double tops = 2e-12 * static_cast<double>(size.rows * size.cols * rows) * (filter.fine ? 2 : 1) / t;
            const std::string shape = std::to_string(size.rows) + "x" + std::to_string(size.cols);
            std::printf("%-12s %11s %-8s %7d %5ld %10.1f %8.3f %8.3f %6.3f %6.1f\n", format.c_str(), shape.c_str(), isa.name, threads, static_cast<long>(rows), t * 1e6, tops, peak,
                        peak > 0 ? tops / peak : 0, static_cast<double>((*packed)->bytes) / t * 1e-9);
            std::fflush(stdout);
          }
      }
    }
}
