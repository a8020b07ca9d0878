// delta_prepare: what the chunks of a prompt need before the recurrence: convolution, unit keys and queries, gates, and the inverse of a chunk's
// triangle. Block (chunk, key head) serves all value heads of its key head.
#include "device/cuda/delta_chunk.cuh"

namespace cuda::chunk {
namespace {

constexpr int kWarps = 8, kTriangleStride = 68, kBlockStride = 20;
constexpr float kLeastGate = -48;  // 2^-48: nothing of the state is left; keeps sums of a chunk short enough for float32

struct Triangle {
  float a[kRows][kTriangleStride];
  float blocks[4][16][kBlockStride];  // inverses of 1 + its 16 x 16 blocks on the diagonal
};
using Inputs = float[kRows + kTaps - 1][kDim];  // of a head: rows of the chunk and those before it
struct Shared {
  uint8_t keys[kRows * kDim * 2];  // tile
  union {
    struct { Inputs key_inputs, query_inputs; };
    struct {  // queries take the place of key inputs, triangles that of query inputs
      union {
        uint8_t queries[kRows * kDim * 2];       // tile
        uint8_t inverses[2][kRows * kRows * 2];  // tiles, when queries have been read
      };
      Triangle triangles[2];                     // two value heads at a time
    };
  };
};
static_assert(sizeof(Shared) == kPrepareBytes);

// Starts to copy the inputs of 128 channels; rows behind the last are of no use.
__device__ __forceinline__ void fetch(const DeltaArgs& a, const Place& at, int channels, int channel, Inputs& to) {
  const int lane = threadIdx.x & 31, last = at.rows - 1;
  const bool begins = at.first == at.sequence.first_row;  // what comes before is from earlier steps
  const float* const input = a.qkv + static_cast<int64_t>(at.first) * channels + channel + 4 * lane;
  const float* const ring = a.history + static_cast<int64_t>(at.sequence.slot) * kTaps * channels + channel + 4 * lane;
  for (int i = threadIdx.x >> 5; i < kRows + kTaps - 1; i += kWarps) {
    const int row = i - (kTaps - 1);
    const float* const from = begins && row < 0 ? ring + (at.sequence.past + row + kTaps) % kTaps * channels : input + static_cast<int64_t>(min(row, last)) * channels;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&to[i][4 * lane])), "l"(from));
  }
  asm volatile("cp.async.commit_group;");
}

// Convolution and SiLU of rows 8 * warp to 8 * warp + 7 and four channels of a lane.
__device__ __forceinline__ void mix(const DeltaArgs& a, const Inputs& inputs, int channels, int channel, float4 (&y)[8]) {
  const int lane = threadIdx.x & 31, row = 8 * (threadIdx.x >> 5);
  float4 tap[kTaps], x[8 + kTaps - 1];
#pragma unroll
  for (int j = 0; j < kTaps; j++) tap[j] = *reinterpret_cast<const float4*>(a.taps + j * channels + channel + 4 * lane);
#pragma unroll
  for (int i = 0; i < 8 + kTaps - 1; i++) x[i] = *reinterpret_cast<const float4*>(&inputs[row + i][4 * lane]);
#pragma unroll
  for (int r = 0; r < 8; r++) {
    float4 sum{};
#pragma unroll
    for (int j = 0; j < kTaps; j++) {
      sum.x += tap[j].x * x[r + j].x, sum.y += tap[j].y * x[r + j].y;
      sum.z += tap[j].z * x[r + j].z, sum.w += tap[j].w * x[r + j].w;
    }
    y[r] = {quick_silu(sum.x), quick_silu(sum.y), quick_silu(sum.z), quick_silu(sum.w)};
  }
}

// Unit rows into a tile, zero behind the last.
__device__ __forceinline__ void unit_rows(const DeltaArgs& a, const Place& at, const Inputs& inputs, int channels, int channel, uint8_t* tile) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float4 y[8];
  mix(a, inputs, channels, channel, y);
  float squares[8];
#pragma unroll
  for (int r = 0; r < 8; r++) squares[r] = y[r].x * y[r].x + y[r].y * y[r].y + y[r].z * y[r].z + y[r].w * y[r].w;
  const float scales = rsqrtf(warp_sums(squares) + 1e-6f);  // of row lane / 4
#pragma unroll
  for (int r = 0; r < 8; r++) {
    const float all = __shfl_sync(~0u, scales, 4 * r), scale = 8 * warp + r < at.rows ? all : 0.0f;
    *reinterpret_cast<uint2*>(tile + piece_at<kDim * 2>(8 * warp + r, lane / 2) + lane % 2 * 8) = {pack(y[r].x * scale, y[r].y * scale), pack(y[r].z * scale, y[r].w * scale)};
  }
}

