// attention_ops: recorded attention. One item of work is (sequence, kv head, block of rows), for few rows cut further into splits of the keys,
// whose last one to finish folds them all; which rows and splits form an item never changes a bit (attention.inl).
#include <algorithm>
#include "device/cpu/state_ops.h"

namespace cpu {
namespace {

constexpr int kSplitQueries = 32;  // sequences with more queries per kv head have enough row blocks and need no splits

struct Append {
  CacheView cache;
  const float *k, *v;
  std::span<const SequenceRows> sequences;
  int64_t rows;
  void run(const Worker& w) const {
    const auto [begin, end] = w.share(rows);
    for (const SequenceRows& s : sequences)
      for (int64_t r = std::max<int64_t>(begin, s.first_row); r < std::min<int64_t>(end, s.first_row + s.n_rows); r++)
        for (int32_t head = 0; head < cache.n_kv_heads; head++) one(w, s, r, head);
  }
  void one(const Worker& w, const SequenceRows& s, int64_t row, int32_t head) const {
    const int64_t at = row * cache.n_kv_heads + head;
    w.kernels->store_cache(cache, cache.at(s.pages, static_cast<int32_t>(s.past + row - s.first_row), head), w.at(k) + at * cache.key_dim, w.at(v) + at * cache.value_dim);
  }
};

struct AttentionItem {
  int32_t sequence, first_row, n_rows;  // rows of the sequence
  int32_t split, n_splits;              // keys [split, split + 1) * kAttentionSplit; n_splits = 1: all of them
  int32_t first_item;                   // the item of the first split
  int32_t merge;                        // which countdown
};

struct Attend {
  Append append;            // k = null: keys and values are in the cache already
  const float* q;
  float *out, *partials;    // partials: [items, kv heads, queries, partial_floats]
  AttentionOptions options;
  int32_t n_heads, heads_per_kv;
  const AttentionItem* items;
  int64_t n_items, queries;
  int32_t* pending;         // [merges, kv heads]: splits not finished
  Counter counter;

