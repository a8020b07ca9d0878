// cuda_attention: checks the attention kernels of the NVIDIA device against softmax attention in double precision, and times them.
// cuda_attention [check|decode|prefill]: all without a word; decode and prefill are times. Stands alone: nvcc -std=c++20 -O3 -arch=... -Isrc bench/cuda_attention.cu src/device/cuda/attention_*.cu
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>
#include "device/cuda/attention.h"

namespace {
using namespace cuda;

#define CHECK_CUDA(call)                                                                                       \
  do {                                                                                                         \
    if (const cudaError_t code = (call); code != cudaSuccess) {                                                \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code)), std::fflush(stdout); \
      std::exit(1);                                                                                            \
    }                                                                                                          \
  } while (0)

template <class T> class Buffer {
 public:
  explicit Buffer(size_t n = 0) : size_(n) {
    if (n > 0) CHECK_CUDA(cudaMalloc(&data_, n * sizeof(T)));
  }
  explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) {
    if (size_ > 0) CHECK_CUDA(cudaMemcpy(data_, from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  Buffer(Buffer&& from) noexcept : data_(std::exchange(from.data_, nullptr)), size_(std::exchange(from.size_, 0)) {}
  Buffer& operator=(Buffer&& from) noexcept { return std::swap(data_, from.data_), std::swap(size_, from.size_), *this; }
  ~Buffer() { cudaFree(data_); }
  T* data() const { return data_; }
  void poison() { CHECK_CUDA(cudaMemset(data_, 0xff, size_ * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> out(size_);
    CHECK_CUDA(cudaMemcpy(out.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

struct Length { int past, rows; };
struct Case {
  std::string name;
  int heads, kv_heads, dim;
  std::vector<Length> sequences;
  KvType type = KvType::half;
  int window = 0;
  bool causal = true;
  int half = 0;
  bool adjacent = false, norm = true, gate = true, shared_keys = false;  // shared_keys: another layer has appended
  int page_tokens = 32, min_tiles = 1;
};

__device__ __host__ float random_value(uint64_t i) {  // about normal
  i = (i + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u, i = (i ^ i >> 27) * 0x94d049bb133111ebu, i ^= i >> 31;
  return (static_cast<float>(i & 0xffff) + static_cast<float>(i >> 16 & 0xffff) + static_cast<float>(i >> 32 & 0xffff) + static_cast<float>(i >> 48)) / 37837.0f - 3.4641f;
}

// Block (token, sequence): random below `filled` tokens, not a number behind.
__global__ void fill_cache(CacheOnDevice c, bool int8, const int32_t* pages, const SequenceOnDevice* sequences, bool with_rows, uint64_t seed) {
  const SequenceOnDevice s = sequences[blockIdx.y];
  const int token = blockIdx.x, capacity = (s.past + s.n_rows + c.page_tokens - 1) / c.page_tokens * c.page_tokens, filled = s.past + (with_rows ? s.n_rows : 0);
  if (token >= capacity) return;
  const int64_t page = pages[s.pages + token / c.page_tokens], stride = page_stride(int8 ? KvType::int8 : KvType::half, c.page_tokens, c.n_kv_heads, c.key_dim);
  const int width = c.n_kv_heads * c.key_dim, at = token % c.page_tokens;
  for (int which = 0; which < 2; which++) {
    uint8_t* base = static_cast<uint8_t*>(which ? c.values : c.keys) + page * stride;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
      const float v = random_value(((seed * 2 + which) * 1048576 + s.past * 7 + s.n_rows) * 268435456 + static_cast<uint64_t>(token) * width + i);
      if (int8) reinterpret_cast<int8_t*>(base)[at * width + i] = static_cast<int8_t>(fminf(fmaxf(v * 40, -127), 127));
      else reinterpret_cast<__half*>(base)[at * width + i] = token < filled ? __float2half(v) : __ushort_as_half(0x7fff);
    }
    if (int8)
      for (int h = threadIdx.x; h < c.n_kv_heads; h += blockDim.x) reinterpret_cast<float*>(base + c.page_tokens * width)[at * c.n_kv_heads + h] = token < filled ? 0.02f + 0.01f * (h + token % 7) / 8 : nanf("");
  }
}

struct Layer { Buffer<uint8_t> keys, values; };

// Everything a step's kernels of one layer read and write.
class Problem {
 public:
  explicit Problem(const Case& c, int n_layers = 1) : c_(c) {
    const int width = c.heads * c.dim, kv_width = c.kv_heads * c.dim;
    std::vector<SequenceOnDevice> sequences;
    std::vector<int32_t> pages, row_sequence, positions;
    int n_pages = 0;
    for (const Length& s : c.sequences) n_pages += (s.past + s.rows + c.page_tokens - 1) / c.page_tokens;
    std::vector<int32_t> shuffled(n_pages);
    for (int i = 0; i < n_pages; i++) shuffled[i] = i;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
    for (const Length& s : c.sequences) {
      sequences.push_back({rows_, s.rows, s.past, 0, static_cast<int32_t>(pages.size())});
      for (int i = 0; i < (s.past + s.rows + c.page_tokens - 1) / c.page_tokens; i++) pages.push_back(shuffled[pages.size()]);
      for (int r = 0; r < s.rows; r++) row_sequence.push_back(static_cast<int32_t>(&s - c.sequences.data())), positions.push_back(s.past + r);
      rows_ += s.rows, longest_ = std::max(longest_, s.past + s.rows + c.page_tokens);
      many_ |= s.rows > 1, single_ |= s.rows == 1, tiles_ += flash_tiles(s.rows, c.heads / c.kv_heads);
    }
    sequences_ = sequences, pages_ = pages;
    sequences_on_device_ = Buffer(sequences), pages_on_device_ = Buffer(pages), row_sequence_ = Buffer(row_sequence), positions_ = Buffer(positions);
    stride_ = width + 2 * kv_width + 8, projected_.resize(static_cast<size_t>(rows_) * stride_), gates_.resize(static_cast<size_t>(rows_) * width);
    // The same for a sequence of the same length wherever it stands in the step.
    for (const SequenceOnDevice& s : sequences)
      for (int r = 0; r < s.n_rows; r++) {
        const uint64_t seed = (static_cast<uint64_t>(s.past) * 7 + s.n_rows) * 1000003 + static_cast<uint64_t>(r) * 65536;
        const size_t row = s.first_row + r;
        for (int i = 0; i < stride_; i++) projected_[row * stride_ + i] = random_value(seed + i) * (c.norm ? 3.0f : 1.0f);
        for (int i = 0; i < width; i++) gates_[row * width + i] = random_value(seed + 32768 + i);
      }
    for (int i = 0; i < c.dim; i++) q_gain_.push_back(1 + 0.2f * random_value(i + 5)), k_gain_.push_back(1 + 0.2f * random_value(i + 6666));
    for (int i = 0; i < c.half; i++) frequencies_.push_back(std::pow(1e4f, -static_cast<float>(i) / c.half));
    projected_on_device_ = Buffer(projected_), gates_on_device_ = Buffer(gates_), q_gain_on_device_ = Buffer(q_gain_), k_gain_on_device_ = Buffer(k_gain_), frequencies_on_device_ = Buffer(frequencies_);
    padded_ = (rows_ + 7) / 8 * 8;
    y_ = Buffer<float>(static_cast<size_t>(rows_) * width), halves_ = Buffer<uint16_t>(static_cast<size_t>((width + 63) / 64) * 64 * padded_), queries_ = Buffer<uint16_t>(static_cast<size_t>(rows_) * width);
    turns_ = Buffer<uint32_t>(c.sequences.size() * c.heads);
    CHECK_CUDA(cudaMemset(turns_.data(), 0, c.sequences.size() * c.heads * sizeof(uint32_t)));
    partials_ = Buffer<float>(partial_floats(std::ssize(c.sequences), c.heads, kMaxSplits, c.dim));
    const int64_t bytes = n_pages * page_stride(c.type, c.page_tokens, c.kv_heads, c.dim);
    for (int l = 0; l < n_layers; l++) {
      layers_.push_back({Buffer<uint8_t>(bytes), Buffer<uint8_t>(bytes)});
      reset(l);
    }
  }
  void reset(int layer = 0) {
    fill_cache<<<dim3(longest_, static_cast<unsigned>(c_.sequences.size())), 128>>>(cache(layer), c_.type == KvType::int8, pages_on_device_.data(), sequences_on_device_.data(), c_.shared_keys, layer);
    CHECK_CUDA(cudaGetLastError());
  }
  CacheOnDevice cache(int layer = 0) const { return {layers_[layer].keys.data(), layers_[layer].values.data(), c_.page_tokens, c_.kv_heads, c_.dim, c_.dim}; }
  void poison() { y_.poison(), halves_.poison(), partials_.poison(), queries_.poison(); }

  // Folds: in clusters, which need no merge; of the longest sequence there are as many as it needs.
  void split(cudaStream_t stream, bool folds, int layer = 0) const {
    const int groups = c_.kv_heads * ((c_.heads / c_.kv_heads + kGroupHeads - 1) / kGroupHeads), most = folds ? cluster_splits(multiprocessors, groups) : kMaxSplits;
    int splits = 1;
    for (const Length& l : c_.sequences)
      if (l.rows == 1) splits = std::max(splits, splits_of(l.past, c_.window, c_.min_tiles, most).count);
    if (folds) splits = (splits + kCluster - 1) / kCluster * kCluster;
    SplitAttentionArgs a{cache(layer), step(), preparation(), q(), k(), v(), partials_.data(), stride_, stride_, stride_, c_.heads, c_.window, c_.min_tiles, most, scale(), true};
    if (folds) a.turns = turns_.data(), a.gate = c_.gate ? gates_on_device_.data() : nullptr, a.gate_stride = c_.heads * c_.dim, a.y = y_.data(), a.halves = {halves_.data(), rows_, padded_, c_.heads * c_.dim};
    launch(stream, split_attention_kernel(cache(), c_.type, shared_limit, folds), dim3(splits, groups, static_cast<unsigned>(c_.sequences.size())), a);
  }
  void merge(cudaStream_t stream) const {
    launch(stream, merge_splits_kernel(c_.dim), dim3(c_.heads, static_cast<unsigned>(c_.sequences.size())),
           MergeSplitsArgs{step(), partials_.data(), c_.gate ? gates_on_device_.data() : nullptr, y_.data(), {halves_.data(), rows_, padded_, c_.heads * c_.dim}, c_.heads * c_.dim, c_.heads, c_.dim, c_.window, c_.min_tiles, kMaxSplits, true});
  }
  void prepare(cudaStream_t stream, int layer = 0) const {
    launch(stream, prepare_kernel(cache(), c_.type), dim3(rows_), PrepareArgs{cache(layer), step(), preparation(), q(), k(), v(), queries_.data(), stride_, stride_, stride_, c_.heads});
  }
  bool flash(cudaStream_t stream, int compute_capability, int layer = 0) const {
    const AttentionKernel kernel = flash_attention_kernel(cache(), c_.type, c_.heads, compute_capability);
    if (!kernel.kernel) return false;
    launch(stream, kernel, dim3(c_.kv_heads, tiles_ + 1),
           FlashAttentionArgs{cache(layer), step(), queries_.data(), c_.gate ? gates_on_device_.data() : nullptr, y_.data(), {halves_.data(), rows_, padded_, c_.heads * c_.dim}, c_.heads * c_.dim, c_.heads,
                              static_cast<int32_t>(c_.sequences.size()), c_.window, scale(), c_.causal});
    return true;
  }
  bool run(int compute_capability) {
    reset(), poison();
    if (many_) {
      prepare(nullptr);
      if (!flash(nullptr, compute_capability)) return false;
    }
    if (single_) split(nullptr, compute_capability >= 90);
    if (single_ && compute_capability < 90) merge(nullptr);
    CHECK_CUDA(cudaDeviceSynchronize());
    return true;
  }

  // The largest relative error of a checked row, of y and of its halves, and of what was appended.
  struct Errors { double y = 0, halves = 0, appended = 0; };
  Errors errors(int most_rows) const;
  std::vector<float> results() const { return y_.host(); }

  static inline int shared_limit = 0, multiprocessors = 0;

 private:
  template <class Args> static void launch(cudaStream_t stream, const AttentionKernel& kernel, dim3 grid, const Args& args) {
    if (kernel.shared_bytes > 48 * 1024) CHECK_CUDA(cudaFuncSetAttribute(kernel.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes));
    CHECK_CUDA(cudaFuncSetAttribute(kernel.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));  // as steps do
    cudaLaunchConfig_t config{};
    config.gridDim = grid, config.blockDim = dim3(static_cast<unsigned>(kernel.threads)), config.dynamicSmemBytes = kernel.shared_bytes, config.stream = stream;
    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization, overlap.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &overlap, config.numAttrs = 1;
    void* arguments[] = {const_cast<Args*>(&args)};
    CHECK_CUDA(cudaLaunchKernelExC(&config, kernel.kernel, arguments));
  }
  StepTables step() const { return {nullptr, positions_.data(), row_sequence_.data(), sequences_on_device_.data(), pages_on_device_.data()}; }
  HeadPreparation preparation() const { return {q_gain_on_device_.data(), k_gain_on_device_.data(), frequencies_on_device_.data(), 1e-6f, magnitude, c_.half, c_.norm, c_.norm, false, c_.adjacent}; }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(c_.dim)) * (c_.norm ? 1.0f : 0.7f); }
  const float* q() const { return projected_on_device_.data(); }
  const float* k() const { return c_.shared_keys ? nullptr : q() + c_.heads * c_.dim; }
  const float* v() const { return c_.shared_keys ? nullptr : q() + (c_.heads + c_.kv_heads) * c_.dim; }
  std::vector<double> prepared(int row, int offset, const std::vector<float>* gain, bool rotate, int position) const;

  static constexpr float magnitude = 1.1f;
  Case c_;
  int rows_ = 0, padded_ = 0, stride_ = 0, longest_ = 0, tiles_ = 0;
  bool many_ = false, single_ = false;
  std::vector<SequenceOnDevice> sequences_;
  std::vector<int32_t> pages_;
  std::vector<float> projected_, gates_, q_gain_, k_gain_, frequencies_;
  Buffer<SequenceOnDevice> sequences_on_device_;
  Buffer<int32_t> pages_on_device_, row_sequence_, positions_;
  Buffer<float> projected_on_device_, gates_on_device_, q_gain_on_device_, k_gain_on_device_, frequencies_on_device_, y_, partials_;
  Buffer<uint16_t> halves_, queries_;
  Buffer<uint32_t> turns_;
  std::vector<Layer> layers_;
};

std::vector<double> Problem::prepared(int row, int offset, const std::vector<float>* gain, bool rotate, int position) const {
  const float* from = projected_.data() + static_cast<size_t>(row) * stride_ + offset;
  std::vector<double> x(from, from + c_.dim);
  if (gain && c_.norm) {
    double sum = 0;
    for (const double e : x) sum += e * e;
    for (int i = 0; i < c_.dim; i++) x[i] = x[i] / std::sqrt(sum / c_.dim + 1e-6) * (*gain)[i];
  }
  for (int i = 0; rotate && i < c_.half; i++) {
    const double angle = static_cast<float>(position) * frequencies_[i], c = std::cos(angle) * magnitude, s = std::sin(angle) * magnitude;
    double &a = x[c_.adjacent ? 2 * i : i], &b = x[c_.adjacent ? 2 * i + 1 : i + c_.half];
    const double first = a;
    a = a * c - b * s, b = b * c + first * s;
  }
  return x;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double d = 0, n = 0;
  for (size_t i = 0; i < a.size(); i++) d += (a[i] - b[i]) * (a[i] - b[i]), n += b[i] * b[i];
  return std::isfinite(d) ? std::sqrt(d / std::max(n, 1e-30)) : 1e30;
}

Problem::Errors Problem::errors(int most_rows) const {
  const std::vector<uint8_t> stored[2] = {layers_[0].keys.host(), layers_[0].values.host()};
  const std::vector<float> y = y_.host();
  const std::vector<uint16_t> halves = halves_.host();
  const int64_t page_bytes = page_stride(c_.type, c_.page_tokens, c_.kv_heads, c_.dim);
  Errors out;
  for (size_t i = 0; i < sequences_.size(); i++) {
    const SequenceOnDevice& s = sequences_[i];
    const int n = s.past + s.n_rows;
    // What caches hold after the step, and what of it the reference would have appended.
    const auto cached = [&](int which, int head, int token) {
      std::vector<double> x(c_.dim);
      const uint8_t* page = stored[which].data() + pages_[s.pages + token / c_.page_tokens] * page_bytes;
      const int at = token % c_.page_tokens * c_.kv_heads + head;
      for (int d = 0; d < c_.dim; d++)
        x[d] = c_.type == KvType::half ? static_cast<double>(__half2float(reinterpret_cast<const __half*>(page)[at * c_.dim + d]))
                                       : reinterpret_cast<const int8_t*>(page)[at * c_.dim + d] * static_cast<double>(reinterpret_cast<const float*>(page + c_.page_tokens * c_.kv_heads * c_.dim)[at]);
      return x;
    };
    for (int head = 0; head < c_.kv_heads; head++) {
      std::vector<std::vector<double>> keys(n), values(n);
      for (int token = 0; token < n; token++) keys[token] = cached(0, head, token), values[token] = cached(1, head, token);
      for (int r = 0; !c_.shared_keys && r < s.n_rows; r++) {
        out.appended = std::max(out.appended, difference(keys[s.past + r], prepared(s.first_row + r, (c_.heads + head) * c_.dim, &k_gain_, true, s.past + r)));
        out.appended = std::max(out.appended, difference(values[s.past + r], prepared(s.first_row + r, (c_.heads + c_.kv_heads + head) * c_.dim, nullptr, false, 0)));
      }
      const int group = c_.heads / c_.kv_heads, step = std::max(1, s.n_rows / most_rows);
      for (int r = s.n_rows - 1; r >= 0; r -= step)
        for (int h = head * group; h < (head + 1) * group; h++) {
          const std::vector<double> query = prepared(s.first_row + r, h * c_.dim, &q_gain_, true, s.past + r);
          const int index = s.past + r, end = c_.causal ? index + 1 : n, begin = c_.window > 0 ? std::max(0, index + 1 - c_.window) : 0;
          std::vector<double> score(end), sum(c_.dim), got(c_.dim), got_halves(c_.dim);
          double top = -1e300, total = 0;
          for (int t = begin; t < end; t++) {
            double dot = 0;
            for (int d = 0; d < c_.dim; d++) dot += query[d] * keys[t][d];
            score[t] = dot * scale(), top = std::max(top, score[t]);
          }
          for (int t = begin; t < end; t++) {
            const double w = std::exp(score[t] - top);
            total += w;
            for (int d = 0; d < c_.dim; d++) sum[d] += w * values[t][d];
          }
          for (int d = 0; d < c_.dim; d++) {
            const size_t row = s.first_row + r, at = row * c_.heads * c_.dim + h * c_.dim + d;
            sum[d] = sum[d] / total * (c_.gate ? 1 / (1 + std::exp(-static_cast<double>(gates_[at]))) : 1);
            got[d] = y[at], got_halves[d] = __half2float(__ushort_as_half(halves[half_at(padded_, static_cast<int32_t>(row), h * c_.dim + d)]));
          }
          out.y = std::max(out.y, difference(got, sum)), out.halves = std::max(out.halves, difference(got_halves, sum));
        }
    }
  }
  return out;
}

// The last sequence alone gives the very same bits as among the others.
bool same_alone(Case c, const std::vector<float>& together, int compute_capability) {
  c.sequences = {c.sequences.back()};
  Problem alone(c);
  if (!alone.run(compute_capability)) return false;
  const std::vector<float> y = alone.results();
  return std::memcmp(y.data(), together.data() + together.size() - y.size(), y.size() * sizeof(float)) == 0;
}

int check_all() {
  const std::vector<Length> odd = {{0, 1}, {1, 1}, {31, 1}, {32, 1}, {63, 1}, {64, 1}, {511, 1}, {1000, 1}, {4097, 1}}, chunks = {{0, 5}, {0, 33}, {100, 70}, {700, 129}, {37, 2}}, mixed = {{0, 300}, {333, 1}, {50, 40}, {0, 1}, {2100, 1}};
  std::vector<Case> cases;
  for (const KvType type : {KvType::half, KvType::int8}) {
    const std::string kind = type == KvType::half ? " half" : " int8";
    cases.push_back({"qwen3.6 decode" + kind, 16, 2, 256, odd, type, 0, true, 32});
    cases.push_back({"qwen3.6 decode 128-key splits" + kind, 16, 2, 256, {{32000, 1}, {700, 1}}, type, 0, true, 32, false, true, true, false, 32, 2});
    cases.push_back({"qwen3.6 chunks" + kind, 16, 2, 256, chunks, type, 0, true, 32});
    cases.push_back({"qwen3.6 mixed" + kind, 16, 2, 256, mixed, type, 0, true, 32});
    cases.push_back({"dim 64, 14 of 2 heads, window" + kind, 14, 2, 64, mixed, type, 100, true, 32, false, false, false});
    cases.push_back({"dim 80, 6 of 2, adjacent" + kind, 6, 2, 80, mixed, type, 0, true, 20, true, false, false});
    cases.push_back({"dim 80, 6 of 2, 10 pairs" + kind, 6, 2, 80, mixed, type, 0, true, 10});
    cases.push_back({"dim 96, 3 of 1" + kind, 3, 1, 96, mixed, type, 0, true, 48, false, true, false, false, 64});
    cases.push_back({"dim 128, 32 of 8" + kind, 32, 8, 128, mixed, type, 0, true, 64, false, false, false});
    cases.push_back({"dim 128, 16 of 1, window 17" + kind, 16, 1, 128, mixed, type, 17, true, 64, false, true, true, false, 16});
    cases.push_back({"dim 128, 12 of 1, not causal" + kind, 12, 1, 128, mixed, type, 0, false, 0, false, true, false});
    cases.push_back({"dim 256, 4 of 4, window 512" + kind, 4, 4, 256, mixed, type, 512, true, 128});
    cases.push_back({"dim 256, 8 of 1, shared keys" + kind, 8, 1, 256, mixed, type, 0, true, 64, false, true, false, true});
    if (type == KvType::int8) continue;
    cases.push_back({"dim 512, 8 of 1, decode" + kind, 8, 1, 512, odd, type, 0, true, 64});
    cases.push_back({"dim 512, 8 of 1, decode, shared keys, window" + kind, 8, 1, 512, odd, type, 300, true, 64, false, true, false, true});
  }
  int failures = 0;
  for (const int compute_capability : {80, 90})
    for (const Case& c : cases) {
      Problem p(c);
      if (!p.run(compute_capability)) {
        std::printf("%-52s no kernel\n", c.name.c_str()), failures++;
        continue;
      }
      const Problem::Errors e = p.errors(12);
      const bool repeats = same_alone(c, p.results(), compute_capability), good = e.y < 2e-3 && e.halves < 2e-3 && e.appended < (c.type == KvType::half ? 1e-3 : 2e-2) && repeats;
      failures += !good;
      std::printf("%-52s %s y %.1e halves %.1e appended %.1e %s%s\n", c.name.c_str(), compute_capability == 90 ? "sm90" : "    ", e.y, e.halves, e.appended, repeats ? "" : "DIFFERS ", good ? "ok" : "WRONG"), std::fflush(stdout);
    }
  return failures;
}

// Microseconds of one call, of ten layers in a graph replayed.
double time_of(const std::function<void(cudaStream_t, int)>& work, int layers, int repeats) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaEvent_t begin, end;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int l = 0; l < layers; l++) work(stream, l);
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&ready, graph, 0));
  CHECK_CUDA(cudaEventCreate(&begin));
  CHECK_CUDA(cudaEventCreate(&end));
  std::vector<float> times;
  const auto warm = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - warm < std::chrono::milliseconds(20)) {
    CHECK_CUDA(cudaGraphLaunch(ready, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
  }
  for (int i = 0; i < repeats + 2; i++) {
    float ms = 0;
    CHECK_CUDA(cudaEventRecord(begin, stream));
    CHECK_CUDA(cudaGraphLaunch(ready, stream));
    CHECK_CUDA(cudaEventRecord(end, stream));
    CHECK_CUDA(cudaEventSynchronize(end));
    CHECK_CUDA(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 2) times.push_back(ms);
  }
  std::ranges::sort(times);
  cudaGraphExecDestroy(ready), cudaGraphDestroy(graph), cudaEventDestroy(begin), cudaEventDestroy(end), cudaStreamDestroy(stream);
  return times[times.size() / 2] * 1e3 / layers;
}

void time_decode() {
  std::printf("decode, us a layer: sequences context kind: in clusters (split + merge), one cluster alone while its splits have at most 1, 2, 4, 8 tiles; TB/s of keys and values\n");
  for (const KvType type : {KvType::half, KvType::int8})
    for (const auto& [n, context] : std::vector<std::pair<int, int>>{{1, 100}, {1, 512}, {1, 1024}, {1, 2048}, {1, 4096}, {1, 8192}, {1, 32768}, {1, 131072}, {8, 1024}, {8, 2048}, {32, 1024}, {64, 1024}, {8, 32768}}) {
      const int layers = context > 32768 || n * context > 65536 ? 3 : 10;
      double best = 1e30;
      std::printf("%2d x %6d %s", n, context, type == KvType::half ? "half" : "int8");
      for (const int min_tiles : {1, 2, 4, 8}) {
        Case c{"", 16, 2, 256, std::vector<Length>(n, {context - 1, 1}), type, 0, true, 32};
        c.min_tiles = min_tiles;
        Problem p(c, layers);
        const double merged = time_of([&](cudaStream_t s, int l) { p.split(s, false, l), p.merge(s); }, layers, 30), folded = time_of([&](cudaStream_t s, int l) { p.split(s, true, l); }, layers, 30);
        best = std::min({best, merged, folded});
        std::printf("  %7.2f (%7.2f)", folded, merged), std::fflush(stdout);
      }
      std::printf("  %.2f TB/s\n", static_cast<double>(n) * context * 2 * 2 * (type == KvType::half ? 512 : 260) / best * 1e-6);
    }
}

void time_prefill() {
  std::printf("prefill, us a layer: heads of kv heads x dim, rows at past: prepare, flash for sm_80 (TFLOP/s), for sm_90a (TFLOP/s), and that without a gate\n");
  struct Shape { int heads, kv_heads, dim; Length length; KvType type = KvType::half; };
  for (const Shape& s : std::vector<Shape>{{16, 2, 256, {0, 512}}, {16, 2, 256, {0, 1024}}, {16, 2, 256, {0, 2048}}, {16, 2, 256, {0, 4096}}, {16, 2, 256, {0, 8192}}, {16, 2, 256, {4096, 512}}, {16, 2, 256, {28672, 4096}}, {16, 2, 256, {28672, 4096}, KvType::int8}, {16, 2, 256, {0, 4096}, KvType::int8}, {32, 8, 128, {0, 4096}}, {32, 8, 128, {28672, 4096}}, {14, 2, 64, {0, 4096}}}) {
    Problem p({"", s.heads, s.kv_heads, s.dim, {s.length}, s.type, 0, true, 32});
    Case plain{"", s.heads, s.kv_heads, s.dim, {s.length}, s.type, 0, true, 32};
    plain.gate = false;
    Problem ungated(plain);
    const double pairs = static_cast<double>(s.length.rows) * (s.length.past + s.length.rows / 2.0) * s.heads * s.dim * 4;
    const double prepared = time_of([&](cudaStream_t stream, int) { p.prepare(stream); }, 1, 10);
    std::printf("%d of %d x %d, %d at %5d %s: %6.1f", s.heads, s.kv_heads, s.dim, s.length.rows, s.length.past, s.type == KvType::half ? "half" : "int8", prepared);
    for (const int compute_capability : {80, 90}) {
      const double us = time_of([&](cudaStream_t stream, int) { p.flash(stream, compute_capability); }, 1, 5);
      std::printf("  %8.1f (%.0f)", us, pairs / us * 1e-6), std::fflush(stdout);
    }
    std::printf("  ungated %8.1f\n", time_of([&](cudaStream_t stream, int) { ungated.flash(stream, 90); }, 1, 5));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  CHECK_CUDA(cudaDeviceGetAttribute(&Problem::shared_limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  CHECK_CUDA(cudaDeviceGetAttribute(&Problem::multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  const int failures = word.empty() || word == "check" ? check_all() : 0;
  std::printf("%d failures\n", failures);
  if (word.empty() || word == "decode") time_decode();
  if (word.empty() || word == "prefill") time_prefill();
  return failures > 0;
}
