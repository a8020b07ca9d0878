// encoder: the words of models, spelled as recorded operations.
#include "device/cpu/encoder.h"

namespace cpu {
namespace {

const float* values_of(const Weight& w) { return static_cast<const VectorWeight&>(w).values.data(); }
const PackedMatrix& matrix_of(const Weight& w) { return static_cast<const PackedMatrix&>(w); }

void embed_row(const Weight& table, int64_t row, float scale, float* out) {
  int64_t cols = 0;
  if (const auto* packed = dynamic_cast<const PackedMatrix*>(&table)) {
    cols = packed->cols;
    unpack_row(*packed, row < 0 || row >= packed->rows ? 0 : row, out);
  } else {
    const StoredMatrix& stored = static_cast<const LookupWeight&>(table).table;
    cols = stored.shape.back();
    decode_row(stored, row < 0 || row >= stored.shape.rows() ? 0 : row, out);
  }
  if (scale != 1)
    for (int64_t i = 0; i < cols; i++) out[i] *= scale;
}

}  // namespace

Tensor CpuEncoder::embed(const Weight& table, std::span<const TokenId> ids, float scale) {
  const auto* packed = dynamic_cast<const PackedMatrix*>(&table);
  const int64_t cols = packed ? packed->cols : static_cast<const LookupWeight&>(table).table.shape.back(), n = static_cast<int64_t>(ids.size());
  const Tensor out = fresh({n, cols});
  record_rows(step, n, cols, [t = &table, id = ids.data(), scale, cols, y = out.data](const Worker&, int64_t r) { embed_row(*t, id[r], scale, y + r * cols); });
  return out;
}

Tensor CpuEncoder::linear(const Tensor& x, const Weight& w, const Weight* bias) {
  const PackedMatrix& m = matrix_of(w);
  const PackedMatrix* const all[] = {&m};
  const int64_t rows = x.shape.elements() / m.cols;
  const Tensor out = fresh({rows, m.rows});
  const Inputs in = prepare_inputs(step, x.data, rows, m.cols, all, exact_);
  const LinearTarget target[] = {{&m, out.data, bias ? values_of(*bias) : nullptr}};
  record_linears(step, in, target, exact_);
  return out;
}

void CpuEncoder::linears(const Tensor& x, std::span<const Weight* const> w, std::span<Tensor> out) {
  CHECK(!w.empty() && w.size() == out.size() && w.size() <= kMaxLinears);
  const PackedMatrix* matrices[kMaxLinears];
  LinearTarget targets[kMaxLinears];
  const int64_t cols = matrix_of(*w[0]).cols, rows = x.shape.elements() / cols;
  for (size_t i = 0; i < w.size(); i++) {
    matrices[i] = &matrix_of(*w[i]);
    out[i] = fresh({rows, matrices[i]->rows});
    targets[i] = {matrices[i], out[i].data, nullptr};
  }
  const Inputs in = prepare_inputs(step, x.data, rows, cols, {matrices, w.size()}, exact_);
  record_linears(step, in, {targets, w.size()}, exact_);
}

Tensor CpuEncoder::rms_norm(const Tensor& x, const Weight* gain, float eps) {
  const Tensor out = fresh(x.shape);
  const int64_t n = x.shape.back();
  record_rows(step, x.shape.rows(), n, [x = x.data, g = gain ? values_of(*gain) : nullptr, eps, n, y = out.data](const Worker& w, int64_t r) {
    w.kernels->rms_norm(x + r * n, g, eps, n, y + r * n);
  });
  return out;
}

const RopeTable& CpuEncoder::table_for(const Rope& rope, const Batch& b) {
  for (const RopeTable& t : ropes_)
    if (t.rope == &rope) return t;
  const int64_t half = static_cast<int64_t>(rope.inverse_frequencies.size()), n = static_cast<int64_t>(b.positions.size());
  ropes_.push_back({&rope, step.lasting.array<float>(n * half), step.lasting.array<float>(n * half)});
  record_rows(step, n, half * 8, [t = ropes_.back(), half, p = b.positions.data()](const Worker&, int64_t r) { rope_angles(*t.rope, p[r], t.cos + r * half, t.sin + r * half); });
  return ropes_.back();
}

void CpuEncoder::rope(Tensor& heads, const Batch& b, const Rope& rope) {
  const RopeTable t = table_for(rope, b);
  const int64_t n_heads = heads.shape[1], dim = heads.shape[2], half = static_cast<int64_t>(rope.inverse_frequencies.size());
  record_rows(step, heads.shape[0], n_heads * dim, [x = heads.data, t, n_heads, dim, half](const Worker&, int64_t r) {
    for (int64_t h = 0; h < n_heads; h++) rotate_head(x + (r * n_heads + h) * dim, t.cos + r * half, t.sin + r * half, half, t.rope->pairs);
  });
}

void CpuEncoder::append(StateRef s, const Tensor& k, const Tensor& v, const Batch& b) { record_append(step, state_, s, k, v, b); }

Tensor CpuEncoder::attention(const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) {
  const Tensor out = fresh({q.shape[0], q.shape[1], state_.spec(s).value_dim});
  record_attention(step, state_, s, q, b, o, out.data);
  return out;
}

Tensor CpuEncoder::append_attention(const Tensor& k, const Tensor& v, const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) {
  const Tensor out = fresh({q.shape[0], q.shape[1], state_.spec(s).value_dim});
  record_append_attention(step, state_, s, k, v, q, b, o, out.data);
  return out;
}

Tensor CpuEncoder::gate(const Tensor& g, const Tensor& u, Activation a) {
  const Tensor out = fresh(g.shape);
  record_span(step, g.shape.elements(), [g = g.data, u = u.data, a, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->gate(g + i, u + i, n, a, y + i); });
  return out;
}

Tensor CpuEncoder::sigmoid_gate(const Tensor& x, const Tensor& g) {
  const Tensor out = fresh(x.shape);
  record_span(step, x.shape.elements(), [x = x.data, g = g.data, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->sigmoid_gate(x + i, g + i, n, y + i); });
  return out;
}

Tensor CpuEncoder::add(const Tensor& a, const Tensor& b) {
  const Tensor out = fresh(a.shape);
  record_span(step, a.shape.elements(), [a = a.data, b = b.data, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->add(a + i, b + i, n, y + i); });
  return out;
}

Tensor CpuEncoder::add_gated(const Tensor& a, const Tensor& b, const Tensor& g) {
  const Tensor out = fresh(a.shape);
  const int64_t n = a.shape.back();
  record_rows(step, a.shape.rows(), n, [a = a.data, b = b.data, g = g.data, n, y = out.data](const Worker& w, int64_t r) {
    w.kernels->add_scaled(a + r * n, b + r * n, 1.0f / (1.0f + std::exp(-g[r])), n, y + r * n);
  });
  return out;
}

Tensor CpuEncoder::scale(const Tensor& x, float factor) {
  const Tensor out = fresh(x.shape);
  record_span(step, x.shape.elements(), [x = x.data, factor, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->scale(x + i, factor, n, y + i); });
  return out;
}

Tensor CpuEncoder::softcap(const Tensor& x, float cap) {
  const Tensor out = fresh(x.shape);
  record_span(step, x.shape.elements(), [x = x.data, cap, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->softcap(x + i, cap, n, y + i); });
  return out;
}

Tensor CpuEncoder::columns(const Tensor& x, int64_t first, int64_t count) {
  const int64_t n = x.shape.back(), rows = x.shape.rows();
  const Tensor out = fresh({rows, count});
  record_rows(step, rows, count, [x = x.data, first, count, n, y = out.data](const Worker&, int64_t r) {
    std::memcpy(y + r * count, x + r * n + first, static_cast<size_t>(count) * sizeof(float));
  });
  return out;
}

Tensor CpuEncoder::rows(const Tensor& x, std::span<const int32_t> which) {
  const int64_t n = x.shape.back(), count = static_cast<int64_t>(which.size());
  const Tensor out = fresh({count, n});
  record_rows(step, count, n, [x = x.data, which = which.data(), n, y = out.data](const Worker&, int64_t r) {
    std::memcpy(y + r * n, x + which[r] * n, static_cast<size_t>(n) * sizeof(float));
  });
  return out;
}

Tensor CpuEncoder::carry(const Tensor& x) {
  if (!kept_.data) {
    kept_ = fresh(x.shape);
    layer_begin_ = step.arena.mark();
  }
  record_span(step, x.shape.elements(), [x = x.data, y = kept_.data](const Worker&, int64_t i, int64_t n) { std::memcpy(y + i, x + i, static_cast<size_t>(n) * sizeof(float)); });
  step.arena.rewind(layer_begin_);
  return kept_;
}

Routes CpuEncoder::route(const Tensor& scores, int top_k, bool renormalise) {
  const int64_t rows = scores.shape.rows(), n = scores.shape.back();
  const Routes out{step.arena.array<int32_t>(rows * top_k), step.arena.array<float>(rows * top_k), static_cast<int32_t>(rows), top_k};
  record_rows(step, rows, n, [s = scores.data, n, top_k, renormalise, out](const Worker&, int64_t r) {
    route_row(s + r * n, n, top_k, renormalise, out.experts + r * top_k, out.weights + r * top_k);
  });
  return out;
}

Tensor CpuEncoder::experts(const Tensor& x, const Routes& r, const Weight& gate, const Weight& up, const Weight& down, Activation a) {
  const PackedMatrix& d = matrix_of(down);
  const Tensor out = fresh({r.rows, d.rows});
  record_experts(step, x.data, r.rows, r, {&matrix_of(gate), &matrix_of(up), &d, a}, out.data, exact_);
  return out;
}

Tensor CpuEncoder::gated_delta(const Tensor& qkv, const Tensor& z, const Tensor& a, const Tensor& b, const DeltaWeights& w, const DeltaDims& d, StateRef s, const Batch& batch) {
  const Tensor out = fresh({qkv.shape.rows(), int64_t{d.n_value_heads} * d.value_dim});
  const DeltaInputs in{qkv.data, z.data, a.data, b.data, values_of(*w.taps), values_of(*w.neg_exp_a), values_of(*w.dt_bias), values_of(*w.norm), w.eps};
  record_delta_block(step, state_, s, in, d, batch, out.data);
  return out;
}

}  // namespace cpu
