// encoder: shapes become grids; nothing here waits for the device.
#include "device/cuda/encoder.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace cuda {
namespace {

constexpr int kThreads = 256, kDecodeSplits = 32;

const DeviceMatrix& matrix_of(const Weight& w) {
  const auto* matrix = dynamic_cast<const DeviceMatrix*>(&w);
  CHECK(matrix);
  return *matrix;
}
const float* values_of(const Weight& w) { return static_cast<const DeviceVector&>(w).data; }
unsigned ceil_div(int64_t n, int64_t d) { return static_cast<unsigned>((n + d - 1) / d); }

}  // namespace

void CudaEncoder::reset() {
  recording.launches.clear();
  recording.arguments.clear();
  arena.rewind({});
  tables_.ids.clear(), tables_.positions.clear(), tables_.row_sequence.clear(), tables_.pages.clear(), tables_.picked.clear(), tables_.sequences.clear();
  has_batch_ = false;
  makers_.clear(), ready_.clear();
  kept_ = {};
  refusal = nullptr;
}

StepTables CudaEncoder::tables_of(const Batch& b) {
  if (!has_batch_) {
    has_batch_ = true;
    tables_.positions.assign(b.positions.begin(), b.positions.end());
    const int32_t page_tokens = state_.page_tokens();
    for (size_t i = 0; i < b.sequences.size(); i++) {
      const SequenceRows& s = b.sequences[i];
      tables_.sequences.push_back({s.first_row, s.n_rows, s.past, s.slot, static_cast<int32_t>(tables_.pages.size())});
      for (int32_t r = 0; r < s.n_rows; r++) tables_.row_sequence.push_back(static_cast<int32_t>(i));
      if (s.pages && page_tokens > 0)
        for (int32_t p = 0; p < (s.past + s.n_rows + page_tokens - 1) / page_tokens; p++) tables_.pages.push_back(s.pages[p]);
    }
  }
  return {tables_.ids_on_device, tables_.positions_on_device, tables_.row_sequence_on_device, tables_.sequences_on_device, tables_.pages_on_device};
}

Tensor CudaEncoder::embed(const Weight& table, std::span<const TokenId> ids, float scale) {
  const Matrix& m = matrix_of(table).matrix;
  tables_.ids.assign(ids.begin(), ids.end());
  const Tensor out = fresh({std::ssize(ids), m.cols});
  recording.push("embed", embed_kernel(), dim3(ceil_div(m.cols, 4 * 128), static_cast<unsigned>(ids.size())), 128, 0, EmbedArgs{m, tables_.ids_on_device, out.data, scale});
  return out;
}

Acts CudaEncoder::fresh_acts(int64_t n, bool fine) { return {arena.array<int8_t>(n), fine ? arena.array<int8_t>(n) : nullptr, arena.array<float>((n + 15) / 16)}; }

template <class Args> void CudaEncoder::remember(const float* data) {
  makers_.push_back({data, recording.launches.size() - 1, false, [](Recording& r, size_t launch, const Acts& acts) {
                       Args args = r.arguments_of<Args>(launch);
                       args.acts = acts;
                       r.change(launch, args);
                     }});
}

Acts CudaEncoder::acts_of(const float* x, int64_t n, bool fine) {
  for (const Ready& r : ready_)
    if (r.data == x && r.n == n && (r.fine || !fine)) return r.acts;
  const Acts acts = fresh_acts(n, fine);
  ready_.push_back({x, n, fine, acts});
  for (Maker& m : makers_)
    if (m.data == x && !std::exchange(m.used, true)) return m.want(recording, m.launch, acts), acts;
  recording.push("quantise", quantise_kernel(), dim3(ceil_div(n, kThreads)), kThreads, 0, QuantiseArgs{x, acts, n});
  return acts;
}

bool CudaEncoder::takes_few(const DeviceMatrix& weight, int64_t rows) const {
  int ignored = 0;
  return !exact_ && rows <= 2 * kFewRows && weight.matrix.cols % 16 == 0 && few_kernel(weight.matrix.layout, 1, &ignored, &ignored) != nullptr;
}