  void run(const Worker& w) const {
    const int64_t n = n_items * append.cache.n_kv_heads;
    for (int64_t i; (i = counter.take()) < n;) one(w, items[i / append.cache.n_kv_heads], i, static_cast<int32_t>(i % append.cache.n_kv_heads));
  }
  int64_t partial_stride() const { return queries * partial_floats(append.cache.value_dim); }
  void one(const Worker& w, const AttentionItem& item, int64_t number, int32_t head) const {
    const CacheView& cache = append.cache;
    const SequenceRows& s = append.sequences[static_cast<size_t>(item.sequence)];
    const int64_t row = s.first_row + item.first_row;
    AttentionArgs a;
    a.cache = &cache;
    a.pages = s.pages;
    a.kv_head = head;
    a.q_row_stride = int64_t{n_heads} * cache.key_dim;
    a.out_row_stride = int64_t{n_heads} * cache.value_dim;
    a.q = w.at(q) + row * a.q_row_stride + int64_t{head} * heads_per_kv * cache.key_dim;
    a.out = out + row * a.out_row_stride + int64_t{head} * heads_per_kv * cache.value_dim;
    a.n_rows = item.n_rows;
    a.heads = heads_per_kv;
    a.index = s.past + item.first_row;
    a.length = s.past + s.n_rows;
    a.scale = options.scale;
    a.window = options.window;
    a.causal = options.causal;
    a.scratch = w.scratch;
    if (item.n_splits > 1) {
      a.first_key = item.split * kAttentionSplit;
      a.last_key = a.first_key + kAttentionSplit;
      a.partial = partials + number * partial_stride();
    }
    if (append.k)
      for (int32_t r = 0; r < s.n_rows; r++)
        if (s.past + r >= a.first_key && s.past + r < a.last_key) append.one(w, s, s.first_row + r, head);
    w.kernels->attention(a);
    if (item.n_splits == 1) return;
    int32_t& left = pending[item.merge * cache.n_kv_heads + head];
    if (std::atomic_ref(left).fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    a.partial = partials + (int64_t{item.first_item} * cache.n_kv_heads + head) * partial_stride();
    w.kernels->merge_attention(a, item.n_splits, partial_stride() * cache.n_kv_heads);
  }
};

// Fills `items` (null: only counts) and returns how many there are. Prompts come first and their longest rows before the shorter ones;
// splits, which are short, fill the gaps at the end.
int64_t list_items(std::span<const SequenceRows> sequences, int32_t heads_per_kv, int32_t window, AttentionItem* items, int64_t* n_split) {
  const int32_t rows_per_item = std::max(1, kAttentionQueries / heads_per_kv);
  int64_t n = 0;
  const auto is_split = [&](const SequenceRows& s) { return s.n_rows == 1 || s.n_rows * heads_per_kv <= kSplitQueries; };
  for (size_t i = 0; i < sequences.size(); i++) {
    const SequenceRows& s = sequences[i];
    if (is_split(s)) continue;
    for (int32_t row = (s.n_rows - 1) / rows_per_item * rows_per_item; row >= 0; row -= rows_per_item, n++)
      if (items) items[n] = {static_cast<int32_t>(i), row, std::min(rows_per_item, s.n_rows - row), 0, 1, 0, 0};
  }
  *n_split = 0;
  for (size_t i = 0; i < sequences.size(); i++) {
    const SequenceRows& s = sequences[i];
    if (!is_split(s)) continue;
    const int32_t first_key = window > 0 ? std::max(0, s.past + 1 - window) : 0, first = first_key / kAttentionSplit;
    const int32_t splits = (s.past + s.n_rows - 1) / kAttentionSplit + 1 - first;
    if (items)
      for (int32_t k = 0; k < splits; k++) items[n + k] = {static_cast<int32_t>(i), 0, s.n_rows, first + k, splits, static_cast<int32_t>(n), static_cast<int32_t>(*n_split)};
    n += splits;
    ++*n_split;
  }
  return n;
}

// Stands for the whole cache of a layer.
Range cached(const CacheView& cache) { return {static_cast<const std::byte*>(cache.keys), 1}; }

}  // namespace

void record_append(Step& step, const State& state, StateRef s, const Tensor& k, const Tensor& v, const Batch& b) {
  const int64_t rows = static_cast<int64_t>(b.ids.size());
  const CacheView cache = state.cache(s);
  step.push("append", Append{cache, k.data, v.data, b.sequences, rows}, {k, v}, {cached(cache)});
}

void record_attention(Step& step, const State& state, StateRef s, const Tensor& q, const Batch& b, const AttentionOptions& o, float* out, const float* k, const float* v) {
  Attend op{};
  op.append = {state.cache(s), k, v, b.sequences, 0};
  op.q = q.data;
  op.out = out;
  op.options = o;
  op.n_heads = static_cast<int32_t>(q.shape[1]);
  op.heads_per_kv = op.n_heads / op.append.cache.n_kv_heads;
  int64_t merges = 0;
  op.n_items = list_items(b.sequences, op.heads_per_kv, o.window, nullptr, &merges);
  auto* items = step.lasting.array<AttentionItem>(op.n_items);
  list_items(b.sequences, op.heads_per_kv, o.window, items, &merges);
  op.items = items;
  op.pending = step.lasting.array<int32_t>(merges * op.append.cache.n_kv_heads);
  int64_t first = op.n_items;  // of the split items
  for (int64_t i = op.n_items - 1; i >= 0 && merges > 0; i--) {
    const AttentionItem& item = items[i];
    if (item.n_splits == 1) continue;
    first = i;
    op.queries = std::max(op.queries, int64_t{item.n_rows} * op.heads_per_kv);
    for (int32_t head = 0; head < op.append.cache.n_kv_heads; head++) op.pending[item.merge * op.append.cache.n_kv_heads + head] = item.n_splits;
  }
  const int64_t each = op.append.cache.n_kv_heads * op.partial_stride();
  if (first < op.n_items) op.partials = step.arena.array<float>((op.n_items - first) * each) - first * each;
  const int64_t rows = q.shape[0], kv_heads = op.append.cache.n_kv_heads;
  Range reads[4] = {q, cached(op.append.cache), {k, k ? rows * kv_heads * op.append.cache.key_dim : 0}, {v, v ? rows * kv_heads * op.append.cache.value_dim : 0}};
  const Range writes[] = {{out, rows * op.n_heads * op.append.cache.value_dim}, cached(op.append.cache)};
  step.push("attention", op, std::span<const Range>(reads, k ? 4 : 2), std::span<const Range>(writes, k ? 2 : 1));
}

void record_append_attention(Step& step, const State& state, StateRef s, const Tensor& k, const Tensor& v, const Tensor& q, const Batch& b, const AttentionOptions& o, float* out) {
  const int32_t rows_per_item = std::max<int32_t>(1, kAttentionQueries * state.cache(s).n_kv_heads / static_cast<int32_t>(q.shape[1]));
  const bool one_item_each = std::ranges::all_of(b.sequences, [&](const SequenceRows& rows) { return rows.n_rows <= rows_per_item; });
  if (!one_item_each) record_append(step, state, s, k, v, b);
  record_attention(step, state, s, q, b, o, out, one_item_each ? k.data : nullptr, one_item_each ? v.data : nullptr);
}

}  // namespace cpu
