// state_ops: one item of work is (sequence, head, run of rows); the order of arithmetic inside a row never depends on the cut.
#include "device/cpu/state_ops.h"

#include <algorithm>

namespace cpu {
namespace {

const SequenceRows& sequence_of(std::span<const SequenceRows> sequences, int64_t row) {
  size_t i = 0;
  while (row >= sequences[i].first_row + sequences[i].n_rows) i++;
  return sequences[i];
}

struct Append {
  CacheView cache;
  const float *k, *v;
  std::span<const SequenceRows> sequences;
  int64_t rows;
  void run(const Worker& w) const {
    const auto [begin, end] = w.share(rows);
    const int64_t nk = int64_t{cache.n_kv_heads} * cache.key_dim, nv = int64_t{cache.n_kv_heads} * cache.value_dim;
    const int64_t width = cache.half ? 2 : 4;
    for (int64_t r = begin; r < end; r++) {
      const SequenceRows& s = sequence_of(sequences, r);
      const int64_t index = s.past + (r - s.first_row);
      const int64_t at = int64_t{s.pages[index / cache.page_tokens]} * cache.page_tokens + index % cache.page_tokens;
      w.kernels->store_cache(w.at(k) + r * nk, nk, static_cast<std::byte*>(cache.keys) + at * nk * width, cache.half);
      w.kernels->store_cache(w.at(v) + r * nv, nv, static_cast<std::byte*>(cache.values) + at * nv * width, cache.half);
    }
  }
};

struct Attend {
  CacheView cache;
  const float* q;
  float* out;
  std::span<const SequenceRows> sequences;
  AttentionOptions options;
  int32_t n_heads, heads_per_kv, rows_per_item;
  int64_t items;
  Counter counter;
  void run(const Worker& w) const {
    for (int64_t item; (item = counter.take()) < items;) one(w, item);
  }
  void one(const Worker& w, int64_t item) const {
    const int32_t head = static_cast<int32_t>(item % cache.n_kv_heads);
    int64_t block = item / cache.n_kv_heads;
    size_t i = 0;
    for (int64_t blocks; block >= (blocks = (sequences[i].n_rows + rows_per_item - 1) / rows_per_item); i++) block -= blocks;
    const SequenceRows& s = sequences[i];
    const int32_t first = static_cast<int32_t>(block) * rows_per_item;
    AttentionArgs a;
    a.cache = &cache;
    a.pages = s.pages;
    a.kv_head = head;
    a.q_row_stride = int64_t{n_heads} * cache.key_dim;
    a.out_row_stride = int64_t{n_heads} * cache.value_dim;
    const int64_t row = s.first_row + first;
    a.q = w.at(q) + row * a.q_row_stride + int64_t{head} * heads_per_kv * cache.key_dim;
    a.out = out + row * a.out_row_stride + int64_t{head} * heads_per_kv * cache.value_dim;
    a.n_rows = std::min(rows_per_item, s.n_rows - first);
    a.heads = heads_per_kv;
    a.index = s.past + first;
    a.length = s.past + s.n_rows;
    a.scale = options.scale;
    a.window = options.window;
    a.causal = options.causal;
    a.scratch = w.scratch;
    w.kernels->attention(a);
  }
};

struct Convolve {
  const State* state;
  StateRef s;
  const float* x;
  float* out;
  const float* taps;
  int64_t channels, chunk;
  int32_t kernel;
  std::span<const SequenceRows> sequences;
  Counter counter;
  void run(const Worker& w) const {
    const int64_t chunks = (channels + chunk - 1) / chunk, items = static_cast<int64_t>(sequences.size()) * chunks;
    for (int64_t item; (item = counter.take()) < items;) {
      const SequenceRows& rows = sequences[static_cast<size_t>(item / chunks)];
      const int64_t first = item % chunks * chunk, offset = rows.first_row * channels;
      w.kernels->conv({x + offset, out + offset, channels, taps, state->conv_rows(s, rows.slot), channels, first, std::min(chunk, channels - first), rows.n_rows, kernel});
    }
  }
};

struct DeltaRule {
  const State* state;
  StateRef s;
  DeltaInputs in;
  DeltaDims d;
  float* out;
  std::span<const SequenceRows> sequences;
  Counter counter;
  void run(const Worker& w) const {
    const int64_t items = static_cast<int64_t>(sequences.size()) * d.n_value_heads;
    for (int64_t item; (item = counter.take()) < items;) one(w, sequences[static_cast<size_t>(item / d.n_value_heads)], static_cast<int32_t>(item % d.n_value_heads));
  }
  void one(const Worker& w, const SequenceRows& rows, int32_t head) const {
    const int32_t key_head = d.tiled ? head % d.n_key_heads : head / (d.n_value_heads / d.n_key_heads);
    const int64_t keys = int64_t{d.n_key_heads} * d.key_dim, width = 2 * keys + int64_t{d.n_value_heads} * d.value_dim, first = rows.first_row;
    const float* row = in.qkv + first * width;
    DeltaArgs a;
    a.q = row + int64_t{key_head} * d.key_dim;
    a.k = row + keys + int64_t{key_head} * d.key_dim;
    a.v = row + 2 * keys + int64_t{head} * d.value_dim;
    a.row_stride = width;
    a.a = in.a + first * d.n_value_heads + head;
    a.b = in.b + first * d.n_value_heads + head;
    a.ab_stride = d.n_value_heads;
    a.neg_exp_a = in.neg_exp_a[head];
    a.dt_bias = in.dt_bias[head];
    a.n_rows = rows.n_rows;
    a.key_dim = d.key_dim;
    a.value_dim = d.value_dim;
    a.state = state->delta(s, rows.slot) + int64_t{head} * d.key_dim * d.value_dim;
    a.out_stride = int64_t{d.n_value_heads} * d.value_dim;
    a.out = out + first * a.out_stride + int64_t{head} * d.value_dim;
    a.scratch = w.scratch;
    w.kernels->delta(a);
  }
};

}  // namespace

void record_append(Step& step, const State& state, StateRef s, const Tensor& k, const Tensor& v, const Batch& b) {
  const int64_t rows = static_cast<int64_t>(b.ids.size());
  const CacheView cache = state.cache(s);
  step.push_shared("append", Append{cache, k.data, v.data, b.sequences, rows}, {k, v}, {Range(static_cast<std::byte*>(cache.keys), 1)});
}

void record_attention(Step& step, const State& state, StateRef s, const Tensor& q, const Batch& b, const AttentionOptions& o, float* out) {
  Attend op{};
  op.cache = state.cache(s);
  op.q = q.data;
  op.out = out;
  op.sequences = b.sequences;
  op.options = o;
  op.n_heads = static_cast<int32_t>(q.shape[1]);
  op.heads_per_kv = op.n_heads / op.cache.n_kv_heads;
  op.rows_per_item = std::max(1, 64 / op.heads_per_kv);
  for (const SequenceRows& rows : b.sequences) op.items += int64_t{(rows.n_rows + op.rows_per_item - 1) / op.rows_per_item} * op.cache.n_kv_heads;
  step.push_shared("attention", op, {q, Range(static_cast<std::byte*>(op.cache.keys), 1)}, {Range(out, q.shape.rows() * op.cache.value_dim)});
}

void record_conv(Step& step, const State& state, StateRef s, const Tensor& x, const float* taps, int kernel, const Batch& b, float* out) {
  Convolve op{};
  op.state = &state;
  op.s = s;
  op.x = x.data;
  op.out = out;
  op.taps = taps;
  op.channels = x.shape.back();
  op.chunk = 512;
  op.kernel = kernel;
  op.sequences = b.sequences;
  step.push_shared("convolution", op, {x}, {Range(out, x.shape.elements())});
}

void record_delta(Step& step, const State& state, StateRef s, const DeltaInputs& in, const DeltaDims& d, const Batch& b, float* out) {
  const int64_t rows = static_cast<int64_t>(b.ids.size()), heads = rows * d.n_value_heads;
  const int64_t width = int64_t{2} * d.n_key_heads * d.key_dim + int64_t{d.n_value_heads} * d.value_dim;
  step.push_shared("delta rule", DeltaRule{&state, s, in, d, out, b.sequences, {}}, {Range(in.qkv, rows * width), Range(in.a, heads), Range(in.b, heads)}, {Range(out, heads * d.value_dim)});
}

int64_t state_scratch_floats(std::span<const StateSpec> layers) {
  int64_t floats = 64;
  for (const StateSpec& s : layers) {
    if (s.kind == StateSpec::Kind::paged_kv) floats = std::max(floats, attention_scratch_floats(s.key_dim, s.value_dim));
    if (s.kind == StateSpec::Kind::recurrent) floats = std::max(floats, int64_t{2} * s.head_key_dim + 64);
  }
  return floats;
}

}  // namespace cpu
