// sample: the kernels, and how a row's working memory is divided.
#include "device/cuda/common.cuh"
#include "device/cuda/sample.h"

namespace cuda {
namespace {

constexpr int kEach = kSampleChunk / kSampleThreads;  // logits of one thread
constexpr int kBinsEach = kSampleBins / kSampleThreads;
constexpr float kMassBits = 0x1p40f, kReach = 28.5f;  // weights below exp(-28.5) have no mass
constexpr uint32_t kNan = ~0u;                        // as a key: above every number

// ---- one row's working memory --------------------------------------------------------------------------------------------

enum class Way : int32_t { done, by_id, by_order };
struct Range { int32_t first, last; };  // of bins; empty: last < first
struct Plan {                           // made by weigh, for draw
  Way way;
  float best, reach, cut;               // bins: of logits down to best - reach; the first n_kept of them down to best - cut, where min-p cuts
  int32_t n_kept;
  Range top_k, top_p, draw;             // where these may lie
  uint32_t n_listed;
};
struct Scratch {
  Plan* plan;
  uint64_t *peaks, *chunk_mass, *mass, *list;  // mass: of each bin; after weigh of those before it
  uint32_t *lows, *count;
};
__host__ __device__ constexpr size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }
__host__ __device__ constexpr size_t scratch_bytes(int64_t width) {
  const auto chunks = static_cast<size_t>(sample_chunks(width));
  return rounded(sizeof(Plan)) + rounded((kSampleBins + 1) * 12) + kSampleList * 8 + rounded(chunks * 20);
}
__device__ Scratch scratch_of(const SampleArgs& a) {
  std::byte* at = a.scratch + blockIdx.y * scratch_bytes(a.width);
  Scratch s{};
  s.plan = reinterpret_cast<Plan*>(at), at += rounded(sizeof(Plan));
  s.mass = reinterpret_cast<uint64_t*>(at), s.count = reinterpret_cast<uint32_t*>(s.mass + kSampleBins + 1), at += rounded((kSampleBins + 1) * 12);
  s.list = reinterpret_cast<uint64_t*>(at), at += kSampleList * 8;
  s.peaks = reinterpret_cast<uint64_t*>(at), s.chunk_mass = s.peaks + a.n_chunks, s.lows = reinterpret_cast<uint32_t*>(s.chunk_mass + a.n_chunks);
  return s;
}

// ---- words ---------------------------------------------------------------------------------------------------------------

// Floats as integers of the same order. A key and an id in one: larger logits first, then lower ids.
__device__ uint32_t key_of(float x) {
  if (x != x) return kNan;
  const uint32_t bits = __float_as_uint(x + 0.0f);  // -0 is 0
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ float value_of(uint32_t key) { return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key); }
__device__ uint64_t entry_of(uint32_t key, int32_t id) { return static_cast<uint64_t>(key) << 32 | (~0u - static_cast<uint32_t>(id)); }
__device__ uint32_t key_of(uint64_t entry) { return static_cast<uint32_t>(entry >> 32); }
__device__ int32_t id_of(uint64_t entry) { return static_cast<int32_t>(~0u - static_cast<uint32_t>(entry)); }
__device__ uint64_t mass_of(float logit, float best, float temperature) { return __float2ull_rn(expf((logit - best) / temperature) * kMassBits); }

struct Max { template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; } };
struct Min { template <class T> __device__ T operator()(T a, T b) const { return a < b ? a : b; } };
struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };

