// attention: softmax(q k^T) v over paged keys and values, online over blocks of 64 keys that start at multiples of 64,
// so that a row's result does not depend on the rows computed beside it; included by every ISA file inside its namespace.

struct AttentionPass {
  float scores[kAttentionRows][kAttentionBlock];
};

// Reads `count` keys or values of one head from index `first` as float32 rows of `dim` (contiguous in `out`).
static INLINE void read_cache(const CacheView& c, const void* base, const int32_t* pages, int32_t head, int32_t dim, int32_t first, int32_t count, float* out) {
  for (int32_t i = 0; i < count; i++, out += dim) {
    const int32_t index = first + i, page = pages[index / c.page_tokens];
    const int64_t at = ((int64_t{page} * c.page_tokens + index % c.page_tokens) * c.n_kv_heads + head) * dim;
    if (c.half) {
      const uint8_t* p = static_cast<const uint8_t*>(base) + 2 * at;
      int32_t d = 0;
      for (; d + 16 <= dim; d += 16) store(out + d, load_f16(p + 2 * d));
      if (d < dim) {
        uint16_t halves[16] = {};
        std::memcpy(halves, p + 2 * d, static_cast<size_t>(dim - d) * 2);
        store_n(out + d, dim - d, load_f16(reinterpret_cast<const uint8_t*>(halves)));
      }
    } else {
      std::memcpy(out, static_cast<const float*>(base) + at, static_cast<size_t>(dim) * 4);
    }
  }
}

static INLINE float dot_rows(const float* a, const float* b, int32_t n) {
  F even = zero(), odd = zero();
  int32_t i = 0;
  for (; i + 32 <= n; i += 32) {
    even = fma(load(a + i), load(b + i), even);
    odd = fma(load(a + i + 16), load(b + i + 16), odd);
  }
  for (; i < n; i += 16) even = fma(load_some(a + i, n - i < 16 ? n - i : 16), load_some(b + i, n - i < 16 ? n - i : 16), even);
  return hsum(add(even, odd));
}

// One block of keys for one query: new scores -> weights in place; rescales the running sum and maximum. Returns the factor for the accumulator.
static INLINE float soften(float* scores, int32_t from, int32_t to, float scale, float& peak, float& sum) {
  const F down = set1(-std::numeric_limits<float>::infinity());
  float block_scores[kAttentionBlock];
  for (int32_t i = 0; i < kAttentionBlock; i += 16) store(block_scores + i, down);
  for (int32_t i = from; i < to; i++) block_scores[i] = scores[i] * scale;
  F top = down;
  for (int32_t i = 0; i < kAttentionBlock; i += 16) top = max(top, load(block_scores + i));
  const float block_peak = hmax(top), new_peak = block_peak > peak ? block_peak : peak;
  const float keep = std::exp(peak - new_peak);  // 0 for the first block: peak is -inf
  F total = zero();
  for (int32_t i = 0; i < kAttentionBlock; i += 16) {
    const F e = exp_lanes(sub(load(block_scores + i), set1(new_peak)));
    store(scores + i, e);
    total = add(total, e);
  }
  sum = sum * keep + hsum(total);
  peak = new_peak;
  return keep;
}

// acc = acc * keep + sum_i weights[i] * values[i]
static INLINE void accumulate(float* acc, float keep, const float* weights, const float* values, int32_t count, int32_t dim) {
  int32_t d = 0;
  for (; d + 32 <= dim; d += 32) {
    F a = mul(load(acc + d), set1(keep)), b = mul(load(acc + d + 16), set1(keep));
    for (int32_t i = 0; i < count; i++) {
      const F w = set1(weights[i]);
      a = fma(w, load(values + int64_t{i} * dim + d), a);
      b = fma(w, load(values + int64_t{i} * dim + d + 16), b);
    }
    store(acc + d, a);
    store(acc + d + 16, b);
  }
  for (; d < dim; d += 16) {
    const int n = dim - d < 16 ? dim - d : 16;
    F a = mul(load_some(acc + d, n), set1(keep));
    for (int32_t i = 0; i < count; i++) a = fma(set1(weights[i]), load_some(values + int64_t{i} * dim + d, n), a);
    store_some(acc + d, n, a);
  }
}

// Up to kAttentionRows (row, head) queries of one kv head.
static void attend(const AttentionArgs& a, const int32_t* row_of, const int32_t* head_of, int n) {
  const CacheView& c = *a.cache;
  const int32_t dk = c.key_dim, dv = c.value_dim;
  float* keys = a.scratch;
  float* values = keys + int64_t{kAttentionBlock} * dk;
  float* acc = values + int64_t{kAttentionBlock} * dv;
  float peak[kAttentionRows], sum[kAttentionRows], keep[kAttentionRows];
  float(*scores)[kAttentionBlock] = reinterpret_cast<float(*)[kAttentionBlock]>(acc + int64_t{kAttentionRows} * dv);
  int32_t first = INT32_MAX, last = 0, begin[kAttentionRows], end[kAttentionRows];
  for (int j = 0; j < n; j++) {
    const int32_t index = a.index + row_of[j];
    end[j] = a.causal ? index + 1 : a.length;
    begin[j] = a.window > 0 && index + 1 > a.window ? index + 1 - a.window : 0;
    first = begin[j] < first ? begin[j] : first;
    last = end[j] > last ? end[j] : last;
    peak[j] = -std::numeric_limits<float>::infinity();
    sum[j] = 0;
  }
  std::memset(acc, 0, sizeof(float) * static_cast<size_t>(n) * static_cast<size_t>(dv));
  for (int32_t block = first / kAttentionBlock * kAttentionBlock; block < last; block += kAttentionBlock) {
    const int32_t count = last - block < kAttentionBlock ? last - block : kAttentionBlock;
    read_cache(c, c.keys, a.pages, a.kv_head, dk, block, count, keys);
    read_cache(c, c.values, a.pages, a.kv_head, dv, block, count, values);
    for (int j = 0; j < n; j++) {
      const int32_t from = begin[j] > block ? begin[j] - block : 0, to = end[j] - block < count ? end[j] - block : count;
      if (from >= to) continue;
      const float* q = a.q + row_of[j] * a.q_row_stride + int64_t{head_of[j]} * dk;
      for (int32_t i = from; i < to; i++) scores[j][i] = dot_rows(q, keys + int64_t{i} * dk, dk);
      keep[j] = soften(scores[j], from, to, a.scale, peak[j], sum[j]);
      accumulate(acc + int64_t{j} * dv, keep[j], scores[j] + from, values + int64_t{from} * dv, to - from, dv);
    }
  }
  for (int j = 0; j < n; j++) {
    float* out = a.out + row_of[j] * a.out_row_stride + int64_t{head_of[j]} * dv;
    scale_rows(acc + int64_t{j} * dv, sum[j] > 0 ? 1.0f / sum[j] : 0.0f, dv, out);
  }
}

static void attention(const AttentionArgs& a) {
  int32_t row_of[kAttentionRows], head_of[kAttentionRows];
  int n = 0;
  for (int32_t row = 0; row < a.n_rows; row++)
    for (int32_t head = 0; head < a.heads; head++) {
      row_of[n] = row;
      head_of[n] = head;
      if (++n == kAttentionRows) {
        attend(a, row_of, head_of, n);
        n = 0;
      }
    }
  if (n > 0) attend(a, row_of, head_of, n);
}
