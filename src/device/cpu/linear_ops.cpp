// linear_ops: how rows of activations meet tiles of weights. Work is cut by output tiles (and panels of rows), never along the inputs.
#include "device/cpu/linear_ops.h"

#include <algorithm>

namespace cpu {
namespace {

struct Prepare {
  Inputs in;
  bool own;
  void run(const Worker& w) const {
    const Inputs mine = in.at(w);
    const auto [begin, end] = w.part(in.rows, own);
    for (int64_t r = begin; r < end; r++) {
      const float* x = mine.x + r * in.cols;
      mine.quantise(w, r, x, 0, in.cols);
      if (mine.sums) w.kernels->group_sums(x, in.cols, mine.sums + r * sums_per_row(in.cols));
    }
  }
};

// Where in sums_per_row the sums of this matrix's groups begin.
int64_t sums_offset(const PackedMatrix& w) {
  const int64_t c = w.cols;
  return w.layout.group == 16 ? 0 : w.layout.group == 32 ? (c + 15) / 16 : (c + 15) / 16 + (c + 31) / 32;
}

struct Linears {
  Inputs in;
  LinearTarget targets[kMaxLinears];
  int n_targets;
  int64_t tiles;          // of all targets together
  bool exact_everywhere;
  Stretches stretches;    // for few rows
  Counter counter;

