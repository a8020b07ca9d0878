// delta_step: one row of the gated delta rule in one kernel: convolution, gates, and the state read and written once.
#include "device/cuda/delta.h"
#include "device/cuda/delta_gates.cuh"
#include "device/cuda/source.h"

namespace cuda {
namespace {

constexpr int kTaps = 4, kColumns = 32;  // of the state that one block carries

// A channel's inputs before this row and its taps.
struct Window {
  float tap[kTaps], before[kTaps - 1];
  __device__ __forceinline__ void load(const DeltaArgs& a, const float* ring, int past, int channel, int channels) {
#pragma unroll
    for (int j = 0; j < kTaps; j++) tap[j] = a.taps[static_cast<int64_t>(j) * channels + channel];
#pragma unroll
    for (int j = 0; j < kTaps - 1; j++) before[j] = __ldcg(ring + static_cast<int64_t>((past + 1 + j) % kTaps) * channels + channel);  // past - 3 + j
  }
  __device__ __forceinline__ float mix(float x) const { return quick_silu(tap[0] * before[0] + tap[1] * before[1] + tap[2] * before[2] + tap[3] * x); }
};

// Block (value head, 32 columns, sequence). A warp carries Columns columns of S, a lane Keys keys of each. With S' = decay S: d = (v - k S') beta,
// S = S' + k d, o = q S' + (q k) d; both reads of S are of the old state, so one pass over it is enough.
template <int Keys, int Columns> __global__ void __launch_bounds__(32 * kColumns / Columns, 24 * Columns / kColumns) step(const DeltaArgs a) {
  constexpr int kThreads = 32 * kColumns / Columns, kDim = 32 * Keys, kOwn = (2 * kDim + kThreads - 1) / kThreads;
  __shared__ __align__(16) float mixed[2 * kDim];  // q, k
  __shared__ float warp_squares[kThreads / 32];
  let_next_start();
  const SequenceOnDevice s = a.step.sequences[blockIdx.z];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, head = blockIdx.x, repeats = a.n_value_heads / a.n_key_heads;
  const int key_head = a.tiled ? head % a.n_key_heads : head / repeats, first = blockIdx.y * kColumns + warp * Columns;
  const int channels = 2 * a.n_key_heads * kDim + a.n_value_heads * a.value_dim, column = min(first + lane % Columns, a.value_dim - 1);
  float* const ring = a.history + static_cast<int64_t>(s.slot) * kTaps * channels;
  float* const state = a.state + ((static_cast<int64_t>(s.slot) * a.n_value_heads + head) * a.value_dim + first) * kDim;
  float own[Columns][Keys];
#pragma unroll
  for (int c = 0; c < Columns; c++) {
    const bool used = s.n_rows == 1 && first + c < a.value_dim;
    if constexpr (Keys == 2) {
      const float2 v = used ? __ldcg(reinterpret_cast<const float2*>(state + c * kDim) + lane) : float2{};
      own[c][0] = v.x, own[c][1] = v.y;
    } else {
#pragma unroll
      for (int i = 0; i < Keys / 4; i++) {
        const float4 v = used ? __ldcg(reinterpret_cast<const float4*>(state + c * kDim) + 32 * i + lane) : float4{};
        own[c][4 * i] = v.x, own[c][4 * i + 1] = v.y, own[c][4 * i + 2] = v.z, own[c][4 * i + 3] = v.w;
      }
    }
  }
  const auto channel_of = [&](int i) { return (i < kDim ? key_head : a.n_key_heads + key_head - 1) * kDim + i; };  // of q, then of k
  const int value_channel = 2 * a.n_key_heads * kDim + head * a.value_dim + column;
  Window window[kOwn], value_window;
#pragma unroll
  for (int i = 0; i < kOwn; i++) window[i].load(a, ring, s.past, channel_of(min(i * kThreads + static_cast<int>(threadIdx.x), 2 * kDim - 1)), channels);
  value_window.load(a, ring, s.past, value_channel, channels);
  const float dt = a.dt_bias[head], rate = a.neg_exp_a[head], gain = a.squares ? a.gain[column] : 0.0f;
  if (warp == 0) wait_for_input();
  __syncthreads();
  if (s.n_rows != 1) return;
  const float* const input = a.qkv + static_cast<int64_t>(s.first_row) * channels;
  float* const place = ring + static_cast<int64_t>(s.past % kTaps) * channels;
  float x[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; i++) x[i] = __ldcg(input + channel_of(min(i * kThreads + static_cast<int>(threadIdx.x), 2 * kDim - 1)));
  const float value_x = __ldcg(input + value_channel);
  const int64_t gate = static_cast<int64_t>(s.first_row) * a.n_value_heads + head;
  const float shift = __ldcg(a.a + gate) + dt, strength = __ldcg(a.b + gate), z = a.squares ? __ldcg(a.z + gate * a.value_dim + column) : 0.0f;
#pragma unroll
  for (int i = 0; i < kOwn; i++)
    if (const int at = i * kThreads + threadIdx.x; at < 2 * kDim) mixed[at] = window[i].mix(x[i]);
  __syncthreads();
  if (lane < Columns && first + lane < a.value_dim) place[value_channel] = value_x;
  if (blockIdx.y == 0 && (a.tiled ? head < a.n_key_heads : head % repeats == 0)) {
#pragma unroll
    for (int i = 0; i < kOwn; i++)
      if (const int at = i * kThreads + threadIdx.x; at < 2 * kDim) place[channel_of(at)] = x[i];
  }
  float q[Keys], k[Keys];
#pragma unroll
  for (int i = 0; i < Keys; i++) {
    const int key = Keys == 2 ? 2 * lane + i : 128 * (i / 4) + 4 * lane + i % 4;
    q[i] = mixed[key], k[i] = mixed[kDim + key];
  }
  float reads[2 * Columns] = {}, norms[4] = {};
#pragma unroll
  for (int i = 0; i < Keys; i++) {
    norms[0] += q[i] * q[i], norms[1] += k[i] * k[i], norms[2] += q[i] * k[i];
#pragma unroll
    for (int c = 0; c < Columns; c++) reads[c] += own[c][i] * k[i], reads[Columns + c] += own[c][i] * q[i];
  }
  constexpr int kApart = 16 / Columns;  // lanes between two sums
  const float value = value_window.mix(value_x), beta = quick_sigmoid(strength), log_decay = rate * quick_softplus(shift);
  const bool slow = log_decay > -0.25f;  // of the whole block
  const float lost = small_loss(log_decay), decay = slow ? 1 + lost : __expf(log_decay);
#pragma unroll
  for (int c = 0; c < Columns; c++)
#pragma unroll
    for (int i = 0; i < Keys; i++) own[c][i] = slow ? fmaf(own[c][i], lost, own[c][i]) : own[c][i] * decay;
  const float read = warp_sums(reads), norm = warp_sums(norms);
  const float seen = __shfl_sync(~0u, read, lane % Columns * kApart), asked = __shfl_sync(~0u, read, 16 + lane % Columns * kApart);
  const float q2 = __shfl_sync(~0u, norm, 0), k2 = __shfl_sync(~0u, norm, 8), both = __shfl_sync(~0u, norm, 16);
  const float k_scale = rsqrtf(k2 + 1e-6f), q_scale = rsqrtf(q2 + 1e-6f) * rsqrtf(static_cast<float>(kDim));
  const float d = (value - decay * seen * k_scale) * beta * k_scale;
  const float y = (decay * asked + d * both) * q_scale;
  if (lane < Columns && first + lane < a.value_dim) __stcg(a.y + gate * a.value_dim + first + lane, a.squares ? y * gain * quick_silu(z) : y);
  if (a.squares) {
    float square = first + lane % Columns < a.value_dim ? y * y : 0.0f;
#pragma unroll
    for (int o = 1; o < Columns; o *= 2) square += __shfl_xor_sync(~0u, square, o);
    if (lane == 0) warp_squares[warp] = square;
  }
#pragma unroll
  for (int c = 0; c < Columns; c++) {
    const float dc = __shfl_sync(~0u, d, c);
    if (first + c >= a.value_dim) break;
#pragma unroll
    for (int i = 0; i < Keys; i++) own[c][i] += k[i] * dc;
    if constexpr (Keys == 2) {
      reinterpret_cast<float2*>(state + c * kDim)[lane] = {own[c][0], own[c][1]};
    } else {
#pragma unroll
      for (int i = 0; i < Keys / 4; i++) reinterpret_cast<float4*>(state + c * kDim)[32 * i + lane] = {own[c][4 * i], own[c][4 * i + 1], own[c][4 * i + 2], own[c][4 * i + 3]};
    }
  }
  if (!a.squares) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float square = 0;
#pragma unroll
  for (int w = 0; w < kThreads / 32; w++) square += warp_squares[w];
  a.squares[gate * kHeadParts + blockIdx.y] = square;
}

}  // namespace

DeltaStep delta_step(int32_t key_dim, int32_t kernel) {
  const void* found = nullptr;
  if (kernel == kTaps && key_dim == 64) found = reinterpret_cast<const void*>(step<2, 8>);
  if (kernel == kTaps && key_dim == 128) found = reinterpret_cast<const void*>(step<4, 8>);
  if (kernel == kTaps && key_dim == 256) found = reinterpret_cast<const void*>(step<8, 4>);
  return {found, kColumns, key_dim == 256 ? 256 : 128};
}

}  // namespace cuda