// Over the block, for all of its threads.
template <class T, class Op> __device__ T reduced(T v, Op op) {
  __shared__ T parts[kSampleThreads / 32];
#pragma unroll
  for (int o = 16; o; o >>= 1) v = op(v, __shfl_xor_sync(~0u, v, o));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
#pragma unroll
  for (int i = 1; i < kSampleThreads / 32; i++) v = op(v, parts[i]);
  return v;
}
template <class T> struct Scanned { T before, total; };
template <class T> __device__ Scanned<T> scanned(T v) {  // of the threads before, and of all
  __shared__ T parts[kSampleThreads / 32];
  T sum = v;
#pragma unroll
  for (int o = 1; o < 32; o <<= 1) {
    const T other = __shfl_up_sync(~0u, sum, o);
    if (threadIdx.x % 32 >= o) sum += other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 31) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  Scanned<T> out{sum - v, 0};
#pragma unroll
  for (int i = 0; i < kSampleThreads / 32; i++) {
    if (i < static_cast<int>(threadIdx.x / 32)) out.before += parts[i];
    out.total += parts[i];
  }
  return out;
}
// True in the block of a row that comes here last: it sees what the others wrote.
__device__ bool is_last(const SampleArgs& a) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(a.turns + blockIdx.y, static_cast<uint32_t>(a.n_chunks - 1)) == static_cast<uint32_t>(a.n_chunks - 1);
  __syncthreads();
  __threadfence();
  return last;
}
__device__ void deliver(const SampleArgs& a, int32_t id) {
  a.ids.on_device[blockIdx.y] = id;
  a.ids.on_host[*a.ids.which * a.ids.stride + blockIdx.y] = id;
}
// What the largest logit alone decides: the row has no numbers to draw from, or must be taken there.
__device__ int32_t largest(uint64_t peak) { return key_of(peak) == kNan || value_of(key_of(peak)) == -INFINITY ? -1 : id_of(peak); }

// Of the whole warp: adds to the counters of a bin (negative: none). Where all meet in one bin they add up first: it may hold nearly every id.
__device__ void add_to_bin(uint64_t* mass, uint32_t* count, int32_t bin, uint64_t m) {
  const uint32_t adding = __ballot_sync(~0u, bin >= 0);
  if (adding == 0) return;
  const int32_t leader = __shfl_sync(~0u, bin, __ffs(static_cast<int>(adding)) - 1);
  auto* masses = reinterpret_cast<unsigned long long*>(mass);
  if (!__all_sync(~0u, bin < 0 || bin == leader)) {
    if (bin < 0) return;
    atomicAdd(masses + bin, m);
    if (count) atomicAdd(count + bin, 1u);
    return;
  }
  uint64_t sum = bin < 0 ? 0 : m;
#pragma unroll
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(masses + leader, sum);
  if (count) atomicAdd(count + leader, static_cast<uint32_t>(__popc(adding)));
}

struct Row {
  const float* logits;
  int32_t n;  // that may be drawn
  __device__ float operator[](int32_t id) const { return id < n ? logits[id] : -INFINITY; }
};
__device__ Row row_of(const SampleArgs& a, const SampleSpec& s) { return {a.logits + s.row * a.width, static_cast<int32_t>(s.n_valid_ids < a.width ? s.n_valid_ids : a.width)}; }
__device__ bool is_limited(const SampleSpec& s, const Row& row) { return s.top_k > 0 && s.top_k < row.n; }
__device__ bool has_order(const SampleSpec& s, const Row& row) { return is_limited(s, row) || s.top_p < 1; }

// Where a bin is added up: neighbours, which fill up at the same time, lie apart, because additions to one line of memory wait for each other.
__device__ int32_t place_of(int32_t bin) { return bin < 0 ? bin : bin % (kSampleBins / 4) * 4 + bin / (kSampleBins / 4); }
__device__ int32_t bin_at(int32_t place) { return place % 4 * (kSampleBins / 4) + place / 4; }

// Which interval a logit lies in; the order of logits is that of bins.
__device__ int32_t bin_of(const Plan& p, float logit) {
  const float below = p.best - logit;
  const auto part = [](float at, float of, int32_t n) { return of > 0 ? min(n - 1, static_cast<int32_t>(at / of * n)) : 0; };
  if (below <= p.cut) return part(below, p.cut, p.n_kept);
  return p.n_kept + part(below - p.cut, p.reach - p.cut, kSampleBins - p.n_kept);
}

