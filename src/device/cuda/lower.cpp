// lower: the order of things, and the ops that are one kernel each.
#include "device/cuda/lower.h"

#include <algorithm>

namespace cuda {
namespace {

constexpr int kThreads = 256;

}  // namespace

void Lowering::lower(std::span<const Op> ops, const float* result, float* kept, bool whole) {
  nodes_.clear(), halves_.clear();
  for (const Op& op : ops) nodes_.push_back({op});
  result_ = result, kept_ = nullptr, whole_ = whole;
  if (result) redirect(result, kept);
  for (size_t i = 0; i < nodes_.size(); i++)
    if (nodes_[i].standing == Standing::waiting && !defer(nodes_[i])) run(nodes_[i]);
}

// What writes `result` writes `kept` instead, where nobody else reads it.
void Lowering::redirect(const float* result, float* kept) {
  Node* writer = writer_of(result);
  if (writer && readers_of(result) == 0) {
    const bool moved = std::visit([&](auto& op) {
      if constexpr (requires { op.y = kept; }) return op.y = kept, true;
      return false;
    }, writer->op);
    if (moved) {
      result_ = kept_ = kept;
      return;
    }
  }
  const Op* op = writer ? &writer->op : nullptr;
  const AddOp* sum = op ? std::get_if<AddOp>(op) : nullptr;
  const EmbedOp* embedding = op ? std::get_if<EmbedOp>(op) : nullptr;
  const int64_t rows = sum ? sum->rows : embedding ? embedding->rows : 0, n = sum ? sum->n : embedding ? embedding->table->cols : 0;
  if (rows == 0) return refuse("a layer that does not end in a sum");
  nodes_.push_back({ElementwiseOp{Elementwise::copy, result, nullptr, kept, rows, n, 0}});
}

// `kept` as these ops read it was written before them, though its next value is theirs.
Lowering::Node* Lowering::writer_of(const void* tensor) {
  if (tensor == kept_) return nullptr;
  for (size_t i = nodes_.size(); i-- > 0;)
    if (written_by(nodes_[i].op) == tensor) return &nodes_[i];
  return nullptr;
}
int Lowering::readers_of(const void* tensor) const {
  return static_cast<int>(std::ranges::count_if(nodes_, [&](const Node& n) { return reads(n.op, tensor); }));
}
bool Lowering::ready(const void* tensor) {
  const Node* writer = writer_of(tensor);
  return !writer || writer->standing == Standing::done;
}
StepTables Lowering::tables() const {
  const Tables& t = p_.tables;
  return {t.ids_on_device, t.positions_on_device, t.row_sequence_on_device, t.sequences_on_device, t.pages_on_device};
}

// The shared expert's down goes along with the routed ones, when their shapes agree: with which.
const ExpertsOp* Lowering::goes_with_experts(const LinearOp& op) {
  const AddOp* both = waiting_reader<AddOp>(op.y);
  const Node* routed = both && both->g && both->b == op.y ? writer_of(both->a) : nullptr;
  const ExpertsOp* experts = routed && routed->standing == Standing::waiting ? std::get_if<ExpertsOp>(&routed->op) : nullptr;
  if (!experts || op.bias || op.w->form != DeviceMatrix::Form::strips || experts->down->form != DeviceMatrix::Form::strips || readers_of(both->a) != 1) return nullptr;
  const Strips &a = op.w->strips, &b = experts->down->strips;
  return a.layout == b.layout && a.rows == b.rows && a.cols == b.cols ? experts : nullptr;
}

// So do its gate and up.
bool Lowering::feeds_shared_expert(const LinearOp& op) {
  const ElementwiseOp* gate = waiting_reader<ElementwiseOp>(op.y);
  if (!gate || op.bias || (gate->op != Elementwise::gate_silu && gate->op != Elementwise::gate_gelu)) return false;
  const LinearOp* down = waiting_reader<LinearOp>(gate->y);
  const ExpertsOp* experts = down ? goes_with_experts(*down) : nullptr;
  if (!experts || experts->x != op.x || (experts->activation == Activation::silu) != (gate->op == Elementwise::gate_silu) || op.w->form != DeviceMatrix::Form::strips || experts->gate->form != DeviceMatrix::Form::strips) return false;
  const auto fits = [&](const void* y) {
    const Node* writer = writer_of(y);
    const LinearOp* one = writer ? std::get_if<LinearOp>(&writer->op) : nullptr;
    if (!one || one->x != op.x || one->bias || one->w->form != DeviceMatrix::Form::strips) return false;
    const Strips &a = one->w->strips, &b = experts->gate->strips;
    return a.layout == b.layout && a.rows == b.rows && a.cols == b.cols && readers_of(y) == 1;
  };
  return fits(gate->a) && fits(gate->b);
}

// Whether every reader makes this op's result for itself.
bool Lowering::defer(Node& node) {
  if (p_.limits.exact || !whole_) return false;
  const void* y = written_by(node.op);
  const bool append = std::holds_alternative<AppendOp>(node.op);
  if (!append && (readers_of(y) == 0 || y == result_)) return false;
  const bool defers = std::visit([&](const auto& op) { return can_defer(op); }, node.op);
  if (defers) node.standing = Standing::deferred;
  return defers;
}

// Attention appends what it is about to read.
bool Lowering::can_defer(const AppendOp& op) {
  return std::ranges::any_of(nodes_, [&](const Node& n) {
    const auto* attention = std::get_if<AttentionOp>(&n.op);
    return attention && n.standing == Standing::waiting && attention->state.layer == op.state.layer;
  });
}
bool Lowering::can_defer(const RopeOp& op) {
  return std::ranges::all_of(nodes_, [&](const Node& n) {
    if (!reads(n.op, op.y)) return true;
    const auto* append = std::get_if<AppendOp>(&n.op);
    return std::holds_alternative<AttentionOp>(n.op) || (append && append->k == op.y && can_defer(*append));
  });
}
bool Lowering::can_defer(const RouteOp& op) {
  return std::ranges::all_of(nodes_, [&](const Node& n) { return !reads(n.op, op.routes.experts) || std::holds_alternative<ExpertsOp>(n.op); });
}
// Stages of few rows norm their input themselves, and attention its heads.
bool Lowering::can_defer(const NormOp& op) {
  return std::ranges::all_of(nodes_, [&](const Node& n) {
    if (!reads(n.op, op.y)) return true;
    if (const auto* linear = std::get_if<LinearOp>(&n.op)) return op.n == linear->w->cols && !many(linear->rows);
    if (const auto* experts = std::get_if<ExpertsOp>(&n.op)) return experts->x == op.y && !many(experts->routes.rows);
    if (const auto* rope = std::get_if<RopeOp>(&n.op)) return can_defer(*rope);
    if (const auto* append = std::get_if<AppendOp>(&n.op)) return can_defer(*append);
    return std::holds_alternative<AttentionOp>(n.op);
  });
}
bool Lowering::can_defer(const ElementwiseOp& op) {
  if (op.op != Elementwise::gate_silu && op.op != Elementwise::gate_gelu && op.op != Elementwise::sigmoid_gate) return false;
  return std::ranges::all_of(nodes_, [&](const Node& n) {
    const auto* linear = std::get_if<LinearOp>(&n.op);
    return !reads(n.op, op.y) || (linear && linear->w->form == DeviceMatrix::Form::strips && !many(linear->rows));
  });
}
bool Lowering::can_defer(const LinearOp& op) { return !many(op.rows) && (goes_with_experts(op) || feeds_shared_expert(op)); }

Source Lowering::source_of(const float* x, int32_t cols) {
  Source s;
  s.x = x, s.x_stride = cols;
  const Node* writer = writer_of(x);
  if (!writer || writer->standing != Standing::deferred) return s;
  if (const auto* norm = std::get_if<NormOp>(&writer->op)) {
    s.kind = SourceKind::rms, s.x = norm->x, s.gain = norm->gain, s.eps = norm->eps;
  } else if (const auto* gate = std::get_if<ElementwiseOp>(&writer->op)) {
    s.kind = gate->op == Elementwise::sigmoid_gate ? SourceKind::gated : SourceKind::paired;
    s.activation = gate->op == Elementwise::gate_gelu ? Activation::gelu_tanh : Activation::silu;
    s.x = gate->a, s.g = gate->b, s.g_stride = cols;
  } else if (const auto* delta = std::get_if<DeltaOp>(&writer->op)) {
    s.kind = SourceKind::heads, s.squares = delta->squares, s.head_dim = delta->dims.value_dim, s.eps = delta->eps;
  }
  return s;
}

void Lowering::demand(const void* tensor) {
  Node* writer = writer_of(tensor);
  if (writer && writer->standing == Standing::deferred) run(*writer);
}

void Lowering::run(Node& node) {
  node.standing = Standing::done;
  if (std::holds_alternative<LinearOp>(node.op)) return linear(node);
  if (auto* op = std::get_if<ExpertsOp>(&node.op)) return experts(*op);
  if (auto* op = std::get_if<AttentionOp>(&node.op)) return attention(*op);
  for (const void* read : reads_of(node.op)) demand(read);
  if (std::holds_alternative<DeltaOp>(node.op)) return delta(node);
  std::visit([&](auto& op) {
    if constexpr (requires { (*this)(op); }) (*this)(op);
  }, node.op);
}

void Lowering::operator()(const EmbedOp& op) {
  if (op.table->form == DeviceMatrix::Form::strips) {
    p_.recording.push("embed", embed_strips_kernel(), dim3(ceil_div(op.table->cols, 128), static_cast<unsigned>(op.rows)), 128, 0, EmbedStripsArgs{op.table->strips, p_.tables.ids_on_device, op.y, op.scale});
    return;
  }
  if (op.table->form == DeviceMatrix::Form::floats) return refuse("an embedding table that is marked as sensitive");
  p_.recording.push("embed", embed_kernel(), dim3(ceil_div(op.table->cols, 4 * 128), static_cast<unsigned>(op.rows)), 128, 0, EmbedArgs{op.table->tiles, p_.tables.ids_on_device, op.y, op.scale});
}

void Lowering::operator()(const NormOp& op) {
  if (many(op.rows)) return many_norm(op);
  p_.recording.push("norm", norm_kernel(), dim3(static_cast<unsigned>(op.rows)), kThreads, 0, NormArgs{op.x, op.gain, op.y, op.n, op.eps});
}

void Lowering::operator()(const RopeOp& op) {
  p_.recording.push("rope", rope_kernel(), dim3(static_cast<unsigned>(op.rows)), 512, 2 * static_cast<size_t>(op.half) * sizeof(float),
                    RopeArgs{op.x, op.y, tables(), op.inverse_frequencies, op.n_heads, op.dim, op.half, op.magnitude, op.adjacent});
}

void Lowering::operator()(const AppendOp& op) {
  p_.recording.push("append", append_kernel(p_.state.kind(op.state)), dim3(static_cast<unsigned>(op.rows)), kThreads, 0, AppendArgs{p_.state.cache(op.state), op.k, op.v, tables()});
}

void Lowering::operator()(const ElementwiseOp& op) {
  const bool gate = op.op == Elementwise::gate_silu || op.op == Elementwise::gate_gelu || op.op == Elementwise::sigmoid_gate;
  if (gate && many(op.rows) && only_as_halves(op.y)) return many_gate(op);
  const int64_t n = op.rows * op.n;
  p_.recording.push(op.op == Elementwise::copy ? "copy" : "gate", elementwise_kernel(op.op), dim3(ceil_div(n, kThreads)), kThreads, 0, ElementwiseArgs{op.a, op.b, op.y, n, op.factor});
}

void Lowering::operator()(const AddOp& op) { p_.recording.push("add", add_kernel(), dim3(ceil_div(op.n, kThreads), static_cast<unsigned>(op.rows)), kThreads, 0, AddArgs{op.a, op.b, op.g, op.y, op.n}); }

void Lowering::operator()(const ColumnsOp& op) {
  p_.recording.push("copy", columns_kernel(), dim3(ceil_div(op.count, kThreads), static_cast<unsigned>(op.rows)), kThreads, 0, ColumnsArgs{op.x, op.y, op.first, op.count, op.width});
}

void Lowering::operator()(const RowsOp& op) { p_.recording.push("copy", rows_kernel(), dim3(ceil_div(op.n, kThreads), static_cast<unsigned>(op.rows)), kThreads, 0, RowsArgs{op.x, op.y, op.which, op.n}); }

void Lowering::operator()(const RouteOp& op) {
  p_.recording.push("route", route_kernel(op.n_experts), dim3(static_cast<unsigned>(op.routes.rows)), 32, 0, RouteArgs{op.scores, op.routes.experts, op.routes.weights, op.n_experts, op.routes.top_k, op.renormalise});
}

}  // namespace cuda
