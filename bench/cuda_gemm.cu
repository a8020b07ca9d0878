// cuda_gemm: the matrix products of prefill against double precision on odd and real shapes, then their speed. `cuda_gemm [check|time]`, both without a word.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include "device/cuda/gemm.h"
#include "device/cuda/halves.h"

namespace cuda {
namespace {

void must(cudaError_t code, const char* what, int line) {
  if (code == cudaSuccess) return;
  std::printf("line %d: %s: %s\n", line, what, cudaGetErrorString(code));
  std::exit(1);
}
#define MUST(call) must(call, #call, __LINE__)

struct Random {
  uint64_t state = 1;
  uint64_t bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9, z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  float unit() { return static_cast<float>(bits() >> 40) / (1 << 24); }
  float signed_unit() { return 2 * unit() - 1; }
};
Random random_;

// Device memory of the process's life, poisoned: whatever is not written is not a number.
template <class T> T* fresh(size_t n, const T* from = nullptr) {
  T* data = nullptr;
  MUST(cudaMalloc(&data, std::max<size_t>(n, 1) * sizeof(T)));
  if (from) MUST(cudaMemcpy(data, from, n * sizeof(T), cudaMemcpyHostToDevice));
  else MUST(cudaMemset(data, 0xff, n * sizeof(T)));
  return data;
}
template <class T> std::vector<T> fetch(const T* data, size_t n) {
  std::vector<T> out(n);
  MUST(cudaMemcpy(out.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
  return out;
}

uint16_t half_bits(float v) { return __half_as_ushort(__float2half_rn(v)); }
float half_value(uint16_t v) { return __half2float(__ushort_as_half(v)); }
float bf16_value(uint16_t v) {
  const uint32_t bits = static_cast<uint32_t>(v) << 16;
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint16_t bf16_bits(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  return static_cast<uint16_t>(bits >> 16);
}

// A matrix of random bytes in the form strips.h describes, and its numbers.
struct Sample {
  std::vector<uint8_t> bytes;
  Strips strips;

  Sample(StripLayout layout, int rows, int cols, int experts) {
    strips.layout = layout;
    strips.rows = rows, strips.cols = cols, strips.blocks = (cols + 63) / 64, strips.strips = (rows + 15) / 16;
    const int block = block_bytes(layout.codes, layout.scales, layout.groups), scales = scale_bytes(layout.scales, layout.groups);
    strips.strip_bytes = int64_t{block} * strips.blocks, strips.expert_bytes = strips.strip_bytes * strips.strips;
    strips.factor = 0.5f, strips.unit = 64;
    bytes.resize(static_cast<size_t>(strips.expert_bytes * experts));
    for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      const uint64_t v = random_.bits();
      std::memcpy(&bytes[i], &v, 8);
    }
    for (int64_t b = 0; b < strips.expert_bytes * experts / block; b++) {
      uint8_t* at = bytes.data() + b * block;
      const int k = static_cast<int>(b % strips.blocks) * 64, strip = static_cast<int>(b / strips.blocks) % strips.strips;
      for (int row = 0; row < 16; row++) write_scales(at, row, strip * 16 + row < rows, k);
      if (layout.codes == Codes::f16)
        for (int i = 0; i < 1024; i++) {
          const int slab = i / 256, lane = i % 256 / 8, reg = i % 8 / 2, input = k + 16 * slab + 2 * (lane % 4) + 8 * (reg / 2) + i % 2, row = strip * 16 + lane / 4 + 8 * (reg % 2);
          const uint16_t v = row < rows && input < cols ? half_bits(random_.signed_unit()) : 0;
          std::memcpy(at + scales + 2 * i, &v, 2);
        }
    }
    strips.data = fresh(bytes.size(), bytes.data());
  }

  void write_scales(uint8_t* at, int row, bool exists, int k) {
    const StripLayout& l = strips.layout;
    const int r = row % 8, hi = row / 8;
    const auto put = [&](int offset, float v) {
      const uint16_t bits = l.scales == Scales::bf16_min ? bf16_bits(v) : half_bits(v);
      std::memcpy(at + offset, &bits, 2);
    };
    for (int g = 0; g < l.groups; g++) {
      const bool is = exists && k + g * (64 / l.groups) < strips.cols;
      const float scale = is ? (0.2f + random_.unit()) / 100 * (random_.bits() & 1 ? 1 : -1) : 0, min = is ? random_.signed_unit() / 20 : 0;
      switch (l.scales) {
        case Scales::none: break;
        case Scales::f16: put(32 * g + 4 * r + 2 * hi, scale); break;
        case Scales::f16_min: case Scales::bf16_min: put(64 * g + 8 * r + 2 * hi, scale), put(64 * g + 8 * r + 4 + 2 * hi, min); break;
        case Scales::f32_min: std::memcpy(at + 128 * g + 16 * r + 4 * hi, &scale, 4), std::memcpy(at + 128 * g + 16 * r + 8 + 4 * hi, &min, 4); break;
        case Scales::super:
          put(4 * r + 2 * hi, scale / 30);
          at[32 + 16 * g + 2 * r + hi] = is ? static_cast<uint8_t>(static_cast<int>(random_.bits() % 64) - 32) : 0;
          break;
        case Scales::super_min:
          put(8 * r + 2 * hi, scale / 30), put(8 * r + 4 + 2 * hi, min / 30);
          at[64 + 32 * g + 4 * r + hi] = is ? random_.bits() % 64 : 0, at[64 + 32 * g + 4 * r + 2 + hi] = is ? random_.bits() % 64 : 0;
          break;
      }
    }
  }

  double value(int expert, int row, int k) const {
    const StripLayout& l = strips.layout;
    const int block = block_bytes(l.codes, l.scales, l.groups), r = row % 8, hi = row % 16 / 8, s = k % 64 / 16, c = k % 8 / 2, piece = k % 16 / 8, i = k % 2, lane = 4 * r + c;
    const uint8_t* at = bytes.data() + expert * strips.expert_bytes + row / 16 * strips.strip_bytes + int64_t{k / 64} * block;
    const uint8_t* codes = at + scale_bytes(l.scales, l.groups);
    const auto half_at = [](const uint8_t* p) {
      uint16_t v;
      std::memcpy(&v, p, 2);
      return v;
    };
    if (l.codes == Codes::f16) return strips.factor * static_cast<double>(half_value(half_at(codes + 512 * s + 16 * lane + 4 * (2 * piece + hi) + 2 * i)));
    int code;
    if (l.codes == Codes::s8) {
      code = static_cast<int8_t>(codes[512 * (s / 2) + 16 * lane + 4 * (2 * (s % 2) + hi) + 2 * piece + i]);
    } else {
      constexpr int byte[4] = {0, 2, 1, 3};
      const int word = s / 2 * 2 + hi, pair = 4 * word + 2 * (s % 2) + piece;
      code = codes[16 * lane + 4 * word + byte[2 * piece + i]] >> (4 * (s % 2)) & 15;
      for (int p = 0; p < (l.codes == Codes::u4 ? 0 : l.codes == Codes::u5 ? 1 : 2); p++) {
        uint32_t plane;
        std::memcpy(&plane, codes + 512 + 128 * p + 4 * lane, 4);
        code |= static_cast<int>(plane >> (pair + 16 * i) & 1) << (4 + p);
      }
    }
    const int g = k % 64 / (64 / l.groups);
    double scale = 0, min = 0;
    float f;
    switch (l.scales) {
      case Scales::none: break;
      case Scales::f16: scale = half_value(half_at(at + 32 * g + 4 * r + 2 * hi)); break;
      case Scales::f16_min: scale = half_value(half_at(at + 64 * g + 8 * r + 2 * hi)), min = half_value(half_at(at + 64 * g + 8 * r + 4 + 2 * hi)); break;
      case Scales::bf16_min: scale = bf16_value(half_at(at + 64 * g + 8 * r + 2 * hi)), min = bf16_value(half_at(at + 64 * g + 8 * r + 4 + 2 * hi)); break;
      case Scales::f32_min:
        std::memcpy(&f, at + 128 * g + 16 * r + 4 * hi, 4), scale = f;
        std::memcpy(&f, at + 128 * g + 16 * r + 8 + 4 * hi, 4), min = f;
        break;
      case Scales::super: scale = half_value(half_at(at + 4 * r + 2 * hi)) * double{static_cast<float>(static_cast<int8_t>(at[32 + 16 * g + 2 * r + hi]))}; break;
      case Scales::super_min:
        scale = half_value(half_at(at + 8 * r + 2 * hi)) * double{static_cast<float>(at[64 + 32 * g + 4 * r + hi])};
        min = -half_value(half_at(at + 8 * r + 4 + 2 * hi)) * double{static_cast<float>(at[64 + 32 * g + 4 * r + 2 + hi])};
        break;
    }
    return strips.factor * (scale * (code - l.offset) + min);
  }
};

GemmDevice device_;
bool force_mma = false;
GemmDevice planned_device() {
  GemmDevice d = device_;
  if (force_mma) d.capability = 80;
  return d;
}

template <class Args> void launch(const void* kernel, dim3 grid, uint32_t threads, size_t shared, Args args) {
  if (!kernel) std::printf("no kernel\n"), std::exit(1);
  if (shared > 48 * 1024) MUST(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  void* parameters[] = {&args};
  MUST(cudaLaunchKernel(kernel, grid, dim3(threads), parameters, shared, nullptr));
}
void launch(const GemmLaunch& l, const GemmArgs& args) { launch(l.kernel, dim3(l.blocks), l.threads, l.shared_bytes, args); }

Halves fresh_halves(int rows, int cols) {
  Halves h{nullptr, rows, (rows + 7) / 8 * 8, cols};
  h.data = fresh<uint16_t>(static_cast<size_t>((cols + 63) / 64) * h.padded_rows * 64);
  return h;
}
Halves to_halves(const float* x, int rows, int cols) {
  const Halves h = fresh_halves(rows, cols);
  launch(halves_kernel(), dim3(static_cast<unsigned>(h.padded_rows / 8), static_cast<unsigned>((cols + 63) / 64)), kHalvesThreads, 0, HalvesArgs{x, nullptr, cols, 0, h, HalvesOp::plain});
  return h;
}
std::vector<float> random_floats(size_t n, float size = 1) {
  std::vector<float> v(n);
  for (float& x : v) x = half_value(half_bits(random_.signed_unit() * size));
  return v;
}

const char* name_of(const StripLayout& l) {
  static const char* codes[] = {"u4", "u5", "u6", "s8", "f16"};
  static const char* scales[] = {"none", "f16", "f16_min", "bf16_min", "f32_min", "super", "super_min"};
  static std::string name;
  name = std::string(codes[static_cast<int>(l.codes)]) + " " + scales[static_cast<int>(l.scales)] + " " + std::to_string(l.groups);
  return name.c_str();
}

int failures = 0;
struct Error {
  double difference = 0, size = 0;
  void add(double got, double expected) { difference += (got - expected) * (got - expected), size += expected * expected; }
  void report(const std::string& what, double bound) const {
    const double e = std::sqrt(difference / size);
    const bool good = e <= bound;  // false for what is no number
    failures += !good;
    std::printf("%-6s %.2e  %s\n", good ? "ok" : "WRONG", e, what.c_str());
    std::fflush(stdout);
  }
};
double dot(const Sample& w, int expert, int out, const float* x) {
  double sum = 0;
  for (int k = 0; k < w.strips.cols; k++) sum += w.value(expert, out, k) * x[k];
  return sum;
}
double act(Activation a, double g) { return a == Activation::silu ? g / (1 + std::exp(-g)) : 0.5 * g * (1 + std::tanh(0.7978845608028654 * (g + 0.044715 * g * g * g))); }

void check_dense(StripLayout layout, int rows, int cols, std::vector<int> outs, bool extras) {
  const std::vector<float> x = random_floats(static_cast<size_t>(rows) * cols);
  std::vector<Sample> w;
  std::vector<Strips> strips;
  for (const int n : outs) w.emplace_back(layout, n, cols, 1), strips.push_back(w.back().strips);
  GemmArgs args{};
  const GemmLaunch plan = plan_gemm(planned_device(), strips, false, rows, args);
  const std::vector<float> bias = random_floats(static_cast<size_t>(outs[0])), residual = random_floats(static_cast<size_t>(rows) * outs[0], 4);
  std::vector<float*> y;
  for (size_t i = 0; i < outs.size(); i++) {
    const int first = args.matrices[i].first_strip;
    y.push_back(fresh<float>(static_cast<size_t>(rows) * outs[i]));
    args.matrices[i] = gemm_matrix(strips[i], y[i], outs[i], extras && i == 0 ? fresh(bias.size(), bias.data()) : nullptr, extras && i == 0 ? fresh(residual.size(), residual.data()) : nullptr);
    args.matrices[i].first_strip = first;
  }
  args.x = to_halves(fresh(x.size(), x.data()), rows, cols);
  launch(plan, args);
  MUST(cudaDeviceSynchronize());
  Error e;
  for (size_t i = 0; i < outs.size(); i++) {
    const std::vector<float> got = fetch(y[i], static_cast<size_t>(rows) * outs[i]);
    const size_t samples = std::min<size_t>(got.size(), 3000);
    for (const float v : got)
      if (!(std::abs(v) < 1e9f)) e.add(NAN, 1);
    for (size_t s = 0; s < samples; s++) {
      const size_t at = samples == got.size() ? s : random_.bits() % got.size();
      const int row = static_cast<int>(at / outs[i]), out = static_cast<int>(at % outs[i]);
      e.add(got[at], dot(w[i], 0, out, &x[static_cast<size_t>(row) * cols]) + (extras && i == 0 ? bias[out] + residual[at] : 0.0));
    }
  }
  e.report("dense " + std::string(name_of(layout)) + ", rows " + std::to_string(rows) + ", cols " + std::to_string(cols) + ", outs " + std::to_string(outs[0]) + (outs.size() > 1 ? " and more" : "") + (extras ? ", bias, residual" : ""), 1e-3);
}

struct Layer {
  Sample gate, up, down;
  Layer(StripLayout l, int n_experts, int hidden, int ffn) : gate(l, ffn, hidden, n_experts), up(l, ffn, hidden, n_experts), down(l, hidden, ffn, n_experts) {}
};

// A layer of experts as prefill runs it. `skew`: most rows choose the same few experts.
struct Experts {
  int rows, top_k, n_experts, hidden, ffn;
  Activation activation;
  const Sample &gate, &up, &down;
  std::vector<float> x, weights;
  std::vector<int32_t> chosen;
  float *x_on_device, *y;
  GemmArgs up_args{}, down_args{};
  GemmLaunch up_plan, down_plan;
  SortArgs sort{};
  GatherArgs gather{};
  JoinArgs join{};
  int entries, sorted;

  Experts(const Layer& l, int rows_, int top_k_, int n_experts_, int hidden_, int ffn_, Activation act_, bool skew)
      : rows(rows_), top_k(top_k_), n_experts(n_experts_), hidden(hidden_), ffn(ffn_), activation(act_), gate(l.gate), up(l.up), down(l.down) {
    x = random_floats(static_cast<size_t>(rows) * hidden);
    entries = rows * top_k, sorted = sorted_rows(entries, n_experts);
    weights = random_floats(static_cast<size_t>(entries));
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < top_k; c++)
        for (int32_t e;;) {
          e = static_cast<int32_t>(skew && random_.bits() % 4 ? random_.bits() % (top_k + 1) : random_.bits() % n_experts);
          if (std::find(chosen.end() - c, chosen.end(), e) != chosen.end()) continue;
          chosen.push_back(e);
          break;
        }
    x_on_device = fresh(x.size(), x.data());
    const Strips both[] = {gate.strips, up.strips};
    up_plan = plan_grouped_gemm(planned_device(), both[0], true, entries, n_experts, up_args);
    down_plan = plan_grouped_gemm(planned_device(), down.strips, false, entries, n_experts, down_args);
    sort.experts = fresh(chosen.size(), chosen.data());
    sort.entries = entries, sort.n_experts = n_experts, sort.chunks = sort_chunks(entries), sort.tile_rows = up_args.tile_rows, sort.sorted_rows = sorted;
    sort.counts = fresh<int32_t>(static_cast<size_t>(sort.chunks) * n_experts);
    sort.to = {fresh<int32_t>(static_cast<size_t>(sorted)), fresh<int32_t>(static_cast<size_t>(entries)), fresh<GemmTile>(static_cast<size_t>(most_tiles(entries, n_experts, sort.tile_rows))), fresh<int32_t>(1)};
    gather = {to_halves(x_on_device, rows, hidden), fresh_halves(sorted, hidden), sort.to.source, top_k};
    up_args.matrices[0] = gemm_matrix(gate.strips, nullptr, 0), up_args.matrices[1] = gemm_matrix(up.strips, nullptr, 0);
    RowsOfHalves rows_of_x{fresh<uint16_t>(static_cast<size_t>(rows) * ((hidden + 63) / 64 * 64)), (hidden + 63) / 64 * 64};
    JoinArgs as_rows{};
    as_rows.a = x_on_device, as_rows.n = hidden, as_rows.rows = const_cast<uint16_t*>(rows_of_x.data);
    launch(join_kernel(), dim3(static_cast<unsigned>(rows)), kJoinThreads, 0, as_rows);
    if (!getenv("GATHER")) up_args.gathered = rows_of_x, up_args.source = sort.to.source, up_args.top_k = top_k;
    up_args.x = gather.to, up_args.hidden = fresh_halves(sorted, ffn), up_args.tiles = sort.to.tiles, up_args.n_tiles = sort.to.n_tiles, up_args.activation = activation;
    const int stride = (hidden + 7) / 8 * 8;
    down_args.matrices[0] = gemm_matrix(down.strips, nullptr, stride);
    down_args.x = up_args.hidden, down_args.halves = fresh<uint16_t>(static_cast<size_t>(sorted) * stride), down_args.tiles = sort.to.tiles, down_args.n_tiles = sort.to.n_tiles;
    y = fresh<float>(static_cast<size_t>(rows) * hidden);
    join.experts = down_args.halves, join.position = sort.to.position, join.weights = fresh(weights.size(), weights.data());
    join.sum = y, join.top_k = top_k, join.stride = stride, join.n = hidden;
  }
  void run_sort() {
    launch(sort_count_kernel(), dim3(static_cast<unsigned>(sort.chunks)), kSortThreads, 0, sort);
    launch(sort_place_kernel(), dim3(static_cast<unsigned>(sort.chunks)), kSortThreads, 0, sort);
  }
  void run_gather() { launch(gather_kernel(), dim3(static_cast<unsigned>(sorted / 8)), kGatherThreads, 0, gather); }
  void run_up() { launch(up_plan, up_args); }
  void run_down() { launch(down_plan, down_args); }
  void run_join() { launch(join_kernel(), dim3(static_cast<unsigned>(rows)), kJoinThreads, 0, join); }
  void run() { run_sort(), run_gather(), run_up(), run_down(), run_join(); }
};

void check_experts(StripLayout layout, int rows, int top_k, int n_experts, int hidden, int ffn, Activation activation, bool skew) {
  const Layer layer(layout, n_experts, hidden, ffn);
  Experts m(layer, rows, top_k, n_experts, hidden, ffn, activation, skew);
  m.run();
  MUST(cudaDeviceSynchronize());
  // The sort: runs in the order of experts, entries in their own order, starts at multiples of 8.
  std::vector<int32_t> expected(static_cast<size_t>(m.sorted), -1), position(static_cast<size_t>(m.entries));
  int at = 0;
  for (int e = 0; e < n_experts; e++, at = (at + 7) / 8 * 8)
    for (int i = 0; i < m.entries; i++)
      if (m.chosen[i] == e) position[i] = at, expected[at++] = i;
  const bool sorted = fetch(m.sort.to.source, m.sorted) == expected && fetch(m.sort.to.position, m.entries) == position;
  std::vector<int> covered(static_cast<size_t>(m.sorted));
  const int tiles = fetch(m.sort.to.n_tiles, 1)[0];
  const std::vector<GemmTile> tile = fetch(m.sort.to.tiles, static_cast<size_t>(std::clamp(tiles, 0, most_tiles(m.entries, n_experts, m.sort.tile_rows))));
  bool tiled = std::ssize(tile) == tiles;
  for (const GemmTile& t : tile)
    for (int r = 0; r < t.count; r++) tiled = tiled && t.count <= m.sort.tile_rows && m.chosen[expected[t.first + r]] == t.expert && !covered[t.first + r]++;
  tiled = tiled && std::count(covered.begin(), covered.end(), 1) == m.entries;
  if (!sorted || !tiled) failures++, std::printf("WRONG sort%s%s\n", sorted ? "" : " order", tiled ? "" : " tiles");
  const std::vector<float> got = fetch(m.y, static_cast<size_t>(rows) * hidden);
  Error e;
  for (const float v : got)
    if (!(std::abs(v) < 1e9f)) e.add(NAN, 1);
  for (int s = 0; s < std::min(rows, 6); s++) {
    const int row = rows <= 6 ? s : static_cast<int>(random_.bits() % rows);
    std::vector<double> sum(static_cast<size_t>(std::min(hidden, 24)));
    for (int c = 0; c < top_k; c++) {
      const int entry = row * top_k + c, expert = m.chosen[entry];
      std::vector<float> h(static_cast<size_t>(ffn));
      const float* in = &m.x[static_cast<size_t>(row) * hidden];
      for (int k = 0; k < ffn; k++) h[k] = static_cast<float>(act(activation, dot(m.gate, expert, k, in)) * dot(m.up, expert, k, in));
      for (size_t o = 0; o < sum.size(); o++) sum[o] += m.weights[entry] * dot(m.down, expert, hidden - 1 - static_cast<int>(o), h.data());
    }
    for (size_t o = 0; o < sum.size(); o++) e.add(got[static_cast<size_t>(row) * hidden + hidden - 1 - o], sum[o]);
  }
  e.report("experts " + std::string(name_of(layout)) + ", rows " + std::to_string(rows) + " x " + std::to_string(top_k) + " of " + std::to_string(n_experts) + ", " + std::to_string(hidden) + " x " + std::to_string(ffn) + (skew ? ", skewed" : "") + ", tiles " + std::to_string(tiles), 3e-3);
}

// Sum of branches, norm, halves.
void check_join(int rows, int n) {
  const std::vector<float> a = random_floats(static_cast<size_t>(rows) * n), b = random_floats(a.size()), c = random_floats(a.size()), gate = random_floats(static_cast<size_t>(rows)), gain = random_floats(static_cast<size_t>(n));
  JoinArgs j{};
  j.a = fresh(a.size(), a.data()), j.b = fresh(b.size(), b.data()), j.c = fresh(c.size(), c.data()), j.b_gate = fresh(gate.size(), gate.data()), j.gain = fresh(gain.size(), gain.data());
  j.sum = fresh<float>(a.size()), j.y = fresh<float>(a.size()), j.halves = fresh_halves(rows, n), j.n = n, j.eps = 1e-6f, j.norm = true;
  launch(join_kernel(), dim3(static_cast<unsigned>(rows)), kJoinThreads, 0, j);
  MUST(cudaDeviceSynchronize());
  const std::vector<float> sum = fetch(j.sum, a.size()), y = fetch(j.y, a.size());
  const std::vector<uint16_t> halves = fetch(j.halves.data, static_cast<size_t>((n + 63) / 64) * j.halves.padded_rows * 64);
  Error sums, ys, hs;
  for (int r = 0; r < rows; r++) {
    double squares = 0;
    std::vector<double> v(static_cast<size_t>(n));
    for (int k = 0; k < n; k++) v[k] = a[static_cast<size_t>(r) * n + k] + b[static_cast<size_t>(r) * n + k] / (1 + std::exp(-double{gate[r]})) + c[static_cast<size_t>(r) * n + k], squares += v[k] * v[k];
    const double by = 1 / std::sqrt(squares / n + 1e-6);
    for (int k = 0; k < (n + 63) / 64 * 64; k++) {
      const double expected = k < n ? v[k] * by * gain[k] : 0;
      hs.add(half_value(halves[half_at(j.halves.padded_rows, r, k)]), expected);
      if (k < n) sums.add(sum[static_cast<size_t>(r) * n + k], v[k]), ys.add(y[static_cast<size_t>(r) * n + k], expected);
    }
  }
  const std::string shape = ", rows " + std::to_string(rows) + ", n " + std::to_string(n);
  sums.report("sum" + shape, 1e-6), ys.report("norm" + shape, 1e-6), hs.report("norm as halves" + shape, 5e-4);
}

double microseconds(int repeats, const std::function<void()>& run) {
  cudaEvent_t begin, end;
  MUST(cudaEventCreate(&begin)), MUST(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < repeats + 2; i++) {
    MUST(cudaEventRecord(begin));
    run();
    MUST(cudaEventRecord(end));
    MUST(cudaEventSynchronize(end));
    float ms = 0;
    MUST(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 2) times.push_back(ms * 1000);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void time_dense(StripLayout layout, int rows, int cols, int outs) {
  const std::vector<float> x = random_floats(static_cast<size_t>(rows) * cols);
  const Sample w(layout, outs, cols, 1);
  GemmArgs args{};
  const GemmLaunch plan = plan_gemm(planned_device(), std::span(&w.strips, 1), false, rows, args);
  args.matrices[0] = gemm_matrix(w.strips, fresh<float>(static_cast<size_t>(rows) * outs), outs);
  args.x = to_halves(fresh(x.size(), x.data()), rows, cols);
  const double us = microseconds(15, [&] { launch(plan, args); });
  std::printf("dense %-12s %5d rows, %5d x %5d: %8.1f us  %6.1f TFLOP/s  (tiles of %d, %d stages, %u blocks)\n", name_of(layout), rows, outs, cols, us, 2e-6 * rows * cols * outs / us, args.tile_rows, args.stages, plan.blocks);
  std::fflush(stdout);
}
void time_experts(const Layer& layer, int rows, int n_experts, bool skew) {
  const StripLayout& layout = layer.gate.strips.layout;
  Experts m(layer, rows, 8, n_experts, 2048, 512, Activation::silu, skew);
  m.run();
  const double flops = 2e-6 * m.entries * 2048 * 512, bytes = 1e-6 * static_cast<double>(m.gate.bytes.size());
  const double sort = microseconds(15, [&] { m.run_sort(); }), gather = microseconds(15, [&] { m.run_gather(); }), up = microseconds(15, [&] { m.run_up(); }), down = microseconds(15, [&] { m.run_down(); }), join = microseconds(15, [&] { m.run_join(); });
  std::printf("experts %-12s %5d rows%s: sort %5.1f gather %6.1f up %7.1f us %6.1f TFLOP/s %5.2f TB/s  down %7.1f us %6.1f TFLOP/s %5.2f TB/s  join %6.1f  (tiles of %d, %d stages of %d)\n", name_of(layout), rows, skew ? " skewed" : "", sort, gather, up,
              2 * flops / up, 2 * bytes / up, down, flops / down, bytes / down, join, m.up_args.tile_rows, m.up_args.stages, m.up_args.depth);
  std::fflush(stdout);
}

constexpr StripLayout kQ4{Codes::u4, Scales::f16, 2, 8};

void check_all() {
  check_join(5, 72), check_join(3, 2048), check_join(2, 8192);
  check_dense(kQ4, 9, 64, {16}, false);
  check_dense(kQ4, 65, 200, {40}, true);
  check_dense(kQ4, 300, 2048, {8192, 4096, 32, 20}, true);
  check_dense(kQ4, 129, 72, {333}, false);
  check_dense(kQ4, 1000, 4096, {2048}, true);
  check_experts(kQ4, 9, 2, 5, 64, 32, Activation::silu, false);
  check_experts(kQ4, 77, 3, 16, 200, 72, Activation::gelu_tanh, true);
  check_experts(kQ4, 700, 8, 256, 2048, 512, Activation::silu, false);
  const StripLayout kinds[] = {{Codes::u4, Scales::f16_min, 2, 0}, {Codes::u4, Scales::bf16_min, 1, 0}, {Codes::u4, Scales::bf16_min, 2, 0}, {Codes::u4, Scales::super_min, 2, 0}, {Codes::u5, Scales::super_min, 2, 0}, {Codes::u6, Scales::super, 4, 32},
                               {Codes::s8, Scales::f16, 2, 0}, {Codes::s8, Scales::bf16_min, 1, -128}, {Codes::s8, Scales::bf16_min, 2, -128}, {Codes::s8, Scales::f32_min, 4, 3}, {Codes::f16, Scales::none, 0, 0}};
  for (const StripLayout& l : kinds) check_dense(l, 130, 328, {100, 33}, true), check_experts(l, 100, 4, 16, 136, 72, Activation::silu, true);
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  cudaDeviceProp p{};
  MUST(cudaGetDeviceProperties(&p, 0));
  device_ = {10 * p.major + p.minor, p.multiProcessorCount, static_cast<int32_t>(p.sharedMemPerBlockOptin)};
  force_mma = argc > 2 && std::string(argv[2]) == "mma";
  std::printf("%s, %d multiprocessors\n", p.name, p.multiProcessorCount);
  if (what != "time") check_all();
  if (what != "check") {
    for (const int rows : {512, 4096}) time_dense(kQ4, rows, 2048, 12352), time_dense(kQ4, rows, 4096, 2048);
    const Layer layer(kQ4, 256, 2048, 512);
    for (const int rows : {512, 1024, 2048, 4096, 8192}) time_experts(layer, rows, 256, false);
    time_experts(layer, 4096, 256, true);
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}

}  // namespace
}  // namespace cuda

int main(int argc, char** argv) { return cuda::run(argc, argv); }
