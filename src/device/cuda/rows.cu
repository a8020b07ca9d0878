// rows: what looks at one row or one element at a time.
#include "device/cuda/tile.cuh"

namespace cuda {
namespace {

// One weight of any layout, by a switch: for looking rows up, where speed does not matter.
template <PackCodes C, PackScales S> __device__ void row_quad(const Matrix& m, const uint8_t* tile, int row, int k, float (&out)[4]) { quad_weights<C, S>(m.layout, tile, m.cols, row, k, out); }
#define CALLA_PAIRS(X)                                                                                                                    \
  X(u4, f16) X(u4, f16_min) X(u4, super_min) X(u4, bf16_min) X(u4, f32_min) X(u5, f16) X(u5, f16_min) X(u5, super_min) X(u5, bf16_min)     \
  X(u5, f32_min) X(s8, f16) X(s8, bf16_min) X(s8, f32_min) X(u6, super) X(u6, bf16_min) X(u6, f32_min) X(u3, super) X(u3, bf16_min)        \
  X(u3, f32_min) X(u2, super_min) X(u2, bf16_min) X(u2, f32_min) X(iq4, f16) X(iq4, super) X(e2m1, e8m0) X(e2m1, f16) X(f32, none)         \
  X(f16, none) X(bf16, none)

__global__ void embed(const EmbedArgs a) {
  wait_for_input();
  let_next_start();
  const int id = a.ids[blockIdx.y], row = id < 0 || id >= a.table.rows ? 0 : id, k = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= a.table.cols) return;
  const uint8_t* tile = a.table.data + row / 16 * a.table.tile_bytes;
  float w[4] = {};
#define CALLA_PAIR(c, s) \
  if (a.table.layout.codes == PackCodes::c && a.table.layout.scales == PackScales::s) row_quad<PackCodes::c, PackScales::s>(a.table, tile, row % 16, k, w);
  CALLA_PAIRS(CALLA_PAIR)
#undef CALLA_PAIR
  for (int i = 0; i < 4 && k + i < a.table.cols; i++) a.y[static_cast<int64_t>(blockIdx.y) * a.table.cols + k + i] = w[i] * a.table.post_scale * a.scale;
}

__global__ void __launch_bounds__(256) norm(const NormArgs a) {
  __shared__ float shared[32];
  wait_for_input();
  let_next_start();
  const float* x = a.x + static_cast<int64_t>(blockIdx.x) * a.n;
  float sum = 0;
  for (int i = threadIdx.x; i < a.n; i += blockDim.x) sum += x[i] * x[i];
  const float r = 1.0f / sqrtf(block_sum(sum, shared) / a.n + a.eps);
  for (int i = threadIdx.x; i < a.n; i += blockDim.x) a.y[static_cast<int64_t>(blockIdx.x) * a.n + i] = x[i] * r * (a.gain ? a.gain[i] : 1.0f);
}

// Block (row), threads over heads and dims.
__global__ void rope(const RopeArgs a) {
  wait_for_input();
  let_next_start();
  const int64_t base = static_cast<int64_t>(blockIdx.x) * a.n_heads * a.dim;
  const float position = static_cast<float>(a.step.positions[blockIdx.x]);
  for (int t = threadIdx.x; t < a.n_heads * a.dim; t += blockDim.x) {
    const int head = t / a.dim, d = t % a.dim;
    const float* x = a.x + base + head * a.dim;
    float v = x[d];
    if (d < 2 * a.half) {
      const int i = a.adjacent ? d / 2 : d % a.half;
      const bool second = a.adjacent ? d & 1 : d >= a.half;
      const float angle = position * a.inverse_frequencies[i], c = cosf(angle) * a.magnitude, s = sinf(angle) * a.magnitude;
      const float other = x[a.adjacent ? d ^ 1 : second ? d - a.half : d + a.half];
      v = second ? v * c + other * s : v * c - other * s;
    }
    a.y[base + t] = v;
  }
}

template <Elementwise Op> __global__ void elementwise(const ElementwiseArgs a) {
  wait_for_input();
  let_next_start();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= a.n) return;
  const float x = a.a[i];
  if constexpr (Op == Elementwise::gate_silu) a.y[i] = silu(x) * a.b[i];
  if constexpr (Op == Elementwise::gate_gelu) a.y[i] = gelu_tanh(x) * a.b[i];
  if constexpr (Op == Elementwise::sigmoid_gate) a.y[i] = x * sigmoid(a.b[i]);
  if constexpr (Op == Elementwise::add) a.y[i] = x + a.b[i];
  if constexpr (Op == Elementwise::scale) a.y[i] = x * a.factor;
  if constexpr (Op == Elementwise::softcap) a.y[i] = a.factor * tanhf(x / a.factor);
  if constexpr (Op == Elementwise::copy) a.y[i] = x;
}

__global__ void add_gated(const AddGatedArgs a) {
  wait_for_input();
  let_next_start();
  const float g = sigmoid(a.g[blockIdx.y]);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int64_t at = static_cast<int64_t>(blockIdx.y) * a.n + i;
  if (i < a.n) a.y[at] = a.a[at] + a.b[at] * g;
}

__global__ void columns(const ColumnsArgs a) {
  wait_for_input();
  let_next_start();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < a.count) a.y[blockIdx.y * a.count + i] = a.x[blockIdx.y * a.width + a.first + i];
}

__global__ void pick_rows(const RowsArgs a) {
  wait_for_input();
  let_next_start();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < a.n) a.y[blockIdx.y * a.n + i] = a.x[a.which[blockIdx.y] * a.n + i];
}

}  // namespace

const void* embed_kernel() { return reinterpret_cast<const void*>(embed); }
const void* norm_kernel() { return reinterpret_cast<const void*>(norm); }
const void* rope_kernel() { return reinterpret_cast<const void*>(rope); }
const void* add_gated_kernel() { return reinterpret_cast<const void*>(add_gated); }
const void* columns_kernel() { return reinterpret_cast<const void*>(columns); }
const void* rows_kernel() { return reinterpret_cast<const void*>(pick_rows); }
const void* elementwise_kernel(Elementwise op) {
  switch (op) {
    case Elementwise::gate_silu: return reinterpret_cast<const void*>(elementwise<Elementwise::gate_silu>);
    case Elementwise::gate_gelu: return reinterpret_cast<const void*>(elementwise<Elementwise::gate_gelu>);
    case Elementwise::sigmoid_gate: return reinterpret_cast<const void*>(elementwise<Elementwise::sigmoid_gate>);
    case Elementwise::add: return reinterpret_cast<const void*>(elementwise<Elementwise::add>);
    case Elementwise::scale: return reinterpret_cast<const void*>(elementwise<Elementwise::scale>);
    case Elementwise::softcap: return reinterpret_cast<const void*>(elementwise<Elementwise::softcap>);
    case Elementwise::copy: return reinterpret_cast<const void*>(elementwise<Elementwise::copy>);
  }
  return nullptr;
}

}  // namespace cuda
