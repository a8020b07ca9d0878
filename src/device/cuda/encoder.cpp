// encoder: shapes become ops; nothing here waits for the device.
#include "device/cuda/encoder.h"

#include <algorithm>

namespace cuda {
namespace {

const DeviceMatrix& matrix_of(const Weight& w) {
  const auto* matrix = dynamic_cast<const DeviceMatrix*>(&w);
  CHECK(matrix);
  return *matrix;
}
const float* values_of(const Weight& w) { return static_cast<const DeviceVector&>(w).data; }

}  // namespace

void CudaEncoder::reset() {
  recording.clear();
  arena.restart();
  lowering_.reset();
  ops_.clear();
  tables_.ids.clear(), tables_.positions.clear(), tables_.row_sequence.clear(), tables_.pages.clear(), tables_.picked.clear(), tables_.sequences.clear(), tables_.specs.clear();
  has_batch_ = false;
  kept_ = {};
  refusal_ = nullptr;
}

void CudaEncoder::lower(const float* result, float* kept, bool whole) {
  if (costs) add_costs(ops_, tables_, state_, *costs);
  lowering_.lower(ops_, result, kept, whole);
  ops_.clear();
}

void CudaEncoder::end() { lower(nullptr, nullptr, kept_.data != nullptr); }

void CudaEncoder::use(const Batch& b) {
  if (has_batch_) return;
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

void CudaEncoder::fill(const Batch& b, std::span<const int32_t> picked, std::span<const SampleSpec> specs) {
  use(b);
  tables_.ids.assign(b.ids.begin(), b.ids.end());
  tables_.picked.assign(picked.begin(), picked.end());
  tables_.specs.assign(specs.begin(), specs.end());
}

Tensor CudaEncoder::embed(const Weight& table, std::span<const TokenId> ids, float scale) {
  const DeviceMatrix& m = matrix_of(table);
  tables_.ids.assign(ids.begin(), ids.end());
  const Tensor out = fresh({std::ssize(ids), m.cols});
  ops_.push_back(EmbedOp{&m, out.data, static_cast<int32_t>(ids.size()), scale});
  return out;
}

Tensor CudaEncoder::linear(const Tensor& x, const Weight& w, const Weight* bias) {
  const DeviceMatrix& m = matrix_of(w);
  const auto rows = static_cast<int32_t>(x.shape.elements() / m.cols);
  const Tensor out = fresh({rows, m.rows});
  ops_.push_back(LinearOp{x.data, &m, bias ? values_of(*bias) : nullptr, out.data, rows});
  return out;
}

void CudaEncoder::linears(const Tensor& x, std::span<const Weight* const> w, std::span<Tensor> out) {
  for (size_t i = 0; i < w.size(); i++) out[i] = linear(x, *w[i], nullptr);
}

Tensor CudaEncoder::rms_norm(const Tensor& x, const Weight* gain, float eps) {
  const Tensor out = fresh(x.shape);
  ops_.push_back(NormOp{x.data, gain ? values_of(*gain) : nullptr, out.data, x.shape.rows(), static_cast<int32_t>(x.shape.back()), eps});
  return out;
}

const float* CudaEncoder::frequencies(const Rope& rope) {
  for (const RopeOnDevice& r : ropes_)
    if (r.rope == &rope) return r.inverse_frequencies;
  float* data = nullptr;
  const size_t bytes = rope.inverse_frequencies.size() * sizeof(float);
  if (arena.dry()) return data;
  if (cudaMalloc(reinterpret_cast<void**>(&data), std::max<size_t>(bytes, 4)) != cudaSuccess || cudaMemcpy(data, rope.inverse_frequencies.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) refuse("no memory for rotary frequencies");
  ropes_.push_back({&rope, data});
  return data;
}

void CudaEncoder::rope(Tensor& heads, const Batch& b, const Rope& rope) {
  use(b);
  const Tensor out = fresh(heads.shape);
  ops_.push_back(RopeOp{heads.data, out.data, static_cast<int32_t>(heads.shape[0]), static_cast<int32_t>(heads.shape[1]), static_cast<int32_t>(heads.shape[2]), static_cast<int32_t>(rope.inverse_frequencies.size()),
                        frequencies(rope), rope.magnitude, rope.pairs == RopePairs::adjacent});
  heads = out;
}

void CudaEncoder::append(StateRef s, const Tensor& k, const Tensor& v, const Batch& b) {
  use(b);
  ops_.push_back(AppendOp{s, k.data, v.data, static_cast<int32_t>(b.ids.size())});
}

Tensor CudaEncoder::attention(const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) {
  use(b);
  const CacheOnDevice cache = state_.cache(s);
  const Tensor out = fresh({q.shape[0], q.shape[1], cache.value_dim});
  ops_.push_back(AttentionOp{s, q.data, out.data, static_cast<int32_t>(q.shape[0]), static_cast<int32_t>(q.shape[1]), o});
  return out;
}

Tensor CudaEncoder::elementwise(Elementwise op, const Tensor& a, const float* b, float factor) {
  const Tensor out = fresh(a.shape);
  ops_.push_back(ElementwiseOp{op, a.data, b, out.data, a.shape.rows(), a.shape.back(), factor});
  return out;
}
Tensor CudaEncoder::gate(const Tensor& g, const Tensor& u, Activation a) { return elementwise(a == Activation::silu ? Elementwise::gate_silu : Elementwise::gate_gelu, g, u.data); }
Tensor CudaEncoder::sigmoid_gate(const Tensor& x, const Tensor& g) { return elementwise(Elementwise::sigmoid_gate, x, g.data); }
Tensor CudaEncoder::scale(const Tensor& x, float factor) { return elementwise(Elementwise::scale, x, nullptr, factor); }
Tensor CudaEncoder::softcap(const Tensor& x, float cap) { return elementwise(Elementwise::softcap, x, nullptr, cap); }

Tensor CudaEncoder::add(const Tensor& a, const Tensor& b) {
  const Tensor out = fresh(a.shape);
  ops_.push_back(AddOp{a.data, b.data, nullptr, out.data, a.shape.rows(), static_cast<int32_t>(a.shape.back())});
  return out;
}
Tensor CudaEncoder::add_gated(const Tensor& a, const Tensor& b, const Tensor& g) {
  const Tensor out = fresh(a.shape);
  ops_.push_back(AddOp{a.data, b.data, g.data, out.data, a.shape.rows(), static_cast<int32_t>(a.shape.back())});
  return out;
}

Tensor CudaEncoder::columns(const Tensor& x, int64_t first, int64_t count) {
  const Tensor out = fresh({x.shape.rows(), count});
  ops_.push_back(ColumnsOp{x.data, out.data, x.shape.rows(), first, count, x.shape.back()});
  return out;
}

Tensor CudaEncoder::rows(const Tensor& x, std::span<const int32_t> which) {
  const int64_t n = x.shape.back();
  const Tensor out = fresh({std::ssize(which), n});
  const int32_t* on_device = tables_.picked_on_device + tables_.picked.size();
  tables_.picked.insert(tables_.picked.end(), which.begin(), which.end());
  ops_.push_back(RowsOp{x.data, out.data, on_device, std::ssize(which), n});
  return out;
}

Tensor CudaEncoder::carry(const Tensor& x) {
  const bool first = !kept_.data;
  if (first) {
    kept_ = fresh(x.shape);
    lower(x.data, kept_.data, false);
    layer_begin_ = arena.mark();
  } else {
    lower(x.data, kept_.data, true);
    arena.rewind(layer_begin_);
  }
  return kept_;
}

Routes CudaEncoder::route(const Tensor& scores, int top_k, bool renormalise) {
  const int64_t rows = scores.shape.rows(), n = scores.shape.back();
  const Routes out{arena.array<int32_t>(rows * top_k), arena.array<float>(rows * top_k), static_cast<int32_t>(rows), top_k};
  if (top_k > 32 || n > 1024) refuse("more than 32 experts a row, or more than 1024 experts");
  ops_.push_back(RouteOp{scores.data, out, static_cast<int32_t>(n), renormalise});
  return out;
}

Tensor CudaEncoder::experts(const Tensor& x, const Routes& r, const Weight& gate, const Weight& up, const Weight& down, Activation activation) {
  const DeviceMatrix& d = matrix_of(down);
  const Tensor out = fresh({r.rows, d.rows});
  ops_.push_back(ExpertsOp{x.data, r, &matrix_of(gate), &matrix_of(up), &d, out.data, activation});
  return out;
}

Tensor CudaEncoder::gated_delta(const Tensor& qkv, const Tensor& z, const Tensor& a, const Tensor& b, const DeltaWeights& w, const DeltaDims& d, StateRef s, const Batch& batch) {
  use(batch);
  const int64_t rows = qkv.shape.rows();
  const Tensor out = fresh({rows, int64_t{d.n_value_heads} * d.value_dim});
  if (d.key_dim > 256) refuse("delta-rule heads wider than 256");
  ops_.push_back(DeltaOp{qkv.data, z.data, a.data, b.data, values_of(*w.taps), values_of(*w.neg_exp_a), values_of(*w.dt_bias), values_of(*w.norm), w.eps, d, s, out.data, static_cast<int32_t>(rows),
                         static_cast<int32_t>(batch.sequences.size())});
  return out;
}

void CudaEncoder::sample(const Tensor& logits, std::span<const SampleSpec> specs) {
  end();  // the logits are in memory
  tables_.specs.assign(specs.begin(), specs.end());
  SampleArgs args;
  args.logits = logits.data, args.width = logits.shape.back();
  args.specs = tables_.specs_on_device, args.turns = tables_.turns_on_device, args.ids = tables_.drawn;
  args.scratch = arena.array<std::byte>(std::ssize(specs) * static_cast<int64_t>(sample_scratch_bytes(args.width)));
  args.n_chunks = sample_chunks(args.width);
  const dim3 grid(static_cast<unsigned>(args.n_chunks), static_cast<unsigned>(specs.size()));
  recording.push("sample", sample_peaks_kernel(), grid, kSampleThreads, 0, args);
  if (std::ranges::all_of(specs, takes_largest)) return;
  recording.push("sample", sample_weigh_kernel(), grid, kSampleThreads, 0, args);
  recording.push("sample", sample_draw_kernel(), grid, kSampleThreads, 0, args);
}

}  // namespace cuda
