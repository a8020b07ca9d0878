// rows: what looks at one row or one element at a time.
#include "device/cuda/few.cuh"

namespace cuda {
namespace {

// One weight of any layout, by a switch: for looking rows up, where speed does not matter.
template <PackCodes C, PackScales S> __device__ void row_quad(const Matrix& m, const uint8_t* tile, int row, int k, float (&out)[4]) { quad_weights<C, S>(m.layout, tile, m.cols, row, k, out); }
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
  for (int i = threadIdx.x; i < a.n; i += blockDim.x) {
    const float v = x[i] * r * (a.gain ? a.gain[i] : 1.0f);
    a.y[static_cast<int64_t>(blockIdx.x) * a.n + i] = v;
    if (a.acts.high) quantise16(a.acts, static_cast<int64_t>(blockIdx.x) * a.n + i, v);
  }
}

// A thread holds its values between the two passes, as far as there is room: rows of up to 8192 are read once.
__global__ void __launch_bounds__(1024) add_norm(const AddNormArgs a) {
  constexpr int held = 8;
  __shared__ float shared[32];
  float gain[held];
  let_next_start();
  const int step = blockDim.x;
#pragma unroll
  for (int j = 0; j < held; j++) gain[j] = a.y && a.gain && threadIdx.x + j * step < a.n ? a.gain[threadIdx.x + j * step] : 1.0f;
  wait_for_input();
  const int64_t base = static_cast<int64_t>(blockIdx.x) * a.n;
  const float g = a.g ? sigmoid(a.g[blockIdx.x]) : 1.0f;
  const auto add = [&](int i) {
    float v = a.a[base + i] + a.b[base + i] * g;
    if (a.part) a.part[base + i] = v;
    if (a.c) v += a.c[base + i];
    a.sum[base + i] = v;
    return v;
  };
  float mine[held], total = 0;
#pragma unroll
  for (int j = 0; j < held; j++) {
    const int i = threadIdx.x + j * step;
    mine[j] = i < a.n ? add(i) : 0.0f;
    total += mine[j] * mine[j];
  }
  for (int i = threadIdx.x + held * step; i < a.n; i += step) {
    const float v = add(i);
    total += v * v;
  }
  if (!a.y) return;
  const float r = 1.0f / sqrtf(block_sum(total, shared) / a.n + a.eps);
  const auto norm_one = [&](int i, float v) {
    a.y[base + i] = v;
    if (a.acts.high) quantise16(a.acts, base + i, v);
  };
#pragma unroll
  for (int j = 0; j < held; j++)
    if (threadIdx.x + j * step < a.n) norm_one(threadIdx.x + j * step, mine[j] * r * gain[j]);
  for (int i = threadIdx.x + held * step; i < a.n; i += step) norm_one(i, a.sum[base + i] * r * (a.gain ? a.gain[i] : 1.0f));
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
  if (a.acts.high) quantise16(a.acts, i, y);
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
const void* add_norm_kernel() { return reinterpret_cast<const void*>(add_norm); }
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
