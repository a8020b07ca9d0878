// linear_ops: recorded operations around weight matrices: quantising activations, projections.
#pragma once
#include <algorithm>
#include "device/cpu/step.h"

namespace cpu {

// Rows of activations in every form some kernel wants; forms nobody asked for are null.
struct Inputs {
  const float* x = nullptr;
  int64_t rows = 0, cols = 0;
  struct Quantised {
    int8_t *q = nullptr, *q_low = nullptr;
    float* scale = nullptr;
    int32_t* isum = nullptr;
    float* sum = nullptr;
    int64_t groups = 0;
  } form[2][kVariants];   // of 8 bits, of 16; by Variant
  const Quantised& form_of(const PackedMatrix& w) const { return form[w.fine][static_cast<int>(w.variant())]; }
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
void prefetch_tiles(const PackedMatrix& m, int64_t expert, int64_t first, int64_t n);  // as far as kernels prefetch by themselves
LinearFn kernel_of(const Kernels& k, const PackedMatrix& w, bool exact);

// y = x W^T (+ bias) for up to kMaxLinears matrices that share an input.
constexpr int kMaxLinears = 8;
struct LinearTarget { const PackedMatrix* w; float* y; const float* bias; };
void record_linears(Step& step, const Inputs& in, std::span<const LinearTarget> targets, bool exact_everywhere);

constexpr int64_t kPanelRows = 128;   // rows whose quantised activations stay in the second-level cache beside a few tiles
constexpr int64_t kDecodeRows = 8;    // below this a step is bound by reading weights: each member reads one contiguous stretch of them

// n items for a step that waits for memory: each member begins with a contiguous stretch of its own; the second half is handed out in
// pieces that grow smaller, so that nobody waits long for a member that was slowed down or lost its core for a while.
struct Stretches {
  int64_t n = 0, tail = 0, least = 1;  // least: items of the smallest piece; a shorter one would mostly wait for its first bytes
  int members = 1;
  Stretches() = default;
  Stretches(int64_t items, int n_members, int64_t least_items) : n(items), tail(items - items / n_members * n_members), members(n_members) {
    least = std::clamp<int64_t>(items / (8 * n_members), 1, least_items);
    if (n_members > 1 && items >= 4 * n_members) tail = items - items / 2 / n_members * n_members;
  }
  std::pair<int64_t, int64_t> own(const Worker& w) const { return w.share(n - tail); }
  std::pair<int64_t, int64_t> take(const Counter& counter) const {
    int64_t i = counter.take(), left = tail;
    for (;;) {  // rounds of one piece a member
      const int64_t size = left / (2 * members);
      if (size <= least) return {std::min(n - left + i * least, n), std::min(n - left + (i + 1) * least, n)};
      if (i < members) return {n - left + i * size, n - left + (i + 1) * size};
      i -= members;
      left -= members * size;
    }
  }
  // f(begin, end) for every piece; soon(begin, end) a piece earlier, to prefetch.
  template <class F, class G> void run(const Worker& w, const Counter& counter, F&& f, G&& soon) const {
    const auto [begin, end] = own(w);
    if (begin < end) f(begin, end);
    if (tail == 0) return;
    for (auto piece = take(counter); piece.first < n;) {
      const bool large = piece.second - piece.first > least;  // near the end nobody claims what he cannot begin
      auto next = piece;
      if (large && (next = take(counter)).first < n) soon(next.first, next.second);
      f(piece.first, piece.second);
      piece = large ? next : take(counter);
    }
  }
};

}  // namespace cpu
