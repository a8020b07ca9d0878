// linear_ops: how rows of activations meet tiles of weights. Work is cut by output tiles (and panels of rows), never along the inputs.
#include "device/cpu/linear_ops.h"

#include <algorithm>
#include <cstring>

namespace cpu {
namespace {

constexpr int64_t kPanelRows = 128;  // rows whose quantised activations stay in the second-level cache beside a few tiles

int group_of(int variant) { return 16 << variant; }

struct Prepare {
  Inputs in;
  void run(const Worker& w) const {
    const auto [begin, end] = w.share(in.rows);
    for (int64_t r = begin; r < end; r++) {
      const float* x = in.x + r * in.cols;
      for (int v = 0; v < 6; v++) {
        const auto& f = in.form[v / 3][v % 3];
        if (f.q) w.kernels->quantise({x, in.cols, static_cast<Variant>(v % 3), f.q + r * in.cols, f.scale + r * f.groups, f.isum + r * f.groups, f.sum + r * f.groups, f.q_low ? f.q_low + r * in.cols : nullptr});
      }
      if (in.sums) w.kernels->group_sums(x, in.cols, in.sums + r * sums_per_row(in.cols));
    }
  }
};

// Where in sums_per_row the sums of this matrix's groups begin.
int64_t sums_offset(const PackedMatrix& w) {
  const int64_t c = w.cols;
  return w.layout.group == 16 ? 0 : w.layout.group == 32 ? (c + 15) / 16 : (c + 15) / 16 + (c + 31) / 32;
}

LinearFn kernel_of(const Kernels& k, const PackedMatrix& w, bool exact) { return (exact ? k.exact : k.integer)[w.kernel]; }

struct Linears {
  Inputs in;
  LinearTarget targets[kMaxLinears];
  int n_targets;
  int64_t tiles;          // of all targets together
  bool exact_everywhere;
  Counter counter;

  void tile_range(const Worker& w, const LinearTarget& t, int64_t first_tile, int64_t n_tiles, int64_t first_row, int64_t n_rows) const {
    const bool exact = wants_exact(*t.w, exact_everywhere);
    LinearRow rows[kPanelRows];
    for (int64_t i = 0; i < n_rows; i++) {
      rows[i] = in.row(first_row + i, *t.w, exact);
      rows[i].y = t.y + (first_row + i) * t.w->rows;
    }
    kernel_of(*w.kernels, *t.w, exact)({t.w, 0, first_tile, n_tiles, rows, static_cast<int>(n_rows)});
    if (!t.bias) return;
    const int64_t begin = first_tile * kTileRows, count = std::min((first_tile + n_tiles) * kTileRows, t.w->rows) - begin;
    for (int64_t i = 0; i < n_rows; i++) w.kernels->add(rows[i].y + begin, t.bias + begin, count, rows[i].y + begin);
  }
  // Tiles [begin, end) of the targets laid end to end.
  void tiles_of_targets(const Worker& w, int64_t begin, int64_t end, int64_t first_row, int64_t n_rows) const {
    for (int i = 0; i < n_targets && begin < end; i++) {
      const int64_t n = targets[i].w->tiles, from = std::max<int64_t>(begin, 0), to = std::min(end, n);
      if (from < to) tile_range(w, targets[i], from, to - from, first_row, n_rows);
      begin -= n;
      end -= n;
      begin = std::max<int64_t>(begin, 0);
    }
  }
  void run(const Worker& w) const {
    if (in.rows < 8) {  // decoding: one contiguous stream of weights per member
      const auto [begin, end] = w.share(tiles);
      return tiles_of_targets(w, begin, end, 0, in.rows);
    }
    const int64_t panels = (in.rows + kPanelRows - 1) / kPanelRows;
    const int64_t chunk = std::clamp<int64_t>(tiles * panels / (4 * w.size), 1, 16), chunks = (tiles + chunk - 1) / chunk;  // at least 4 items a member
    for (int64_t item; (item = counter.take()) < panels * chunks;) {
      const int64_t first_row = item % panels * kPanelRows, begin = item / panels * chunk;
      tiles_of_targets(w, begin, std::min(begin + chunk, tiles), first_row, std::min(kPanelRows, in.rows - first_row));
    }
  }
};

// Pairs (row, k) grouped by expert, in row order inside each group.
struct Grouping {
  int32_t* pairs;   // [rows * top_k] row * top_k + k
  int32_t* begin;   // [n_experts + 1]
  int32_t* active;  // experts with at least one pair
  int32_t* n_active;
};
struct GroupByExpert {
  Routes routes;
  Grouping group;
  int64_t n_experts;
  void run(const Worker&) const {
    const int64_t n = int64_t{routes.rows} * routes.top_k;
    std::memset(group.begin, 0, sizeof(int32_t) * static_cast<size_t>(n_experts + 1));
    for (int64_t i = 0; i < n; i++) group.begin[routes.experts[i] + 1]++;
    int32_t count = 0;
    for (int64_t e = 0; e < n_experts; e++) {
      if (group.begin[e + 1] > 0) group.active[count++] = static_cast<int32_t>(e);
      group.begin[e + 1] += group.begin[e];
    }
    *group.n_active = count;
    for (int64_t i = n; i-- > 0;) group.pairs[--group.begin[routes.experts[i] + 1]] = static_cast<int32_t>(i);
    // The loop above moved each end back to its group's begin, one place to the right of where it belongs.
    std::memmove(group.begin, group.begin + 1, sizeof(int32_t) * static_cast<size_t>(n_experts));
    group.begin[n_experts] = static_cast<int32_t>(n);
  }
};

// Gate and up of every chosen expert, with the activation between them; or down. Items are (expert, chunk of tiles).
struct ExpertMatrices {
  Inputs in;                   // rows are tokens for gate/up, pairs for down
  Grouping group;
  const PackedMatrix *first, *second;  // gate and up; or down and null
  float *y, *second_y;         // [pairs, rows of the matrix]
  int32_t top_k;
  Activation activation;
  bool exact_everywhere;
  int64_t chunk;
  Counter counter;

