// attention: softmax(q k^T) v over paged keys and values; included by every ISA file inside its namespace.
// One query's arithmetic is fixed by indices alone: blocks of 64 keys and splits of 512 start at multiples of themselves; inside a split the
// softmax runs online over its blocks, splits are folded in order. Which rows, splits or threads share the work never shows in a bit.
// Queries are few (decode: lanes along a key's dims, straight from the cache) or many (prompts: keys transposed once for all queries, lanes
// along keys); both add up a dot product in the same tree: 16 sums of every 16th product, combined as hsum does.

#include "device/cpu/cache.inl"

// step(0), ..., step(N - 1), so that arrays indexed by the argument stay in registers.
template <int N, class Step> static INLINE void unrolled(Step&& step) {
  [&]<int... I>(std::integer_sequence<int, I...>) INLINE_LAMBDA { (step(I), ...); }(std::make_integer_sequence<int, N>{});
}
static INLINE void prefetch_row(const uint8_t* p, int64_t bytes) {
  for (int64_t line = 0; line < bytes; line += 64) prefetch(p + line);
}
static INLINE int sixteenths(int32_t n) { return (n + 15) / 16; }
static INLINE int lanes_left(int32_t n, int i) { return n - 16 * i < 16 ? n - 16 * i : 16; }

// One block of keys of one kv head: where its rows are, and for int8 what a code is worth.
struct KeyBlock {
  const uint8_t *keys[kAttentionBlock], *values[kAttentionBlock];
  float key_scale[kAttentionBlock], value_scale[kAttentionBlock];
};
// Softmax state of n queries: acc [n][vectors of values * 16].
struct Softmax {
  float *acc, *peak, *sum;
};
// What the passes over keys share. Queries are padded to whole tiles by zeros.
struct AttentionWork {
  const AttentionArgs* a;
  int n, padded, key_vectors, value_vectors;
  int32_t begin[kAttentionQueries], end[kAttentionQueries];  // keys each query sees
  float* q;             // scaled; few: [padded][key_vectors * 16]; many: [tile][16 sums][key_vectors][kTileQueries]
  float* scores;        // [padded][kAttentionBlock]
  float* keep;          // [padded]: factor for what a block finds in the accumulators
  float *keys, *values;  // many: transposed keys and float values
  KeyBlock blocks[2] = {};  // the one in work and the one after it, in turns
  int now = 0;
  const KeyBlock& next() const { return blocks[now ^ 1]; }
  Softmax part, total;
};

// Scores -> weights of one query; lo and hi bound what it sees of this block. Returns the factor for its accumulator.
static float soften(float* scores, int32_t lo, int32_t hi, float& peak, float& sum) {
  const float down = -std::numeric_limits<float>::infinity();
  if (lo >= hi) {
    std::memset(scores, 0, sizeof(float) * kAttentionBlock);
    return 1;
  }
  for (int32_t i = 0; i < lo; i++) scores[i] = down;
  for (int32_t i = hi; i < kAttentionBlock; i++) scores[i] = down;
  F top = load(scores);
  for (int32_t i = 16; i < kAttentionBlock; i += 16) top = max(top, load(scores + i));
  const float block_peak = hmax(top);
  float keep = 1;
  if (block_peak > peak) {
    keep = std::exp(peak - block_peak);  // 0 for the first block: peak is -inf
    peak = block_peak;
  }
  F total = zero();
  for (int32_t i = 0; i < kAttentionBlock; i += 16) {
    const F e = exp_lanes(sub(load(scores + i), set1(peak)));
    store(scores + i, e);
    total = add(total, e);
  }
  sum = sum * keep + hsum(total);
  return keep;
}

// ---- few queries: kDots accumulators are N queries times kDots / N keys or vectors of values ------------------------------

