// state_ops: recorded convolution and delta rule; the order of arithmetic inside a row never depends on how the work is cut.
#include "device/cpu/state_ops.h"

#include <algorithm>

namespace cpu {
namespace {

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
  step.push(op, x.shape.elements() < kSerialFloats / 4);
}

void record_delta(Step& step, const State& state, StateRef s, const DeltaInputs& in, const DeltaDims& d, const Batch& b, float* out) {
  step.push(DeltaRule{&state, s, in, d, out, b.sequences, {}}, false);
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
