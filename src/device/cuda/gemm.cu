// gemm: which kernel multiplies a kind of matrix, and how many rows and stages its tiles have on this GPU.
#include "device/cuda/gemm.h"
#include <algorithm>
#include "device/cuda/gemm_mma.cuh"
#include "device/cuda/gemm_hopper.cuh"

namespace cuda {

template <Codes C, Scales S, int G> const void* gemm_of(bool pair, bool hopper);

const void* gemm_kernel(const StripLayout& layout, bool pair, bool hopper) {
  return for_kind<const void*>(layout, [&](auto kind) { return gemm_of<kind.codes, kind.scales, kind.groups>(pair, hopper); });
}

namespace {

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
bool is_hopper(const GemmDevice& device) { return device.capability == 90; }
int slots_of(const GemmDevice& device) { return is_hopper(device) ? 4 * kHopperGroups : kMmaStrips; }

// Time of one tile over 64 inputs, in cycles of a multiprocessor: products, or where there are few rows dequantising and barriers.
int tile_cycles(int tile_rows) { return std::max(8 * tile_rows, 400) + 80; }

GemmLaunch finish_plan(const GemmDevice& device, const Strips& w, bool pair, int64_t row_tiles, GemmArgs& args) {
  const bool hopper = is_hopper(device);
  const int slots = slots_of(device), outs = pair ? slots / 2 : slots;
  args.blocks = w.blocks, args.offset = w.layout.offset;
  args.out_tiles = ceil_div(args.strips, outs);
  const int bytes = args.tile_rows * 128 + (slots * block_bytes(w.layout.codes, w.layout.scales, w.layout.groups) + 127) / 128 * 128, shared = device.shared_bytes - 1024;
  // Short copies are slow: as many blocks a stage as leave four stages.
  args.depth = hopper ? std::clamp(shared / (4 * bytes), 1, std::min(kGemmDepth, args.blocks)) : 1;
  args.stage_bytes = args.depth * bytes;
  args.stages = std::min(hopper ? kGemmStages : 4, shared / args.stage_bytes);
  GemmLaunch launch;
  launch.kernel = args.stages < 2 ? nullptr : gemm_kernel(w.layout, pair, hopper);
  const int64_t tiles = row_tiles * args.out_tiles;
  launch.blocks = static_cast<uint32_t>(hopper ? std::min<int64_t>(tiles, device.processors) : tiles);
  launch.threads = hopper ? kHopperThreads<kHopperGroups> : kMmaThreads;
  launch.shared_bytes = static_cast<uint32_t>(args.stages * args.stage_bytes);
  return launch;
}

}  // namespace

GemmMatrix gemm_matrix(const Strips& w, float* y, int32_t stride, const float* bias, const float* residual) {
  // Scales that are multiplied in halves take no larger unit than a half holds. Codes are denormal halves, 2^-24 each, scales are multiplied by 2^15 for it.
  const bool in_halves = w.layout.scales != Scales::bf16_min && w.layout.scales != Scales::f32_min;
  const float unit = in_halves ? std::clamp(w.unit, 1.0f / 32, 32768.0f) : w.unit;
  GemmMatrix m{};
  m.data = w.data, m.strip_bytes = w.strip_bytes, m.expert_bytes = w.expert_bytes;
  m.unit = unit, m.scale = w.layout.codes == Codes::f16 ? w.factor : w.factor / unit * 512;
  m.rows = w.rows, m.stride = stride, m.bias = bias, m.residual = residual, m.y = y;
  return m;
}

GemmLaunch plan_gemm(const GemmDevice& device, std::span<const Strips> w, bool pair, int32_t rows, GemmArgs& args) {
  args.n_matrices = static_cast<int32_t>(w.size()), args.strips = 0;
  for (size_t i = 0; i < w.size(); i++) {
    args.matrices[i].first_strip = args.strips;
    args.strips = pair ? w[0].strips : args.strips + w[i].strips;
  }
  const int out_tiles = ceil_div(args.strips, pair ? slots_of(device) / 2 : slots_of(device));
  int64_t best = INT64_MAX;
  for (int tile_rows = kGemmRows; tile_rows >= 32; tile_rows -= 16) {
    const int64_t tiles = int64_t{out_tiles} * ceil_div(rows, tile_rows), cost = (tiles + device.processors - 1) / device.processors * tile_cycles(tile_rows);
    if (cost < best) best = cost, args.tile_rows = tile_rows;
  }
  return finish_plan(device, w[0], pair, ceil_div(rows, args.tile_rows), args);
}

int32_t grouped_tile_rows(int32_t entries, int32_t n_experts) {
  const int mean = ceil_div(entries, std::max(1, std::min(n_experts, entries)));
  return std::clamp(ceil_div(2 * mean, 16) * 16, 32, kGemmRows);
}

GemmLaunch plan_grouped_gemm(const GemmDevice& device, const Strips& w, bool pair, int32_t entries, int32_t n_experts, GemmArgs& args) {
  args.n_matrices = pair ? 2 : 1, args.strips = w.strips;
  args.tile_rows = grouped_tile_rows(entries, n_experts);
  return finish_plan(device, w, pair, most_tiles(entries, n_experts, args.tile_rows), args);
}

}  // namespace cuda
