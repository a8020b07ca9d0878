// expert_ops: rows are grouped by expert; gate and up leave their product quantised, down adds it to the output where it is computed.
#include "device/cpu/expert_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cpu {
namespace {

// Pairs (row, k) grouped by expert, in row order inside each group.
struct Grouping {
  int32_t* pairs;     // [rows * top_k] row * top_k + k
  int32_t* begin;     // [n_experts + 1]
  int32_t* active;    // experts with at least one pair, ascending
  int32_t* by_size;   // the same, most pairs first: the order in which work is handed out
  int32_t* n_active;
  int64_t n_experts, n_pairs;
  Grouping at(const Worker& w) const { return {w.at(pairs), w.at(begin), w.at(active), w.at(by_size), w.at(n_active), n_experts, n_pairs}; }
  int64_t count(int32_t e) const { return begin[e + 1] - begin[e]; }
};
Grouping take_grouping(Step& step, int64_t n_pairs, int64_t n_experts) {
  const bool own = step.is_small(n_pairs + 4 * n_experts);
  const auto take = [&](int64_t n) { return step.take<int32_t>(n, own); };
  return {take(n_pairs), take(n_experts + 1), take(n_experts), take(n_experts), take(1), n_experts, n_pairs};
}

struct GroupByExpert {
  Routes routes;
  Grouping group;
  bool own;
  void run(const Worker& w) const {
    if (!own && w.member != 0) return;
    const Grouping g = group.at(w);
    const int32_t* experts = w.at(routes.experts);
    std::memset(g.begin, 0, sizeof(int32_t) * static_cast<size_t>(g.n_experts + 1));
    for (int64_t i = 0; i < g.n_pairs; i++) g.begin[experts[i] + 1]++;
    int32_t count = 0;
    for (int64_t e = 0; e < g.n_experts; e++) {
      if (g.begin[e + 1] > 0) g.active[count++] = static_cast<int32_t>(e);
      g.begin[e + 1] += g.begin[e];
    }
    *g.n_active = count;
    for (int64_t i = g.n_pairs; i-- > 0;) g.pairs[--g.begin[experts[i] + 1]] = static_cast<int32_t>(i);
    // The loop above moved each end back to its group's begin, one place to the right of where it belongs.
    std::memmove(g.begin, g.begin + 1, sizeof(int32_t) * static_cast<size_t>(g.n_experts));
    g.begin[g.n_experts] = static_cast<int32_t>(g.n_pairs);
    std::copy(g.active, g.active + count, g.by_size);
    if (!own) std::sort(g.by_size, g.by_size + count, [&](int32_t a, int32_t b) { return std::pair(-g.count(a), a) < std::pair(-g.count(b), b); });
  }
};

// h[pair] = act(gate x) * up x, quantised for down right away (or as floats for exact kernels). Items are (expert, chunk of tiles).
struct GateUp {
  Inputs in, h;                       // rows are tokens; rows are pairs
  Grouping group;
  const PackedMatrix *gate, *up;
  int32_t top_k;
  Activation activation;
  bool exact_everywhere, decode;
  int64_t chunk;                      // tiles; a multiple of 4, so that chunks hold whole groups
  Counter counter;