// ---- peaks ---------------------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(kSampleThreads) sample_peaks(const SampleArgs a) {
  let_next_start();
  wait_for_input();
  const SampleSpec spec = a.specs[blockIdx.y];
  const Row row = row_of(a, spec);
  const Scratch s = scratch_of(a);
  const int32_t first = blockIdx.x * kSampleChunk + threadIdx.x;
  uint64_t peak = 0;
  uint32_t low = ~0u;
  float x[kEach];
#pragma unroll
  for (int j = 0; j < kEach; j++) x[j] = row[first + j * kSampleThreads];
#pragma unroll
  for (int j = 0; j < kEach; j++) {
    peak = Max()(peak, entry_of(key_of(x[j]), first + j * kSampleThreads));
    if (x[j] > -INFINITY) low = min(low, key_of(x[j]));
  }
  peak = reduced(peak, Max());
  const bool largest_only = takes_largest(spec);
  if (!largest_only) {
    low = reduced(low, Min());
    for (int b = blockIdx.x * kSampleThreads + threadIdx.x; b <= kSampleBins; b += gridDim.x * kSampleThreads) s.mass[b] = 0, s.count[b] = 0;
  }
  if (threadIdx.x == 0) s.peaks[blockIdx.x] = peak, s.lows[blockIdx.x] = low;
  if (!largest_only || !is_last(a)) return;
  peak = 0;
  for (int c = threadIdx.x; c < a.n_chunks; c += kSampleThreads) peak = Max()(peak, __ldcg(s.peaks + c));
  peak = reduced(peak, Max());
  if (threadIdx.x == 0) deliver(a, largest(peak));
}

// ---- weigh ---------------------------------------------------------------------------------------------------------------

// The bin up to whose end there is at least `wanted`, for all threads; before[b]: what lies before bin b, before[kSampleBins]: all.
template <class T> __device__ int32_t bin_with(const T* before, T wanted) {
  __shared__ int32_t found;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kBinsEach; j++) {
    const int32_t b = static_cast<int32_t>(threadIdx.x) + j * kSampleThreads;
    if (before[b] < wanted && before[b + 1] >= wanted) found = b;
  }
  __syncthreads();
  return found;
}
__device__ uint64_t share_of(uint64_t total, float top_p) {  // the least mass that reaches top_p of it
  const auto wanted = static_cast<uint64_t>(ceil(static_cast<double>(top_p) * static_cast<double>(total)));
  return top_p > 0 ? max(wanted, uint64_t{1}) : 1;
}
__device__ uint64_t target_of(uint64_t kept, double uniform) {  // the id is the first up to which there is more than this
  return min(static_cast<uint64_t>(uniform * static_cast<double>(kept)), kept - 1);
}
__device__ uint64_t kept_by_min_p(const SampleSpec& spec, const Plan& p, const uint64_t* before, uint64_t kept) { return spec.min_p > 0 ? min(kept, before[p.n_kept]) : kept; }

// The bins that may hold the cuts and the draw. A cut inside a bin is known only when its logits have been sorted, so what
// depends on it lies between what the bin's two ends would give.
__device__ void find_ranges(Plan& p, const SampleSpec& spec, bool limited, const uint64_t* mass, const uint32_t* count) {
  uint64_t least = mass[kSampleBins], most = least;
  p.top_k = p.top_p = {0, -1};
  if (limited && static_cast<uint32_t>(spec.top_k) < count[kSampleBins]) {
    const int32_t b = bin_with(count, static_cast<uint32_t>(spec.top_k));
    p.top_k = {b, b};
    least = mass[b] + 1, most = mass[b + 1];
  }
  if (spec.top_p < 1) {
    p.top_p.first = bin_with(mass, min(most, share_of(least, spec.top_p)));
    p.top_p.last = least == most ? p.top_p.first : bin_with(mass, min(most, share_of(most, spec.top_p)));
    least = mass[p.top_p.first] + 1, most = min(most, mass[p.top_p.last + 1]);
  }
  least = kept_by_min_p(spec, p, mass, least), most = kept_by_min_p(spec, p, mass, most);
  p.draw.first = bin_with(mass, target_of(least, spec.uniform) + 1);
  p.draw.last = least == most ? p.draw.first : bin_with(mass, target_of(most, spec.uniform) + 1);
}

