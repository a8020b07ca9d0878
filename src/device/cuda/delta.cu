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
const void* delta_finish_kernel() { return reinterpret_cast<const void*>(finish); }

}  // namespace cuda
