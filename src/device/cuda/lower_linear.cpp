// lower_linear: products: which matrices share a launch, what is made on the way in and added on the way out.
#include <algorithm>
#include "device/cuda/lower.h"
#include "device/cuda/moe_stage.h"
#include "device/cuda/project.h"

namespace cuda {
namespace {

bool one_kind(const Strips& a, const Strips& b) { return a.layout == b.layout && a.cols == b.cols; }

}  // namespace

// When all that happens to y is that it is added to something that is there already: what, and where the sum goes.
float* Lowering::fold_addition(const float* y, const float** add) {
  AddOp* sum = waiting_reader<AddOp>(y);
  if (!sum || sum->g || sum->a == sum->b) return nullptr;
  const float* other = sum->a == y ? sum->b : sum->a;
  if (!ready(other)) return nullptr;
  // The last sum of a layer overwrites what the layer began with: nobody may still want that.
  const auto still_wanted = [&](const Node& n) {
    if (std::get_if<AddOp>(&n.op) == sum || !reads(n.op, sum->y)) return false;
    return n.standing == Standing::waiting ||
           (n.standing == Standing::deferred && std::ranges::any_of(nodes_, [&](const Node& reader) { return reader.standing == Standing::waiting && reads(reader.op, written_by(n.op)); }));
  };
  if (sum->y == kept_ && std::ranges::any_of(nodes_, still_wanted)) return nullptr;
  *add = other;
  serve(sum);
  return sum->y;
}

void Lowering::linear(Node& first) {
  const LinearOp op = std::get<LinearOp>(first.op);
  if (p_.limits.exact) return exact_linear(op);
  // All products of this input that can share a launch; the first one decides which kind of strips.
  std::vector<Node*> strips, floats;
  const auto take = [&](Node& n) {
    const auto* other = std::get_if<LinearOp>(&n.op);
    if (!other || other->x != op.x || other->rows != op.rows || (&n != &first && !many(op.rows) && feeds_shared_expert(*other))) return;
    if (other->w->form == DeviceMatrix::Form::floats) {
      if (std::ssize(floats) < kMostTargets) floats.push_back(&n);
    } else if (strips.empty() || one_kind(std::get<LinearOp>(strips.front()->op).w->strips, other->w->strips)) {
      if (std::ssize(strips) < kMostTargets) strips.push_back(&n);
    }
  };
  take(first);
  for (Node& n : nodes_)
    if (&n != &first && n.standing == Standing::waiting) take(n);
  // Two of them that only meet in a gate become one.
  const ElementwiseOp* gate = nullptr;
  for (Node* a : strips) {
    const LinearOp& g = std::get<LinearOp>(a->op);
    ElementwiseOp* reader = waiting_reader<ElementwiseOp>(g.y);
    if (!reader || reader->a != g.y || (reader->op != Elementwise::gate_silu && reader->op != Elementwise::gate_gelu)) continue;
    for (Node* b : strips) {
      const LinearOp& u = std::get<LinearOp>(b->op);
      if (b == a || reader->b != u.y || u.w->rows != g.w->rows || !waiting_reader<ElementwiseOp>(u.y) || (floats.empty() && &first != a && &first != b)) continue;
      gate = reader;
      strips = {a, b};
      break;
    }
    if (gate) break;
  }
  if (many(op.rows)) {
    if (!floats.empty()) many_floats(op, floats);
    if (!strips.empty()) many_linear(op, strips, gate);
    return;
  }
  ProjectArgs a{};
  a.source = source_of(op.x, op.w->cols);
  if (!floats.empty() && a.source.kind != SourceKind::plain && a.source.kind != SourceKind::rms) {
    demand(op.x);
    a.source = source_of(op.x, op.w->cols);
  }
  a.cols = op.w->cols, a.rows = op.rows;
  for (Node* n : strips) {
    const LinearOp& one = std::get<LinearOp>(n->op);
    const Strips& w = one.w->strips;
    a.layout = w.layout, a.strip_bytes = w.strip_bytes, a.blocks = w.blocks;
    a.targets[a.n_targets++] = {w.data, one.y, one.bias, nullptr, w.rows, w.rows, a.n_strips, w.factor};
    a.n_strips += w.strips;
    n->standing = Standing::done;
  }
  if (gate) {
    a.pair = true, a.activation = gate->op == Elementwise::gate_gelu ? Activation::gelu_tanh : Activation::silu;
    a.targets[0].y = gate->y;
    serve(gate);
  } else if (strips.size() == 1) {
    const float* add = nullptr;
    if (float* sum = fold_addition(a.targets[0].y, &add); sum) a.targets[0].y = sum, a.targets[0].add = add;
  }
  for (Node* n : floats) {
    const LinearOp& one = std::get<LinearOp>(n->op);
    a.floats[a.n_floats++] = {one.w->floats(), one.bias, one.y, one.w->rows, a.n_float_rows};
    a.n_float_rows += one.w->rows;
    n->standing = Standing::done;
  }
  ProjectShape shape;
  if (strips.empty()) a.layout = {Codes::f16, Scales::none, 0, 0}, a.strip_bytes = 0, a.blocks = 0;
  const void* kernel = shape_project(a, p_.limits.multiprocessors, p_.limits.most_shared, shape) ? project_kernel(a) : nullptr;
  if (!kernel) return refuse("a matrix too wide for this GPU's shared memory");
  p_.recording.push(a.n_floats && a.n_targets ? "linear and floats" : a.n_floats ? "floats" : "linear", kernel, dim3(shape.grid_x, shape.grid_y), 32 * kStageWarps, shape.shared_bytes, a);
}

// Gate and up of the shared expert, left over by defer() as well; down: what reads their product.
bool Lowering::join_shared_expert(const LinearOp& down, ExpertsUpArgs& up) {
  Node* product = writer_of(down.x);
  const ElementwiseOp* gate = product && product->standing == Standing::deferred ? std::get_if<ElementwiseOp>(&product->op) : nullptr;
  if (!gate) return false;
  Node *a = writer_of(gate->a), *b = writer_of(gate->b);
  for (const Node* n : {a, b})
    if (!n || n->standing != Standing::deferred || !std::holds_alternative<LinearOp>(n->op)) return false;
  up.shared_gate = std::get<LinearOp>(a->op).w->strips, up.shared_up = std::get<LinearOp>(b->op).w->strips;
  a->standing = b->standing = product->standing = Standing::done;
  return true;
}

void Lowering::experts(ExpertsOp& op) {
  Node* route_node = writer_of(op.routes.experts);
  const RouteOp* route = route_node ? std::get_if<RouteOp>(&route_node->op) : nullptr;
  if (!route) return refuse("experts without routes");
  if (p_.limits.exact) return exact_experts(op, *route);
  if (op.gate->form != DeviceMatrix::Form::strips || op.up->form != op.gate->form || op.down->form != op.gate->form || !one_kind(op.gate->strips, op.up->strips)) return refuse("experts whose gate and up are of two formats");
  if (many(op.routes.rows)) return many_experts(op, *route);
  if (op.routes.top_k > kMostChoices || route->n_experts > kMostRouted) return refuse("more than 15 experts a row, or more than 512 experts");
  ExpertsUpArgs up{};
  up.source = source_of(op.x, op.gate->cols);
  up.gate = op.gate->strips, up.up = op.up->strips;
  up.routes = {route->scores, route->n_experts, op.routes.top_k, route->n_experts, route->renormalise};
  up.hidden = p_.arena.array<float>(int64_t{op.routes.rows} * (op.routes.top_k + 1) * op.gate->rows);
  up.rows = op.routes.rows, up.activation = op.activation;

  ExpertsDownArgs down{};
  down.down = op.down->strips, down.routes = up.routes, down.hidden = up.hidden, down.rows = up.rows, down.y = op.y;
  down.hidden_stride = int64_t{op.routes.top_k} * op.gate->rows;
  const float* y = op.y;
  // The shared expert's down, left over by defer() for this.
  AddOp* both = waiting_reader<AddOp>(op.y);
  Node* shared = both && both->g && both->a == op.y && ready(both->g) ? writer_of(both->b) : nullptr;
  if (shared && shared->standing == Standing::deferred) {
    const LinearOp& linear = std::get<LinearOp>(shared->op);
    down.shared = linear.w->strips, down.shared_gate = both->g;
    if (join_shared_expert(linear, up)) {
      down.hidden_stride += op.gate->rows, down.shared_stride = down.hidden_stride, down.shared_hidden = up.hidden + int64_t{op.routes.top_k} * op.gate->rows;
    } else {
      demand(linear.x);
      down.shared_hidden = linear.x, down.shared_stride = linear.w->cols;
    }
    y = down.y = both->y;
    shared->standing = Standing::done;
    serve(both);
  }
  if (float* sum = fold_addition(y, &down.add)) down.y = sum;
  const StageShape first = shape_experts_up(up, p_.limits.multiprocessors, p_.limits.most_shared), second = shape_experts_down(down, p_.limits.most_shared);
  if (!first.shared_bytes || !second.shared_bytes) return refuse("experts too wide for this GPU's shared memory");
  p_.recording.push("experts up", experts_up_stage(up), first.grid, first.threads, first.shared_bytes, up);
  p_.recording.push("experts down", experts_down_stage(down), second.grid, second.threads, second.shared_bytes, down);
}

void Lowering::exact_linear(const LinearOp& op) {
  const Matrix& m = op.w->tiles;
  int rows_per_block = 1;
  const void* kernel = linear_kernel(op.rows, &rows_per_block);
  p_.recording.push("linear", kernel, dim3(ceil_div(m.rows, 16), ceil_div(op.rows, rows_per_block)), 256, 0, LinearArgs{m, op.x, op.bias, op.y, op.rows});
}

void Lowering::exact_experts(const ExpertsOp& op, const RouteOp& route) {
  ExpertArgs a{};
  a.gate = op.gate->tiles, a.up = op.up->tiles, a.down = op.down->tiles;
  a.x = op.x, a.experts = route.routes.experts, a.weights = route.routes.weights, a.y = op.y;
  const int64_t entries = int64_t{op.routes.rows} * op.routes.top_k;
  a.hidden = p_.arena.array<float>(entries * a.gate.rows);
  a.rows = op.routes.rows, a.top_k = op.routes.top_k, a.activation = op.activation;
  p_.recording.push("experts up", experts_up_kernel(), dim3(ceil_div(a.gate.rows, 16), static_cast<unsigned>(entries)), 256, 0, a);
  p_.recording.push("experts down", experts_down_kernel(), dim3(ceil_div(a.down.rows, 16), static_cast<unsigned>(a.rows)), 256, static_cast<size_t>(a.top_k) * 16 * sizeof(float), a);
}

}  // namespace cuda
