// lower_mixers: attention with everything around it (norms of heads, rotation, appending, the output's gate), and the gated delta rule.
#include "device/cuda/attention.h"
#include "device/cuda/delta.h"
#include "device/cuda/lower.h"

namespace cuda {
namespace {

constexpr int kThreads = 256, kDecodeSplits = 32, kClusterTiles = 2;  // kClusterTiles: of a split, before a second cluster helps

// As the longest context among single rows may need, whatever the others are: steps are told apart by it (memory.h). In powers of two: few shapes of steps.
unsigned splits_in_step(const std::vector<SequenceOnDevice>& sequences, const SplitAttentionArgs& a, int32_t least) {
  int32_t n = least, longest = 0;
  for (const SequenceOnDevice& s : sequences)
    if (s.n_rows == 1) longest = std::max(longest, s.past);
  while (n < most_splits(longest, a.window, a.min_tiles, a.max_splits)) n *= 2;
  return static_cast<unsigned>(std::min(n, a.max_splits));
}

}  // namespace

Lowering::StepShape Lowering::step_shape() const {
  StepShape s;
  for (const SequenceOnDevice& one : p_.tables.sequences) {
    if (one.n_rows == 1) s.singles++;
    else s.runs++;
    s.delta_chunks += delta_chunks(one.n_rows);
  }
  return s;
}

// What lies between a projection and the heads that meet: the projection, and how it is prepared. Only ops that nobody else reads are left out.
Lowering::Prepared Lowering::prepared(const float* heads) {
  Prepared p{heads, nullptr, nullptr};
  if (const Node* n = writer_of(p.x); n && n->standing == Standing::deferred)
    if (const auto* rope = std::get_if<RopeOp>(&n->op)) p.rope = rope, p.x = rope->x;
  if (const Node* n = writer_of(p.x); n && n->standing == Standing::deferred)
    if (const auto* norm = std::get_if<NormOp>(&n->op)) p.norm = norm, p.x = norm->x;
  return p;
}

bool Lowering::fast_attention(const AttentionOp& op, const AppendOp* append) {
  const CacheOnDevice cache = p_.state.cache(op.state);
  const KvType type = p_.state.kv_type(op.state);
  if (p_.limits.exact || !attends_fast(cache, type)) return false;
  const Prepared q = prepared(op.q), k = append ? prepared(append->k) : Prepared{}, v = append ? prepared(append->v) : Prepared{};
  const NormOp* norm = q.norm ? q.norm : k.norm ? k.norm : v.norm;
  const RopeOp* rope = q.rope ? q.rope : k.rope;
  const auto alike = [](const RopeOp& a, const RopeOp& b) { return a.inverse_frequencies == b.inverse_frequencies && a.half == b.half && a.magnitude == b.magnitude && a.adjacent == b.adjacent; };
  if (append && (q.rope != nullptr) != (k.rope != nullptr)) return false;
  if (q.rope && k.rope && !alike(*q.rope, *k.rope)) return false;
  if (v.rope || (v.norm && v.norm->gain)) return false;
  for (const NormOp* one : {q.norm, k.norm, v.norm})
    if (one && one->eps != norm->eps) return false;
  const StepShape shape = step_shape();
  const bool folds = p_.limits.capability >= 90 && op.n_heads <= Tables::max_fold_heads;
  const AttentionKernel split = split_attention_kernel(cache, type, static_cast<int>(p_.limits.most_shared), folds), merge = merge_splits_kernel(cache.value_dim), prepare = prepare_kernel(cache, type),
                        flash = flash_attention_kernel(cache, type, op.n_heads, p_.limits.capability);
  if ((shape.singles && (!split.kernel || !merge.threads)) || (shape.runs && (!prepare.kernel || !flash.kernel)) || op.n_heads % cache.n_kv_heads) return false;

  HeadPreparation heads{};
  heads.q_gain = q.norm ? q.norm->gain : nullptr, heads.k_gain = k.norm ? k.norm->gain : nullptr;
  heads.norm_q = q.norm, heads.norm_k = k.norm, heads.norm_v = v.norm, heads.eps = norm ? norm->eps : 0;
  if (rope) heads.inverse_frequencies = rope->inverse_frequencies, heads.half = rope->half, heads.magnitude = rope->magnitude, heads.adjacent = rope->adjacent;
  for (const float* x : {q.x, k.x, v.x})
    if (x) demand(x);
  const int32_t width = op.n_heads * cache.value_dim, kv_width = cache.n_kv_heads * cache.key_dim, per_kv = op.n_heads / cache.n_kv_heads;
  // The output's gate, where that is all that becomes of the result.
  float* y = op.y;
  const float* gate = nullptr;
  if (const ElementwiseOp* gated = waiting_reader<ElementwiseOp>(op.y); gated && gated->op == Elementwise::sigmoid_gate && gated->a == op.y && ready(gated->b)) {
    gate = gated->b, y = gated->y;
    serve(gated);
  }
  Halves halves{};
  float* wanted = y;
  if (many(op.rows) && only_as_halves(y)) halves = promise_halves(y, op.rows, width), wanted = nullptr;
  const auto sequences = static_cast<unsigned>(p_.tables.sequences.size());
  if (shape.singles) {
    const unsigned groups = static_cast<unsigned>(cache.n_kv_heads) * ceil_div(per_kv, kGroupHeads);
    SplitAttentionArgs a{};
    a.cache = cache, a.step = tables(), a.prepare = heads, a.q = q.x, a.k = k.x, a.v = v.x;
    a.partials = p_.arena.array<float>(partial_floats(sequences, op.n_heads, kMaxSplits, cache.key_dim));
    a.q_stride = width, a.k_stride = a.v_stride = kv_width, a.n_heads = op.n_heads, a.window = op.options.window, a.min_tiles = folds ? kClusterTiles : 1, a.max_splits = folds ? cluster_splits(p_.limits.multiprocessors, static_cast<int32_t>(groups)) : kMaxSplits, a.scale = op.options.scale,
    a.early = append != nullptr;
    if (folds) a.turns = p_.tables.fold_turns_on_device, a.gate = gate, a.y = wanted, a.halves = halves, a.gate_stride = width;
    p_.recording.push("attention", split.kernel, dim3(splits_in_step(p_.tables.sequences, a, folds ? kCluster : 1), groups, sequences), split.threads,
                      static_cast<size_t>(split.shared_bytes), a);
    if (!folds) {
      MergeSplitsArgs m{};
      m.step = tables(), m.partials = a.partials, m.gate = gate, m.y = wanted, m.halves = halves, m.gate_stride = width, m.n_heads = op.n_heads, m.dim = cache.value_dim, m.window = a.window, m.min_tiles = a.min_tiles,
      m.max_splits = a.max_splits, m.early = true;
      p_.recording.push("attention merge", merge.kernel, dim3(static_cast<unsigned>(op.n_heads), sequences), merge.threads, static_cast<size_t>(merge.shared_bytes), m);
    }
  }
  if (shape.runs) {
    PrepareArgs a{};
    a.cache = cache, a.step = tables(), a.prepare = heads, a.q = q.x, a.k = k.x, a.v = v.x, a.to = p_.arena.array<uint16_t>(int64_t{op.rows} * op.n_heads * cache.key_dim);
    a.q_stride = width, a.k_stride = a.v_stride = kv_width, a.n_heads = op.n_heads;
    p_.recording.push("attention prepare", prepare.kernel, dim3(static_cast<unsigned>(op.rows)), prepare.threads, static_cast<size_t>(prepare.shared_bytes), a);
    unsigned tiles = 0;
    for (const SequenceOnDevice& s : p_.tables.sequences) tiles += static_cast<unsigned>(flash_tiles(s.n_rows, per_kv));
    FlashAttentionArgs f{};
    f.cache = cache, f.step = tables(), f.q = a.to, f.gate = gate, f.y = wanted, f.halves = halves, f.gate_stride = width, f.n_heads = op.n_heads, f.n_sequences = static_cast<int32_t>(sequences), f.window = op.options.window,
    f.scale = op.options.scale, f.causal = op.options.causal;
    p_.recording.push("attention", flash.kernel, dim3(static_cast<unsigned>(cache.n_kv_heads), tiles), flash.threads, static_cast<size_t>(flash.shared_bytes), f);
  }
  return true;
}

void Lowering::attention(const AttentionOp& op) {
  AppendOp* append = nullptr;
  Node* append_node = nullptr;
  for (Node& n : nodes_)
    if (auto* a = std::get_if<AppendOp>(&n.op); a && a->state.layer == op.state.layer && n.standing == Standing::deferred) append = a, append_node = &n;
  if (append_node) append_node->standing = Standing::done;
  if (fast_attention(op, append)) return;
  if (append) demand(append->k), demand(append->v), (*this)(*append);
  demand(op.q);
  AttentionArgs a{};
  a.cache = p_.state.cache(op.state);
  if (a.cache.key_dim > 512 || a.cache.value_dim > 512) return refuse("attention heads wider than 512");
  if (p_.state.kv_type(op.state) == KvType::int8) return refuse("8-bit keys and values of heads of this width");
  a.q = op.q, a.y = op.y, a.step = tables(), a.n_heads = op.n_heads, a.rows = op.rows;
  a.n_splits = step_shape().runs == 0 ? kDecodeSplits : 1;  // fixed, whatever else is in the batch: the same sums alone and among others
  a.window = op.options.window, a.scale = op.options.scale, a.causal = op.options.causal;
  if (a.n_splits > 1) a.partials = p_.arena.array<float>(int64_t{a.rows} * a.n_heads * a.n_splits * (a.cache.value_dim + 2));
  p_.recording.push("attention", attention_kernel(p_.state.kind(op.state), std::max(a.cache.key_dim, a.cache.value_dim)), dim3(static_cast<unsigned>(a.rows), static_cast<unsigned>(a.cache.n_kv_heads), static_cast<unsigned>(a.n_splits)),
                    128, 4 * static_cast<size_t>(a.cache.value_dim + 2) * sizeof(float), a);
  if (a.n_splits > 1) p_.recording.push("attention merge", merge_attention_kernel(), dim3(static_cast<unsigned>(a.rows), static_cast<unsigned>(a.n_heads)), 128, 0, a);
}

// Rows of the step one after another, for shapes that have no faster kernel.
void Lowering::plain_delta(const DeltaArgs& args, const DeltaOp& op) {
  DeltaArgs a = args;
  const auto n = static_cast<unsigned>(op.rows), sequences = static_cast<unsigned>(op.n_sequences), heads = static_cast<unsigned>(a.n_value_heads);
  const dim3 blocks(heads, ceil_div(a.value_dim, kDeltaColumns), sequences);
  const int64_t channels = 2ll * a.n_key_heads * a.key_dim + int64_t{a.n_value_heads} * a.value_dim;
  a.mixed = p_.arena.array<float>(op.rows * channels);
  p_.recording.push("convolution", convolution_kernel(), dim3(ceil_div(channels, kThreads), n), kThreads, 0, a);
  p_.recording.push("history", delta_history_kernel(), dim3(ceil_div(channels, kThreads), sequences), kThreads, 0, a);
  p_.recording.push("delta rule", delta_kernel(), blocks, 256, (2 * static_cast<size_t>(a.key_dim) + 2 * 8 * 32 + 16) * sizeof(float), a);
  p_.recording.push("delta norm", delta_finish_kernel(), dim3(n, heads), 128, 0, a);
}

void Lowering::delta(Node& node) {
  DeltaOp& op = std::get<DeltaOp>(node.op);
  DeltaArgs a{};
  a.qkv = op.qkv, a.z = op.z, a.a = op.a, a.b = op.b, a.taps = op.taps, a.neg_exp_a = op.neg_exp_a, a.dt_bias = op.dt_bias, a.gain = op.gain;
  a.y = op.y, a.history = p_.state.history(op.state), a.state = p_.state.delta(op.state), a.step = tables();
  a.rows = op.rows, a.n_sequences = op.n_sequences;
  a.n_key_heads = op.dims.n_key_heads, a.n_value_heads = op.dims.n_value_heads, a.key_dim = op.dims.key_dim, a.value_dim = op.dims.value_dim;
  a.kernel = p_.state.spec(op.state).conv_kernel, a.eps = op.eps, a.tiled = op.dims.tiled;
  const StepShape shape = step_shape();
  const DeltaStep step = delta_step(a.key_dim, a.kernel);
  if (p_.limits.exact || (shape.singles && !step.kernel) || (shape.runs && !has_delta_chunks(a))) return plain_delta(a, op);
  const int64_t width = int64_t{a.n_value_heads} * a.value_dim;
  Halves halves{};
  const bool as_halves = many(op.rows) && only_as_halves(op.y);
  if (as_halves) halves = promise_halves(op.y, op.rows, width);
  const bool feeds_stages = shape.singles && !shape.runs && delta_feeds_stages(op);
  if (feeds_stages) op.squares = a.squares = p_.arena.array<float>(int64_t{op.rows} * a.n_value_heads * kHeadParts);
  if (shape.singles)
    p_.recording.push("delta rule", step.kernel, dim3(static_cast<unsigned>(a.n_value_heads), ceil_div(a.value_dim, step.columns), static_cast<unsigned>(op.n_sequences)), step.threads, 0, a);
  if (shape.runs) {
    DeltaChunkArgs c{};
    c.delta = a, c.halves = halves;
    if (as_halves && !shape.singles) c.delta.y = nullptr;
    c.scratch = delta_scratch(a, shape.delta_chunks, p_.arena.take(static_cast<size_t>(delta_chunk_bytes(a) * shape.delta_chunks)));
    const DeltaChunkLaunches l = delta_chunk_launches(a, shape.delta_chunks);
    const auto push = [&](const char* name, const DeltaLaunch& d) { p_.recording.push(name, d.kernel, dim3(static_cast<unsigned>(d.grid[0]), static_cast<unsigned>(d.grid[1]), static_cast<unsigned>(d.grid[2])), d.threads, static_cast<size_t>(d.shared_bytes), c); };
    push("delta prepare", l.prepare), push("delta scan", l.scan), push("delta finish", l.finish);
  }
  if (!shape.singles) return;
  if (feeds_stages) {  // their source is the norm
    node.standing = Standing::deferred;
    return;
  }
  DeltaChunkArgs c{};
  c.delta = a, c.halves = halves;
  p_.recording.push("delta norm", delta_row_finish_kernel(), dim3(static_cast<unsigned>(op.rows), static_cast<unsigned>(a.n_value_heads)), 128, 0, c);
}

// Whether all readers are stages that make the norm of heads for themselves.
bool Lowering::delta_feeds_stages(const DeltaOp& op) const {
  if (!whole_ || op.y == result_ || op.dims.value_dim != kHeadParts * kDeltaColumns) return false;
  int readers = 0;
  for (const Node& n : nodes_) {
    if (!reads(n.op, op.y)) continue;
    const auto* linear = std::get_if<LinearOp>(&n.op);
    if (!linear || linear->w->form != DeviceMatrix::Form::strips || many(linear->rows)) return false;
    readers++;
  }
  return readers > 0;
}

}  // namespace cuda
