// sample: from rows of logits to ids without the host: what engine/sampler.h defines for temperature, top-k, top-p and min-p.
//
// The same order and the same cuts, with sums of integers instead of doubles: a weight exp((logit - best) / temperature) counts as
// round(2^40 weight). Integers add up to the same in any order, so an id depends on its row and its spec only; and the id differs from the
// host's only where a cumulative sum is within some 1e-7 of what it is compared with.
//
// A row is cut into chunks, a block each. Three launches, of which rows that take the largest logit need the first only:
//   peaks   the largest logit of each chunk, lowest id on ties
//   weigh   where order matters (top-k, top-p): the mass of each of kSampleBins equal intervals of logits below the best; its last block finds
//           the few bins in which the cuts and the draw lie. Elsewhere the mass of each chunk
//   draw    lists what lies in those bins; its last block sorts the list and draws. Elsewhere the chunk in which the draw lies finds it by id
#pragma once
#include <cstddef>
#include <cstdint>
#include "device/device.h"

namespace cuda {

inline constexpr int kSampleThreads = 256, kSampleChunk = 2048, kSampleBins = 2048, kSampleList = 2048;

// Where ids go: on the device, for the next step; and to pinned memory of the host, for whoever waits for the step.
struct SampledIds {
  int32_t* on_device = nullptr;
  int32_t* on_host = nullptr;        // as the device sees it: two steps' worth, `stride` apart
  const int32_t* which = nullptr;    // in the step's tables: 0 or 1
  int64_t stride = 0;
};

struct SampleArgs {
  const float* logits = nullptr;     // [rows, width]
  int64_t width = 0;
  const SampleSpec* specs = nullptr; // [n], in the step's tables
  std::byte* scratch = nullptr;      // n * sample_scratch_bytes(width)
  uint32_t* turns = nullptr;         // [n] of the device's own: 0 between launches
  SampledIds ids;
  int32_t n_chunks = 0, unused = 0;  // unused: no byte is left undefined, see Recording
};

constexpr int32_t sample_chunks(int64_t width) { return static_cast<int32_t>((width + kSampleChunk - 1) / kSampleChunk); }
size_t sample_scratch_bytes(int64_t width);  // of one row; a multiple of 256
constexpr bool takes_largest(const SampleSpec& s) { return s.temperature <= 0 || s.top_k == 1; }

// All three: grid (n_chunks, n), kSampleThreads threads, no dynamic shared memory.
const void* sample_peaks_kernel();
const void* sample_weigh_kernel();
const void* sample_draw_kernel();

}  // namespace cuda