  void tile_range(const Worker& w, const Inputs& mine, const LinearTarget& t, int64_t first_tile, int64_t n_tiles, int64_t first_row, int64_t n_rows) const {
    const bool exact = wants_exact(*t.w, exact_everywhere);
    LinearRow rows[kPanelRows];
    for (int64_t i = 0; i < n_rows; i++) {
      rows[i] = mine.row(first_row + i, *t.w, exact);
      rows[i].y = t.y + (first_row + i) * t.w->rows;
    }
    kernel_of(*w.kernels, *t.w, exact)({t.w, 0, first_tile, n_tiles, rows, static_cast<int>(n_rows)});
    if (!t.bias) return;
    const int64_t begin = first_tile * kTileRows, count = std::min((first_tile + n_tiles) * kTileRows, t.w->rows) - begin;
    for (int64_t i = 0; i < n_rows; i++) w.kernels->add(rows[i].y + begin, t.bias + begin, count, rows[i].y + begin);
  }
  // f(target, first tile, number of tiles) for tiles [begin, end) of the targets laid end to end.
  template <class F> void each_target(int64_t begin, int64_t end, F&& f) const {
    for (int i = 0; i < n_targets && begin < end; i++) {
      const int64_t n = targets[i].w->tiles, to = std::min(end, n);
      if (begin < to) f(targets[i], begin, to - begin);
      begin = std::max<int64_t>(begin - n, 0);
      end -= n;
    }
  }
  void run(const Worker& w) const {
    const Inputs mine = in.at(w);
    const auto block = [&](int64_t begin, int64_t end, int64_t first_row, int64_t n_rows) {
      each_target(begin, end, [&](const LinearTarget& t, int64_t first, int64_t n) { tile_range(w, mine, t, first, n, first_row, n_rows); });
    };
    if (in.rows < kDecodeRows) return stretches.run(w, counter, [&](int64_t begin, int64_t end) { block(begin, end, 0, in.rows); }, [&](int64_t begin, int64_t end) { soon(begin, end); });
    const int64_t panels = (in.rows + kPanelRows - 1) / kPanelRows;
    const int64_t chunk = std::clamp<int64_t>(tiles * panels / (4 * w.size), 1, 16), chunks = (tiles + chunk - 1) / chunk;  // at least 4 items a member
    for (int64_t item; (item = counter.take()) < panels * chunks;) {
      const int64_t first_row = item % panels * kPanelRows, begin = item / panels * chunk;
      block(begin, std::min(begin + chunk, tiles), first_row, std::min(kPanelRows, in.rows - first_row));
    }
  }
  void ahead(const Worker& w) const {
    if (in.rows >= kDecodeRows) return;
    const auto [begin, end] = stretches.own(w);
    soon(begin, end);
  }
  void soon(int64_t begin, int64_t end) const {
    each_target(begin, end, [&](const LinearTarget& t, int64_t first, int64_t n) { prefetch_tiles(*t.w, 0, first, n); });
  }
};

}  // namespace

void prefetch_tiles(const PackedMatrix& m, int64_t expert, int64_t first, int64_t n) {
  const char* p = reinterpret_cast<const char*>(m.tile(expert, first));
  const size_t bytes = std::min<size_t>(static_cast<size_t>(n) * m.tile_bytes, kAheadBytes);
  for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(p + at, 0, 2);
}

bool wants_exact(const PackedMatrix& w, bool exact_everywhere) { return exact_everywhere || w.precise || is_float(w.layout.codes); }
LinearFn kernel_of(const Kernels& k, const PackedMatrix& w, bool exact) { return (exact ? k.exact : k.integer)[w.kernel]; }

LinearRow Inputs::row(int64_t r, const PackedMatrix& w, bool exact) const {
  LinearRow row;
  if (exact) {
    row.x = x + r * cols;
    row.sum = sums ? sums + r * sums_per_row(cols) + sums_offset(w) : nullptr;
  } else {
    const Quantised& f = form_of(w);
    row.q = f.q + r * cols;
    row.q_low = f.q_low ? f.q_low + r * cols : nullptr;
    row.scale = f.scale + r * f.groups;
    row.isum = f.isum + r * f.groups;
    row.sum = f.sum + r * f.groups;
  }
  return row;
}

Inputs Inputs::at(const Worker& w) const {
  Inputs mine = *this;
  mine.x = w.at(x);
  mine.sums = w.at(sums);
  for (auto& forms : mine.form)
    for (Quantised& f : forms) f.q = w.at(f.q), f.q_low = w.at(f.q_low), f.scale = w.at(f.scale), f.isum = w.at(f.isum), f.sum = w.at(f.sum);
  return mine;
}

void Inputs::quantise(const Worker& w, int64_t r, const float* values, int64_t first, int64_t count) const {
  for (int i = 0; i < 2 * kVariants; i++) {
    const Quantised& f = form[i / kVariants][i % kVariants];
    if (!f.q) continue;
    const Variant v = static_cast<Variant>(i % kVariants);
    const int64_t group = r * f.groups + first / group_of(v), scale_at = is_wide(v) ? r * f.groups + first / scale_inputs(v) : group;
    w.kernels->quantise({values, count, v, f.q + r * cols + first, f.scale + scale_at, f.isum + group, f.sum + group, f.q_low ? f.q_low + r * cols + first : nullptr});
  }
}

void Inputs::reads(std::vector<Range>& list) const {
  if (x) list.push_back({x, rows * cols});
  if (sums) list.push_back({sums, rows * sums_per_row(cols)});
  for (const auto& forms : form)
    for (const Quantised& f : forms) {
      if (f.q) list.insert(list.end(), {{f.q, rows * cols}, {f.scale, rows * f.groups}, {f.isum, rows * f.groups}, {f.sum, rows * f.groups}});
      if (f.q_low) list.push_back({f.q_low, rows * cols});
    }
}

void take_forms(Step& step, Inputs& in, std::span<const PackedMatrix* const> weights, bool exact_everywhere, bool own) {
  for (const PackedMatrix* w : weights) {
    if (wants_exact(*w, exact_everywhere) || w->variant() == Variant::exact) {
      if (!is_float(w->layout.codes) && !in.sums) in.sums = step.take<float>(in.rows * sums_per_row(in.cols), own);
      continue;
    }
    auto& f = in.form[w->fine][static_cast<int>(w->variant())];
    if (f.q) continue;
    f.groups = in.cols / group_of(w->variant());
    f.q = step.take<int8_t>(in.rows * in.cols + 64, own);
    if (w->fine) f.q_low = step.take<int8_t>(in.rows * in.cols + 64, own);
    f.scale = step.take<float>(in.rows * f.groups, own);
    f.isum = step.take<int32_t>(in.rows * f.groups, own);
    f.sum = step.take<float>(in.rows * f.groups, own);
  }
}

Inputs prepare_inputs(Step& step, const float* x, int64_t rows, int64_t cols, std::span<const PackedMatrix* const> weights, bool exact_everywhere) {
  Inputs in;
  in.x = x;
  in.rows = rows;
  in.cols = cols;
  const bool own = step.is_small(rows * cols);
  take_forms(step, in, weights, exact_everywhere, own);
  Inputs only_forms = in;
  only_forms.x = nullptr;
  auto& forms = step.ranges();
  only_forms.reads(forms);
  if (forms.empty()) return in;  // float weights read x itself
  const Range reads[] = {{x, rows * cols}};
  step.push("quantise", Prepare{in, own}, reads, forms);
  return in;
}

void record_linears(Step& step, const Inputs& in, std::span<const LinearTarget> targets, bool exact_everywhere) {
  Linears op{};
  op.in = in;
  op.exact_everywhere = exact_everywhere;
  Range writes[kMaxLinears];
  for (const LinearTarget& t : targets) {
    writes[op.n_targets] = {t.y, in.rows * t.w->rows};
    op.targets[op.n_targets++] = t;
    op.tiles += t.w->tiles;
  }
  constexpr int64_t kLeastTiles = 4;
  op.stretches = Stretches(op.tiles, step.members(), kLeastTiles);
  auto& reads = step.ranges();
  in.reads(reads);
  step.push("linear", op, reads, {writes, targets.size()});
}

}  // namespace cpu
