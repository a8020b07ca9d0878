// delta_ops: recorded gated delta rule with what surrounds it: convolution, gates, recurrence, norm and output gate. Few rows: one operation,
// an item is (sequence, key head) with its value heads. Many rows: three, cut by heads, by slices of the state's columns, by rows; the same
// kernels on the same numbers in the same order, so the same bits.
#include <algorithm>
#include <cmath>
#include "device/cpu/row_ops.h"
#include "device/cpu/state_ops.h"

namespace cpu {
namespace {

constexpr int32_t kFewRows = 8;

struct Delta {
  const State* state;
  StateRef s;
  DeltaInputs in;
  DeltaDims d;
  float* out;                        // [rows, value heads, value_dim]
  std::span<const SequenceRows> sequences;
  int64_t rows;

  int64_t keys() const { return int64_t{d.n_key_heads} * d.key_dim; }
  int64_t channels() const { return 2 * keys() + int64_t{d.n_value_heads} * d.value_dim; }
  int32_t key_head(int32_t head) const { return d.tiled ? head % d.n_key_heads : head / (d.n_value_heads / d.n_key_heads); }
  // The i-th value head of a key head.
  int32_t value_head(int32_t key_head, int32_t i) const { return d.tiled ? i * d.n_key_heads + key_head : key_head * (d.n_value_heads / d.n_key_heads) + i; }

