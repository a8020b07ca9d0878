// ops: the words of models as the encoder writes them down, before it is decided which kernels serve them.
#pragma once
#include <array>
#include <variant>
#include "device/cuda/weights.h"

namespace cuda {

struct EmbedOp { const DeviceMatrix* table; float* y; int32_t rows; float scale; };
struct LinearOp { const float* x; const DeviceMatrix* w; const float* bias; float* y; int32_t rows; };
struct NormOp { const float *x, *gain; float* y; int64_t rows; int32_t n; float eps; };
struct RopeOp { const float* x; float* y; int32_t rows, n_heads, dim, half; const float* inverse_frequencies; float magnitude; bool adjacent; };
struct AppendOp { StateRef state; const float *k, *v; int32_t rows; };
struct AttentionOp { StateRef state; const float* q; float* y; int32_t rows, n_heads; AttentionOptions options; };
struct ElementwiseOp { Elementwise op; const float *a, *b; float* y; int64_t rows, n; float factor; };
struct AddOp { const float *a, *b, *g; float* y; int64_t rows; int32_t n; };  // a + b, or a + b * sigmoid(g of the row)
struct ColumnsOp { const float* x; float* y; int64_t rows, first, count, width; };
struct RowsOp { const float* x; float* y; const int32_t* which; int64_t rows, n; };
struct RouteOp { const float* scores; Routes routes; int32_t n_experts; bool renormalise; };
struct ExpertsOp { const float* x; Routes routes; const DeviceMatrix *gate, *up, *down; float* y; Activation activation; };
struct DeltaOp {
  const float *qkv, *z, *a, *b;
  const float *taps, *neg_exp_a, *dt_bias, *gain;
  float eps;
  DeltaDims dims;
  StateRef state;
  float* y;  // normed and gated
  int32_t rows, n_sequences;
  const float* squares = nullptr;  // y was written but for the division by these (DeltaArgs); its readers divide
};
using Op = std::variant<EmbedOp, LinearOp, NormOp, RopeOp, AppendOp, AttentionOp, ElementwiseOp, AddOp, ColumnsOp, RowsOp, RouteOp, ExpertsOp, DeltaOp>;

// What an op reads of what others wrote; null: nothing.
using Reads = std::array<const void*, 4>;
struct ReadsOf {
  Reads operator()(const EmbedOp&) const { return {}; }
  Reads operator()(const LinearOp& o) const { return {o.x}; }
  Reads operator()(const NormOp& o) const { return {o.x}; }
  Reads operator()(const RopeOp& o) const { return {o.x}; }
  Reads operator()(const AppendOp& o) const { return {o.k, o.v}; }
  Reads operator()(const AttentionOp& o) const { return {o.q}; }
  Reads operator()(const ElementwiseOp& o) const { return {o.a, o.b}; }
  Reads operator()(const AddOp& o) const { return {o.a, o.b, o.g}; }
  Reads operator()(const ColumnsOp& o) const { return {o.x}; }
  Reads operator()(const RowsOp& o) const { return {o.x}; }
  Reads operator()(const RouteOp& o) const { return {o.scores}; }
  Reads operator()(const ExpertsOp& o) const { return {o.x, o.routes.experts}; }
  Reads operator()(const DeltaOp& o) const { return {o.qkv, o.z, o.a, o.b}; }
};
inline Reads reads_of(const Op& op) { return std::visit(ReadsOf{}, op); }
inline bool reads(const Op& op, const void* tensor) {
  for (const void* read : reads_of(op))
    if (read == tensor) return true;
  return false;
}
inline const void* written_by(const Op& op) {
  return std::visit([](const auto& o) -> const void* {
    if constexpr (requires { o.y; }) return o.y;
    else if constexpr (requires { o.routes; o.scores; }) return o.routes.experts;
    else return nullptr;
  }, op);
}

}  // namespace cuda
