// rows: what looks at one row or one element at a time.
#include "device/cuda/strip_value.cuh"
#include "device/cuda/tile.cuh"

namespace cuda {
namespace {

__global__ void embed(const EmbedArgs a) {
  wait_for_input();
  let_next_start();
  const int id = a.ids[blockIdx.y], row = id < 0 || id >= a.table.rows ? 0 : id, k = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= a.table.cols) return;
  const uint8_t* tile = a.table.data + row / 16 * a.table.tile_bytes;
  float w[4] = {};
  any_quad(a.table, tile, row % 16, k, w);
  for (int i = 0; i < 4 && k + i < a.table.cols; i++) a.y[static_cast<int64_t>(blockIdx.y) * a.table.cols + k + i] = w[i] * a.table.post_scale * a.scale;
}

// One input a thread, from strips.
__global__ void embed_strips(const EmbedStripsArgs a) {
  wait_for_input();
  let_next_start();
  const int id = a.ids[blockIdx.y], row = id < 0 || id >= a.table.rows ? 0 : id, k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < a.table.cols) a.y[static_cast<int64_t>(blockIdx.y) * a.table.cols + k] = strip_value(a.table, row, k) * a.scale;
}

__global__ void __launch_bounds__(256) norm(const NormArgs a) {
  __shared__ float shared[32];
  wait_for_input();
  let_next_start();
  const float* x = a.x + static_cast<int64_t>(blockIdx.x) * a.n;
  float sum = 0;
  for (int i = threadIdx.x; i < a.n; i += blockDim.x) sum += x[i] * x[i];
  const float r = 1.0f / sqrtf(block_sum(sum, shared) / a.n + a.eps);
  for (int i = threadIdx.x; i < a.n; i += blockDim.x) {
    a.y[static_cast<int64_t>(blockIdx.x) * a.n + i] = x[i] * r * (a.gain ? a.gain[i] : 1.0f);
  }
}

__global__ void add(const AddArgs a) {
  wait_for_input();
  let_next_start();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= a.n) return;
  const int64_t at = static_cast<int64_t>(blockIdx.y) * a.n + i;
  a.y[at] = a.a[at] + a.b[at] * (a.g ? sigmoid(a.g[blockIdx.y]) : 1.0f);
}

// Block (row), threads over heads and dims; the row's angles are computed once.
__global__ void __launch_bounds__(1024) rope(const RopeArgs a) {
  extern __shared__ float table[];  // cos [half], sin [half]
  wait_for_input();
  let_next_start();
  const int64_t base = static_cast<int64_t>(blockIdx.x) * a.n_heads * a.dim;
  const float position = static_cast<float>(a.step.positions[blockIdx.x]);
  for (int i = threadIdx.x; i < a.half; i += blockDim.x) {
    const float angle = position * a.inverse_frequencies[i];
    table[i] = cosf(angle) * a.magnitude, table[a.half + i] = sinf(angle) * a.magnitude;
  }
  __syncthreads();
  for (int t = threadIdx.x; t < a.n_heads * a.dim; t += blockDim.x) {
    const int head = t / a.dim, d = t % a.dim;
    const float* x = a.x + base + head * a.dim;
    float v = x[d];
    if (d < 2 * a.half) {
      const int i = a.adjacent ? d / 2 : d % a.half;
      const bool second = a.adjacent ? d & 1 : d >= a.half;
      const float other = x[a.adjacent ? d ^ 1 : second ? d - a.half : d + a.half];
      v = second ? v * table[i] + other * table[a.half + i] : v * table[i] - other * table[a.half + i];
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
  float y = x;
  if constexpr (Op == Elementwise::gate_silu) y = silu(x) * a.b[i];
  if constexpr (Op == Elementwise::gate_gelu) y = gelu_tanh(x) * a.b[i];
  if constexpr (Op == Elementwise::sigmoid_gate) y = x * sigmoid(a.b[i]);
  if constexpr (Op == Elementwise::scale) y = x * a.factor;
  if constexpr (Op == Elementwise::softcap) y = a.factor * tanhf(x / a.factor);
  a.y[i] = y;
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
const void* embed_strips_kernel() { return reinterpret_cast<const void*>(embed_strips); }
const void* add_kernel() { return reinterpret_cast<const void*>(add); }
const void* norm_kernel() { return reinterpret_cast<const void*>(norm); }
const void* rope_kernel() { return reinterpret_cast<const void*>(rope); }
const void* columns_kernel() { return reinterpret_cast<const void*>(columns); }
const void* rows_kernel() { return reinterpret_cast<const void*>(pick_rows); }
const void* elementwise_kernel(Elementwise op) {
  switch (op) {
    case Elementwise::gate_silu: return reinterpret_cast<const void*>(elementwise<Elementwise::gate_silu>);
    case Elementwise::gate_gelu: return reinterpret_cast<const void*>(elementwise<Elementwise::gate_gelu>);
    case Elementwise::sigmoid_gate: return reinterpret_cast<const void*>(elementwise<Elementwise::sigmoid_gate>);
    case Elementwise::scale: return reinterpret_cast<const void*>(elementwise<Elementwise::scale>);
    case Elementwise::softcap: return reinterpret_cast<const void*>(elementwise<Elementwise::softcap>);
    case Elementwise::copy: return reinterpret_cast<const void*>(elementwise<Elementwise::copy>);
  }
  return nullptr;
}

}  // namespace cuda