// beta v as [8 rows][column][8 rows].
__device__ __forceinline__ void keep_values(const DeltaChunkArgs& a, const Place& at, Inputs& inputs, int channels, int head, uint16_t* to) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int channel = (2 * a.delta.n_key_heads + head) * kDim;
  fetch(a.delta, at, channels, channel, inputs);
  float beta[8];
#pragma unroll
  for (int r = 0; r < 8; r++) beta[r] = a.delta.b[static_cast<int64_t>(at.first + min(8 * warp + r, at.rows - 1)) * a.delta.n_value_heads + head];
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  float4 y[8];
  mix(a.delta, inputs, channels, channel, y);
#pragma unroll
  for (int r = 0; r < 8; r++) {
    const float b = 8 * warp + r < at.rows ? quick_sigmoid(beta[r]) : 0.0f;
    y[r].x *= b, y[r].y *= b, y[r].z *= b, y[r].w *= b;
  }
  uint4* place = reinterpret_cast<uint4*>(to) + warp * kDim + 4 * lane;
  place[0] = {pack(y[0].x, y[1].x), pack(y[2].x, y[3].x), pack(y[4].x, y[5].x), pack(y[6].x, y[7].x)};
  place[1] = {pack(y[0].y, y[1].y), pack(y[2].y, y[3].y), pack(y[4].y, y[5].y), pack(y[6].y, y[7].y)};
  place[2] = {pack(y[0].z, y[1].z), pack(y[2].z, y[3].z), pack(y[4].z, y[5].z), pack(y[6].z, y[7].z)};
  place[3] = {pack(y[0].w, y[1].w), pack(y[2].w, y[3].w), pack(y[4].w, y[5].w), pack(y[6].w, y[7].w)};
}

// One warp: running sums of a head's log decays, to base 2, and its betas; rows behind the last neither decay nor write.
__device__ __forceinline__ void gates(const DeltaChunkArgs& a, const Place& at, int head, float* sums, float* betas, float* to) {
  const int lane = threadIdx.x & 31;
  float g[2], beta[2];
  const float rate = a.delta.neg_exp_a[head], shift = a.delta.dt_bias[head];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int r = 2 * lane + i;
    const int64_t from = static_cast<int64_t>(at.first + min(r, at.rows - 1)) * a.delta.n_value_heads + head;
    const float x = a.delta.a[from] + shift, strength = a.delta.b[from];
    g[i] = r < at.rows ? fmaxf(kLeastGate, kLog2e * rate * quick_softplus(x)) : 0.0f;
    beta[i] = r < at.rows ? quick_sigmoid(strength) : 0.0f;
  }
  float sum = g[0] + g[1];
#pragma unroll
  for (int o = 1; o < 32; o <<= 1) {
    const float before = __shfl_up_sync(~0u, sum, o);
    sum += lane >= o ? before : 0.0f;
  }
  const float c[2] = {sum - g[1], sum}, end = __shfl_sync(~0u, sum, 31);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int r = 2 * lane + i;
    sums[r] = c[i], betas[r] = beta[i];
    to[r] = quick_exp2(c[i]), to[kRows + r] = quick_exp2(end - c[i]), to[2 * kRows + r] = beta[i] * quick_exp2(c[i]);
  }
}

// A pair of floats as the sum of two pairs of halves.
__device__ __forceinline__ void split(float x, float y, uint32_t& high, uint32_t& low) {
  high = pack(x, y);
  const float2 h = unpack(high);
  low = pack(x - h.x, y - h.y);
}
struct Split {
  uint32_t high[4], low[4];
  __device__ __forceinline__ void set(const float (&d)[2][4]) {  // two results next to each other become an A operand
    split(d[0][0], d[0][1], high[0], low[0]), split(d[0][2], d[0][3], high[1], low[1]);
    split(d[1][0], d[1][1], high[2], low[2]), split(d[1][2], d[1][3], high[3], low[3]);
  }
  // d + small += this times the transpose of the 16 x 16 matrix at `m`
  __device__ __forceinline__ void multiply_transposed(float (&d)[2][4], float (&small)[2][4], const float* m, int stride) const {
    const int g = (threadIdx.x & 31) / 4, c = threadIdx.x & 3;
#pragma unroll
    for (int n = 0; n < 2; n++) {
      const float2 x = *reinterpret_cast<const float2*>(m + (8 * n + g) * stride + 2 * c), y = *reinterpret_cast<const float2*>(m + (8 * n + g) * stride + 2 * c + 8);
      uint32_t h0, l0, h1, l1;
      split(x.x, x.y, h0, l0), split(y.x, y.y, h1, l1);
      multiply(d[n], high, h0, h1);
      multiply(small[n], low, h0, h1);
      multiply(small[n], high, l0, l1);
    }
  }
};

