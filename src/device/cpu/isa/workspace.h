// workspace: one thread's buffers for linear kernels over several rows of activations. Allocated outside the ISA regions, so that no
// library code is compiled there.
#pragma once
#include <cstdint>

namespace cpu {

constexpr int kSlice = 512;                    // inputs worked on at a time: two tiles of them as bytes fit the first-level cache
constexpr int kGroups = kSlice / 16;           // of the smallest kernel group
constexpr int kPassRows = 128, kPassTiles = 16, kPairTiles = 2;

struct Workspace {
  alignas(64) int8_t x[2][kPassRows][kSlice];  // both planes of the activations (the second: the only one where there is but one)
  alignas(64) float scale[kPassRows][kGroups], sum[kPassRows][kGroups];
  alignas(64) int32_t start[kPassRows][kGroups];              // what the integer sum of a group starts from: -offset * isum
  alignas(64) uint8_t w[kPairTiles][kSlice / 4][64];          // quads of the weight tiles, as the dot product wants them
  alignas(64) float w_scale[kPairTiles][kGroups][16], w_min[kPairTiles][kGroups][16];
  alignas(64) float acc[kPassTiles][kPassRows][16];
};
Workspace& workspace();  // this thread's, zeroed at first use

}  // namespace cpu