void CudaEncoder::push_few(const Tensor& x, std::span<const FewTarget> targets, const DeviceMatrix& like, int32_t rows) {
  const Matrix& shape = like.matrix;
  FewArgs a{};
  a.shape = shape, a.shape.data = nullptr, a.shape.rows = 0;
  if (cpu::is_float(shape.layout.codes)) a.floats = x.data;
  else a.x = acts_of(x.data, int64_t{rows} * shape.cols, like.fine);
  a.rows = rows;
  int rows_per_block = 1, threads = 0, tiles = 0;
  const void* kernel = few_kernel(shape.layout, rows, &rows_per_block, &threads);
  // The same input through a matrix of the same layout just before: one launch for both.
  if (!recording.launches.empty() && recording.launches.back().kernel == kernel) {
    Launch& last = recording.launches.back();
    FewArgs before = recording.arguments_of<FewArgs>(recording.launches.size() - 1);
    const bool alike = before.floats == a.floats && before.x.high == a.x.high && before.rows == rows && before.shape.tile_bytes == shape.tile_bytes && before.shape.cols == shape.cols &&
                       before.shape.layout.group == shape.layout.group && before.shape.post_scale == shape.post_scale && before.n_targets + std::ssize(targets) <= kMaxTargets;
    if (alike) {
      a = before, tiles = static_cast<int>(last.grid.x);
      recording.launches.pop_back();
    }
  }
  for (const FewTarget& target : targets) {
    FewTarget& to = a.targets[a.n_targets++] = target;
    to.first_tile = tiles;
    tiles += (target.rows + 15) / 16;
  }
  recording.push("linear", kernel, dim3(static_cast<unsigned>(tiles), ceil_div(rows, rows_per_block)), threads, 0, a);
}

void CudaEncoder::push_linear(const Tensor& x, const DeviceMatrix& weight, const float* bias, float* y, int32_t rows) {
  const Matrix& m = weight.matrix;
  if (takes_few(weight, rows)) {
    const FewTarget target[] = {{m.data, y, bias, m.rows, 0}};
    return push_few(x, target, weight, rows);
  }
  int rows_per_block = 1;
  bool tensor_cores = false;
  const void* kernel = linear_kernel(m.layout, rows, exact_ || weight.precise, &rows_per_block, &tensor_cores);
  if (!kernel) return refuse("a matrix of a layout without a kernel");
  const unsigned tiles = ceil_div(m.rows, 16);
  recording.push("linear", kernel, dim3(tensor_cores ? ceil_div(tiles, 8) : tiles, ceil_div(rows, rows_per_block)), 256, 0, LinearArgs{m, x.data, bias, y, rows});
}

Tensor CudaEncoder::linear(const Tensor& x, const Weight& w, const Weight* bias) {
  const DeviceMatrix& weight = matrix_of(w);
  const auto rows = static_cast<int32_t>(x.shape.elements() / weight.matrix.cols);
  const Tensor out = fresh({rows, weight.matrix.rows});
  push_linear(x, weight, bias ? values_of(*bias) : nullptr, out.data, rows);
  return out;
}