// What was added up in each bin becomes what lies before it, here and in the row's memory. Global memory is read and written in its own order.
template <class T> __device__ void scan_bins(T* global, T* here) {
#pragma unroll
  for (int j = 0; j < kBinsEach; j++) {
    const int32_t place = static_cast<int32_t>(threadIdx.x) + j * kSampleThreads;
    here[bin_at(place)] = __ldcg(global + place);
  }
  __syncthreads();
  T each[kBinsEach], sum = 0;
  const int32_t first = static_cast<int32_t>(threadIdx.x) * kBinsEach;
#pragma unroll
  for (int j = 0; j < kBinsEach; j++) sum += each[j] = here[first + j];
  const Scanned<T> sums = scanned(sum);
  T before = sums.before;
#pragma unroll
  for (int j = 0; j < kBinsEach; j++) here[first + j] = before, before += each[j];
  if (threadIdx.x == 0) here[kSampleBins] = sums.total;
  __syncthreads();
  for (int b = threadIdx.x; b <= kSampleBins; b += kSampleThreads) global[b] = here[b];
}

// A logit that at least k reach, so that the k largest lie above: the k-th largest of the chunks' peaks. Minus infinity where there are too few.
__device__ float kth_peak(const Scratch& s, int32_t n_chunks, int32_t k) {
  __shared__ uint64_t peaks[kSampleThreads];
  __shared__ float found;
  if (k > n_chunks || n_chunks > kSampleThreads) return -INFINITY;
  const auto t = static_cast<int32_t>(threadIdx.x);
  peaks[t] = t < n_chunks ? s.peaks[t] : 0;
  __syncthreads();
  int32_t larger = 0;
#pragma unroll 16
  for (int32_t c = 0; c < n_chunks; c++) larger += peaks[c] > peaks[t];
  if (t < n_chunks && larger == k - 1) found = value_of(key_of(peaks[t]));
  __syncthreads();
  return found;
}

__global__ void __launch_bounds__(kSampleThreads) sample_weigh(const SampleArgs a) {
  __shared__ uint64_t mass[kSampleBins + 1];
  __shared__ uint32_t count[kSampleBins + 1];
  let_next_start();
  wait_for_input();
  const SampleSpec spec = a.specs[blockIdx.y];
  if (takes_largest(spec)) return;
  const Row row = row_of(a, spec);
  const Scratch s = scratch_of(a);
  const int32_t first = blockIdx.x * kSampleChunk + threadIdx.x;
  float x[kEach];
#pragma unroll
  for (int j = 0; j < kEach; j++) x[j] = row[first + j * kSampleThreads];
  uint64_t peak = 0;
  uint32_t low = ~0u;
  for (int c = threadIdx.x; c < a.n_chunks; c += kSampleThreads) peak = Max()(peak, s.peaks[c]), low = min(low, s.lows[c]);
  peak = reduced(peak, Max()), low = reduced(low, Min());
  const bool limited = is_limited(spec, row);
  Plan p{};
  p.best = value_of(key_of(peak));
  const bool drawn = largest(peak) >= 0 && p.best < INFINITY;
  p.reach = fminf(p.best - fmaxf(value_of(low), limited ? kth_peak(s, a.n_chunks, spec.top_k) : -INFINITY), kReach * spec.temperature);
  p.cut = spec.min_p > 0 ? fminf(fmaxf(-spec.temperature * logf(spec.min_p), 0.0f), p.reach) : p.reach;
  p.n_kept = p.cut < p.reach ? kSampleBins / 2 : kSampleBins;
  p.way = !drawn ? Way::done : has_order(spec, row) ? Way::by_order : Way::by_id;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *s.plan = p;
    if (!drawn) deliver(a, largest(peak));
  }
  if (p.way == Way::done) return;
  uint64_t total = 0;