// The inverse of 1 + a 16 x 16 block on the diagonal by forward substitution; lane = column, lanes 16 to 31 repeat.
__device__ __forceinline__ void invert_block(Triangle& s, int b) {
  const int column = threadIdx.x & 15;
  float t[16];
#pragma unroll
  for (int i = 0; i < 16; i++) {
    float sum[2] = {i == column ? 1.0f : 0.0f, 0};
#pragma unroll
    for (int j = 0; j < i; j++) sum[j & 1] -= s.a[16 * b + i][16 * b + j] * t[j];
    t[i] = sum[0] + sum[1];
  }
#pragma unroll
  for (int i = 0; i < 16; i++) s.blocks[b][i][column] = t[i];
}

// Column j of blocks: T_ij = -T_ii sum over k of A_ik T_kj, all of it transposed: results become operands without leaving their registers.
__device__ __forceinline__ void invert_column(const Triangle& s, int j, uint8_t* inverse) {
  const int lane = threadIdx.x & 31, g = lane / 4, c = lane % 4;
  float t[2][4];
#pragma unroll
  for (int n = 0; n < 2; n++)
#pragma unroll
    for (int e = 0; e < 4; e++) t[n][e] = s.blocks[j][8 * n + 2 * c + e % 2][g + e / 2 * 8];
  Split done[4];
  done[0].set(t);
#pragma unroll
  for (int d = 1; d < 4; d++) {
    const int i = j + d;
    if (i > 3) break;
    float sum[2][4] = {}, small[2][4] = {};
#pragma unroll
    for (int k = 0; k < d; k++) done[k].multiply_transposed(sum, small, &s.a[16 * i][16 * (j + k)], kTriangleStride);
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
      for (int e = 0; e < 4; e++) sum[n][e] += small[n][e];
    Split z;
    z.set(sum);
    float product[2][4] = {}, rest[2][4] = {};
    z.multiply_transposed(product, rest, &s.blocks[i][0][0], kBlockStride);
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
      for (int e = 0; e < 4; e++) t[n][e] = -product[n][e] - rest[n][e];
    done[d].set(t);
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (j + k > 3) continue;
#pragma unroll
    for (int e = 0; e < 4; e++) {  // rows of done are columns of T
      const int row = 16 * (j + k) + e / 2 * 8 + 2 * c, column = 16 * j + g + e % 2 * 8;
      const uint32_t pair = done[k].high[e];
      *reinterpret_cast<uint16_t*>(inverse + piece_at<kRows * 2>(row, column / 8) + column % 8 * 2) = static_cast<uint16_t>(pair);
      *reinterpret_cast<uint16_t*>(inverse + piece_at<kRows * 2>(row + 1, column / 8) + column % 8 * 2) = static_cast<uint16_t>(pair >> 16);
    }
  }
}

// A 16 x 16 piece of q k^T or k k^T times what decays between its rows and columns, and beta for the triangle; zero beyond the diagonal.
__device__ __forceinline__ void decayed(float (&v)[2][4], const float (&gram)[8][4], int m, int n, bool asks, const float* sum, const float* beta) {
  const int g = (threadIdx.x & 31) / 4, c = threadIdx.x & 3;
  const float row_sum[2] = {sum[16 * m + g], sum[16 * m + g + 8]}, row_beta[2] = {asks ? 1.0f : beta[16 * m + g], asks ? 1.0f : beta[16 * m + g + 8]};
#pragma unroll
  for (int t = 0; t < 2; t++) {
    const float2 column_sum = *reinterpret_cast<const float2*>(sum + 16 * n + 8 * t + 2 * c);
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const int ahead = (16 * m + g + e / 2 * 8) - (16 * n + 8 * t + 2 * c + e % 2);
      const float factor = quick_exp2(row_sum[e / 2] - (e % 2 ? column_sum.y : column_sum.x)) * row_beta[e / 2];
      v[t][e] = ahead >= (asks ? 0 : 1) ? gram[2 * n + t][e] * factor : 0.0f;
    }
  }
}

// Warps 0 to 3: 16 rows of k k^T each; warps 4 to 7: of q k^T, and the queries as operands.
__device__ __forceinline__ void products(const Shared& s, float (&gram)[8][4], uint16_t* queries) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, m = warp % 4;
  const bool asks = warp >= 4;