  void run(const Worker& w) const {
    const Inputs mine = in.at(w);
    const Grouping g = group.at(w);
    const int64_t chunks = (gate->tiles + chunk - 1) / chunk, items = *g.n_active * chunks;
    const auto one = [&](int64_t item) {
      const int32_t expert = g.by_size[item / chunks];
      const int64_t begin = item % chunks * chunk, n_tiles = std::min(chunk, gate->tiles - begin);
      const int64_t most = std::max<int64_t>(16, std::min(kPanelRows, kExpertScratchFloats / (2 * n_tiles * kTileRows) / 16 * 16));
      for (int32_t at = g.begin[expert]; at < g.begin[expert + 1]; at += static_cast<int32_t>(most))
        panel(w, mine, expert, begin, n_tiles, g.pairs + at, std::min<int64_t>(most, g.begin[expert + 1] - at));
    };
    if (!decode) {
      for (int64_t item; (item = counter.take()) < items;) one(item);
      return;
    }
    const auto soon = [&](int64_t begin, int64_t) {
      for (const PackedMatrix* m : {gate, up}) prefetch_tiles(*m, g.by_size[begin / chunks], begin % chunks * chunk, 1);
    };
    const Stretches pieces(items, w.size, 1);  // as many as experts were chosen, which is only known now
    const auto [begin, end] = pieces.own(w);
    for (int64_t item = begin; item < end; item++)
      if (item == begin || item % chunks == 0) soon(item, item + 1);
    const auto all = [&](int64_t first, int64_t last) {
      for (int64_t item = first; item < last; item++) {
        prefetch_tiles(*up, g.by_size[item / chunks], item % chunks * chunk, 1);  // while gate is computed
        one(item);
      }
    };
    pieces.run(w, counter, all, soon);
  }
  void matrix(const Worker& w, const Inputs& mine, const PackedMatrix& m, int64_t expert, int64_t begin, int64_t n_tiles, const int32_t* pairs, int64_t n, float* y) const {
    const bool exact = wants_exact(m, exact_everywhere);
    LinearRow rows[kPanelRows];
    for (int64_t i = 0; i < n; i++) {
      rows[i] = mine.row(pairs[i] / top_k, m, exact);
      rows[i].y = y + i * n_tiles * kTileRows - begin * kTileRows;  // kernels write at the row's place in the whole matrix
    }
    kernel_of(*w.kernels, m, exact)({&m, expert, begin, n_tiles, rows, static_cast<int>(n)});
  }
  void panel(const Worker& w, const Inputs& mine, int64_t expert, int64_t begin, int64_t n_tiles, const int32_t* pairs, int64_t n) const {
    const int64_t width = n_tiles * kTileRows, first = begin * kTileRows, count = std::min(width, gate->rows - first);
    float *g = w.scratch, *u = g + n * width;
    matrix(w, mine, *gate, expert, begin, n_tiles, pairs, n, g);
    matrix(w, mine, *up, expert, begin, n_tiles, pairs, n, u);
    for (int64_t i = 0; i < n; i++) {
      float* y = h.x ? const_cast<float*>(h.x) + pairs[i] * h.cols + first : g + i * width;
      w.kernels->gate(g + i * width, u + i * width, count, activation, y);
      h.quantise(w, pairs[i], y, first, count);
    }
  }
};

// out[row] += weight * down(h[pair]). A member owns output columns and walks the experts in ascending order.
struct Down {
  Inputs h;
  Grouping group;
  Routes routes;
  const PackedMatrix* down;
  float* out;                         // [rows, hidden]
  bool exact_everywhere, decode;
  int64_t chunk;                      // tiles
  Counter counter;

  void run(const Worker& w) const {
    if (decode) {
      const Grouping g = group.at(w);
      const auto soon = [&](int64_t begin, int64_t end) { prefetch_tiles(*down, g.active[0], begin, end - begin); };
      return pieces(w).run(w, counter, [&](int64_t begin, int64_t end) { columns(w, begin, end - begin); }, soon);
    }
    for (int64_t begin; (begin = counter.take(chunk)) < down->tiles;) columns(w, begin, std::min(chunk, down->tiles - begin));
  }
  Stretches pieces(const Worker& w) const { return Stretches(down->tiles, w.size, 8); }
  void columns(const Worker& w, int64_t begin, int64_t n_tiles) const {
    const Inputs mine = h.at(w);
    const Grouping g = group.at(w);
    const float* weights = w.at(routes.weights);
    const int64_t width = n_tiles * kTileRows, first = begin * kTileRows, count = std::min(width, down->rows - first);
    const int64_t most = std::max<int64_t>(1, std::min(kPanelRows, kExpertScratchFloats / width));
    const bool exact = wants_exact(*down, exact_everywhere);
    for (int32_t r = 0; r < routes.rows; r++) std::memset(out + r * down->rows + first, 0, static_cast<size_t>(count) * sizeof(float));
    LinearRow rows[kPanelRows];
    for (int32_t a = 0; a < *g.n_active; a++) {
      const int32_t expert = g.active[a];
      if (a + 1 < *g.n_active) prefetch_tiles(*down, g.active[a + 1], begin, n_tiles);
      for (int64_t at = g.begin[expert]; at < g.begin[expert + 1]; at += most) {
        const int64_t n = std::min<int64_t>(most, g.begin[expert + 1] - at);
        for (int64_t i = 0; i < n; i++) {
          rows[i] = mine.row(g.pairs[at + i], *down, exact);
          rows[i].y = w.scratch + i * width - first;
        }
        kernel_of(*w.kernels, *down, exact)({down, expert, begin, n_tiles, rows, static_cast<int>(n)});
        for (int64_t i = 0; i < n; i++) {
          const int32_t pair = g.pairs[at + i];
          float* y = out + pair / routes.top_k * down->rows + first;
          w.kernels->add_scaled(y, w.scratch + i * width, weights[pair], count, y);
        }
      }
    }
  }
  void ahead(const Worker& w) const {
    if (!decode) return;
    const Grouping g = group.at(w);
    const auto [begin, end] = pieces(w).own(w);
    if (begin < end) prefetch_tiles(*down, g.active[0], begin, end - begin);
  }
};

}  // namespace

