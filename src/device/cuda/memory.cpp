// memory: what decides how a step is recorded: how many rows each sequence has, how far they have come, which rows are wanted, and how ids are drawn.
#include "device/cuda/memory.h"

#include <algorithm>
#include "device/cuda/sample.h"

namespace cuda {
namespace {

// How many blocks attention takes follows the longest context, by tiles of keys that are a multiple of this.
constexpr int32_t kContextStep = 16;

void put_shape(const Batch& b, std::span<const SampleSpec> specs, std::vector<int32_t>& shape) {
  shape = {static_cast<int32_t>(b.ids.size()), static_cast<int32_t>(b.sequences.size()), static_cast<int32_t>(specs.size()), b.hidden, std::ranges::all_of(specs, takes_largest)};
  int32_t longest = 0;
  for (const SequenceRows& s : b.sequences) {
    shape.push_back(s.n_rows);
    if (s.n_rows == 1) longest = std::max(longest, s.past);
  }
  shape.push_back(longest / kContextStep);
  shape.insert(shape.end(), b.logit_rows.begin(), b.logit_rows.end());
}

}  // namespace

StepMemory::Step* StepMemory::find(const Batch& b, std::span<const SampleSpec> specs) {
  if (std::ssize(b.ids) > most_rows) return nullptr;
  put_shape(b, specs, asked_);
  const auto found = std::ranges::find(steps_, asked_, &Step::shape);
  if (found == steps_.end()) return nullptr;
  steps_.splice(steps_.begin(), steps_, found);
  return &steps_.front();
}

void StepMemory::add(const Batch& b, std::span<const SampleSpec> specs, const Recording& recording, std::span<const int32_t> picked, const Tensor& result) {
  if (std::ssize(b.ids) > most_rows) return;
  put_shape(b, specs, asked_);
  steps_.push_front({asked_, recording, {picked.begin(), picked.end()}, result});
  if (steps_.size() > most) steps_.pop_back();
}

}  // namespace cuda
