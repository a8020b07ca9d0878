// pack: how fast stored matrices become tiles, in bytes of the file per second of processor time, beside a plain copy of the same bytes.
//   bench_pack [THREADS]
#include <cstdio>
#include <ctime>
#include "device/cpu/slabs.h"
#include "device/cpu/team.h"
#include "device/packed_bytes.h"

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  cpu::Team team(threads, false);
  const auto best_of = [](auto&& work) {
    double best = 1e30;
    for (int i = 0; i < 5; i++) {
      const std::clock_t begin = std::clock();
      work();
      best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return best;
  };
  std::printf("%-12s %10s %10s   GB/s of one of %d threads\n", "format", "pack", "copy", threads);
  for (const std::string& name : weight_formats()) {
    const TestMatrix m = integer_matrix(name, 8192, 4096, 1);
    const double bytes = static_cast<double>(m.codes.size() + m.scale.size() + m.bias.size()) / 1e9;
    const double pack = best_of([&] { if (!cpu::pack({{m.stored}, {}, 1}, team)) std::abort(); });
    const double copy = best_of([&] {  // into fresh pages, as packing does
      cpu::Slabs slabs;
      const auto to = slabs.take(m.codes.size());
      const size_t share = m.codes.size() / static_cast<size_t>(threads);
      team.run([&](int member) { std::memcpy(to.get() + share * static_cast<size_t>(member), m.codes.data() + share * static_cast<size_t>(member), share); });
    });
    std::printf("%-12s %10.2f %10.2f\n", name.c_str(), bytes / pack, static_cast<double>(m.codes.size()) / 1e9 / copy);
  }
}