#pragma unroll
  for (int j = 0; j < kEach; j++) {
    const bool kept = x[j] > -INFINITY && p.best - x[j] <= (p.way == Way::by_id ? p.cut : p.reach);
    const uint64_t m = kept ? mass_of(x[j], p.best, spec.temperature) : 0;
    if (p.way == Way::by_id) {
      total += m;
      continue;
    }
    add_to_bin(s.mass, limited ? s.count : nullptr, m > 0 ? place_of(bin_of(p, x[j])) : -1, m);
  }
  if (p.way == Way::by_id) {
    total = reduced(total, Sum());
    if (threadIdx.x == 0) s.chunk_mass[blockIdx.x] = total;
    return;
  }
  if (!is_last(a)) return;
  scan_bins(s.mass, mass);
  if (limited) scan_bins(s.count, count);
  find_ranges(p, spec, limited, mass, count);
  if (threadIdx.x == 0) *s.plan = p;
}

// ---- draw ----------------------------------------------------------------------------------------------------------------

__device__ void draw_by_id(const SampleArgs& a, const SampleSpec& spec, const Row& row, const Scratch& s, const Plan& p) {
  uint64_t before = 0, total = 0;  // of all chunks; before this one
  for (int c = threadIdx.x; c < a.n_chunks; c += kSampleThreads) {
    total += s.chunk_mass[c];
    if (c < static_cast<int>(blockIdx.x)) before += s.chunk_mass[c];
  }
  total = reduced(total, Sum()), before = reduced(before, Sum());
  uint64_t target = target_of(total, spec.uniform);
  if (target < before || target - before >= s.chunk_mass[blockIdx.x]) return;  // another chunk's
  target -= before;
  const int32_t first = blockIdx.x * kSampleChunk + threadIdx.x * kEach;
  uint64_t m[kEach], sum = 0;
#pragma unroll
  for (int j = 0; j < kEach; j++) {
    const float x = row[first + j];
    m[j] = x > -INFINITY && p.best - x <= p.cut ? mass_of(x, p.best, spec.temperature) : 0;
    sum += m[j];
  }
  uint64_t at = scanned(sum).before;
  if (target < at || target >= at + sum) return;
#pragma unroll
  for (int j = 0; j < kEach; j++) {
    if (target >= at && target < at + m[j]) deliver(a, first + j);
    at += m[j];
  }
}

// Of one bin, best first: the shortest run that is `count` long, or holds `mass`.
struct Wanted { uint32_t count = ~0u; uint64_t mass = ~uint64_t{0}; };
struct Run { uint64_t mass; int32_t last_id; };

// In a list of whole bins, sorted.
struct SortedList {
  const uint64_t* entries;
  int32_t n;
  __device__ Run find(const Plan& p, float temperature, int32_t bin, Wanted wanted) const {
    __shared__ int32_t begin;
    __shared__ Run run;
    __syncthreads();
    const auto bin_of_entry = [&](int32_t i) { return bin_of(p, value_of(key_of(entries[i]))); };
    for (int32_t i = threadIdx.x; i < n; i += kSampleThreads)
      if (bin_of_entry(i) == bin && (i == 0 || bin_of_entry(i - 1) != bin)) begin = i;
    __syncthreads();
    uint64_t before = 0;
    uint32_t count = 0;
    for (int32_t tile = begin; tile < n && before < wanted.mass && count < wanted.count; tile += kSampleThreads, count += kSampleThreads) {
      const int32_t i = tile + static_cast<int32_t>(threadIdx.x);
      const bool inside = i < n && bin_of_entry(i) == bin;
      const uint64_t m = inside ? mass_of(value_of(key_of(entries[i])), p.best, temperature) : 0;
      const Scanned<uint64_t> sums = scanned(m);
      const uint64_t behind = before + sums.before + m;
      const bool by_count = count + threadIdx.x + 1 == wanted.count, by_mass = before + sums.before < wanted.mass && behind >= wanted.mass;
      if (inside && (by_count || by_mass)) run = {behind, id_of(entries[i])};
      before += sums.total;
    }
    __syncthreads();
    return run;
  }
};

