// cost: what each op reads, writes and multiplies.
#include "device/cuda/cost.h"

#include <algorithm>

namespace cuda {
namespace {

double bytes_of(const DeviceMatrix& m) {  // of one expert, where there are several
  switch (m.form) {
    case DeviceMatrix::Form::tiles: return static_cast<double>(m.tiles.tile_bytes) * ((m.tiles.rows + 15) / 16);
    case DeviceMatrix::Form::strips: return static_cast<double>(m.strips.strip_bytes) * m.strips.strips;
    case DeviceMatrix::Form::floats: return 4.0 * m.rows * m.cols;
  }
  return 0;
}

// Rows of activations times one matrix; `matrices` of its kind are read.
Cost product(const DeviceMatrix& m, double rows, double matrices = 1) { return {bytes_of(m) * matrices + 4 * rows * (m.rows + m.cols), rows * m.rows * m.cols}; }

Cost cost_of(const AttentionOp& op, const Tables& tables, const DeviceState& state) {
  const CacheOnDevice cache = state.cache(op.state);
  const double token = static_cast<double>(cache.n_kv_heads) * (cache.key_dim + cache.value_dim) * (state.kind(op.state) == CacheKind::f32 ? 4 : state.kind(op.state) == CacheKind::half ? 2 : 1), pair = static_cast<double>(op.n_heads) * (cache.key_dim + cache.value_dim);
  Cost c;
  for (const SequenceOnDevice& s : tables.sequences) {
    const double rows = s.n_rows, past = op.options.window > 0 ? std::min(s.past, op.options.window) : s.past, seen = past + (op.options.causal ? rows / 2 : rows);
    c += {(past + rows) * token, rows * (op.options.window > 0 ? std::min<double>(seen, op.options.window) : seen) * pair};
  }
  return c;
}

Cost cost_of(const DeltaOp& op) {  // decay and three products with a state of float32 that is read and written
  const double state = static_cast<double>(op.dims.n_value_heads) * op.dims.key_dim * op.dims.value_dim;
  return {8 * state * op.n_sequences, 3 * state * op.rows};
}

}  // namespace

void add_costs(std::span<const Op> ops, const Tables& tables, const DeviceState& state, Costs& costs) {
  const auto add = [&](Work work, const Cost& cost) { costs[static_cast<size_t>(work)] += cost; };
  for (const Op& op : ops) {
    if (const auto* linear = std::get_if<LinearOp>(&op)) add(Work::matrices, product(*linear->w, linear->rows));
    if (const auto* attention = std::get_if<AttentionOp>(&op)) add(Work::attention, cost_of(*attention, tables, state));
    if (const auto* delta = std::get_if<DeltaOp>(&op)) add(Work::delta, cost_of(*delta));
    if (const auto* experts = std::get_if<ExpertsOp>(&op)) {
      const double entries = static_cast<double>(experts->routes.rows) * experts->routes.top_k;
      for (const DeviceMatrix* m : {experts->gate, experts->up, experts->down}) add(Work::experts, product(*m, entries, std::min(entries, static_cast<double>(m->n_experts))));
    }
  }
}

}  // namespace cuda