void record_experts(Step& step, const Inputs& in, const Routes& routes, const ExpertWeights& weights, float* out, bool exact_everywhere) {
  const int64_t pairs = int64_t{routes.rows} * routes.top_k, n_experts = weights.gate->n_experts;
  const Range chosen[] = {{routes.experts, pairs}, {routes.weights, pairs}};
  const bool decode = routes.rows < kDecodeRows;

  const Grouping group = take_grouping(step, pairs, n_experts);
  const Range grouped[] = {{group.pairs, pairs}, {group.begin, n_experts + 1}, {group.active, n_experts}, {group.by_size, n_experts}, {group.n_active, 1}};
  step.push("group", GroupByExpert{routes, group, step.is_own(group.pairs)}, {chosen, 1}, grouped);

  const PackedMatrix* const second[] = {weights.down};
  Inputs h;
  h.rows = pairs;
  h.cols = weights.down->cols;
  // Quantised where it is computed, unless the chunks of work are smaller than what shares a scale.
  const int64_t scale_tiles = scale_inputs(weights.down->variant()) / kTileRows;
  const int64_t chunk = decode ? 4 : std::clamp<int64_t>(weights.gate->tiles / 2 / scale_tiles * scale_tiles, std::max<int64_t>(4, scale_tiles), 64);
  const bool quantised = !wants_exact(*weights.down, exact_everywhere) && chunk % scale_tiles == 0;
  if (quantised) take_forms(step, h, second, exact_everywhere, false);
  else h.x = step.arena.array<float>(pairs * h.cols);

  auto& reads = step.ranges();
  in.reads(reads);
  reads.insert(reads.end(), std::begin(grouped), std::end(grouped));
  auto& writes = step.more_ranges();
  h.reads(writes);
  step.push("gate+up", GateUp{in, h, group, weights.gate, weights.up, routes.top_k, weights.activation, exact_everywhere, decode, chunk, {}}, reads, writes);
  if (!quantised) h = prepare_inputs(step, h.x, pairs, h.cols, second, exact_everywhere);

  auto& sources = step.ranges();
  h.reads(sources);
  sources.insert(sources.end(), std::begin(grouped), std::end(grouped));
  sources.push_back(chosen[1]);
  const Range result[] = {{out, routes.rows * weights.down->rows}};
  const int64_t columns = std::clamp<int64_t>(weights.down->tiles / (2 * step.members()), 1, 16);
  step.push("down", Down{h, group, routes, weights.down, out, exact_everywhere, decode, columns, {}}, sources, result);
}

void route_row(const Kernels& kernels, const float* scores, int64_t n, int top_k, bool renormalise, float* scratch, int32_t* experts, float* weights) {
  const float sum = kernels.exponentials(scores, n, scratch);
  int found = 0;
  for (int64_t i = 0; i < n; i++) {  // insertion into a short sorted list; strict comparison keeps the lower index first
    if (found == top_k && scores[i] <= scores[experts[top_k - 1]]) continue;
    int at = found;
    while (at > 0 && scores[experts[at - 1]] < scores[i]) at--;
    found = std::min(found + 1, top_k);
    for (int j = found - 1; j > at; j--) experts[j] = experts[j - 1];
    experts[at] = static_cast<int32_t>(i);
  }
  float chosen = 0;
  for (int k = 0; k < top_k; k++) chosen += weights[k] = scratch[experts[k]] / sum;
  if (renormalise)
    for (int k = 0; k < top_k; k++) weights[k] /= chosen;
}

}  // namespace cpu