// Where a bin holds too much for the list: the key is found digit by digit in passes over the row, then the id among equal keys.
struct WholeRow {
  Row row;
  __device__ Run find(const Plan& p, float temperature, int32_t bin, Wanted wanted) const {
    __shared__ uint64_t mass[256];
    __shared__ uint32_t count[256];
    __shared__ uint64_t reached_mass;  // before the digit in which it is reached
    __shared__ uint32_t reached_count, digit;
    uint64_t mass_before = 0;
    uint32_t count_before = 0, prefix = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
      __syncthreads();
      mass[threadIdx.x] = 0, count[threadIdx.x] = 0;
      __syncthreads();
      for (int32_t tile = 0; tile < row.n; tile += kSampleChunk) {
        float x[kEach];
#pragma unroll
        for (int j = 0; j < kEach; j++) x[j] = row[tile + static_cast<int32_t>(threadIdx.x) + j * kSampleThreads];
        for (int j = 0; j < kEach; j++) {
          const uint32_t key = key_of(x[j]);
          const bool counts = is_in(p, x[j], temperature, bin) && (shift == 24 || key >> (shift + 8) == prefix);
          add_to_bin(mass, count, counts ? static_cast<int32_t>(key >> shift & 255) : -1, counts ? mass_of(x[j], p.best, temperature) : 0);
        }
      }
      __syncthreads();
      // Larger keys come first: thread t has digit 255 - t.
      const uint32_t d = 255 - threadIdx.x;
      const Scanned<uint64_t> masses = scanned(mass[d]);
      const Scanned<uint32_t> counts = scanned(count[d]);
      const uint64_t m = mass_before + masses.before;
      const uint32_t c = count_before + counts.before;
      const bool reached_before = m >= wanted.mass || c >= wanted.count, reached = m + mass[d] >= wanted.mass || c + count[d] >= wanted.count;
      if (reached && !reached_before) digit = d, reached_mass = m, reached_count = c;
      __syncthreads();
      prefix = prefix << 8 | digit, mass_before = reached_mass, count_before = reached_count;
    }
    const uint64_t each = mass_of(value_of(prefix), p.best, temperature);  // of every logit with this key
    const uint64_t n = min((wanted.mass - mass_before - 1) / each + 1, static_cast<uint64_t>(wanted.count - count_before));
    return {mass_before + n * each, nth_of(prefix, static_cast<uint32_t>(n))};
  }

 private:
  __device__ static bool is_in(const Plan& p, float x, float temperature, int32_t bin) {
    return x > -INFINITY && p.best - x <= p.reach && bin_of(p, x) == bin && mass_of(x, p.best, temperature) > 0;
  }
  __device__ int32_t nth_of(uint32_t key, uint32_t n) const {  // by id, the first is 1
    __shared__ int32_t found;
    uint32_t before = 0;
    for (int32_t tile = 0; tile < row.n && before < n; tile += kSampleChunk) {
      const int32_t first = tile + static_cast<int32_t>(threadIdx.x) * kEach;
      uint32_t mine = 0;  // bit j: id first + j
#pragma unroll
      for (int j = 0; j < kEach; j++) mine |= first + j < row.n && key_of(row[first + j]) == key ? 1u << j : 0u;
      const Scanned<uint32_t> equals = scanned(static_cast<uint32_t>(__popc(mine)));
      uint32_t at = before + equals.before;
      for (int j = 0; j < kEach; j++)
        if (mine >> j & 1 && ++at == n) found = first + j;
      before += equals.total;
    }
    __syncthreads();
    return found;
  }
};