#pragma unroll
  for (int k = 0; k < kDim / 16; k++) {
    uint32_t own[4];
    load_a<kDim * 2>(own, shared_address(asks ? s.queries : s.keys), 16 * m, 16 * k);
    if (asks) reinterpret_cast<uint4*>(queries)[(m * (kDim / 16) + k) * 32 + lane] = {own[0], own[1], own[2], own[3]};
#pragma unroll
    for (int n = 0; n < 4; n++)
      if (n <= m) {
        uint32_t b[4];
        load_b<kDim * 2>(b, shared_address(s.keys), 16 * n, 16 * k);
        multiply(gram[2 * n], own, b[0], b[1]);
        multiply(gram[2 * n + 1], own, b[2], b[3]);
      }
  }
}

__global__ void __launch_bounds__(32 * kWarps, 2) prepare(const DeltaChunkArgs a) {
  extern __shared__ __align__(128) uint8_t memory[];
  __shared__ float sums[kMaxKeyShares][kRows], betas[kMaxKeyShares][kRows];
  Shared& s = *reinterpret_cast<Shared*>(memory);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane / 4, c = lane % 4, chunk = blockIdx.x, key_head = blockIdx.y;
  const int repeats = a.delta.n_value_heads / a.delta.n_key_heads, channels = (2 * a.delta.n_key_heads + a.delta.n_value_heads) * kDim;
  let_next_start();
  const Place at = place_of(a.delta, chunk);
  wait_for_input();
  if (at.rows == 0) return;
  if (key_head >= a.delta.n_key_heads) {
    const int head = key_head - a.delta.n_key_heads;
    return keep_values(a, at, s.key_inputs, channels, head, values_at(a, chunk, head));
  }
  const int key_channel = (a.delta.n_key_heads + key_head) * kDim, query_channel = key_head * kDim;
  fetch(a.delta, at, channels, key_channel, s.key_inputs);
  fetch(a.delta, at, channels, query_channel, s.query_inputs);
  for (int i = warp; i < repeats; i += kWarps) gates(a, at, value_head(a.delta, key_head, i), sums[i], betas[i], gates_at(a, chunk, value_head(a.delta, key_head, i)));
  asm volatile("cp.async.wait_group 1;");
  __syncthreads();
  unit_rows(a.delta, at, s.key_inputs, channels, key_channel, s.keys);
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  unit_rows(a.delta, at, s.query_inputs, channels, query_channel, s.queries);
  __syncthreads();
  uint4* keys = reinterpret_cast<uint4*>(keys_at(a, chunk, key_head));
  for (int i = threadIdx.x; i < kRows * kDim / 8; i += blockDim.x) keys[i] = reinterpret_cast<const uint4*>(s.keys)[i];
  float gram[8][4] = {};
  products(s, gram, queries_at(a, chunk, key_head));
  const int m = warp % 4;
  for (int first = 0; first < repeats; first += 2) {
    const int n_heads = min(2, repeats - first);
    for (int i = 0; i < n_heads; i++) {
      uint4* const weights = reinterpret_cast<uint4*>(weights_at(a, chunk, value_head(a.delta, key_head, first + i)));
#pragma unroll
      for (int n = 0; n < 4; n++) {
        if (n > m) continue;
        float v[2][4];
        decayed(v, gram, m, n, warp >= 4, sums[first + i], betas[first + i]);
        if (warp >= 4) {
          weights[(m * 4 + n) * 32 + lane] = {pack(v[0][0], v[0][1]), pack(v[0][2], v[0][3]), pack(v[1][0], v[1][1]), pack(v[1][2], v[1][3])};
        } else {
#pragma unroll
          for (int t = 0; t < 2; t++)
#pragma unroll
            for (int e = 0; e < 4; e += 2) *reinterpret_cast<float2*>(&s.triangles[i].a[16 * m + g + e / 2 * 8][16 * n + 8 * t + 2 * c]) = {v[t][e], v[t][e + 1]};
        }
      }
    }
    __syncthreads();
    if (warp / 4 < n_heads) invert_block(s.triangles[warp / 4], m);
    __syncthreads();
    if (warp / 4 < n_heads) invert_column(s.triangles[warp / 4], m, s.inverses[warp / 4]);
    __syncthreads();
    for (int i = 0; i < n_heads; i++) {
      uint4* const to = reinterpret_cast<uint4*>(inverses_at(a, chunk, value_head(a.delta, key_head, first + i)));
      for (int t = threadIdx.x; t < kRows * kRows / 8; t += blockDim.x) to[t] = reinterpret_cast<const uint4*>(s.inverses[i])[t];
    }
  }
}

}  // namespace

const void* prepare_kernel() { return reinterpret_cast<const void*>(prepare); }

}  // namespace cuda::chunk