  void run(const Worker& w) const {
    const int64_t chunks = (first->tiles + chunk - 1) / chunk, items = *group.n_active * chunks;
    for (int64_t item; (item = counter.take()) < items;) {
      const int32_t expert = group.active[item / chunks];
      const int64_t begin = item % chunks * chunk, n_tiles = std::min(chunk, first->tiles - begin);
      for (int32_t at = group.begin[expert]; at < group.begin[expert + 1]; at += kPanelRows)
        panel(w, expert, begin, n_tiles, group.pairs + at, std::min<int64_t>(kPanelRows, group.begin[expert + 1] - at));
    }
  }
  void matrix(const Worker& w, const PackedMatrix& m, float* out, int32_t expert, int64_t begin, int64_t n_tiles, const int32_t* pairs, int64_t n) const {
    const bool exact = wants_exact(m, exact_everywhere);
    LinearRow rows[kPanelRows];
    for (int64_t i = 0; i < n; i++) {
      rows[i] = in.row(second ? pairs[i] / top_k : pairs[i], m, exact);
      rows[i].y = out + pairs[i] * m.rows;
    }
    kernel_of(*w.kernels, m, exact)({&m, expert, begin, n_tiles, rows, static_cast<int>(n)});
  }
  void panel(const Worker& w, int32_t expert, int64_t begin, int64_t n_tiles, const int32_t* pairs, int64_t n) const {
    matrix(w, *first, y, expert, begin, n_tiles, pairs, n);
    if (!second) return;
    matrix(w, *second, second_y, expert, begin, n_tiles, pairs, n);
    const int64_t from = begin * kTileRows, count = std::min((begin + n_tiles) * kTileRows, first->rows) - from;
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = pairs[i] * first->rows + from;
      w.kernels->gate(y + at, second_y + at, count, activation, y + at);
    }
  }
};

struct Combine {
  Routes routes;
  const float* parts;  // [pairs, hidden]
  float* out;
  int64_t hidden;
  void run(const Worker& w) const {
    const auto [begin, end] = w.share(routes.rows);
    for (int64_t r = begin; r < end; r++)
      for (int32_t k = 0; k < routes.top_k; k++) {
        const int64_t pair = r * routes.top_k + k;
        w.kernels->add_scaled(k ? out + r * hidden : nullptr, parts + pair * hidden, routes.weights[pair], hidden, out + r * hidden);
      }
  }
};

}  // namespace