template <class View> __device__ int32_t draw_by_order(const View& view, const SampleSpec& spec, const Scratch& s, const Plan& p, const uint64_t* before) {
  uint64_t kept = before[kSampleBins];
  if (p.top_k.first <= p.top_k.last) {
    const int32_t b = p.top_k.first;
    kept = before[b] + view.find(p, spec.temperature, b, {.count = static_cast<uint32_t>(spec.top_k) - s.count[b]}).mass;
  }
  if (spec.top_p < 1) {
    const uint64_t wanted = min(kept, share_of(kept, spec.top_p));
    const int32_t b = bin_with(before, wanted);
    kept = min(kept, before[b] + view.find(p, spec.temperature, b, {.mass = wanted - before[b]}).mass);
  }
  kept = kept_by_min_p(spec, p, before, kept);
  const uint64_t wanted = target_of(kept, spec.uniform) + 1;
  const int32_t b = bin_with(before, wanted);
  return view.find(p, spec.temperature, b, {.mass = wanted - before[b]}).last_id;
}

__device__ void sort_descending(uint64_t* entries, int32_t n) {  // bitonic; n: a power of two
  for (int32_t k = 2; k <= n; k <<= 1)
    for (int32_t j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      for (int32_t i = threadIdx.x; i < n; i += kSampleThreads) {
        const int32_t other = i ^ j;
        if (other <= i) continue;
        const uint64_t x = entries[i], y = entries[other];
        if ((x < y) == ((i & k) == 0)) entries[i] = y, entries[other] = x;
      }
    }
  __syncthreads();
}

__global__ void __launch_bounds__(kSampleThreads) sample_draw(const SampleArgs a) {
  __shared__ uint64_t list[kSampleList], before[kSampleBins + 1];
  let_next_start();
  wait_for_input();
  const SampleSpec spec = a.specs[blockIdx.y];
  if (takes_largest(spec)) return;
  const Row row = row_of(a, spec);
  const Scratch s = scratch_of(a);
  const int32_t first = blockIdx.x * kSampleChunk + threadIdx.x;
  float x[kEach];
#pragma unroll
  for (int j = 0; j < kEach; j++) x[j] = row[first + j * kSampleThreads];
  const Plan p = *s.plan;
  if (p.way == Way::done) return;
  if (p.way == Way::by_id) return draw_by_id(a, spec, row, s, p);
  const auto in = [](const Range& r, int32_t bin) { return bin >= r.first && bin <= r.last; };
#pragma unroll
  for (int j = 0; j < kEach; j++) {
    if (!(x[j] > -INFINITY && p.best - x[j] <= p.reach)) continue;
    const int32_t bin = bin_of(p, x[j]);
    if (!(in(p.top_k, bin) || in(p.top_p, bin) || in(p.draw, bin)) || mass_of(x[j], p.best, spec.temperature) == 0) continue;
    const uint32_t at = atomicAdd(&s.plan->n_listed, 1u);
    if (at < kSampleList) s.list[at] = entry_of(key_of(x[j]), first + j * kSampleThreads);
  }
  if (!is_last(a)) return;
  const auto n = static_cast<int32_t>(__ldcg(&s.plan->n_listed));
  for (int b = threadIdx.x; b <= kSampleBins; b += kSampleThreads) before[b] = s.mass[b];
  __syncthreads();
  int32_t id = 0;
  if (n <= kSampleList) {
    int32_t padded = 1;
    while (padded < n) padded <<= 1;
    for (int32_t i = threadIdx.x; i < padded; i += kSampleThreads) list[i] = i < n ? __ldcg(s.list + i) : 0;
    sort_descending(list, padded);
    id = draw_by_order(SortedList{list, n}, spec, s, p, before);
  } else {
    id = draw_by_order(WholeRow{row}, spec, s, p, before);
  }
  if (threadIdx.x == 0) deliver(a, id);
}

}  // namespace

size_t sample_scratch_bytes(int64_t width) { return scratch_bytes(width); }
const void* sample_peaks_kernel() { return reinterpret_cast<const void*>(sample_peaks); }
const void* sample_weigh_kernel() { return reinterpret_cast<const void*>(sample_weigh); }
const void* sample_draw_kernel() { return reinterpret_cast<const void*>(sample_draw); }

}  // namespace cuda
