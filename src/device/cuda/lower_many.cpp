// lower_many: products of many rows: activations become halves once, by whoever makes them, and go through tensor cores in tiles.
#include "device/cuda/floats.h"
#include "device/cuda/gemm.h"
#include "device/cuda/halves.h"
#include "device/cuda/lower.h"

namespace cuda {
namespace {

// Products of gates may leave the range of halves: they are kept as 1 / 16 of what they are.
constexpr float kGatedUnit = 16;

GemmDevice gemm_device(const Limits& l) { return {l.capability, l.multiprocessors, static_cast<int32_t>(l.most_shared)}; }

}  // namespace

bool Lowering::many(int64_t rows) const { return !p_.limits.exact && rows > p_.limits.few_rows; }

bool Lowering::takes_halves(const Op& op, const float* x) const {
  const auto* linear = std::get_if<LinearOp>(&op);
  const auto* experts = std::get_if<ExpertsOp>(&op);
  return (linear && linear->x == x && many(linear->rows) && linear->w->form == DeviceMatrix::Form::strips) || (experts && experts->x == x && many(experts->routes.rows));
}

// Whether all who read a tensor take it as halves.
bool Lowering::only_as_halves(const float* x) const {
  if (!whole_ || x == result_) return false;
  int readers = 0;
  for (const Node& n : nodes_) {
    if (!reads(n.op, x)) continue;
    if (!takes_halves(n.op, x)) return false;
    readers++;
  }
  return readers > 0;
}

Halves Lowering::fresh_halves(int64_t rows, int64_t cols) {
  Halves h;
  h.rows = static_cast<int32_t>(rows), h.padded_rows = (h.rows + 7) / 8 * 8, h.cols = static_cast<int32_t>(cols);
  h.data = p_.arena.array<uint16_t>(int64_t{h.padded_rows} * ((cols + 63) / 64 * 64));
  return h;
}
Halves Lowering::promise_halves(const float* x, int64_t rows, int64_t cols, float unit) {
  halves_.push_back({x, fresh_halves(rows, cols), unit});
  return halves_.back().halves;
}

Halves Lowering::halves_of(const float* x, int64_t rows, int64_t cols, float* unit) {
  for (const HalvesOf& h : halves_)
    if (h.x == x) return *unit = h.unit, h.halves;
  *unit = 1;
  demand(x);
  const Halves to = promise_halves(x, rows, cols);
  p_.recording.push("halves", halves_kernel(), dim3(static_cast<unsigned>(to.padded_rows / 8), ceil_div(cols, 64)), kHalvesThreads, 0, HalvesArgs{x, nullptr, to.cols, 0, to, HalvesOp::plain});
  return to;
}

// A norm, with what is wanted of it.
void Lowering::many_norm(const NormOp& op) {
  const bool halves = std::ranges::any_of(nodes_, [&](const Node& n) { return takes_halves(n.op, op.y); });
  if (!halves || op.n > kJoinWidest) return (void)p_.recording.push("norm", norm_kernel(), dim3(static_cast<unsigned>(op.rows)), 256, 0, NormArgs{op.x, op.gain, op.y, op.n, op.eps});
  JoinArgs a{};
  a.a = op.x, a.gain = op.gain, a.n = op.n, a.eps = op.eps, a.norm = true;
  a.halves = promise_halves(op.y, op.rows, op.n), a.y = only_as_halves(op.y) ? nullptr : op.y;
  p_.recording.push("norm", join_kernel(), dim3(static_cast<unsigned>(op.rows)), kJoinThreads, 0, a);
}

void Lowering::many_gate(const ElementwiseOp& op) {
  const Halves to = promise_halves(op.y, op.rows, op.n);
  const HalvesOp kind = op.op == Elementwise::sigmoid_gate ? HalvesOp::sigmoid_gate : op.op == Elementwise::gate_gelu ? HalvesOp::gate_gelu : HalvesOp::gate_silu;
  const auto n = static_cast<int32_t>(op.n);
  p_.recording.push("gate", halves_kernel(), dim3(static_cast<unsigned>(to.padded_rows / 8), ceil_div(op.n, 64)), kHalvesThreads, 0, HalvesArgs{op.a, op.b, n, n, to, kind});
}

void Lowering::push_gemm(const char* name, const GemmLaunch& launch, const GemmArgs& args) {
  if (!launch.kernel) return refuse("a matrix without a kernel for many rows");
  p_.recording.push(name, launch.kernel, dim3(launch.blocks), static_cast<int>(launch.threads), launch.shared_bytes, args);
}

void Lowering::many_floats(const LinearOp& op, std::span<Node* const> group) {
  FloatsArgs a{};
  demand(op.x);
  a.x = op.x, a.rows = op.rows, a.cols = op.w->cols;
  for (Node* node : group) {
    const LinearOp& one = std::get<LinearOp>(node->op);
    node->standing = Standing::done;
    a.targets[a.n_targets++] = {one.w->floats(), one.bias, one.y, one.w->rows, a.n_outs};
    a.n_outs += one.w->rows;
  }
  p_.recording.push("floats", floats_kernel(), dim3(ceil_div(a.n_outs, kFloatsTileOuts), ceil_div(a.rows, kFloatsTileRows)), kFloatsThreads, 0, a);
}

void Lowering::many_linear(const LinearOp& op, std::span<Node* const> group, const ElementwiseOp* gate) {
  GemmArgs a{};
  Strips w[kGemmMatrices];
  size_t n = 0;
  const float* residual = nullptr;
  for (Node* node : group) {
    const LinearOp& one = std::get<LinearOp>(node->op);
    node->standing = Standing::done;
    w[n] = one.w->strips;
    float* y = one.y;
    if (group.size() == 1)
      if (float* sum = fold_addition(y, &residual); sum) y = sum;
    a.matrices[n] = gemm_matrix(w[n], y, one.w->rows, one.bias, residual);
    n++;
  }
  if (gate) {
    a.activation = gate->op == Elementwise::gate_gelu ? Activation::gelu_tanh : Activation::silu;
    serve(gate);
    a.hidden = promise_halves(gate->y, op.rows, gate->n, kGatedUnit);
    a.matrices[1].scale /= kGatedUnit;
  }
  float unit = 1;
  a.x = halves_of(op.x, op.rows, op.w->cols, &unit);
  for (size_t i = 0; i < n; i++) a.matrices[i].scale *= unit;
  const GemmLaunch launch = plan_gemm(gemm_device(p_.limits), {w, n}, gate != nullptr, op.rows, a);
  push_gemm("linear", launch, a);
}

void Lowering::many_experts(ExpertsOp& op, const RouteOp& route) {
  const int32_t rows = op.routes.rows, top_k = op.routes.top_k, entries = rows * top_k, n_experts = route.n_experts, sorted = sorted_rows(entries, n_experts);
  if (n_experts > kSortExperts) return refuse("more than 1024 experts");
  demand(route.scores);
  p_.recording.push("route", route_kernel(n_experts), dim3(static_cast<unsigned>(rows)), 32, 0, RouteArgs{route.scores, route.routes.experts, route.routes.weights, n_experts, top_k, route.renormalise});
  const GemmDevice device = gemm_device(p_.limits);
  GemmArgs up{}, down{};
  const GemmLaunch up_launch = plan_grouped_gemm(device, op.gate->strips, true, entries, n_experts, up), down_launch = plan_grouped_gemm(device, op.down->strips, false, entries, n_experts, down);
  SortArgs sort{};
  sort.experts = route.routes.experts;
  sort.entries = entries, sort.n_experts = n_experts, sort.chunks = sort_chunks(entries), sort.tile_rows = up.tile_rows, sort.sorted_rows = sorted;
  sort.counts = p_.arena.array<int32_t>(int64_t{sort.chunks} * n_experts);
  sort.to = {p_.arena.array<int32_t>(sorted), p_.arena.array<int32_t>(entries), p_.arena.array<GemmTile>(most_tiles(entries, n_experts, sort.tile_rows)), p_.arena.array<int32_t>(1)};
  p_.recording.push("sort", sort_count_kernel(), dim3(static_cast<unsigned>(sort.chunks)), kSortThreads, 0, sort);
  p_.recording.push("sort", sort_place_kernel(), dim3(static_cast<unsigned>(sort.chunks)), kSortThreads, 0, sort);
  GatherArgs gather{};
  float unit = 1;
  gather.x = halves_of(op.x, rows, op.gate->cols, &unit), gather.to = fresh_halves(sorted, op.gate->cols), gather.source = sort.to.source, gather.top_k = top_k;
  p_.recording.push("gather", gather_kernel(), dim3(static_cast<unsigned>(sorted / 8)), kGatherThreads, 0, gather);
  up.matrices[0] = gemm_matrix(op.gate->strips, nullptr, 0), up.matrices[1] = gemm_matrix(op.up->strips, nullptr, 0);
  up.matrices[0].scale *= unit, up.matrices[1].scale *= unit / kGatedUnit;
  up.x = gather.to, up.hidden = fresh_halves(sorted, op.gate->rows), up.tiles = sort.to.tiles, up.n_tiles = sort.to.n_tiles, up.activation = op.activation;
  push_gemm("experts up", up_launch, up);
  const int32_t hidden = op.down->rows, stride = (hidden + 7) / 8 * 8;
  down.matrices[0] = gemm_matrix(op.down->strips, nullptr, stride);
  down.matrices[0].scale *= kGatedUnit;
  down.x = up.hidden, down.halves = p_.arena.array<uint16_t>(int64_t{sorted} * stride), down.tiles = sort.to.tiles, down.n_tiles = sort.to.n_tiles;
  push_gemm("experts down", down_launch, down);
  // The choices' sum, with the shared expert and the residual when that is all that becomes of it.
  JoinArgs join{};
  join.experts = down.halves, join.position = sort.to.position, join.weights = route.routes.weights;
  join.top_k = top_k, join.stride = stride, join.n = hidden, join.sum = op.y;
  if (hidden > kJoinWidest) return refuse("experts with more than 8192 outputs");
  const float* y = op.y;
  if (AddOp* both = waiting_reader<AddOp>(op.y); both && both->g && both->a == op.y && ready(both->b) && ready(both->g)) {
    join.b = both->b, join.b_gate = both->g, y = join.sum = both->y;
    serve(both);
  }
  if (float* sum = fold_addition(y, &join.c); sum) join.sum = sum;
  p_.recording.push("experts sum", join_kernel(), dim3(static_cast<unsigned>(rows)), kJoinThreads, 0, join);
}

}  // namespace cuda
