// cuda_stage: the stages of decoding against double precision, and a whole step of the Qwen3.6-35B-A3B shape as one graph, with each stage left out and alone.
// nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -Isrc --expt-relaxed-constexpr bench/cuda_stage.cu src/device/cuda/{project,moe_stage,delta_step}.cu src/device/cuda/project_shape.cpp
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>
#include "device/cuda/delta.h"
#include "device/cuda/moe_stage.h"
#include "device/cuda/project.h"
#include "device/cuda/recording.h"
#include "device/cuda/strip_value.cuh"

#define CHECKED(call)                                                                              \
  do {                                                                                             \
    if (const cudaError_t e = (call)) std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e)), std::exit(1); \
  } while (0)

namespace cuda {
namespace {

__device__ uint32_t scrambled(uint64_t z) {
  z *= 0x9E3779B97F4A7C15ull, z ^= z >> 29, z *= 0xBF58476D1CE4E5B9ull, z ^= z >> 32;
  return static_cast<uint32_t>(z * 0x94D049BB133111EBull >> 32);
}
__device__ float uniform(uint64_t z) { return static_cast<float>(scrambled(z)) * 0x1p-32f; }
__global__ void fill_floats(float* p, int64_t n, float low, float high, uint64_t seed) {
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += static_cast<int64_t>(gridDim.x) * blockDim.x) p[i] = low + (high - low) * uniform(seed + i);
}
// Random codes and scales of about s; one thread a 2-byte word. Rows and inputs beyond the last have no scale.
__global__ void fill_strips(Strips m, int64_t words, float s, uint64_t seed) {
  const StripLayout l = m.layout;
  const int scales = scale_bytes(l.scales, l.groups), size = scales + code_bytes(l.codes);
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < words; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int at = static_cast<int>(i * 2 % size);
    const float u = s * (0.5f + uniform(seed + i));
    uint16_t v = static_cast<uint16_t>(scrambled(seed + i));
    const bool bytes = (l.scales == Scales::super && at >= 32) || (l.scales == Scales::super_min && at >= 64);
    if (at < scales && !bytes) {
      const bool min = has_min(l.scales) && (l.scales == Scales::f32_min ? at % 16 >= 8 : at % 8 >= 4), super = l.scales == Scales::super || l.scales == Scales::super_min;
      const float x = (min && l.scales != Scales::super_min ? -4 * u : u) * (super ? 0.02f : 1.0f);
      v = l.scales == Scales::bf16_min || l.scales == Scales::f32_min ? static_cast<uint16_t>(__float_as_uint(x) >> 16) : __half_as_ushort(__float2half(x));
      if (l.scales == Scales::f32_min && at % 4 == 0) v = 0;
    } else if (at >= scales && l.codes == Codes::f16) {
      v = __half_as_ushort(__float2half(2 * s * (uniform(seed + i) - 0.5f)));
    }
    reinterpret_cast<uint16_t*>(const_cast<uint8_t*>(m.data))[i] = v;
  }
}
__global__ void reference(Strips m, const double* x, double* y) {  // grid: rows
  double sum = 0;
  for (int k = threadIdx.x; k < m.cols; k += 32) sum += static_cast<double>(strip_value(m, blockIdx.x, k)) * x[k];
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
// Stands in for attention: about its shape and time.
struct StandInArgs { const float* x; float* y; };
__global__ void __launch_bounds__(512) stand_in(const StandInArgs a) {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  float v = a.x[blockIdx.x * 128 + (threadIdx.x & 127)];
  for (int i = 0; i < 60; i++) v += __shfl_xor_sync(~0u, v, 1 + (i & 15)) * 0.01f;
  if (threadIdx.x < 64) a.y[blockIdx.x * 64 + threadIdx.x] = v * 1e-3f;
}

uint64_t seed = 1;
template <class T> T* device(int64_t n) {
  T* p;
  CHECKED(cudaMalloc(&p, n * sizeof(T)));
  return p;
}
float* floats(int64_t n, float low, float high) {
  float* p = device<float>(n);
  fill_floats<<<512, 256>>>(p, n, low, high, seed += 1ull << 40);
  return p;
}
Strips strips(StripLayout l, int rows, int cols, int experts = 1, float s = 0.003f) {
  Strips m;
  m.layout = l, m.rows = rows, m.cols = cols, m.blocks = (cols + 63) / 64, m.strips = (rows + 15) / 16;
  m.strip_bytes = int64_t{m.blocks} * block_bytes(l.codes, l.scales, l.groups), m.expert_bytes = m.strip_bytes * m.strips;
  m.data = device<uint8_t>(m.expert_bytes * experts);
  fill_strips<<<1024, 256>>>(m, m.expert_bytes * experts / 2, s, seed += 1ull << 40);
  CHECKED(cudaGetLastError());
  return m;
}
template <class T> std::vector<T> host(const T* p, int64_t n) {
  std::vector<T> v(n);
  CHECKED(cudaDeviceSynchronize());
  CHECKED(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}
std::vector<double> product(Strips m, const std::vector<double>& x, int expert = 0) {
  double *dx = device<double>(m.cols), *dy = device<double>(m.rows);
  CHECKED(cudaMemcpy(dx, x.data(), m.cols * 8, cudaMemcpyHostToDevice));
  m.data += expert * m.expert_bytes;
  reference<<<m.rows, 32>>>(m, dx, dy);
  auto y = host(dy, m.rows);
  cudaFree(dx), cudaFree(dy);
  return y;
}

cudaStream_t stream;
int multiprocessors = 132;
size_t most_shared = 0;
void play(const Launch& l, const std::byte* arguments) {
  if (l.shared_bytes > 48 << 10) CHECKED(cudaFuncSetAttribute(l.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most_shared)));
  cudaLaunchConfig_t c{};
  c.gridDim = l.grid, c.blockDim = l.block, c.dynamicSmemBytes = l.shared_bytes, c.stream = stream;
  cudaLaunchAttribute at{};
  at.id = cudaLaunchAttributeProgrammaticStreamSerialization, at.val.programmaticStreamSerializationAllowed = 1;
  c.attrs = &at, c.numAttrs = 1;
  void* args[] = {const_cast<std::byte*>(arguments)};
  CHECKED(cudaLaunchKernelExC(&c, l.kernel, args));
}
void play(const Recording& r) {
  for (const Launch& l : r.launches) play(l, r.arguments.data() + l.at);
}

void push(Recording& r, const char* name, ProjectArgs& a) {
  ProjectShape shape;
  if (!shape_project(a, multiprocessors, most_shared, shape)) std::printf("no shape\n"), std::exit(1);
  r.push(name, project_kernel(a), dim3(shape.grid_x, shape.grid_y), 32 * kStageWarps, shape.shared_bytes, a);
}
void add_target(ProjectArgs& a, const Strips& w, float* y) {
  a.layout = w.layout, a.strip_bytes = w.strip_bytes, a.blocks = w.blocks, a.cols = w.cols;
  a.targets[a.n_targets++] = {w.data, y, nullptr, nullptr, w.rows, w.rows, a.n_strips, w.factor};
  a.n_strips += w.strips;
}
void add_float(ProjectArgs& a, const float* w, float* y, int rows) {
  a.floats[a.n_floats++] = {w, nullptr, y, rows, a.n_float_rows};
  a.n_float_rows += rows;
}

int failures = 0;
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
void report(const char* what, const std::vector<double>& want, const std::vector<float>& got, double bound) {
  double error = 0, size = 0;
  for (size_t i = 0; i < want.size(); i++) error += (want[i] - got[i]) * (want[i] - got[i]), size += want[i] * want[i];
  const double relative = std::sqrt(error / size);
  if (!(relative <= bound)) failures++;
  if (!(relative <= bound) || std::getenv("SHOW")) std::printf("%-34s relative error %.2e%s\n", what, relative, relative <= bound ? "" : "  WRONG");
}

void check_project(StripLayout l, const char* name, int rows, int cols, int out, SourceKind kind) {
  const Strips m = strips(l, out, cols);
  const int head = 128;
  float *x = floats(int64_t{rows} * cols, -1, 1), *g = floats(int64_t{rows} * cols, -2, 2), *gain = floats(cols, 0.5f, 1.5f), *w = floats(int64_t{5} * cols, -0.1f, 0.1f), *y = floats(int64_t{rows} * out, 9, 9), *fy = floats(rows * 5, 9, 9);
  float* squares = floats(std::max(1, rows * (cols / head)) * kHeadParts, 0, 1);
  const auto hsquares = host(squares, rows * (cols / head) * kHeadParts);
  const auto args = [&](int n, int first) {
    ProjectArgs a{};
    a.source = {kind, Activation::silu, x + first * cols, g + first * cols, kind == SourceKind::rms ? gain : nullptr, squares + first * (cols / head) * kHeadParts, cols, cols, head, 1e-6f};
    a.rows = n;
    add_target(a, m, y + int64_t{first} * out);
    if (kind <= SourceKind::rms) add_float(a, w, fy + first * 5, 5);
    return a;
  };
  Recording r;
  ProjectArgs all = args(rows, 0);
  push(r, "all", all);
  play(r);
  const auto got = host(y, int64_t{rows} * out), got_floats = host(fy, rows * 5);
  const auto hx = host(x, int64_t{rows} * cols), hg = host(g, int64_t{rows} * cols), hgain = host(gain, cols), hw = host(w, int64_t{5} * cols);
  std::vector<double> want, want_floats;
  for (int n = 0; n < rows; n++) {
    std::vector<double> in(cols);
    double squares = 0;
    for (int k = 0; k < cols; k++) squares += double(hx[n * cols + k]) * hx[n * cols + k];
    for (int k = 0; k < cols; k++) {
      const double v = hx[n * cols + k], gate = hg[n * cols + k];
      if (kind == SourceKind::plain) in[k] = v;
      if (kind == SourceKind::rms) in[k] = v * hgain[k] / std::sqrt(squares / cols + 1e-6);
      if (kind == SourceKind::gated) in[k] = v * sigmoid_of(gate);
      if (kind == SourceKind::paired) in[k] = v * sigmoid_of(v) * gate;
      if (kind == SourceKind::heads) {
        double all = 0;
        for (int part = 0; part < kHeadParts; part++) all += hsquares[(n * (cols / head) + k / head) * kHeadParts + part];
        in[k] = v / std::sqrt(all / head + 1e-6);
      }
    }
    const auto one = product(m, in);
    want.insert(want.end(), one.begin(), one.end());
    for (int f = 0; f < 5; f++) {
      double sum = 0;
      for (int k = 0; k < cols; k++) sum += hw[f * cols + k] * in[k];
      want_floats.push_back(sum);
    }
  }
  char what[100];
  std::snprintf(what, sizeof what, "%s %dx%d rows %d source %d", name, out, cols, rows, static_cast<int>(kind));
  report(what, want, got, 1e-3);
  if (kind <= SourceKind::rms) report("  floats", want_floats, got_floats, 1e-5);
  if (rows > 1) {
    CHECKED(cudaMemset(y, 0xee, int64_t{rows} * out * 4));
    Recording alone;
    std::vector<ProjectArgs> each;
    for (int n = 0; n < rows; n++) {
      ProjectArgs a = args(1, n);
      push(alone, "one", a);
    }
    play(alone);
    const auto single = host(y, int64_t{rows} * out), single_floats = host(fy, rows * 5);
    if (std::memcmp(single.data(), got.data(), got.size() * 4) != 0) failures++, std::printf("%s: rows alone differ\n", what);
    if (std::memcmp(single_floats.data(), got_floats.data(), got_floats.size() * 4) != 0) failures++, std::printf("%s: float rows alone differ\n", what);
  }
  for (const void* p : {static_cast<const void*>(m.data), static_cast<const void*>(x), static_cast<const void*>(g), static_cast<const void*>(gain), static_cast<const void*>(w), static_cast<const void*>(y), static_cast<const void*>(fy)}) cudaFree(const_cast<void*>(p));
}

void check_experts(StripLayout l, const char* name, int rows, int cols, int width, int n_experts, int top_k, bool renormalise, bool together = false) {
  const Strips gate = strips(l, width, cols, n_experts), up = strips(l, width, cols, n_experts), down = strips(l, cols, width, n_experts), shared = strips(l, cols, width);
  float *x = floats(rows * cols, -1, 1), *gain = floats(cols, 0.5f, 1.5f), *scores = floats(rows * n_experts, -3, 3), *shared_hidden = floats(rows * width, -1, 1), *shared_gate = floats(rows, -1, 1), *y = floats(rows * cols, -1, 1), *hidden = floats(rows * (top_k + 1) * width, 9, 9);
  const Strips shared_gates = strips(l, width, cols), shared_ups = strips(l, width, cols);
  auto hs = host(scores, rows * n_experts);
  hs[5] = hs[2] = hs[n_experts - 1] = 3.5f;  // equals
  CHECKED(cudaMemcpy(scores, hs.data(), hs.size() * 4, cudaMemcpyHostToDevice));
  const auto before = host(y, rows * cols), hx = host(x, rows * cols), hgain = host(gain, cols), hsh = host(shared_hidden, rows * width), hsg = host(shared_gate, rows);
  ExpertsUpArgs u{};
  u.source = {SourceKind::rms, Activation::silu, x, nullptr, gain, nullptr, cols, 0, 0, 1e-6f};
  u.gate = gate, u.up = up, u.routes = {scores, n_experts, top_k, n_experts, renormalise}, u.hidden = hidden, u.rows = rows;
  ExpertsDownArgs d{};
  d.down = down, d.shared = shared, d.routes = u.routes, d.hidden = hidden, d.shared_hidden = shared_hidden, d.hidden_stride = top_k * width, d.shared_stride = width, d.shared_gate = shared_gate, d.add = y, d.y = y, d.rows = rows;
  if (together) u.shared_gate = shared_gates, u.shared_up = shared_ups, d.shared_hidden = hidden + top_k * width, d.hidden_stride = d.shared_stride = (top_k + 1) * width;
  Recording r;
  const StageShape a = shape_experts_up(u, multiprocessors, most_shared), b = shape_experts_down(d, most_shared);
  r.push("up", experts_up_stage(u), a.grid, a.threads, a.shared_bytes, u);
  r.push("down", experts_down_stage(d), b.grid, b.threads, b.shared_bytes, d);
  play(r);
  const auto got = host(y, rows * cols);
  std::vector<double> want;
  for (int n = 0; n < rows; n++) {
    std::vector<double> in(cols), y_row(before.begin() + n * cols, before.begin() + (n + 1) * cols);
    double squares = 0;
    for (int k = 0; k < cols; k++) squares += double(hx[n * cols + k]) * hx[n * cols + k];
    for (int k = 0; k < cols; k++) in[k] = hx[n * cols + k] * double(hgain[k]) / std::sqrt(squares / cols + 1e-6);
    std::vector<int> order(n_experts);
    for (int e = 0; e < n_experts; e++) order[e] = e;
    const float* s = hs.data() + n * n_experts;
    std::stable_sort(order.begin(), order.end(), [&](int p, int q) { return s[p] > s[q]; });
    double all = 0;
    for (int e = 0; e < (renormalise ? top_k : n_experts); e++) all += std::exp(double(s[order[e]]));
    const auto add = [&](const std::vector<double>& h, const Strips& w, int e, double weight) {
      const auto out = product(w, h, e);
      for (int k = 0; k < cols; k++) y_row[k] += weight * out[k];
    };
    for (int i = 0; i < top_k; i++) {
      const auto g = product(gate, in, order[i]), v = product(up, in, order[i]);
      std::vector<double> h(width);
      for (int k = 0; k < width; k++) h[k] = g[k] * sigmoid_of(g[k]) * v[k];
      add(h, down, order[i], std::exp(double(s[order[i]])) / all);
    }
    std::vector<double> h(hsh.begin() + n * width, hsh.begin() + (n + 1) * width);
    if (together) {
      const auto g = product(shared_gates, in), v = product(shared_ups, in);
      for (int k = 0; k < width; k++) h[k] = g[k] * sigmoid_of(g[k]) * v[k];
    }
    add(h, shared, 0, sigmoid_of(hsg[n]));
    for (int k = 0; k < cols; k++) want.push_back(y_row[k] - before[n * cols + k]);
  }
  std::vector<float> gained(got);
  for (size_t i = 0; i < gained.size(); i++) gained[i] -= before[i];
  char what[100];
  std::snprintf(what, sizeof what, "experts %s %dx%d rows %d of %d", name, width, cols, rows, n_experts);
  report(what, want, gained, 2e-3);
  for (const void* p : {static_cast<const void*>(gate.data), static_cast<const void*>(up.data), static_cast<const void*>(down.data)}) cudaFree(const_cast<void*>(p));
}

// A step of 40 layers.
Recording whole_step(StripLayout l) {
  constexpr int hidden = 2048, width = 512, n_experts = 256, top_k = 8, heads = 32, dim = 128, channels = 8192;
  Recording r;
  float *x = floats(hidden, -1, 1), *y = floats(12288, -1, 1), *gates = floats(64, -1, 1), *o = floats(4096, -1, 1), *scores = floats(n_experts, -1, 1), *shared_gate = floats(1, 0, 0), *expert_hidden = floats((top_k + 1) * width, 0, 0), *gain = floats(dim, 0.9f, 1.1f), *squares = floats(heads * kHeadParts, 0, 1);
  const SequenceOnDevice sequence{0, 1, 5, 0, 0};
  auto* sequences = device<SequenceOnDevice>(1);
  CHECKED(cudaMemcpy(sequences, &sequence, sizeof sequence, cudaMemcpyHostToDevice));
  const auto rms = [&] { return Source{SourceKind::rms, Activation::silu, x, nullptr, floats(hidden, 0.9f, 1.1f), nullptr, hidden, 0, 0, 1e-6f}; };
  for (int layer = 0; layer < 40; layer++) {
    const bool attention = layer % 4 == 3;
    ProjectArgs in{};
    in.rows = 1, in.source = rms();
    if (attention) {
      add_target(in, strips(l, 8192, hidden), y), add_target(in, strips(l, 512, hidden), y + 8192), add_target(in, strips(l, 512, hidden), y + 8704);
    } else {
      add_target(in, strips(l, channels, hidden), y), add_target(in, strips(l, 4096, hidden), y + channels);
      add_float(in, floats(heads * hidden, -0.02f, 0.02f), gates, heads), add_float(in, floats(heads * hidden, -0.02f, 0.02f), gates + heads, heads);
    }
    push(r, "in", in);
    if (attention) {
      r.push("mix", reinterpret_cast<const void*>(stand_in), dim3(64), 512, 0, StandInArgs{y, o});
    } else {
      DeltaArgs d{};
      d.qkv = y, d.z = y + channels, d.a = gates, d.b = gates + heads, d.taps = floats(4 * channels, -0.3f, 0.3f), d.neg_exp_a = floats(heads, -1, -0.5f), d.dt_bias = floats(heads, 0, 1), 
      d.y = o, d.history = floats(4 * channels, 0, 0), d.state = floats(heads * dim * dim, 0, 0), d.step.sequences = sequences, d.gain = gain, d.squares = squares;
      d.rows = 1, d.n_sequences = 1, d.n_key_heads = 16, d.n_value_heads = heads, d.key_dim = dim, d.value_dim = dim, d.kernel = 4, d.eps = 1e-6f;
      const DeltaStep step = delta_step(dim, 4);
      r.push("mix", step.kernel, dim3(heads, dim / step.columns, 1), step.threads, 0, d);
    }
    ProjectArgs out{};
    out.rows = 1;
    if (attention) out.source = {SourceKind::plain, Activation::silu, o, nullptr, nullptr, nullptr, 4096, 0, 0, 0};
    else out.source = {SourceKind::heads, Activation::silu, o, nullptr, nullptr, squares, 4096, 0, dim, 1e-6f};
    add_target(out, strips(l, hidden, 4096), x);
    out.targets[0].add = x;
    push(r, "out", out);
    ProjectArgs router{};
    router.rows = 1, router.source = rms();
    add_float(router, floats(n_experts * hidden, -0.02f, 0.02f), scores, n_experts), add_float(router, floats(hidden, -0.02f, 0.02f), shared_gate, 1);
    router.layout = l, router.cols = hidden;
    push(r, "router", router);
    ExpertsUpArgs u{};
    u.source = router.source, u.gate = strips(l, width, hidden, n_experts), u.up = strips(l, width, hidden, n_experts), u.shared_gate = strips(l, width, hidden), u.shared_up = strips(l, width, hidden), u.routes = {scores, n_experts, top_k, n_experts, true}, u.hidden = expert_hidden, u.rows = 1;
    ExpertsDownArgs d{};
    d.down = strips(l, hidden, width, n_experts), d.shared = strips(l, hidden, width), d.routes = u.routes, d.hidden = expert_hidden, d.shared_hidden = expert_hidden + top_k * width, d.hidden_stride = d.shared_stride = (top_k + 1) * width, d.shared_gate = shared_gate, d.add = x, d.y = x, d.rows = 1;
    const StageShape a = shape_experts_up(u, multiprocessors, most_shared), b = shape_experts_down(d, most_shared);
    r.push("up", experts_up_stage(u), a.grid, a.threads, a.shared_bytes, u);
    r.push("down", experts_down_stage(d), b.grid, b.threads, b.shared_bytes, d);
  }
  ProjectArgs head{};
  head.rows = 1, head.source = rms();
  add_target(head, strips(l, 248320, hidden), floats(248320, 0, 0));
  push(r, "head", head);
  CHECKED(cudaDeviceSynchronize());
  return r;
}

double time_of(const Recording& r, const std::function<bool(const char*)>& wanted) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECKED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (const Launch& l : r.launches)
    if (wanted(l.name)) play(l, r.arguments.data() + l.at);
  CHECKED(cudaStreamEndCapture(stream, &graph));
  CHECKED(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t begin, end;
  CHECKED(cudaEventCreate(&begin));
  CHECKED(cudaEventCreate(&end));
  float least = 1e9f;
  for (int turn = 0; turn < 6; turn++) {
    CHECKED(cudaEventRecord(begin, stream));
    for (int i = 0; i < 20; i++) CHECKED(cudaGraphLaunch(exec, stream));
    CHECKED(cudaEventRecord(end, stream));
    CHECKED(cudaEventSynchronize(end));
    float ms;
    CHECKED(cudaEventElapsedTime(&ms, begin, end));
    least = std::min(least, ms);
  }
  CHECKED(cudaGraphExecDestroy(exec));
  CHECKED(cudaGraphDestroy(graph));
  return least * 1000 / 20;
}

int run(int argc, char** argv) {
  const bool check = argc < 2 || std::strcmp(argv[1], "time") != 0, timing = argc < 2 || std::strcmp(argv[1], "check") != 0, once = argc > 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  cudaDeviceProp properties;
  CHECKED(cudaGetDeviceProperties(&properties, 0));
  CHECKED(cudaStreamCreate(&stream));
  multiprocessors = properties.multiProcessorCount, most_shared = properties.sharedMemPerBlockOptin;
  struct Named { const char* name; StripLayout layout; };
  std::vector<Named> kinds;
#define KIND(c, s, g) kinds.push_back({#c " " #s " " #g, {Codes::c, Scales::s, g, Codes::c == Codes::u4 && Scales::s == Scales::f16 ? 8 : Codes::c == Codes::u6 ? 32 : 0}});
  CALLA_STRIP_KINDS(KIND)
  if (check) {
    for (const Named& k : kinds) {
      check_project(k.layout, k.name, 1, 2048, 512, SourceKind::rms);
      check_project(k.layout, k.name, 1, 4096, 160, SourceKind::heads);
      check_project(k.layout, k.name, 8, 2048, 300, SourceKind::rms);
      check_project(k.layout, k.name, 5, 512, 40, SourceKind::gated);
      check_project(k.layout, k.name, 3, 1000, 33, SourceKind::paired);
      check_project(k.layout, k.name, 2, 333, 70, SourceKind::plain);
      check_project(k.layout, k.name, 11, 5760, 100, SourceKind::plain);
      check_project(k.layout, k.name, 1, 2048, 30000, SourceKind::plain);
      check_project(k.layout, k.name, 2, 384, 16, SourceKind::heads);
      check_experts(k.layout, k.name, 2, 256, 96, 60, 4, false);
    }
    check_experts(kinds[0].layout, kinds[0].name, 2, 2048, 512, 256, 8, true);
    check_experts(kinds[0].layout, kinds[0].name, 2, 2048, 512, 256, 8, true, true);
    check_experts(kinds[0].layout, kinds[0].name, 1, 512, 128, 6, 3, false, true);
    check_experts(kinds[2].layout, kinds[2].name, 1, 2048, 512, 256, 8, true);
    check_experts(kinds[2].layout, kinds[2].name, 1, 4096, 320, 512, 8, false);
    std::printf("%d failures\n", failures);
  }
  if (!timing) return failures != 0;
  for (const int k : {0, 2}) {
    const Recording r = whole_step(kinds[k].layout);
    if (once) {  // for profilers
      for (int i = 0; i < 3; i++) play(r);
      CHECKED(cudaDeviceSynchronize());
      return 0;
    }
    const double whole = time_of(r, [](const char*) { return true; });
    std::printf("%s: step %.1f us, %.0f tok/s\n", kinds[k].name, whole, 1e6 / whole);
    for (const char* stage : {"in", "mix", "out", "router", "up", "down", "head"}) {
      const auto is = [&](const char* name) { return std::strcmp(name, stage) == 0; };
      const int n = std::strcmp(stage, "head") == 0 ? 1 : 40;
      std::printf("  %-7s without: %5.2f us less each; alone: %5.2f us each\n", stage, (whole - time_of(r, [&](const char* name) { return !is(name); })) / n, time_of(r, is) / n);
    }
    std::fflush(stdout);
    CHECKED(cudaStreamSynchronize(stream));
    if (k == 0) break;
  }
  return failures != 0;
}

}  // namespace
}  // namespace cuda

int main(int argc, char** argv) { return cuda::run(argc, argv); }