  void convolve(const Worker& w, const SequenceRows& r, int64_t first, int64_t count, float* to, int64_t stride) const {
    const StateSpec& spec = state->spec(s);
    w.kernels->conv({in.qkv + r.first_row * channels(), channels(), to, stride, in.taps, state->conv_rows(s, r.slot), channels(), first, count, r.n_rows, spec.conv_kernel});
  }
  // q and k of a key head, [rows][2][key_dim], and kq [rows].
  void prepare_keys(const Worker& w, const SequenceRows& r, int32_t head, float* qk, float* kq) const {
    convolve(w, r, int64_t{head} * d.key_dim, d.key_dim, qk, 2 * d.key_dim);
    convolve(w, r, keys() + int64_t{head} * d.key_dim, d.key_dim, qk + d.key_dim, 2 * d.key_dim);
    for (int32_t row = 0; row < r.n_rows; row++) kq[row] = w.kernels->unit_keys(qk + int64_t{row} * 2 * d.key_dim, qk + int64_t{row} * 2 * d.key_dim + d.key_dim, d.key_dim);
  }
  // v of a value head, [rows][value_dim], and its gates [rows][2].
  void prepare_values(const Worker& w, const SequenceRows& r, int32_t head, float* v, float* gates) const {
    convolve(w, r, 2 * keys() + int64_t{head} * d.value_dim, d.value_dim, v, d.value_dim);
    for (int32_t row = 0; row < r.n_rows; row++) {
      const int64_t at = (int64_t{r.first_row} + row) * d.n_value_heads + head;
      const float x = in.a[at] + in.dt_bias[head], softplus = x > 20.0f ? x : std::log1p(std::exp(x));
      gates[2 * row] = std::exp(in.neg_exp_a[head] * softplus);
      gates[2 * row + 1] = 1.0f / (1.0f + std::exp(-in.b[at]));
    }
  }
  void recur(const Worker& w, const SequenceRows& r, int32_t head, int32_t slice, const float* qk, const float* kq, const float* v, const float* gates) const {
    const int32_t first = slice * kDeltaColumns;
    const int64_t slices = delta_slices(d.value_dim), width = int64_t{d.n_value_heads} * d.value_dim;
    float* const part = state->delta(s, r.slot) + (head * slices + slice) * delta_slice_floats(d.key_dim);
    w.kernels->delta({qk, qk + d.key_dim, 2 * d.key_dim, kq, 1, gates, 2, v + first, d.value_dim, out + r.first_row * width + int64_t{head} * d.value_dim + first, width, part, r.n_rows,
                      d.key_dim, std::min(kDeltaColumns, d.value_dim - first)});
  }
  // f(rows of a sequence, i) for every i < each of every sequence, handed out one after another.
  template <class F> void items(const Counter& counter, int64_t each, F&& f) const {
    const int64_t n = static_cast<int64_t>(sequences.size()) * each;
    for (int64_t item; (item = counter.take()) < n;) f(sequences[static_cast<size_t>(item / each)], static_cast<int32_t>(item % each));
  }
  void finish(const Worker& w, int64_t row, int32_t head) const {  // rms_norm(o) * gain * silu(z)
    const int64_t at = (row * d.n_value_heads + head) * d.value_dim;
    w.kernels->rms_norm(out + at, in.gain, in.eps, d.value_dim, out + at);
    w.kernels->gate(in.z + at, out + at, d.value_dim, Activation::silu, out + at);
  }
};

struct FewRows {
  Delta delta;
  Counter counter;
  void run(const Worker& w) const {
    const DeltaDims& d = delta.d;
    float *qk = w.scratch, *kq = qk + kFewRows * 2 * d.key_dim, *gates = kq + kFewRows, *v = gates + 2 * kFewRows;
    delta.items(counter, d.n_key_heads, [&](const SequenceRows& r, int32_t key_head) {
      delta.prepare_keys(w, r, key_head, qk, kq);
      for (int32_t i = 0; i < d.n_value_heads / d.n_key_heads; i++) {
        const int32_t head = delta.value_head(key_head, i);
        delta.prepare_values(w, r, head, v, gates);
        for (int32_t slice = 0; slice < delta_slices(d.value_dim); slice++) delta.recur(w, r, head, slice, qk, kq, v, gates);
        for (int32_t row = 0; row < r.n_rows; row++) delta.finish(w, r.first_row + row, head);
      }
    });
  }
};

// What many rows are prepared into, head by head so that a head's rows are one run of memory.
struct Prepared {
  float *qk, *kq, *v, *gates;  // [key heads][rows][2][key_dim], [key heads][rows], [value heads][rows][value_dim], [value heads][rows][2]
};

struct Prepare {
  Delta delta;
  Prepared to;
  Counter counter;
  void run(const Worker& w) const {
    const DeltaDims& d = delta.d;
    delta.items(counter, d.n_key_heads + d.n_value_heads, [&](const SequenceRows& r, int32_t head) {
      const int32_t value_head = head - d.n_key_heads;
      const int64_t at = head * delta.rows + r.first_row, value_at = value_head * delta.rows + r.first_row;
      if (value_head < 0) delta.prepare_keys(w, r, head, to.qk + at * 2 * d.key_dim, to.kq + at);
      else delta.prepare_values(w, r, value_head, to.v + value_at * d.value_dim, to.gates + value_at * 2);
    });
  }
};

struct Recur {
  Delta delta;
  Prepared from;
  Counter counter;
  void run(const Worker& w) const {
    const DeltaDims& d = delta.d;
    const auto slices = static_cast<int32_t>(delta_slices(d.value_dim));
    delta.items(counter, int64_t{d.n_value_heads} * slices, [&](const SequenceRows& r, int32_t i) {
      const int32_t head = i / slices, slice = i % slices;
      const int64_t key_at = delta.key_head(head) * delta.rows + r.first_row, at = head * delta.rows + r.first_row;
      delta.recur(w, r, head, slice, from.qk + key_at * 2 * d.key_dim, from.kq + key_at, from.v + at * d.value_dim, from.gates + at * 2);
    });
  }
};

}  // namespace

void record_delta_block(Step& step, const State& state, StateRef s, const DeltaInputs& in, const DeltaDims& d, const Batch& b, float* out) {
  const Delta delta{&state, s, in, d, out, b.sequences, static_cast<int64_t>(b.ids.size())};
  const int64_t n = delta.rows, values = n * d.n_value_heads;
  const Range result(out, values * d.value_dim), z(in.z, values * d.value_dim);
  const Range sources[] = {{in.qkv, n * delta.channels()}, {in.a, values}, {in.b, values}, z};
  if (std::ranges::all_of(b.sequences, [](const SequenceRows& r) { return r.n_rows <= kFewRows; }))
    return step.push("delta rule", FewRows{delta, {}}, sources, {&result, 1});
  const int64_t keys = n * d.n_key_heads;
  const Prepared p{step.arena.array<float>(keys * 2 * d.key_dim), step.arena.array<float>(keys), step.arena.array<float>(values * d.value_dim), step.arena.array<float>(values * 2)};
  const Range prepared[] = {{p.qk, keys * 2 * d.key_dim}, {p.kq, keys}, {p.v, values * d.value_dim}, {p.gates, values * 2}};
  step.push("convolution", Prepare{delta, p, {}}, sources, prepared);
  step.push("delta rule", Recur{delta, p, {}}, prepared, {&result, 1});
  record_rows(step, "norm", n, {result}, {result, z}, [delta](const Worker& w, int64_t row) {
    for (int32_t head = 0; head < delta.d.n_value_heads; head++) delta.finish(w, row, head);
  });
}

int64_t state_scratch_floats(std::span<const StateSpec> layers) {
  int64_t floats = 64;
  for (const StateSpec& s : layers) {
    if (s.kind == StateSpec::Kind::paged_kv) floats = std::max(floats, attention_scratch_floats(s.key_dim, s.value_dim));
    if (s.kind == StateSpec::Kind::recurrent) floats = std::max(floats, int64_t{kFewRows} * (2 * s.head_key_dim + 3 + s.head_value_dim));
  }
  return floats;
}

}  // namespace cpu