// Those of one layout one after another, so that they become one launch; when one wants 16 bits, all read those.
void CudaEncoder::linears(const Tensor& x, std::span<const Weight* const> w, std::span<Tensor> out) {
  const auto rows = static_cast<int32_t>(x.shape.elements() / matrix_of(*w[0]).matrix.cols);
  std::vector<size_t> order(w.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto kind = [&](size_t i) {
    const PackLayout& l = matrix_of(*w[i]).matrix.layout;
    return std::tuple(l.codes, l.scales, l.group, i);
  };
  std::ranges::sort(order, {}, kind);
  for (size_t i = 0; i < w.size(); i++) out[i] = fresh({rows, matrix_of(*w[i]).matrix.rows});
  const auto reads_integers = [&](const Weight* one) { return takes_few(matrix_of(*one), rows) && !cpu::is_float(matrix_of(*one).matrix.layout.codes); };
  if (std::ranges::any_of(w, [&](const Weight* one) { return reads_integers(one) && matrix_of(*one).fine; })) acts_of(x.data, x.shape.elements(), true);
  for (const size_t i : order) push_linear(x, matrix_of(*w[i]), nullptr, out[i].data, rows);
}

Tensor CudaEncoder::rms_norm(const Tensor& x, const Weight* gain, float eps) {
  const Tensor out = fresh(x.shape);
  const float* values = gain ? values_of(*gain) : nullptr;
  if (auto addition = addition_of(x.data); addition && !addition->y && addition->n == x.shape.back()) {
    addition->y = out.data, addition->gain = values, addition->eps = eps;
    recording.change(recording.launches.size() - 1, *addition);
    if (x.shape.back() % 16 == 0) remember<AddNormArgs>(out.data);
    return out;
  }
  recording.push("norm", norm_kernel(), dim3(static_cast<unsigned>(x.shape.rows())), kThreads, 0, NormArgs{x.data, values, out.data, static_cast<int32_t>(x.shape.back()), eps, {}});
  if (x.shape.back() % 16 == 0) remember<NormArgs>(out.data);
  return out;
}

std::optional<AddNormArgs> CudaEncoder::addition_of(const float* sum) const {
  if (recording.launches.empty() || recording.launches.back().kernel != add_norm_kernel()) return std::nullopt;
  const auto args = recording.arguments_of<AddNormArgs>(recording.launches.size() - 1);
  return args.sum == sum ? std::optional(args) : std::nullopt;
}

Tensor CudaEncoder::push_addition(const Tensor& a, const Tensor& b, const float* g) {
  const Tensor out = fresh(a.shape);
  const int64_t n = a.shape.back();
  recording.push("add", add_norm_kernel(), dim3(static_cast<unsigned>(a.shape.rows())), n <= 256 ? 128 : 512, 0, AddNormArgs{a.data, b.data, g, nullptr, nullptr, nullptr, out.data, nullptr, static_cast<int32_t>(n), 0, {}});
  return out;
}

const float* CudaEncoder::frequencies(const Rope& rope) {
  for (const RopeOnDevice& r : ropes_)
    if (r.rope == &rope) return r.inverse_frequencies;
  float* data = nullptr;
  const size_t bytes = rope.inverse_frequencies.size() * sizeof(float);
  if (cudaMalloc(reinterpret_cast<void**>(&data), std::max<size_t>(bytes, 4)) != cudaSuccess || cudaMemcpy(data, rope.inverse_frequencies.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) refuse("no memory for rotary frequencies");
  ropes_.push_back({&rope, data});
  return data;
}

void CudaEncoder::rope(Tensor& heads, const Batch& b, const Rope& rope) {
  const Tensor out = fresh(heads.shape);
  recording.push("rope", rope_kernel(), dim3(static_cast<unsigned>(heads.shape[0])), 512, 2 * rope.inverse_frequencies.size() * sizeof(float),
                 RopeArgs{heads.data, out.data, tables_of(b), frequencies(rope), static_cast<int32_t>(heads.shape[1]), static_cast<int32_t>(heads.shape[2]), static_cast<int32_t>(rope.inverse_frequencies.size()),
                          rope.magnitude, rope.pairs == RopePairs::adjacent});
  heads = out;
}

void CudaEncoder::append(StateRef s, const Tensor& k, const Tensor& v, const Batch& b) {
  recording.push("append", append_kernel(state_.kind()), dim3(static_cast<unsigned>(b.ids.size())), kThreads, 0, AppendArgs{state_.cache(s), k.data, v.data, tables_of(b)});
}

Tensor CudaEncoder::attention(const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) {
  const CacheOnDevice cache = state_.cache(s);
  const Tensor out = fresh({q.shape[0], q.shape[1], cache.value_dim});
  if (cache.key_dim > 512 || cache.value_dim > 512) return refuse("attention heads wider than 512"), out;
  const bool decode = std::ranges::all_of(b.sequences, [](const SequenceRows& r) { return r.n_rows == 1; });
  AttentionArgs a{};
  a.cache = cache;
  a.q = q.data, a.y = out.data;
  a.step = tables_of(b);
  a.n_heads = static_cast<int32_t>(q.shape[1]), a.rows = static_cast<int32_t>(q.shape[0]);
  a.n_splits = decode ? kDecodeSplits : 1;  // fixed, whatever else is in the batch: the same sums alone and among others
  a.window = o.window, a.scale = o.scale, a.causal = o.causal;
  if (a.n_splits > 1) a.partials = arena.array<float>(q.shape[0] * a.n_heads * a.n_splits * (cache.value_dim + 2));
  recording.push("attention", attention_kernel(state_.kind(), std::max(cache.key_dim, cache.value_dim)), dim3(static_cast<unsigned>(a.rows), static_cast<unsigned>(cache.n_kv_heads), static_cast<unsigned>(a.n_splits)), 128,
                 4 * static_cast<size_t>(cache.value_dim + 2) * sizeof(float), a);
  if (a.n_splits > 1) recording.push("merge", merge_attention_kernel(), dim3(static_cast<unsigned>(a.rows), static_cast<unsigned>(a.n_heads)), 128, 0, a);
  return out;
}

Tensor CudaEncoder::elementwise(const char* name, Elementwise op, const Tensor& a, const float* b, float factor) {
  const Tensor out = fresh(a.shape);
  recording.push(name, elementwise_kernel(op), dim3(ceil_div(a.shape.elements(), kThreads)), kThreads, 0, ElementwiseArgs{a.data, b, out.data, a.shape.elements(), factor, {}});
  if (a.shape.elements() % 16 == 0) remember<ElementwiseArgs>(out.data);
  return out;
}
Tensor CudaEncoder::gate(const Tensor& g, const Tensor& u, Activation a) { return elementwise("gate", a == Activation::silu ? Elementwise::gate_silu : Elementwise::gate_gelu, g, u.data); }
Tensor CudaEncoder::sigmoid_gate(const Tensor& x, const Tensor& g) { return elementwise("gate", Elementwise::sigmoid_gate, x, g.data); }
Tensor CudaEncoder::scale(const Tensor& x, float factor) { return elementwise("scale", Elementwise::scale, x, nullptr, factor); }
Tensor CudaEncoder::softcap(const Tensor& x, float cap) { return elementwise("softcap", Elementwise::softcap, x, nullptr, cap); }

// An addition to what was just added up is one launch with it.
Tensor CudaEncoder::add(const Tensor& a, const Tensor& b) {
  auto addition = addition_of(b.data);
  if (!addition || addition->y || addition->c || addition->n != a.shape.back() || a.shape.elements() != b.shape.elements()) return push_addition(a, b, nullptr);
  const Tensor out = fresh(a.shape);
  addition->c = a.data, addition->part = addition->sum, addition->sum = out.data;
  recording.change(recording.launches.size() - 1, *addition);
  return out;
}
Tensor CudaEncoder::add_gated(const Tensor& a, const Tensor& b, const Tensor& g) { return push_addition(a, b, g.data); }

Tensor CudaEncoder::columns(const Tensor& x, int64_t first, int64_t count) {
  const int64_t rows = x.shape.rows();
  const Tensor out = fresh({rows, count});
  recording.push("copy", columns_kernel(), dim3(ceil_div(count, kThreads), static_cast<unsigned>(rows)), kThreads, 0, ColumnsArgs{x.data, out.data, first, count, x.shape.back()});
  return out;
}

Tensor CudaEncoder::rows(const Tensor& x, std::span<const int32_t> which) {
  const int64_t n = x.shape.back();
  const Tensor out = fresh({std::ssize(which), n});
  const int32_t* on_device = tables_.picked_on_device + tables_.picked.size();
  tables_.picked.insert(tables_.picked.end(), which.begin(), which.end());
  recording.push("copy", rows_kernel(), dim3(ceil_div(n, kThreads), static_cast<unsigned>(which.size())), kThreads, 0, RowsArgs{x.data, out.data, on_device, n});
  return out;
}

Tensor CudaEncoder::carry(const Tensor& x) {
  if (!kept_.data) {
    kept_ = fresh(x.shape);
    layer_begin_ = arena.mark();
  }
  if (auto addition = addition_of(x.data); addition && !addition->y) {  // nobody else may read x any more
    addition->sum = kept_.data;
    recording.change(recording.launches.size() - 1, *addition);
  } else {
    recording.push("copy", elementwise_kernel(Elementwise::copy), dim3(ceil_div(x.shape.elements(), kThreads)), kThreads, 0, ElementwiseArgs{x.data, nullptr, kept_.data, x.shape.elements(), 0, {}});
  }
  makers_.clear(), ready_.clear();
  arena.rewind(layer_begin_);
  return kept_;
}

Routes CudaEncoder::route(const Tensor& scores, int top_k, bool renormalise) {
  const int64_t rows = scores.shape.rows(), n = scores.shape.back();
  const Routes out{arena.array<int32_t>(rows * top_k), arena.array<float>(rows * top_k), static_cast<int32_t>(rows), top_k};
  const void* kernel = route_kernel(static_cast<int32_t>(n));
  if (top_k > 32 || !kernel) return refuse("more than 32 experts a row, or more than 1024 experts"), out;
  recording.push("route", kernel, dim3(static_cast<unsigned>(rows)), 32, 0, RouteArgs{scores.data, out.experts, out.weights, static_cast<int32_t>(n), top_k, renormalise});
  return out;
}

Tensor CudaEncoder::experts(const Tensor& x, const Routes& r, const Weight& gate, const Weight& up, const Weight& down, Activation activation) {
  ExpertArgs a{};
  a.gate = matrix_of(gate).matrix, a.up = matrix_of(up).matrix, a.down = matrix_of(down).matrix;
  const int64_t entries = int64_t{r.rows} * r.top_k;
  const Tensor out = fresh({r.rows, a.down.rows});
  a.x = x.data, a.experts = r.experts, a.weights = r.weights;
  a.hidden = arena.array<float>(entries * a.gate.rows);
  a.y = out.data;
  a.rows = r.rows, a.top_k = r.top_k, a.activation = activation;
  const unsigned up_tiles = ceil_div(a.gate.rows, 16), down_tiles = ceil_div(a.down.rows, 16);
  const bool same = a.gate.layout.codes == a.up.layout.codes && a.gate.layout.scales == a.up.layout.scales;
  if (!same || !experts_up_kernel(a.gate.layout) || !experts_down_kernel(a.down.layout)) return refuse("experts of a layout without a kernel"), out;
  if (takes_few(matrix_of(gate), r.rows) && takes_few(matrix_of(down), r.rows) && few_up_kernel(a.gate.layout) && few_down_kernel(a.down.layout) && a.gate.rows % 16 == 0) {
    a.acts = acts_of(x.data, int64_t{r.rows} * a.gate.cols, matrix_of(gate).fine);
    a.hidden_acts = fresh_acts(entries * a.gate.rows, matrix_of(down).fine);
    recording.push("experts up", few_up_kernel(a.gate.layout), dim3(up_tiles, static_cast<unsigned>(entries)), 512, 0, a);
    recording.push("experts down", few_down_kernel(a.down.layout), dim3(down_tiles, static_cast<unsigned>(r.rows)), 512, static_cast<size_t>(r.top_k) * 32 * sizeof(float), a);
    return out;
  }
  if (exact_ || r.rows <= 2 * kFewRows) {
    recording.push("experts up", experts_up_kernel(a.gate.layout), dim3(up_tiles, static_cast<unsigned>(entries)), 256, 0, a);
    recording.push("experts down", experts_down_kernel(a.down.layout), dim3(down_tiles, static_cast<unsigned>(r.rows)), 256, static_cast<size_t>(r.top_k) * 16 * sizeof(float), a);
    return out;
  }
  const auto n_experts = static_cast<int32_t>(matrix_of(gate).n_experts);
  a.max_blocks = static_cast<int32_t>(std::min<int64_t>(entries, entries / kGroupRows + n_experts));
  a.groups = {arena.array<int32_t>(n_experts + 1), arena.array<int32_t>(entries), arena.array<int32_t>(a.max_blocks), arena.array<int32_t>(a.max_blocks)};
  recording.push("group", group_kernel(), dim3(1), 1024, static_cast<size_t>(n_experts + 1) * sizeof(int32_t), GroupArgs{r.experts, a.groups, static_cast<int32_t>(entries), n_experts, a.max_blocks});
  recording.push("experts up", grouped_up_kernel(a.gate.layout), dim3(ceil_div(up_tiles, 8), static_cast<unsigned>(a.max_blocks)), 256, 0, a);
  ExpertArgs each = a;
  each.y = arena.array<float>(entries * a.down.rows);
  recording.push("experts down", grouped_down_kernel(a.down.layout), dim3(ceil_div(down_tiles, 8), static_cast<unsigned>(a.max_blocks)), 256, 0, each);
  a.x = each.y;
  recording.push("experts sum", combine_kernel(), dim3(ceil_div(a.down.rows, kThreads), static_cast<unsigned>(r.rows)), kThreads, 0, a);
  return out;
}

Tensor CudaEncoder::gated_delta(const Tensor& qkv, const Tensor& z, const Tensor& a, const Tensor& b, const DeltaWeights& w, const DeltaDims& d, StateRef s, const Batch& batch) {
  const int64_t rows = qkv.shape.rows(), channels = qkv.shape.back();
  const Tensor out = fresh({rows, int64_t{d.n_value_heads} * d.value_dim});
  if (d.key_dim > 256) return refuse("delta-rule heads wider than 256"), out;
  DeltaArgs args{};
  args.qkv = qkv.data, args.z = z.data, args.a = a.data, args.b = b.data;
  args.taps = values_of(*w.taps), args.neg_exp_a = values_of(*w.neg_exp_a), args.dt_bias = values_of(*w.dt_bias), args.gain = values_of(*w.norm);
  args.y = out.data;
  args.history = state_.history(s), args.state = state_.delta(s);
  args.step = tables_of(batch);
  args.rows = static_cast<int32_t>(rows), args.n_sequences = static_cast<int32_t>(batch.sequences.size());
  args.n_key_heads = d.n_key_heads, args.n_value_heads = d.n_value_heads, args.key_dim = d.key_dim, args.value_dim = d.value_dim;
  args.kernel = state_.spec(s).conv_kernel, args.eps = w.eps, args.tiled = d.tiled;
  const auto n = static_cast<unsigned>(rows), sequences = static_cast<unsigned>(batch.sequences.size());
  const dim3 blocks(static_cast<unsigned>(d.n_value_heads), ceil_div(d.value_dim, kDeltaColumns), sequences);
  args.decoding = std::ranges::all_of(batch.sequences, [](const SequenceRows& r) { return r.n_rows == 1; });
  if (args.decoding) {
    recording.push("delta rule", delta_decode_kernel(d.key_dim), blocks, 256, (2 * static_cast<size_t>(d.key_dim) + 32 + 2 * 8 * 32 + 24) * sizeof(float), args);
    recording.push("norm", delta_finish_kernel(), dim3(n, static_cast<unsigned>(d.n_value_heads)), 128, 0, args);
    if (d.value_dim % 16 == 0) remember<DeltaArgs>(out.data);
    return out;
  }
  args.mixed = arena.array<float>(rows * channels);
  recording.push("convolution", convolution_kernel(), dim3(ceil_div(channels, kThreads), n), kThreads, 0, args);
  recording.push("history", delta_history_kernel(), dim3(ceil_div(channels, kThreads), sequences), kThreads, 0, args);
  recording.push("delta rule", delta_kernel(), blocks, 256, (2 * static_cast<size_t>(d.key_dim) + 2 * 8 * 32 + 16) * sizeof(float), args);
  recording.push("norm", delta_finish_kernel(), dim3(n, static_cast<unsigned>(d.n_value_heads)), 128, 0, args);
  if (d.value_dim % 16 == 0) remember<DeltaArgs>(out.data);
  return out;
}

}  // namespace cuda