template <CacheType T, int N> static INLINE void score_few(const AttentionWork& w, const KeyBlock& b, int first, int lo, int hi) {
  constexpr int K = kDots / N;
  const int32_t dim = w.a->cache->key_dim, whole = dim / 16, width = w.key_vectors * 16;
  const float* q = w.q + int64_t{first} * width;
  for (int i = lo; i < hi; i += K) {
    const uint8_t* row[K];
    for (int c = 0; c < K; c++) row[c] = b.keys[i + c < hi ? i + c : hi - 1];
    F acc[kDots];
    for (F& x : acc) x = zero();
    const auto step = [&](int j, int n) INLINE_LAMBDA {
      F k[K];
      for (int c = 0; c < K; c++) k[c] = load_elements<T>(row[c] + j * 16 * kWidth<T>, n);
      for (int m = 0; m < N; m++) {
        const F x = load(q + m * width + j * 16);
        for (int c = 0; c < K; c++) acc[m * K + c] = fma(x, k[c], acc[m * K + c]);
      }
    };
    for (int j = 0; j < whole; j++) step(j, 16);
    if (whole < w.key_vectors) step(whole, lanes_left(dim, whole));
    if (first == 0)
      for (int c = 0; c < K; c++) prefetch_row(b.values[i + c < hi ? i + c : hi - 1], w.a->cache->value_bytes());  // they are next
    float dots[kDots];
    hsums<kDots>(acc, dots);
    for (int m = 0; m < N; m++)
      for (int c = 0; c < K && i + c < hi; c++)
        w.scores[(first + m) * kAttentionBlock + i + c] = T == CacheType::int8 ? dots[m * K + c] * b.key_scale[i + c] : dots[m * K + c];
  }
}

template <CacheType T, int N, int V> static INLINE void add_values(const AttentionWork& w, const KeyBlock& b, int first, int j, int n, int lo, int hi) {
  const int width = w.value_vectors * 16;
  float* at = w.part.acc + int64_t{first} * width + j * 16;
  F acc[N * V];
  for (int m = 0; m < N; m++)
    for (int v = 0; v < V; v++) acc[m * V + v] = mul(load(at + m * width + v * 16), set1(w.keep[first + m]));
  for (int i = lo; i < hi; i++) {
    F x[V];
    for (int v = 0; v < V; v++) x[v] = load_elements<T>(b.values[i] + (j + v) * 16 * kWidth<T>, n);
    if (first == 0)
      for (int v = 0; v < V * kWidth<T>; v += 4) prefetch(w.next().keys[i] + (j + v / kWidth<T>) * 16 * kWidth<T>);
    for (int m = 0; m < N; m++) {
      const F weight = set1(w.scores[(first + m) * kAttentionBlock + i]);
      for (int v = 0; v < V; v++) acc[m * V + v] = fma(weight, x[v], acc[m * V + v]);
    }
  }
  for (int m = 0; m < N; m++)
    for (int v = 0; v < V; v++) store(at + m * width + v * 16, acc[m * V + v]);
}

template <CacheType T, int N> static INLINE void values_few(const AttentionWork& w, const KeyBlock& b, int first, int lo, int hi) {
  constexpr int V = kDots / N;
  const int32_t dim = w.a->cache->value_dim, whole = dim / 16;
  int j = 0;
  for (; j + V <= whole; j += V) add_values<T, N, V>(w, b, first, j, 16, lo, hi);
  for (; j < w.value_vectors; j++) add_values<T, N, 1>(w, b, first, j, lanes_left(dim, j), lo, hi);
}

// Calls f<N>(first) for groups of queries, N a power of two and at most 8 and kDots.
template <class Group> static INLINE void each_group(int n, Group&& f) {
  for (int first = 0; first < n;) {
    const int left = n - first;
    if (kDots >= 8 && left > 4) f.template operator()<kDots >= 8 ? 8 : 1>(first), first += 8;
    else if (kDots >= 4 && left > 2) f.template operator()<kDots >= 4 ? 4 : 1>(first), first += 4;
    else if (kDots >= 2 && left > 1) f.template operator()<kDots >= 2 ? 2 : 1>(first), first += 2;
    else f.template operator()<1>(first), first += 1;
  }
}

// ---- many queries: tiles of kTileQueries times kTileVectors * 16 keys or values ----------------------------------------------

