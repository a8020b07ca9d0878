// cuda_delta: checks the kernels of the gated delta rule against the recurrence in double precision, with friendly and nasty gates, and times them.
// Arguments: short (checks only, small ones), profile (one prompt, for ncu). Built by itself: nvcc -O3 -std=c++20 --expt-relaxed-constexpr -arch=sm_90a -Isrc bench/cuda_delta.cu src/device/cuda/delta*.cu
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include "device/cuda/delta.h"

#define CUDA_CHECK(call) \
  if (const cudaError_t code_ = (call); code_ != cudaSuccess) std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(code_)), std::exit(1)

using namespace cuda;

namespace {

struct Dims { int key_heads = 16, value_heads = 32, key_dim = 128, value_dim = 128, kernel = 4; bool tiled = false; int channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; } };
enum class Gates { usual, remember, forget, mixed, alike };  // alike: keys of all rows nearly the same
const char* const kGateNames[] = {"usual", "remember", "forget", "mixed", "alike"};
struct Rows { int rows, past; };

template <class T> class Buffer {
 public:
  explicit Buffer(size_t n) : size_(n) { CUDA_CHECK(cudaMalloc(&data_, std::max<size_t>(n * sizeof(T), 256))); }
  explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) { *this = from; }
  Buffer(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  void operator=(const std::vector<T>& from) { CUDA_CHECK(cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice)); }
  void poison() { CUDA_CHECK(cudaMemset(data_, 0xff, size_ * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> to(size_);
    CUDA_CHECK(cudaMemcpy(to.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
  size_t size_;
};

void launch(cudaStream_t stream, const void* kernel, dim3 grid, int threads, int shared, const void* args) {
  if (shared > 48 << 10) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = static_cast<unsigned>(threads), config.dynamicSmemBytes = static_cast<size_t>(shared), config.stream = stream;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap, config.numAttrs = 1;
  void* arguments[] = {const_cast<void*>(args)};
  CUDA_CHECK(cudaLaunchKernelExC(&config, kernel, arguments));
}
void launch(cudaStream_t stream, const DeltaLaunch& l, const DeltaChunkArgs& a) {
  launch(stream, l.kernel, dim3(static_cast<unsigned>(l.grid[0]), static_cast<unsigned>(l.grid[1]), static_cast<unsigned>(l.grid[2])), l.threads, l.shared_bytes, &a);
}

// Inputs of a step, on the host.
struct Problem {
  Dims shape;
  std::vector<Rows> sequences;
  int rows = 0;
  std::vector<float> qkv, z, a, b, taps, rate, dt, gain, history, state;  // history: ring
  std::vector<SequenceOnDevice> table;
  std::vector<int> row_sequence;
};

Problem make(const Dims& shape, std::vector<Rows> sequences, Gates gates, float loud, unsigned seed) {
  Problem p{.shape = shape, .sequences = std::move(sequences)};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < p.sequences.size(); i++) {
    p.table.push_back({p.rows, p.sequences[i].rows, p.sequences[i].past, static_cast<int32_t>(p.sequences.size() - 1 - i), 0});
    for (int r = 0; r < p.sequences[i].rows; r++) p.row_sequence.push_back(static_cast<int>(i));
    p.rows += p.sequences[i].rows;
  }
  const auto fill = [&](std::vector<float>& v, size_t n, float scale, float mean = 0) {
    v.resize(n);
    for (float& x : v) x = mean + scale * normal(random);
  };
  const size_t channels = static_cast<size_t>(shape.channels()), rows = static_cast<size_t>(p.rows), heads = static_cast<size_t>(shape.value_heads), slots = p.sequences.size();
  fill(p.qkv, rows * channels, 1), fill(p.z, rows * heads * static_cast<size_t>(shape.value_dim), 1), fill(p.a, rows * heads, 1), fill(p.b, rows * heads, 1);
  fill(p.taps, channels * static_cast<size_t>(shape.kernel), 0.5f), fill(p.rate, heads, 0), fill(p.dt, heads, 0.5f), fill(p.gain, static_cast<size_t>(shape.value_dim), 0.1f, 1);
  fill(p.history, slots * channels * static_cast<size_t>(shape.kernel), 1), fill(p.state, slots * heads * static_cast<size_t>(shape.key_dim * shape.value_dim), 0.1f * loud);
  for (float& x : p.rate) x = -std::exp(1.5f * normal(random));
  const size_t first_value = 2 * static_cast<size_t>(shape.key_heads * shape.key_dim);
  for (size_t i = 0; i < p.qkv.size(); i++) {
    if (gates == Gates::alike && i % channels < first_value) p.qkv[i] = p.qkv[i % channels] + 0.05f * p.qkv[i];
    if (i % channels >= first_value) p.qkv[i] *= loud;
  }
  for (size_t i = 0; i < p.a.size(); i++) {
    if (gates == Gates::remember || gates == Gates::alike) p.a[i] -= 11, p.b[i] += 2;
    if (gates == Gates::forget) p.a[i] += 40;
    if (gates == Gates::mixed) p.a[i] = p.a[i] > 0 ? 60 * p.a[i] : -14, p.b[i] *= 8;
  }
  return p;
}

struct Outcome { std::vector<double> o, y, state; };  // o: before the norm

Outcome reference(const Problem& p) {
  const Dims& s = p.shape;
  const size_t channels = static_cast<size_t>(s.channels()), heads = static_cast<size_t>(s.value_heads), dk = static_cast<size_t>(s.key_dim), dv = static_cast<size_t>(s.value_dim);
  Outcome out{std::vector<double>(static_cast<size_t>(p.rows) * heads * dv), std::vector<double>(static_cast<size_t>(p.rows) * heads * dv), std::vector<double>(p.state.begin(), p.state.end())};
  const auto head_of = [&](size_t h) {
    const size_t kh = s.tiled ? h % static_cast<size_t>(s.key_heads) : h / static_cast<size_t>(s.value_heads / s.key_heads);
    std::vector<double> q(dk), k(dk), v(dv), read(dv);
    for (const SequenceOnDevice& sequence : p.table) {
      double* state = out.state.data() + (static_cast<size_t>(sequence.slot) * heads + h) * dk * dv;
      for (int r = 0; r < sequence.n_rows; r++) {
        const size_t row = static_cast<size_t>(sequence.first_row + r);
        const auto mixed = [&](size_t channel) {
          double sum = 0;
          for (int j = 0; j < s.kernel; j++) {
            const int t = r - (s.kernel - 1) + j;
            const double x = t >= 0 ? p.qkv[static_cast<size_t>(sequence.first_row + t) * channels + channel]
                                    : p.history[(static_cast<size_t>(sequence.slot * s.kernel) + static_cast<size_t>((sequence.past + t + s.kernel) % s.kernel)) * channels + channel];
            sum += x * p.taps[static_cast<size_t>(j) * channels + channel];
          }
          return sum / (1 + std::exp(-sum));
        };
        double qq = 1e-6, kk = 1e-6;
        for (size_t i = 0; i < dk; i++) q[i] = mixed(kh * dk + i), k[i] = mixed((static_cast<size_t>(s.key_heads) + kh) * dk + i), qq += q[i] * q[i], kk += k[i] * k[i];
        for (size_t i = 0; i < dk; i++) q[i] /= std::sqrt(qq * static_cast<double>(dk)), k[i] /= std::sqrt(kk);
        for (size_t j = 0; j < dv; j++) v[j] = mixed(2 * static_cast<size_t>(s.key_heads) * dk + h * dv + j);
        const double x = static_cast<double>(p.a[row * heads + h]) + p.dt[h], decay = std::exp(p.rate[h] * (x > 20 ? x : std::log1p(std::exp(x)))), beta = 1 / (1 + std::exp(-static_cast<double>(p.b[row * heads + h])));
        double squares = 0;
        double* o = out.o.data() + (row * heads + h) * dv;
        for (size_t j = 0; j < dv; j++) {
          double* column = state + j * dk;
          double sum = 0, result = 0;
          for (size_t i = 0; i < dk; i++) column[i] *= decay, sum += column[i] * k[i];
          const double d = (v[j] - sum) * beta;
          for (size_t i = 0; i < dk; i++) column[i] += k[i] * d, result += column[i] * q[i];
          o[j] = result, squares += result * result;
        }
        for (size_t j = 0; j < dv; j++) {
          const double g = p.z[(row * heads + h) * dv + j];
          out.y[(row * heads + h) * dv + j] = o[j] / std::sqrt(squares / static_cast<double>(dv) + 1e-6) * p.gain[j] * g / (1 + std::exp(-g));
        }
      }
    }
  };
  const size_t workers = std::min<size_t>(heads, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> team;
  for (size_t w = 0; w < workers; w++)
    team.emplace_back([&, w] {
      for (size_t h = w; h < heads; h += workers) head_of(h);
    });
  for (std::thread& t : team) t.join();
  return out;
}

// A problem on the device, and what steps made of it.
class Run {
 public:
  explicit Run(const Problem& p)
      : p_(p), qkv_(p.qkv), z_(p.z), a_(p.a), b_(p.b), taps_(p.taps), rate_(p.rate), dt_(p.dt), gain_(p.gain), history_(p.history), state_(p.state), y_(p.z.size()), mixed_(p.qkv.size()), table_(p.table), row_sequence_(p.row_sequence),
        halves_(static_cast<size_t>(padded()) * static_cast<size_t>(p.shape.value_heads * p.shape.value_dim + 63)) {
    for (const Rows& s : p.sequences) chunks_ += delta_chunks(s.rows);
    args_.delta = {qkv_.get(), z_.get(), a_.get(), b_.get(), taps_.get(), rate_.get(), dt_.get(), gain_.get(), mixed_.get(), y_.get(), history_.get(), state_.get(), {nullptr, nullptr, row_sequence_.get(), table_.get(), nullptr}, p.rows,
                   static_cast<int32_t>(p.sequences.size()), p.shape.key_heads, p.shape.value_heads, p.shape.key_dim, p.shape.value_dim, p.shape.kernel, 1e-6f, p.shape.tiled};
    scratch_bytes_ = delta_chunk_bytes(args_.delta) * chunks_;
    CUDA_CHECK(cudaMalloc(&scratch_, std::max<size_t>(static_cast<size_t>(scratch_bytes_), 256)));
    args_.scratch = delta_scratch(args_.delta, chunks_, scratch_);
    args_.halves = {halves_.get(), p.rows, padded(), p.shape.value_heads * p.shape.value_dim};
  }
  ~Run() { cudaFree(scratch_); }
  void poison() {
    y_.poison(), mixed_.poison(), halves_.poison(); CUDA_CHECK(cudaMemset(scratch_, 0xff, static_cast<size_t>(scratch_bytes_))); }

  void step(cudaStream_t stream) {
    const DeltaStep s = delta_step(p_.shape.key_dim, p_.shape.kernel);
    launch(stream, s.kernel, dim3(static_cast<unsigned>(p_.shape.value_heads), static_cast<unsigned>((p_.shape.value_dim + s.columns - 1) / s.columns), static_cast<unsigned>(p_.sequences.size())), s.threads, 0, &args_.delta);
  }
  void finish_rows(cudaStream_t stream) { launch(stream, delta_row_finish_kernel(), dim3(static_cast<unsigned>(p_.rows), static_cast<unsigned>(p_.shape.value_heads)), 128, 0, &args_); }
  void chunks(cudaStream_t stream, int which = 7) {
    const DeltaChunkLaunches l = delta_chunk_launches(args_.delta, chunks_);
    if (which & 1) launch(stream, l.prepare, args_);
    if (which & 2) launch(stream, l.scan, args_);
    if (which & 4) launch(stream, l.finish, args_);
  }
  // The path of any shape.
  void rows(cudaStream_t stream) {
    const auto sequences = static_cast<unsigned>(p_.sequences.size()), channels = static_cast<unsigned>(p_.shape.channels() + 255) / 256, heads = static_cast<unsigned>(p_.shape.value_heads);
    launch(stream, convolution_kernel(), dim3(channels, static_cast<unsigned>(p_.rows)), 256, 0, &args_.delta);
    launch(stream, delta_history_kernel(), dim3(channels, sequences), 256, 0, &args_.delta);
    launch(stream, delta_kernel(), dim3(heads, static_cast<unsigned>(p_.shape.value_dim + kDeltaColumns - 1) / kDeltaColumns, sequences), 256, (2 * p_.shape.key_dim + 2 * 8 * 32 + 16) * 4, &args_.delta);
    launch(stream, delta_finish_kernel(), dim3(static_cast<unsigned>(p_.rows), heads), 128, 0, &args_.delta);
  }
  void want_floats(bool wanted) { args_.delta.y = wanted ? y_.get() : nullptr; }
  std::vector<float> y() const { return y_.host(); }
  std::vector<float> state() const { return state_.host(); }
  std::vector<float> history() const { return history_.host(); }
  std::vector<uint16_t> halves() const { return halves_.host(); }
  int padded() const { return (p_.rows + 7) / 8 * 8; }

 private:
  const Problem& p_;
  Buffer<float> qkv_, z_, a_, b_, taps_, rate_, dt_, gain_, history_, state_, y_, mixed_;
  Buffer<SequenceOnDevice> table_;
  Buffer<int> row_sequence_;
  Buffer<uint16_t> halves_;
  DeltaChunkArgs args_{};
  void* scratch_ = nullptr;
  int64_t scratch_bytes_ = 0;
  int32_t chunks_ = 0;
};

// |x - ref| / |ref| of all values, and of the worst group of `group` values whose reference is not tiny.
struct Error { double all = 0, worst = 0; };
template <class T> Error error_of(const std::vector<T>& x, const std::vector<double>& ref, size_t group) {
  double e = 0, s = 0, worst = 0;
  for (size_t i = 0; i < ref.size(); i += group) {
    double ge = 0, gs = 0;
    for (size_t j = i; j < i + group; j++) ge += (x[j] - ref[j]) * (x[j] - ref[j]), gs += ref[j] * ref[j];
    e += ge, s += gs;
    if (!(std::sqrt(ge / (gs + 1e-12 * static_cast<double>(group))) <= worst)) worst = std::sqrt(ge / (gs + 1e-12 * static_cast<double>(group)));
  }
  return {std::sqrt(e / s), worst};
}

int failures = 0;
void report(const std::string& what, const Error& o, const Error& state, bool exact, double bound) {
  const bool good = o.all <= bound && state.all <= bound && exact;
  failures += !good;
  std::printf("%-44s result %.1e (worst head %.1e)  state %.1e (worst %.1e)  %s%s\n", what.c_str(), o.all, o.worst, state.all, state.worst, exact ? "" : "EXACT PARTS DIFFER ", good ? "ok" : "WRONG");
  std::fflush(stdout);
}

// What the ring must hold afterwards.
bool history_right(const Problem& p, const std::vector<float>& found) {
  const Dims& s = p.shape;
  const size_t channels = static_cast<size_t>(s.channels());
  for (const SequenceOnDevice& sequence : p.table)
    for (int j = 1; j < s.kernel; j++) {
      const int position = sequence.past + sequence.n_rows - j, row = sequence.n_rows - j;
      if (position < 0) continue;
      const size_t at = (static_cast<size_t>(sequence.slot * s.kernel) + static_cast<size_t>(position % s.kernel)) * channels;
      const float* wanted = row >= 0 ? p.qkv.data() + static_cast<size_t>(sequence.first_row + row) * channels : p.history.data() + at;
      if (std::memcmp(found.data() + at, wanted, channels * sizeof(float)) != 0) return false;
    }
  return true;
}

enum class Path { fast, rows };
void check(const char* name, const Dims& shape, std::vector<Rows> sequences, Gates gates, float loud, Path path, double bound = 1e-3) {
  const Problem p = make(shape, std::move(sequences), gates, loud, 7);
  const Outcome ref = reference(p);
  Run run(p);
  run.poison();
  if (path == Path::fast) {
    run.step(nullptr), run.finish_rows(nullptr);
    if (p.rows > static_cast<int>(p.sequences.size())) run.chunks(nullptr);
  }
  if (path == Path::rows) run.rows(nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<float> y = run.y();
  bool exact = history_right(p, run.history());
  if (path == Path::fast) {
    const std::vector<uint16_t> halves = run.halves();
    const int width = shape.value_heads * shape.value_dim;
    for (int r = 0; r < p.rows; r++)
      for (int i = 0; i < width; i++) exact = exact && halves[static_cast<size_t>(half_at(run.padded(), r, i))] == __half_as_ushort(__float2half_rn(y[static_cast<size_t>(r) * static_cast<size_t>(width) + static_cast<size_t>(i)]));
  }
  report(std::string(name) + ", " + kGateNames[static_cast<int>(gates)], error_of(y, ref.y, static_cast<size_t>(shape.value_dim)), error_of(run.state(), ref.state, static_cast<size_t>(shape.key_dim * shape.value_dim)), exact, bound);
}

// A sequence gives the same bits alone as among others.
void check_alone() {
  const Dims shape{2, 4, 128, 128, 4, true};
  const std::vector<Rows> all{{1, 5}, {70, 0}, {1, 900}, {200, 3}, {64, 64}, {2, 1}, {3, 0}, {129, 7}, {1, 0}, {65, 2}};
  const Problem p = make(shape, all, Gates::usual, 1, 11);
  Run together(p);
  together.poison();
  together.step(nullptr), together.finish_rows(nullptr), together.chunks(nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<float> y = together.y(), state = together.state();
  bool same = true;
  for (size_t i = 0; i < all.size(); i++) {
    Problem one = make(shape, {all[i]}, Gates::usual, 1, 11);
    const size_t channels = static_cast<size_t>(shape.channels()), heads = 4, width = 512, from = static_cast<size_t>(p.table[i].first_row), rows = static_cast<size_t>(one.rows), slot = static_cast<size_t>(p.table[i].slot);
    const auto cut = [](const std::vector<float>& v, size_t at, size_t n) { return std::vector<float>(v.begin() + static_cast<int64_t>(at), v.begin() + static_cast<int64_t>(at + n)); };
    one.qkv = cut(p.qkv, from * channels, rows * channels), one.z = cut(p.z, from * width, rows * width), one.a = cut(p.a, from * heads, rows * heads), one.b = cut(p.b, from * heads, rows * heads);
    one.taps = p.taps, one.rate = p.rate, one.dt = p.dt, one.gain = p.gain;
    one.history = cut(p.history, slot * 4 * channels, 4 * channels), one.state = cut(p.state, slot * heads * 16384, heads * 16384);
    Run alone(one);
    alone.poison();
    alone.step(nullptr), alone.finish_rows(nullptr);
    if (one.rows > 1) alone.chunks(nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    const std::vector<float> own = alone.y(), own_state = alone.state();
    same = same && std::memcmp(own.data(), y.data() + from * width, own.size() * 4) == 0 && std::memcmp(own_state.data(), state.data() + slot * heads * 16384, own_state.size() * 4) == 0;
  }
  failures += !same;
  std::printf("%-44s %s\n", "alone as among others", same ? "same bits" : "DIFFERS: WRONG");
}

template <class F> double microseconds(cudaStream_t stream, int repeats, F&& record) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  record();
  CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  CUDA_CHECK(cudaGraphInstantiate(&ready, graph, 0));
  cudaEvent_t begin, end;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  for (int i = 0; i < 3; i++) CUDA_CHECK(cudaGraphLaunch(ready, stream));
  double best = 1e30;
  for (int r = 0; r < 5; r++) {
    CUDA_CHECK(cudaEventRecord(begin, stream));
    for (int i = 0; i < repeats; i++) CUDA_CHECK(cudaGraphLaunch(ready, stream));
    CUDA_CHECK(cudaEventRecord(end, stream));
    CUDA_CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
    best = std::min(best, 1000.0 * ms / repeats);
  }
  cudaGraphExecDestroy(ready), cudaGraphDestroy(graph), cudaEventDestroy(begin), cudaEventDestroy(end);
  return best;
}

void time_all() {
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  for (const int sequences : {1, 2, 4, 8, 16, 32, 64}) {
    const Problem p = make({}, std::vector<Rows>(static_cast<size_t>(sequences), Rows{1, 100}), Gates::usual, 1, 3);
    const int layers = sequences > 8 ? 6 : 30;
    std::vector<std::unique_ptr<Run>> runs;
    for (int i = 0; i < layers; i++) runs.push_back(std::make_unique<Run>(p));
    const double step = microseconds(stream, 20, [&] { for (auto& r : runs) r->step(stream); }) / layers;
    const double both = microseconds(stream, 20, [&] { for (auto& r : runs) r->step(stream), r->finish_rows(stream); }) / layers;
    std::printf("decode, %2d sequences: %6.2f us a layer (%.2f TB/s of state), with finish %6.2f us\n", sequences, step, sequences * 4.194304 / step, both);
  }
  for (const int rows : {16, 64, 512, 2048, 4096, 8192}) {
    const Problem p = make({}, {{rows, 0}}, Gates::usual, 1, 3);
    Run run(p), other(p);
    run.want_floats(false), other.want_floats(false);
    const auto time = [&](int which) { return microseconds(stream, 5, [&] { for (int i = 0; i < 4; i++) run.chunks(stream, which), other.chunks(stream, which); }) / 8; };
    std::printf("prefill, %4d rows: %7.1f us a layer; prepare %6.1f, scan %6.1f, finish %6.1f\n", rows, time(7), time(1), time(2), time(4));
    std::fflush(stdout);
  }
  {
    const Problem p = make({}, {{512, 0}, {512, 0}, {512, 0}, {512, 0}, {512, 0}, {512, 0}, {512, 0}, {512, 0}}, Gates::usual, 1, 3);
    Run run(p);
    std::printf("prefill, 8 x 512 rows: %7.1f us a layer\n", microseconds(stream, 5, [&] { for (int i = 0; i < 4; i++) run.chunks(stream); }) / 4);
  }
  cudaStreamDestroy(stream);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "profile") == 0) {  // for ncu
    const Problem p = make({}, {{4096, 0}}, Gates::usual, 1, 3);
    Run run(p);
    for (int i = 0; i < 2; i++) run.chunks(nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    return 0;
  }
  const Dims real{}, tiled{16, 32, 128, 128, 4, true}, small{2, 6, 128, 128, 4, false}, one{1, 2, 128, 128, 4, false};
  check("decode, 3 sequences", real, {{1, 0}, {1, 7}, {1, 1001}}, Gates::usual, 1, Path::fast, 2e-5);
  check("decode, 20 sequences tiled", tiled, std::vector<Rows>(20, {1, 6}), Gates::mixed, 1, Path::fast, 2e-5);
  check("decode, keys of 64", {3, 6, 64, 68, 4, true}, {{1, 0}, {1, 7}}, Gates::usual, 1, Path::fast, 2e-5);
  check("decode, keys of 256", {2, 4, 256, 132, 4, false}, {{1, 0}, {1, 7}}, Gates::usual, 1, Path::fast, 2e-5);
  check("rows, odd dims", {3, 6, 40, 20, 3, true}, {{1, 0}, {1, 6}, {33, 7}, {2, 2}, {5, 9}}, Gates::usual, 1, Path::rows, 2e-5);
  check("rows, 256", {2, 4, 256, 200, 4, false}, {{70, 3}, {1, 1}}, Gates::remember, 1, Path::rows, 2e-5);
  check("one chunk", small, {{64, 0}}, Gates::usual, 1, Path::fast);
  check("300 rows, past 5", small, {{300, 5}}, Gates::usual, 1, Path::fast);
  check("512 rows", real, {{512, 64}}, Gates::usual, 1, Path::fast);
  check("512 rows tiled", tiled, {{512, 64}}, Gates::usual, 1, Path::fast);
  check("mixed step", tiled, {{1, 5}, {70, 0}, {1, 900}, {200, 3}, {2, 1}, {3, 0}, {129, 7}, {1, 0}}, Gates::usual, 1, Path::fast);
  for (const Gates g : {Gates::remember, Gates::forget, Gates::mixed}) check("1000 rows", small, {{1000, 3}}, g, 1, Path::fast);
  check("1000 rows", small, {{1000, 3}}, Gates::alike, 1, Path::fast, 4e-3);  // what tells keys apart is 20 times smaller than what is rounded
  check("1000 rows, loud x 300", small, {{1000, 3}}, Gates::usual, 300, Path::fast);
  check("1000 rows, quiet / 30", small, {{1000, 3}}, Gates::usual, 1.0f / 30, Path::fast);
  if (argc < 2 || std::strcmp(argv[1], "short") != 0)
    for (const Gates g : {Gates::usual, Gates::remember, Gates::mixed}) check("32768 rows", one, {{32768, 0}}, g, 1, Path::fast);
  check_alone();
  std::printf("%d failures\n", failures);
  if (argc < 2 || std::strcmp(argv[1], "short") != 0) time_all();
  return failures != 0;
}
