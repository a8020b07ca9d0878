// halves: activations for tensor cores from what models compute in float32.
#include "device/cuda/fragments.cuh"
#include "device/cuda/halves.h"

namespace cuda {
namespace {

constexpr int kHeld = kJoinWidest / (8 * kJoinThreads);  // pieces of 8 columns of a thread

struct Eight { float v[8]; };
__device__ __forceinline__ Eight load8(const float* from, int n) {  // n of them exist
  Eight e{};
  if (n >= 8 && (reinterpret_cast<uintptr_t>(from) & 15) == 0) {
    const float4 a = *reinterpret_cast<const float4*>(from), b = *reinterpret_cast<const float4*>(from + 4);
    return {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (i < n) e.v[i] = from[i];
  return e;
}
__device__ __forceinline__ void store8(float* to, const Eight& e, int n) {
  if (n >= 8 && (reinterpret_cast<uintptr_t>(to) & 15) == 0) {
    reinterpret_cast<float4*>(to)[0] = {e.v[0], e.v[1], e.v[2], e.v[3]}, reinterpret_cast<float4*>(to)[1] = {e.v[4], e.v[5], e.v[6], e.v[7]};
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (i < n) to[i] = e.v[i];
}
__device__ __forceinline__ uint4 as_piece(const Eight& e) { return {saturated(e.v[0], e.v[1]), saturated(e.v[2], e.v[3]), saturated(e.v[4], e.v[5]), saturated(e.v[6], e.v[7])}; }

// The experts' results of one row, added up in the order of its choices.
__device__ __forceinline__ Eight experts_sum(const JoinArgs& a, int row, int k) {
  Eight e{};
  for (int c = 0; c < a.top_k; c++) {
    const float weight = a.weights[row * a.top_k + c];
    const uint4 v = *reinterpret_cast<const uint4*>(a.experts + static_cast<int64_t>(a.position[row * a.top_k + c]) * a.stride + k);
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float2 pair = __half22float2(pair_of_halves(words[i]));
      e.v[2 * i] += weight * pair.x, e.v[2 * i + 1] += weight * pair.y;
    }
  }
  return e;
}

__global__ void __launch_bounds__(kJoinThreads) join_rows(const __grid_constant__ JoinArgs a) {
  __shared__ float shared[32];
  let_next_start();
  wait_for_input();
  const int row = blockIdx.x, padded = (a.n + 63) / 64 * 64;
  const int64_t base = static_cast<int64_t>(row) * a.n;
  const float gate = a.b_gate ? sigmoid(a.b_gate[row]) : 1.0f;
  Eight held[kHeld];
  float squares = 0;
#pragma unroll
  for (int h = 0; h < kHeld; h++) {
    const int k = 8 * (threadIdx.x + h * kJoinThreads), left = a.n - k;
    held[h] = {};
    if (left <= 0) continue;
    Eight e = a.experts ? experts_sum(a, row, k) : load8(a.a + base + k, left);
    if (a.b) {
      const Eight b = load8(a.b + base + k, left);
#pragma unroll
      for (int i = 0; i < 8; i++) e.v[i] += b.v[i] * gate;
    }
    if (a.part) store8(a.part + base + k, e, left);
    if (a.c) {
      const Eight c = load8(a.c + base + k, left);
#pragma unroll
      for (int i = 0; i < 8; i++) e.v[i] += c.v[i];
    }
    if (a.sum) store8(a.sum + base + k, e, left);
#pragma unroll
    for (int i = 0; i < 8; i++) squares += i < left ? e.v[i] * e.v[i] : 0.0f;
    held[h] = e;
  }
  const float r = a.norm ? 1.0f / sqrtf(block_sum(squares, shared) / a.n + a.eps) : 1.0f;
#pragma unroll
  for (int h = 0; h < kHeld; h++) {
    const int k = 8 * (threadIdx.x + h * kJoinThreads), left = a.n - k;
    if (k >= padded) continue;
    Eight e = held[h];
    const Eight gain = a.norm && a.gain ? load8(a.gain + k, left) : Eight{1, 1, 1, 1, 1, 1, 1, 1};
#pragma unroll
    for (int i = 0; i < 8; i++) e.v[i] = i < left ? e.v[i] * r * gain.v[i] : 0.0f;
    if (a.y) store8(a.y + base + k, e, left);
    if (a.halves.data) *reinterpret_cast<uint4*>(a.halves.data + half_at(a.halves.padded_rows, row, k)) = as_piece(e);
    if (a.rows) *reinterpret_cast<uint4*>(a.rows + static_cast<int64_t>(row) * padded + k) = as_piece(e);
  }
}

// A thread is 8 inputs of one row.
__global__ void __launch_bounds__(kHalvesThreads) halves(const __grid_constant__ HalvesArgs a) {
  let_next_start();
  wait_for_input();
  const int row = blockIdx.x * 8 + threadIdx.x % 8, k = blockIdx.y * kBlockInputs + threadIdx.x / 8 * 8, left = row < a.to.rows ? a.to.cols - k : 0;
  Eight e = load8(a.x + static_cast<int64_t>(row) * a.x_stride + k, left);
  if (a.op != HalvesOp::plain) {
    const Eight g = load8(a.g + static_cast<int64_t>(row) * a.g_stride + k, left);
#pragma unroll
    for (int i = 0; i < 8; i++)
      e.v[i] = a.op == HalvesOp::sigmoid_gate ? e.v[i] * sigmoid(g.v[i]) : (a.op == HalvesOp::gate_silu ? silu(e.v[i]) : gelu_tanh(e.v[i])) * g.v[i];
  }
  *reinterpret_cast<uint4*>(a.to.data + half_at(a.to.padded_rows, row, k)) = as_piece(e);
}

}  // namespace

const void* join_kernel() { return reinterpret_cast<const void*>(join_rows); }
const void* halves_kernel() { return reinterpret_cast<const void*>(halves); }

}  // namespace cuda