// Sum t of a dot product takes every 16th product from kLane[t]; in this order hsum's tree is a binary counter.
constexpr int kLane[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
// Transposed keys: [tiles of keys][16 sums][key_vectors][kTileKeys] floats, sums an odd number of cache lines apart: no two share a set.
constexpr int kTileKeys = 16 * kTileVectors;
static INLINE int64_t sum_stride(int key_vectors) { return key_vectors * kTileKeys + 16; }

template <CacheType T> static void load_block(const AttentionWork& w, const KeyBlock& b, int lo, int hi) {
  const int32_t dk = w.a->cache->key_dim, dv = w.a->cache->value_dim;
  for (int i = lo / 16 * 16; i < hi; i += 16)
    for (int j = 0; j < w.key_vectors; j++) {
      F x[16];
      for (int r = 0; r < 16; r++) x[r] = i + r >= lo && i + r < hi ? load_elements<T>(b.keys[i + r] + j * 16 * kWidth<T>, lanes_left(dk, j)) : zero();
      transpose(x);
      for (int t = 0; t < 16; t++) store(w.keys + (i / kTileKeys * 16 + t) * sum_stride(w.key_vectors) + j * kTileKeys + i % kTileKeys, x[kLane[t]]);
    }
  for (int i = lo; i < hi; i++)
    for (int j = 0; j < w.value_vectors; j++) store(w.values + (i * w.value_vectors + j) * 16, load_elements<T>(b.values[i] + j * 16 * kWidth<T>, lanes_left(dv, j)));
}

static void score_tile(const AttentionWork& w, int first, int i) {
  constexpr int Q = kTileQueries, V = kTileVectors;
  const float* q = w.q + int64_t{first} * w.key_vectors * 16;
  alignas(64) float waiting[4][Q * V * 16];
  for (int t = 0; t < 16; t++) {
    const float* k = w.keys + (i / kTileKeys * 16 + t) * sum_stride(w.key_vectors);
    F acc[Q * V];
    unrolled<Q * V>([&](int m) INLINE_LAMBDA { acc[m] = zero(); });
    for (int j = 0; j < w.key_vectors; j++, q += Q, k += kTileKeys) {
      F x[V];
      for (int v = 0; v < V; v++) x[v] = load(k + v * 16);
      unrolled<Q * V>([&](int m) INLINE_LAMBDA { acc[m] = fma(set1(q[m / V]), x[m % V], acc[m]); });
    }
    float(*level)[Q * V * 16] = waiting;
    for (int carry = t; carry & 1; carry >>= 1, level++)
      unrolled<Q * V>([&](int m) INLINE_LAMBDA { acc[m] = add(load(*level + m * 16), acc[m]); });
    if (t < 15) unrolled<Q * V>([&](int m) INLINE_LAMBDA { store(*level + m * 16, acc[m]); });
    else unrolled<Q * V>([&](int m) INLINE_LAMBDA { store(w.scores + (first + m / V) * kAttentionBlock + i + m % V * 16, acc[m]); });
  }
}

template <int V> static void value_tile(const AttentionWork& w, int first, int j, int lo, int hi) {
  constexpr int Q = kTileQueries;
  const int width = w.value_vectors * 16;
  float* at = w.part.acc + int64_t{first} * width + j * 16;
  const float *scores = w.scores + first * kAttentionBlock, *values = w.values + j * 16;
  F acc[Q * V];
  for (int m = 0; m < Q; m++)
    for (int v = 0; v < V; v++) acc[m * V + v] = mul(load(at + m * width + v * 16), set1(w.keep[first + m]));
  for (int i = lo; i < hi; i++) {
    F x[V];
    for (int v = 0; v < V; v++) x[v] = load(values + i * width + v * 16);
    for (int m = 0; m < Q; m++)
      for (int v = 0; v < V; v++) acc[m * V + v] = fma(set1(scores[m * kAttentionBlock + i]), x[v], acc[m * V + v]);
  }
  for (int m = 0; m < Q; m++)
    for (int v = 0; v < V; v++) store(at + m * width + v * 16, acc[m * V + v]);
}

// ---- one block, one split, all splits ------------------------------------------------------------------------------------------

static void find_block(const AttentionArgs& a, int32_t block, int lo, int hi, KeyBlock& b) {
  const CacheView& c = *a.cache;
  for (int i = lo; i < hi; i++) {
    const int64_t at = c.at(a.pages, block + i, a.kv_head);
    b.keys[i] = static_cast<const uint8_t*>(c.keys) + at * c.key_bytes();
    b.values[i] = static_cast<const uint8_t*>(c.values) + at * c.value_bytes();
    if (c.type == CacheType::int8) b.key_scale[i] = c.key_scales[at], b.value_scale[i] = c.value_scales[at];
  }
}

template <CacheType T> static INLINE void attend_block(const AttentionWork& w, const KeyBlock& b, int32_t block, int lo, int hi, bool many) {
  const CacheView& c = *w.a->cache;
  if (many) {
    load_block<T>(w, b, lo, hi);
    for (int i = lo / kTileKeys * kTileKeys; i < hi; i += kTileKeys)
      for (int first = 0; first < w.n; first += kTileQueries) {
        const int row = i + first * kTileKeys / w.padded, end = i + (first + kTileQueries) * kTileKeys / w.padded;
        for (int r = row; r < end; r++) prefetch_row(w.next().keys[r], c.key_bytes()), prefetch_row(w.next().values[r], c.value_bytes());
        score_tile(w, first, i);
      }
    if constexpr (T == CacheType::int8)
      for (int m = 0; m < w.n; m++)
        for (int i = lo; i < hi; i++) w.scores[m * kAttentionBlock + i] *= b.key_scale[i];
  } else {
    each_group(w.n, [&]<int N>(int first) INLINE_LAMBDA { score_few<T, N>(w, b, first, lo, hi); });
  }
  for (int m = 0; m < w.n; m++) {
    float* scores = w.scores + m * kAttentionBlock;
    const int32_t from = w.begin[m] - block, to = w.end[m] - block;
    w.keep[m] = soften(scores, from > 0 ? from : 0, to < hi ? to : hi, w.part.peak[m], w.part.sum[m]);
    if constexpr (T == CacheType::int8)
      for (int i = lo; i < hi; i++) scores[i] *= b.value_scale[i];
  }
  if (many) {
    int j = 0;
    for (; j + kTileVectors <= w.value_vectors; j += kTileVectors)
      for (int first = 0; first < w.n; first += kTileQueries) value_tile<kTileVectors>(w, first, j, lo, hi);
    for (; j < w.value_vectors; j++)
      for (int first = 0; first < w.n; first += kTileQueries) value_tile<1>(w, first, j, lo, hi);
  } else {
    each_group(w.n, [&]<int N>(int first) INLINE_LAMBDA { values_few<T, N>(w, b, first, lo, hi); });
  }
}

template <CacheType T> static void attend_split(AttentionWork& w, int32_t from, int32_t to, bool many) {
  for (int m = 0; m < w.n; m++) w.part.peak[m] = -std::numeric_limits<float>::infinity(), w.part.sum[m] = 0;
  std::memset(w.part.acc, 0, sizeof(float) * static_cast<size_t>(w.padded) * static_cast<size_t>(w.value_vectors) * 16);
  const auto bounds = [&](int32_t block, int& lo, int& hi) INLINE_LAMBDA {
    lo = from > block ? from - block : 0;
    hi = to - block < kAttentionBlock ? to - block : kAttentionBlock;
  };
  int lo, hi;
  int32_t block = from / kAttentionBlock * kAttentionBlock;
  bounds(block, lo, hi);
  find_block(*w.a, block, lo, hi, w.blocks[w.now]);
  for (; block < to; block += kAttentionBlock, w.now ^= 1) {
    int next_lo = 0, next_hi = 0;
    if (block + kAttentionBlock < to) {
      bounds(block + kAttentionBlock, next_lo, next_hi);
      find_block(*w.a, block + kAttentionBlock, next_lo, next_hi, w.blocks[w.now ^ 1]);
    }
    attend_block<T>(w, w.blocks[w.now], block, lo, hi, many);
    lo = next_lo, hi = next_hi;
  }
}

// total of one query: (peak, sum, acc) of splits before, and of the next one.
static INLINE void fold(float* total, float& peak, float& sum, const float* part, float part_peak, float part_sum, int vectors) {
  if (part_sum == 0) return;  // it sees no key of this split
  const float top = part_peak > peak ? part_peak : peak;
  const float old_keep = sum == 0 ? 0.0f : std::exp(peak - top), keep = std::exp(part_peak - top);
  const F x = set1(old_keep), y = set1(keep);
  for (int j = 0; j < vectors; j++) store(total + j * 16, fma(load(part + j * 16), y, mul(load(total + j * 16), x)));
  peak = top;
  sum = sum * old_keep + part_sum * keep;
}

static INLINE float* out_row(const AttentionArgs& a, int query) {
  return a.out + query / a.heads * a.out_row_stride + int64_t{query % a.heads} * a.cache->value_dim;
}
static INLINE void finish_query(const AttentionArgs& a, int query, const float* acc, float sum) {
  scale_rows(acc, sum > 0 ? 1.0f / sum : 0.0f, a.cache->value_dim, out_row(a, query));
}

// Queries [first, first + n) in (row, head) order.
static void attend(const AttentionArgs& a, int first, int n) {
  const CacheView& c = *a.cache;
  const bool many = n > kFewQueries;
  const int unit = many ? kTileQueries : 8;
  AttentionWork w;
  w.a = &a, w.n = n, w.padded = (n + unit - 1) / unit * unit;
  w.key_vectors = sixteenths(c.key_dim), w.value_vectors = sixteenths(c.value_dim);
  float* free = a.scratch;
  const auto take = [&](int64_t floats) INLINE_LAMBDA { return std::exchange(free, free + (floats + 15) / 16 * 16); };
  const int64_t width = int64_t{w.value_vectors} * 16, key_width = int64_t{w.key_vectors} * 16;
  w.q = take(w.padded * key_width);
  w.scores = take(int64_t{w.padded} * kAttentionBlock);
  w.keep = take(w.padded);
  for (Softmax* s : {&w.part, &w.total}) s->acc = take(w.padded * width), s->peak = take(w.padded), s->sum = take(w.padded);
  w.keys = take(kAttentionBlock / kTileKeys * 16 * sum_stride(w.key_vectors));
  w.values = take(kAttentionBlock * width);

  std::memset(w.q, 0, sizeof(float) * static_cast<size_t>(w.padded * key_width));
  std::memset(w.scores, 0, sizeof(float) * static_cast<size_t>(w.padded) * kAttentionBlock);
  std::memset(w.keep, 0, sizeof(float) * static_cast<size_t>(w.padded));
  int32_t begin = INT32_MAX, end = 0;
  for (int m = 0; m < n; m++) {
    const int row = (first + m) / a.heads, head = (first + m) % a.heads;
    const int32_t index = a.index + row;
    w.end[m] = a.causal ? index + 1 : a.length;
    w.begin[m] = a.window > 0 && index + 1 > a.window ? index + 1 - a.window : 0;
    begin = w.begin[m] < begin ? w.begin[m] : begin;
    end = w.end[m] > end ? w.end[m] : end;
    const float* x = a.q + row * a.q_row_stride + int64_t{head} * c.key_dim;
    if (!many) scale_rows(x, a.scale, c.key_dim, w.q + m * key_width);
    else
      for (int t = 0; t < 16; t++)
        for (int j = 0; 16 * j + kLane[t] < c.key_dim; j++)
          w.q[m / kTileQueries * kTileQueries * key_width + (t * w.key_vectors + j) * kTileQueries + m % kTileQueries] = x[16 * j + kLane[t]] * a.scale;
    w.total.peak[m] = -std::numeric_limits<float>::infinity(), w.total.sum[m] = 0;
  }
  begin = begin > a.first_key ? begin : a.first_key;
  end = end < a.last_key ? end : a.last_key;
  std::memset(w.total.acc, 0, sizeof(float) * static_cast<size_t>(n * width));
  for (int32_t split = begin / kAttentionSplit * kAttentionSplit; split < end; split += kAttentionSplit) {
    const int32_t from = begin > split ? begin : split, to = end < split + kAttentionSplit ? end : split + kAttentionSplit;
    if (c.type == CacheType::half) attend_split<CacheType::half>(w, from, to, many);
    else if (c.type == CacheType::int8) attend_split<CacheType::int8>(w, from, to, many);
    else attend_split<CacheType::f32>(w, from, to, many);
    for (int m = 0; m < n; m++)
      fold(w.total.acc + m * width, w.total.peak[m], w.total.sum[m], w.part.acc + m * width, w.part.peak[m], w.part.sum[m], w.value_vectors);
  }
  for (int m = 0; m < n; m++) {
    const float* acc = w.total.acc + m * width;
    if (!a.partial) {
      finish_query(a, first + m, acc, w.total.sum[m]);
      continue;
    }
    float* to = a.partial + (first + m) * partial_floats(c.value_dim);
    std::memcpy(to, acc, sizeof(float) * static_cast<size_t>(width));
    to[width] = w.total.peak[m], to[width + 1] = w.total.sum[m];
  }
}

static void attention(const AttentionArgs& a) {
  const int n = a.n_rows * a.heads;
  for (int first = 0; first < n; first += kAttentionQueries) attend(a, first, n - first < kAttentionQueries ? n - first : kAttentionQueries);
}

// Folds n partials, `stride` floats apart, in order.
static void merge_attention(const AttentionArgs& a, int n, int64_t stride) {
  const int64_t each = partial_floats(a.cache->value_dim), width = each - 16;
  for (int m = 0; m < a.n_rows * a.heads; m++) {
    float *acc = a.scratch, peak = -std::numeric_limits<float>::infinity(), sum = 0;
    std::memset(acc, 0, sizeof(float) * static_cast<size_t>(width));
    for (int i = 0; i < n; i++) {
      const float* part = a.partial + i * stride + m * each;
      fold(acc, peak, sum, part, part[width], part[width + 1], sixteenths(a.cache->value_dim));
    }
    finish_query(a, m, acc, sum);
  }
}
