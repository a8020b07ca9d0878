// kernels: what the host tells each CUDA kernel, one struct per operation, and which kernel serves it. Pointers are device memory.
#pragma once
#include <cstdint>
#include "device/cpu/packed.h"
#include "device/cuda/strips.h"
#include "device/device.h"

namespace cuda {

using cpu::PackCodes;
using cpu::PackLayout;
using cpu::PackScales;

// A packed matrix (device/cpu/packed.h), or several stacked experts of one shape.
struct Matrix {
  const uint8_t* data = nullptr;
  int64_t tile_bytes = 0, expert_bytes = 0;
  int32_t rows = 0, cols = 0;
  float post_scale = 1;
  PackLayout layout;
};

// One sequence of the step, as kernels read it: what changes from step to step lies in device memory, so that a recorded step can be replayed.
struct SequenceOnDevice { int32_t first_row, n_rows, past, slot, pages; };  // pages: where its page table begins in StepTables::pages
struct StepTables {
  const int32_t *ids, *positions, *row_sequence;
  const SequenceOnDevice* sequences;
  const int32_t* pages;
};

struct EmbedArgs { Matrix table; const int32_t* ids; float* y; float scale; };
struct EmbedStripsArgs { Strips table; const int32_t* ids; float* y; float scale; };
struct LinearArgs { Matrix w; const float* x; const float* bias; float* y; int32_t rows; };
struct NormArgs { const float *x, *gain; float* y; int32_t n; float eps; };
struct AddArgs { const float *a, *b, *g; float* y; int32_t n; };  // y = a + b, or a + b * sigmoid(g of the row)
struct RopeArgs { const float* x; float* y; StepTables step; const float* inverse_frequencies; int32_t n_heads, dim, half; float magnitude; bool adjacent; };
struct CacheOnDevice { void *keys, *values; int32_t page_tokens, n_kv_heads, key_dim, value_dim; };  // [page][token][kv head][dim]
struct AppendArgs { CacheOnDevice cache; const float *k, *v; StepTables step; };
struct AttentionArgs {
  CacheOnDevice cache;
  const float* q;
  float *y, *partials;   // partials: [rows, heads, splits, value_dim + 2]
  StepTables step;
  int32_t n_heads, n_splits, window, rows;
  float scale;
  bool causal;
};
enum class Elementwise : uint8_t { gate_silu, gate_gelu, sigmoid_gate, scale, softcap, copy };
struct ElementwiseArgs { const float *a, *b; float* y; int64_t n; float factor; };
struct ColumnsArgs { const float* x; float* y; int64_t first, count, width; };
struct RowsArgs { const float* x; float* y; const int32_t* which; int64_t n; };
struct RouteArgs { const float* scores; int32_t* experts; float* weights; int32_t n, top_k; bool renormalise; };
struct ExpertArgs {
  Matrix gate, up, down;
  const float* x;
  float *hidden, *y;      // hidden: [rows * top_k, ffn]
  const int32_t* experts;
  const float* weights;
  int32_t rows, top_k;
  Activation activation;
};
struct DeltaArgs {
  const float *qkv, *z, *a, *b, *taps, *neg_exp_a, *dt_bias, *gain;
  float *mixed, *y;       // mixed: [rows, channels], the convolution's result
  float* squares;         // [rows, value heads, kHeadParts] (source.h): with these y is gain * silu(z) * y, and its heads are yet to be divided by their rms
  float *history, *state; // of all slots: [slot][kernel][channels], a ring by position; [slot][value heads][value_dim][key_dim]
  StepTables step;
  int32_t rows, n_sequences, n_key_heads, n_value_heads, key_dim, value_dim, kernel;
  float eps;
  bool tiled;
};

inline constexpr int kDeltaColumns = 32;  // of a head's state that one block carries

// Kernels by what they serve; null when none does. Their only parameter is the struct.
enum class CacheKind : uint8_t { half, int8, f32 };  // int8: see attention.h
const void* embed_kernel();
const void* embed_strips_kernel();
const void* linear_kernel(int32_t rows, int* rows_per_block);  // exact: float32 from packed tiles
const void* norm_kernel();
const void* add_kernel();
const void* rope_kernel();
const void* append_kernel(CacheKind kind);
const void* attention_kernel(CacheKind kind, int32_t widest);  // key or value dim
const void* merge_attention_kernel();
const void* elementwise_kernel(Elementwise op);
const void* columns_kernel();
const void* rows_kernel();
const void* route_kernel(int32_t n);  // null for more than 1024 experts
const void* experts_up_kernel();      // exact
const void* experts_down_kernel();
const void* convolution_kernel();
const void* delta_kernel();
const void* delta_history_kernel();
const void* delta_finish_kernel();

}  // namespace cuda