bool wants_exact(const PackedMatrix& w, bool exact_everywhere) { return exact_everywhere || w.precise || is_float(w.layout.codes); }

LinearRow Inputs::row(int64_t r, const PackedMatrix& w, bool exact) const {
  LinearRow row;
  if (exact) {
    row.x = x + r * cols;
    row.sum = sums ? sums + r * sums_per_row(cols) + sums_offset(w) : nullptr;
  } else {
    const Quantised& f = form[w.fine][static_cast<int>(w.variant())];
    row.q = f.q + r * cols;
    row.q_low = f.q_low ? f.q_low + r * cols : nullptr;
    row.scale = f.scale + r * f.groups;
    row.isum = f.isum + r * f.groups;
    row.sum = f.sum + r * f.groups;
  }
  return row;
}

Inputs prepare_inputs(Step& step, const float* x, int64_t rows, int64_t cols, std::span<const PackedMatrix* const> weights, bool exact_everywhere) {
  Inputs in;
  in.x = x;
  in.rows = rows;
  in.cols = cols;
  bool any = false;
  for (const PackedMatrix* w : weights) {
    if (wants_exact(*w, exact_everywhere)) {
      if (!is_float(w->layout.codes) && !in.sums) in.sums = step.arena.array<float>(rows * sums_per_row(cols)), any = true;
      continue;
    }
    const int v = static_cast<int>(w->variant());
    auto& f = in.form[w->fine][v];
    if (f.q) continue;
    any = true;
    f.groups = cols / group_of(v);
    f.q = step.arena.array<int8_t>(rows * cols + 64);
    if (w->fine) f.q_low = step.arena.array<int8_t>(rows * cols + 64);
    f.scale = step.arena.array<float>(rows * f.groups);
    f.isum = step.arena.array<int32_t>(rows * f.groups);
    f.sum = step.arena.array<float>(rows * f.groups);
  }
  if (any) step.push(Prepare{in}, rows * cols < kSerialFloats);
  return in;
}

void record_linears(Step& step, const Inputs& in, std::span<const LinearTarget> targets, bool exact_everywhere) {
  Linears op{};
  op.in = in;
  op.exact_everywhere = exact_everywhere;
  for (const LinearTarget& t : targets) {
    op.targets[op.n_targets++] = t;
    op.tiles += t.w->tiles;
  }
  step.push(op, false);
}

void record_experts(Step& step, const float* x, int64_t rows, const Routes& routes, const ExpertWeights& weights, float* out, bool exact_everywhere) {
  const int64_t pairs = rows * routes.top_k, ffn = weights.gate->rows, hidden = weights.down->rows;
  Arena& arena = step.arena;
  const Grouping group{arena.array<int32_t>(pairs), arena.array<int32_t>(weights.gate->n_experts + 1), arena.array<int32_t>(weights.gate->n_experts), arena.array<int32_t>(1)};
  const PackedMatrix* const first[] = {weights.gate, weights.up};
  const PackedMatrix* const second[] = {weights.down};
  step.push(GroupByExpert{routes, group, weights.gate->n_experts}, true);
  const Inputs in = prepare_inputs(step, x, rows, weights.gate->cols, first, exact_everywhere);
  float* h = arena.array<float>(pairs * ffn);
  const auto chunk = [](const PackedMatrix& m) { return std::clamp<int64_t>(m.tiles / 8, 1, 8); };
  step.push(ExpertMatrices{in, group, weights.gate, weights.up, h, arena.array<float>(pairs * ffn), routes.top_k, weights.activation, exact_everywhere, chunk(*weights.gate), {}}, false);
  const Inputs middle = prepare_inputs(step, h, pairs, ffn, second, exact_everywhere);
  float* parts = arena.array<float>(pairs * hidden);
  step.push(ExpertMatrices{middle, group, weights.down, nullptr, parts, nullptr, routes.top_k, weights.activation, exact_everywhere, chunk(*weights.down), {}}, false);
  step.push(Combine{routes, parts, out, hidden}, pairs * hidden < kSerialFloats);
}

}  // namespace cpu
