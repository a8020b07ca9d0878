// delta: the gated delta rule with its convolution, gates and norm. The recurrence runs row after row; a block carries 32 columns of one head's state
// in registers, a warp a share of its keys.
#include "device/cuda/common.cuh"

namespace cuda {
namespace {

constexpr int kWarps = 8, kMaxKeys = 32;  // keys a warp holds: head dims up to 256

// Where a row's input stands: in this step, or in what the sequence remembers, a ring (delta.h).
__device__ __forceinline__ float input_at(const DeltaArgs& a, const SequenceOnDevice& s, int row, int channel, int channels) {
  if (row >= 0) return a.qkv[static_cast<int64_t>(s.first_row + row) * channels + channel];
  return a.history[(static_cast<int64_t>(s.slot) * a.kernel + (s.past + row + a.kernel) % a.kernel) * channels + channel];
}
__device__ __forceinline__ void keep_input(const DeltaArgs& a, const SequenceOnDevice& s, int row, int channel, int channels) {
  a.history[(static_cast<int64_t>(s.slot) * a.kernel + (s.past + row) % a.kernel) * channels + channel] = a.qkv[static_cast<int64_t>(s.first_row + row) * channels + channel];
}
__device__ __forceinline__ int channels_of(const DeltaArgs& a) { return 2 * a.n_key_heads * a.key_dim + a.n_value_heads * a.value_dim; }

// Block (share of channels, row).
__global__ void convolution(const DeltaArgs a) {
  wait_for_input();
  let_next_start();
  const int channels = channels_of(a), channel = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (channel >= channels) return;
  const SequenceOnDevice s = a.step.sequences[a.step.row_sequence[row]];
  float sum = 0;
  for (int j = 0; j < a.kernel; j++) sum += a.taps[static_cast<int64_t>(j) * channels + channel] * input_at(a, s, row - s.first_row - (a.kernel - 1) + j, channel, channels);
  a.mixed[static_cast<int64_t>(row) * channels + channel] = silu(sum);
}

// After the convolution: the last kernel - 1 inputs stay. Block (share of channels, sequence).
__global__ void keep_history(const DeltaArgs a) {
  wait_for_input();
  let_next_start();
  const int channels = channels_of(a), channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  const SequenceOnDevice s = a.step.sequences[blockIdx.y];
  for (int row = max(0, s.n_rows - (a.kernel - 1)); row < s.n_rows; row++) keep_input(a, s, row, channel, channels);
}

// Block (value head, 32 columns, sequence). S' = decay S; d = (v - k S') beta; S = S' + k d; o = q S.
__global__ void __launch_bounds__(32 * kWarps) recurrence(const DeltaArgs a) {
  extern __shared__ float shared[];  // q [key_dim], k [key_dim], sums [2][kWarps][32], norms [2][kWarps]
  float *q = shared, *k = q + a.key_dim, *sums = k + a.key_dim, *norms = sums + 2 * kWarps * 32;
  wait_for_input();
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, head = blockIdx.x, column = blockIdx.y * kDeltaColumns + lane;
  const int key_head = a.tiled ? head % a.n_key_heads : head / (a.n_value_heads / a.n_key_heads), channels = channels_of(a);
  const SequenceOnDevice s = a.step.sequences[blockIdx.z];
  const bool used = column < a.value_dim;
  float* const state = a.state + (static_cast<int64_t>(s.slot) * a.n_value_heads + head) * a.key_dim * a.value_dim;
  float own[kMaxKeys];
#pragma unroll
  for (int i = 0; i < kMaxKeys; i++) {
    const int key = warp + kWarps * i;
    own[i] = used && key < a.key_dim ? state[static_cast<int64_t>(column) * a.key_dim + key] : 0.0f;
  }
  for (int r = 0; r < s.n_rows; r++) {
    const int64_t row = s.first_row + r;
    const float* mixed = a.mixed + row * channels;
    float qq = 0, kk = 0;
    for (int i = threadIdx.x; i < a.key_dim; i += blockDim.x) {
      const float x = mixed[key_head * a.key_dim + i], y = mixed[(a.n_key_heads + key_head) * a.key_dim + i];
      q[i] = x, k[i] = y, qq += x * x, kk += y * y;
    }
    qq = warp_sum(qq), kk = warp_sum(kk);
    if (lane == 0) norms[warp] = qq, norms[kWarps + warp] = kk;
    __syncthreads();
    float q2 = 0, k2 = 0;
    for (int w = 0; w < kWarps; w++) q2 += norms[w], k2 += norms[kWarps + w];
    const float q_scale = 1.0f / sqrtf(static_cast<float>(a.key_dim)) / sqrtf(q2 + 1e-6f), k_scale = 1.0f / sqrtf(k2 + 1e-6f);
    const float x = a.a[row * a.n_value_heads + head] + a.dt_bias[head], decay = expf(a.neg_exp_a[head] * (x > 20 ? x : log1pf(expf(x)))), beta = sigmoid(a.b[row * a.n_value_heads + head]);
    float read = 0;
#pragma unroll
    for (int i = 0; i < kMaxKeys; i++) {
      const int key = warp + kWarps * i;
      if (key < a.key_dim) own[i] *= decay, read += own[i] * (k[key] * k_scale);
    }
    sums[warp * 32 + lane] = read;
    __syncthreads();
    float seen = 0;
    for (int w = 0; w < kWarps; w++) seen += sums[w * 32 + lane];
    const float value = used ? mixed[2 * a.n_key_heads * a.key_dim + head * a.value_dim + column] : 0.0f, d = (value - seen) * beta;
    float out = 0;
#pragma unroll
    for (int i = 0; i < kMaxKeys; i++) {
      const int key = warp + kWarps * i;
      if (key < a.key_dim) own[i] += k[key] * k_scale * d, out += own[i] * (q[key] * q_scale);
    }
    sums[kWarps * 32 + warp * 32 + lane] = out;
    __syncthreads();
    if (warp == 0 && used) {
      float o = 0;
      for (int w = 0; w < kWarps; w++) o += sums[kWarps * 32 + w * 32 + lane];
      a.y[(row * a.n_value_heads + head) * a.value_dim + column] = o;
    }
  }
#pragma unroll
  for (int i = 0; i < kMaxKeys; i++) {
    const int key = warp + kWarps * i;
    if (used && key < a.key_dim) state[static_cast<int64_t>(column) * a.key_dim + key] = own[i];
  }
}

// Decoding: the convolution, its history and the recurrence of one row a sequence. Block (value head, 32 columns, sequence). Of the channels that heads
// share, the first of those heads keeps the inputs.
template <int Keys> __global__ void __launch_bounds__(32 * kWarps) decode(const DeltaArgs a) {
  extern __shared__ float shared[];  // q [key_dim], k [key_dim], v [32], sums [2][kWarps][32], norms [3][kWarps]
  float *q = shared, *k = q + a.key_dim, *v = k + a.key_dim, *sums = v + 32, *norms = sums + 2 * kWarps * 32;
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, head = blockIdx.x, first = blockIdx.y * kDeltaColumns, column = first + lane;
  const int key_head = a.tiled ? head % a.n_key_heads : head / (a.n_value_heads / a.n_key_heads), channels = channels_of(a);
  wait_for_input();
  const SequenceOnDevice s = a.step.sequences[blockIdx.z];
  const int64_t row = s.first_row;
  float* const state = a.state + (static_cast<int64_t>(s.slot) * a.n_value_heads + head) * a.key_dim * a.value_dim;
  const bool used = column < a.value_dim;
  float own[Keys];
#pragma unroll
  for (int i = 0; i < Keys; i++) own[i] = used && warp + kWarps * i < a.key_dim ? state[static_cast<int64_t>(column) * a.key_dim + warp + kWarps * i] : 0.0f;
  float qq = 0, kk = 0, qk = 0;
  const int n = 2 * a.key_dim + min(32, a.value_dim - first);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const int channel = i < a.key_dim ? key_head * a.key_dim + i : i < 2 * a.key_dim ? (a.n_key_heads + key_head) * a.key_dim + i - a.key_dim : 2 * a.n_key_heads * a.key_dim + head * a.value_dim + first + i - 2 * a.key_dim;
    float sum = 0;
    for (int j = 0; j < a.kernel; j++) sum += a.taps[static_cast<int64_t>(j) * channels + channel] * input_at(a, s, j - (a.kernel - 1), channel, channels);
    shared[i] = silu(sum);
    if (i >= 2 * a.key_dim || (blockIdx.y == 0 && (a.tiled ? head < a.n_key_heads : head % (a.n_value_heads / a.n_key_heads) == 0))) keep_input(a, s, 0, channel, channels);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < a.key_dim; i += blockDim.x) qq += q[i] * q[i], kk += k[i] * k[i], qk += q[i] * k[i];
  qq = warp_sum(qq), kk = warp_sum(kk), qk = warp_sum(qk);
  if (lane == 0) norms[warp] = qq, norms[kWarps + warp] = kk, norms[2 * kWarps + warp] = qk;
  float read_k = 0, read_q = 0;
#pragma unroll
  for (int i = 0; i < Keys; i++) {
    const int key = warp + kWarps * i;
    if (key < a.key_dim) read_k += own[i] * k[key], read_q += own[i] * q[key];
  }
  sums[warp * 32 + lane] = read_k, sums[kWarps * 32 + warp * 32 + lane] = read_q;
  __syncthreads();
  float q2 = 0, k2 = 0, both = 0, seen = 0, out = 0;
#pragma unroll
  for (int w = 0; w < kWarps; w++) q2 += norms[w], k2 += norms[kWarps + w], both += norms[2 * kWarps + w], seen += sums[w * 32 + lane], out += sums[kWarps * 32 + w * 32 + lane];
  const float q_scale = 1.0f / sqrtf(static_cast<float>(a.key_dim)) / sqrtf(q2 + 1e-6f), k_scale = 1.0f / sqrtf(k2 + 1e-6f);
  const float x = a.a[row * a.n_value_heads + head] + a.dt_bias[head], decay = expf(a.neg_exp_a[head] * (x > 20 ? x : log1pf(expf(x)))), beta = sigmoid(a.b[row * a.n_value_heads + head]);
  const float d = used ? (v[lane] - decay * seen * k_scale) * beta : 0.0f;
#pragma unroll
  for (int i = 0; i < Keys; i++) {
    const int key = warp + kWarps * i;
    if (used && key < a.key_dim) state[static_cast<int64_t>(column) * a.key_dim + key] = own[i] * decay + k[key] * k_scale * d;
  }
  if (warp == 0 && used) a.y[(row * a.n_value_heads + head) * a.value_dim + column] = decay * out * q_scale + d * both * k_scale * q_scale;
}

// Block (row, head): rms_norm(o) * gain * silu(z), in place.
__global__ void finish(const DeltaArgs a) {
  __shared__ float shared[32];
  wait_for_input();
  let_next_start();
  const int64_t at = (static_cast<int64_t>(blockIdx.x) * a.n_value_heads + blockIdx.y) * a.value_dim;
  float sum = 0;
  for (int i = threadIdx.x; i < a.value_dim; i += blockDim.x) sum += a.y[at + i] * a.y[at + i];
  const float r = 1.0f / sqrtf(block_sum(sum, shared) / a.value_dim + a.eps);
  for (int i = threadIdx.x; i < a.value_dim; i += blockDim.x) {
    const float v = a.y[at + i] * r * a.gain[i] * silu(a.z[at + i]);
    a.y[at + i] = v;
  }
}

}  // namespace

const void* convolution_kernel() { return reinterpret_cast<const void*>(convolution); }
const void* delta_history_kernel() { return reinterpret_cast<const void*>(keep_history); }
const void* delta_kernel() { return reinterpret_cast<const void*>(recurrence); }
const void* delta_decode_kernel(int32_t key_dim) {
  if (key_dim <= 64) return reinterpret_cast<const void*>(decode<8>);
  return key_dim <= 128 ? reinterpret_cast<const void*>(decode<16>) : reinterpret_cast<const void*>(decode<32>);
}
const void* delta_finish_kernel() { return reinterpret_cast<const void*>(finish); }

}  // namespace cuda
