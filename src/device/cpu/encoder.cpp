// encoder: the words of models, spelled as recorded operations.
#include "device/cpu/encoder.h"

namespace cpu {
namespace {

const float* values_of(const Weight& w) { return static_cast<const VectorWeight&>(w).values.data(); }
const PackedMatrix& matrix_of(const Weight& w) {
  const auto* matrix = dynamic_cast<const PackedMatrix*>(&w);
  CHECK(matrix);
  return *matrix;
}

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
  record_rows(step, "embed", n, {out}, {}, [t = &table, id = ids.data(), scale, cols, y = out.data](const Worker& w, int64_t r) { embed_row(*t, id[r], scale, w.at(y) + r * cols); });
  return out;
}

// Every form that any of the weights reads; forms made for the matrices just before are used again.
Inputs CpuEncoder::prepare(const Tensor& x, std::span<const PackedMatrix* const> weights) {
  const int64_t cols = weights[0]->cols, rows = x.shape.elements() / cols;
  for (const Inputs& ready : prepared_) {
    const auto serves = [&](const PackedMatrix* w) {
      if (is_float(w->layout.codes)) return true;
      return wants_exact(*w, exact_) ? ready.sums != nullptr : ready.form_of(*w).q != nullptr;
    };
    if (ready.x == x.data && ready.rows == rows && ready.cols == cols && std::ranges::all_of(weights, serves)) return ready;
  }
  const Inputs in = prepare_inputs(step, x.data, rows, cols, weights, exact_);
  const bool has_forms = in.sums || !std::ranges::all_of(weights, [](const PackedMatrix* w) { return is_float(w->layout.codes); });
  if (has_forms) prepared_[1] = std::exchange(prepared_[0], in);
  return in;
}

Tensor CpuEncoder::linear(const Tensor& x, const Weight& w, const Weight* bias) {
  if (const auto* row = dynamic_cast<const RowWeight*>(&w)) {
    const int64_t cols = std::ssize(row->values), rows = x.shape.elements() / cols;
    const Tensor out = fresh({rows, 1});
    record_rows(step, "linear", rows, {out}, {x}, [x = x.data, v = row->values.data(), b = bias ? values_of(*bias)[0] : 0.0f, cols, y = out.data](const Worker& w, int64_t r) {
      w.at(y)[r] = w.kernels->dot(w.at(x) + r * cols, v, cols) + b;
    });
    return out;
  }
  const PackedMatrix& m = matrix_of(w);
  const PackedMatrix* const all[] = {&m};
  const Inputs in = prepare(x, all);
  const Tensor out = fresh_shared({in.rows, m.rows});
  const LinearTarget target[] = {{&m, out.data, bias ? values_of(*bias) : nullptr}};
  record(in, target);
  return out;
}

void CpuEncoder::linears(const Tensor& x, std::span<const Weight* const> w, std::span<Tensor> out) {
  CHECK(!w.empty() && w.size() == out.size() && w.size() <= kMaxLinears);
  const PackedMatrix* matrices[kMaxLinears];
  LinearTarget targets[kMaxLinears];
  for (size_t i = 0; i < w.size(); i++) matrices[i] = &matrix_of(*w[i]);
  const Inputs in = prepare(x, {matrices, w.size()});
  for (size_t i = 0; i < w.size(); i++) {
    out[i] = fresh_shared({in.rows, matrices[i]->rows});
    targets[i] = {matrices[i], out[i].data, nullptr};
  }
  record(in, {targets, w.size()});
}

Tensor CpuEncoder::rms_norm(const Tensor& x, const Weight* gain, float eps) {
  const Tensor out = fresh(x.shape);
  const int64_t n = x.shape.back();
  record_rows(step, "norm", x.shape.rows(), {out}, {x}, [x = x.data, g = gain ? values_of(*gain) : nullptr, eps, n, y = out.data](const Worker& w, int64_t r) {
    w.kernels->rms_norm(w.at(x) + r * n, g, eps, n, w.at(y) + r * n);
  });
  return out;
}

const RopeTable& CpuEncoder::table_for(const Rope& rope, const Batch& b) {
  for (const RopeTable& t : ropes_)
    if (t.rope == &rope) return t;
  const int64_t half = static_cast<int64_t>(rope.inverse_frequencies.size()), n = static_cast<int64_t>(b.positions.size());
  const bool own = step.is_small(2 * n * half);
  const auto take = [&] { return own ? static_cast<float*>(step.own.take_lasting(static_cast<size_t>(n * half) * sizeof(float))) : step.lasting.array<float>(n * half); };
  const RopeTable table{&rope, take(), take(), n * half};
  record_rows(step, "rope", n, {table.cos_range(), table.sin_range()}, {},
              [table, half, p = b.positions.data()](const Worker& w, int64_t r) { rope_angles(*table.rope, p[r], w.at(table.cos) + r * half, w.at(table.sin) + r * half); });
  return ropes_.emplace_back(table);
}

void CpuEncoder::rope(Tensor& heads, const Batch& b, const Rope& rope) {
  const RopeTable t = table_for(rope, b);
  const int64_t n_heads = heads.shape[1], dim = heads.shape[2], half = static_cast<int64_t>(rope.inverse_frequencies.size());
  const Tensor out = fresh(heads.shape);
  record_rows(step, "rope", heads.shape[0], {out}, {heads, t.cos_range(), t.sin_range()}, [x = heads.data, y = out.data, t, n_heads, dim, half](const Worker& w, int64_t r) {
    for (int64_t h = r * n_heads; h < (r + 1) * n_heads; h++) rotate_head(w.at(x) + h * dim, dim, w.at(t.cos) + r * half, w.at(t.sin) + r * half, half, t.rope->pairs, w.at(y) + h * dim);
  });
  heads = out;
}

void CpuEncoder::append(StateRef s, const Tensor& k, const Tensor& v, const Batch& b) { record_append(step, state_, s, k, v, b); }

Tensor CpuEncoder::attention(const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) {
  const Tensor out = fresh_shared({q.shape[0], q.shape[1], state_.spec(s).value_dim});
  record_attention(step, state_, s, q, b, o, out.data);
  return out;
}

Tensor CpuEncoder::append_attention(const Tensor& k, const Tensor& v, const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) {
  const Tensor out = fresh_shared({q.shape[0], q.shape[1], state_.spec(s).value_dim});
  record_append_attention(step, state_, s, k, v, q, b, o, out.data);
  return out;
}

Tensor CpuEncoder::gate(const Tensor& g, const Tensor& u, Activation a) {
  const Tensor out = fresh(g.shape);
  record_span(step, "gate", out, {g, u}, [g = g.data, u = u.data, a, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->gate(w.at(g) + i, w.at(u) + i, n, a, w.at(y) + i); });
  return out;
}

Tensor CpuEncoder::sigmoid_gate(const Tensor& x, const Tensor& g) {
  const Tensor out = fresh(x.shape);
  record_span(step, "gate", out, {x, g}, [x = x.data, g = g.data, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->sigmoid_gate(w.at(x) + i, w.at(g) + i, n, w.at(y) + i); });
  return out;
}

Tensor CpuEncoder::add(const Tensor& a, const Tensor& b) {
  const Tensor out = fresh(a.shape);
  record_span(step, "add", out, {a, b}, [a = a.data, b = b.data, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->add(w.at(a) + i, w.at(b) + i, n, w.at(y) + i); });
  return out;
}

Tensor CpuEncoder::add_gated(const Tensor& a, const Tensor& b, const Tensor& g) {
  const Tensor out = fresh(a.shape);
  const int64_t n = a.shape.back();
  record_rows(step, "add", a.shape.rows(), {out}, {a, b, g}, [a = a.data, b = b.data, g = g.data, n, y = out.data](const Worker& w, int64_t r) {
    w.kernels->add_scaled(w.at(a) + r * n, w.at(b) + r * n, 1.0f / (1.0f + std::exp(-w.at(g)[r])), n, w.at(y) + r * n);
  });
  return out;
}

Tensor CpuEncoder::scale(const Tensor& x, float factor) {
  const Tensor out = fresh(x.shape);
  record_span(step, "scale", out, {x}, [x = x.data, factor, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->scale(w.at(x) + i, factor, n, w.at(y) + i); });
  return out;
}

Tensor CpuEncoder::softcap(const Tensor& x, float cap) {
  const Tensor out = fresh(x.shape);
  record_span(step, "softcap", out, {x}, [x = x.data, cap, y = out.data](const Worker& w, int64_t i, int64_t n) { w.kernels->softcap(w.at(x) + i, cap, n, w.at(y) + i); });
  return out;
}

Tensor CpuEncoder::columns(const Tensor& x, int64_t first, int64_t count) {
  const int64_t n = x.shape.back(), rows = x.shape.rows();
  const Tensor out = fresh({rows, count});
  record_rows(step, "copy", rows, {out}, {x}, [x = x.data, first, count, n, y = out.data](const Worker& w, int64_t r) {
    std::memcpy(w.at(y) + r * count, w.at(x) + r * n + first, static_cast<size_t>(count) * sizeof(float));
  });
  return out;
}

Tensor CpuEncoder::rows(const Tensor& x, std::span<const int32_t> which) {
  const int64_t n = x.shape.back(), count = static_cast<int64_t>(which.size());
  const Tensor out = fresh({count, n});
  record_rows(step, "copy", count, {out}, {x}, [x = x.data, which = which.data(), n, y = out.data](const Worker& w, int64_t r) {
    std::memcpy(w.at(y) + r * n, w.at(x) + which[r] * n, static_cast<size_t>(n) * sizeof(float));
  });
  return out;
}

Tensor CpuEncoder::carry(const Tensor& x) {
  if (!kept_.data) {
    kept_ = fresh(x.shape);
    layer_begin_ = step.arena.mark();
    own_layer_begin_ = step.own.mark();
  }
  record_span(step, "copy", kept_, {x}, [x = x.data, y = kept_.data](const Worker& w, int64_t i, int64_t n) { std::memcpy(w.at(y) + i, w.at(x) + i, static_cast<size_t>(n) * sizeof(float)); });
  step.arena.rewind(layer_begin_);
  step.own.rewind(own_layer_begin_);
  forget_prepared();
  return kept_;
}

Routes CpuEncoder::route(const Tensor& scores, int top_k, bool renormalise) {
  const int64_t rows = scores.shape.rows(), n = scores.shape.back();
  const bool own = step.is_small(rows * top_k + n);
  const Routes out{step.take<int32_t>(rows * top_k, own), step.take<float>(rows * top_k, own), static_cast<int32_t>(rows), top_k};
  record_rows(step, "route", rows, {{out.experts, rows * top_k}, {out.weights, rows * top_k}}, {scores}, [s = scores.data, n, top_k, renormalise, out](const Worker& w, int64_t r) {
    route_row(*w.kernels, w.at(s) + r * n, n, top_k, renormalise, w.scratch, w.at(out.experts) + r * top_k, w.at(out.weights) + r * top_k);
  });
  return out;
}

Tensor CpuEncoder::experts(const Tensor& x, const Routes& r, const Weight& gate, const Weight& up, const Weight& down, Activation a) {
  const PackedMatrix* const first[] = {&matrix_of(gate), &matrix_of(up)};
  const PackedMatrix& d = matrix_of(down);
  const Tensor out = fresh_shared({r.rows, d.rows});
  record_experts(step, prepare(x, first), r, {first[0], first[1], &d, a}, out.data, exact_);
  return out;
}

Tensor CpuEncoder::gated_delta(const Tensor& qkv, const Tensor& z, const Tensor& a, const Tensor& b, const DeltaWeights& w, const DeltaDims& d, StateRef s, const Batch& batch) {
  const Tensor out = fresh_shared({qkv.shape.rows(), int64_t{d.n_value_heads} * d.value_dim});
  const DeltaInputs in{qkv.data, z.data, a.data, b.data, values_of(*w.taps), values_of(*w.neg_exp_a), values_of(*w.dt_bias), values_of(*w.norm), w.eps};
  record_delta_block(step, state_, s, in, d, batch, out.data);
  return out;
}

}  // namespace cpu
