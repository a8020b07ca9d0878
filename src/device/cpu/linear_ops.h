// linear_ops: recorded operations around weight matrices: quantising activations, projections.
#pragma once
#include "device/cpu/step.h"

namespace cpu {

// Rows of activations in every form some kernel wants; forms nobody asked for are null.
struct Inputs {
  const float* x = nullptr;
  int64_t rows = 0, cols = 0;
  struct Quantised { int8_t* q = nullptr; float* scale = nullptr; int32_t* isum = nullptr; float* sum = nullptr; int64_t groups = 0; } form[kVariants];
  float* sums = nullptr;  // [rows, sums_per_row(cols)] for exact kernels
  LinearRow row(int64_t r, const PackedMatrix& w, bool exact) const;
  Inputs at(const Worker& w) const;            // with this member's copies of what lies in own memory
  void quantise(const Worker& w, int64_t r, const float* x, int64_t first, int64_t count) const;  // columns [first, first + count) of row r; they begin where scales do
  void reads(std::vector<Range>& list) const;  // the shared memory behind the forms
};

// Takes memory for the forms that these matrices read; a form lies in own memory when `own`.
void take_forms(Step& step, Inputs& in, std::span<const PackedMatrix* const> weights, bool exact_everywhere, bool own);
// Records the preparation of x for these matrices and returns where the forms will be.
Inputs prepare_inputs(Step& step, const float* x, int64_t rows, int64_t cols, std::span<const PackedMatrix* const> weights, bool exact_everywhere);
bool wants_exact(const PackedMatrix& w, bool exact_everywhere);
void prefetch_tiles(const PackedMatrix& m, int64_t expert, int64_t first, int64_t n);  // the first 8 KB
LinearFn kernel_of(const Kernels& k, const PackedMatrix& w, bool exact);

// y = x W^T (+ bias) for up to kMaxLinears matrices that share an input.
constexpr int kMaxLinears = 8;
struct LinearTarget { const PackedMatrix* w; float* y; const float* bias; };
void record_linears(Step& step, const Inputs& in, std::span<const LinearTarget> targets, bool exact_everywhere);

constexpr int64_t kPanelRows = 128;   // rows whose quantised activations stay in the second-level cache beside a few tiles
constexpr int64_t kDecodeRows = 8;    // below this a step is bound by reading weights: each member reads one contiguous stretch of them

// Contiguous stretches of n items for the members, all but a tail that whoever is ready first takes in chunks: a member that loses its
// core for a while must not hold up the others.
struct Stretches {
  int64_t n = 0, tail = 0, chunk = 1;
  Counter counter;
  Stretches() = default;
  Stretches(int64_t items, int members) : n(items), tail(items >= 32 * members ? items / 8 : 0), chunk(std::max<int64_t>(1, tail / (4 * members))) {}
  std::pair<int64_t, int64_t> own(const Worker& w) const { return w.share(n - tail); }
  template <class F> void run(const Worker& w, F&& f) const {  // f(begin, end)
    const auto [begin, end] = own(w);
    if (begin < end) f(begin, end);
    for (int64_t at; tail > 0 && (at = n - tail + counter.take(chunk)) < n;) f(at, std::min(at + chunk, n));
  }
};

}  // namespace cpu
