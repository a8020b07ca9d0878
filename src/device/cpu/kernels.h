// kernels: the table of CPU kernels, one instance per ISA, and the argument structs they share.
#pragma once
#include <cstdint>
#include "device/cpu/packed.h"
#include "device/device.h"

namespace cpu {

// One row of activations as a linear kernel reads it, and where its outputs go. Pointers of the unused kind are null.
struct LinearRow {
  const int8_t* q = nullptr;        // [cols] quantised activations
  const int8_t* q_low = nullptr;    // [cols] or null: with it activations are the 16-bit integers 256 * q + q_low
  const float* scale = nullptr;     // [groups] their scale, repeated per kernel group; in wide forms one per 256 inputs
  const int32_t* isum = nullptr;    // [groups] integer sums of q, or of the 16-bit integers
  const float* sum = nullptr;       // [groups] scale * isum; in wide forms isum; for exact kernels the float sums of x
  const float* x = nullptr;         // [cols] for exact kernels
  float* y = nullptr;               // [rows of the matrix]
};

// y[t][first_row + r] for n_tiles tiles of one expert, starting at tile `first_tile`, for n rows of activations.
struct LinearArgs {
  const PackedMatrix* w = nullptr;
  int64_t expert = 0, first_tile = 0, n_tiles = 0;
  const LinearRow* rows = nullptr;
  int n = 0;
};
using LinearFn = void (*)(const LinearArgs&);
constexpr int kAheadBytes = 4608;  // how far ahead a stream of weights is prefetched

// Every (codes, scales, group) sentence that linear kernels are made for; PackedMatrix::kernel is an index into this list.
struct LinearKind { PackCodes codes; PackScales scales; int group, offset; bool signed_scales; };
#define CALLA_LINEAR_KINDS(X)                                                                                              \
  X(u4, f16, 32, 8, false) X(u4, f16_min, 32, 0, false) X(u5, f16, 32, 16, false) X(u5, f16_min, 32, 0, false)             \
  X(s8, f16, 32, 0, false) X(iq4, f16, 32, 0, false) X(e2m1, e8m0, 32, 0, false) X(e2m1, f16, 16, 0, false)                \
  X(u2, super_min, 16, 0, false) X(u3, super, 16, 4, true) X(u4, super_min, 32, 0, false) X(u5, super_min, 32, 0, false)   \
  X(u6, super, 16, 32, true) X(iq4, super, 32, 0, true)                                                                    \
  X(u2, bf16_min, 32, 0, false) X(u3, bf16_min, 32, 0, false) X(u4, bf16_min, 32, 0, false) X(u5, bf16_min, 32, 0, false)  \
  X(u6, bf16_min, 32, 0, false) X(s8, bf16_min, 32, -128, false)                                                           \
  X(u2, bf16_min, 64, 0, false) X(u3, bf16_min, 64, 0, false) X(u4, bf16_min, 64, 0, false) X(u5, bf16_min, 64, 0, false)  \
  X(u6, bf16_min, 64, 0, false) X(s8, bf16_min, 64, -128, false)                                                           \
  X(u2, f32_min, 32, 0, false) X(u3, f32_min, 32, 0, false) X(u4, f32_min, 32, 0, false) X(u5, f32_min, 32, 0, false)      \
  X(u6, f32_min, 32, 0, false) X(s8, f32_min, 32, -128, false)                                                             \
  X(u2, f32_min, 64, 0, false) X(u3, f32_min, 64, 0, false) X(u4, f32_min, 64, 0, false) X(u5, f32_min, 64, 0, false)      \
  X(u6, f32_min, 64, 0, false) X(s8, f32_min, 64, -128, false)                                                             \
  X(f32, none, 0, 0, false) X(f16, none, 0, 0, false) X(bf16, none, 0, 0, false)
#define CALLA_KIND(c, s, g, o, z) LinearKind{PackCodes::c, PackScales::s, g, o, z},
inline constexpr LinearKind kLinearKinds[] = {CALLA_LINEAR_KINDS(CALLA_KIND)};
#undef CALLA_KIND
inline constexpr int kLinearKindCount = static_cast<int>(std::size(kLinearKinds));

// Group sums of a row for the exact kernels: groups of 16, 32 and 64 one after another.
inline int64_t sums_per_row(int64_t cols) { return (cols + 15) / 16 + (cols + 31) / 32 + (cols + 63) / 64; }

// Quantises one row of x. sum is per kernel group of the variant (16, 32 or 64 inputs); so are scale and isum, but scale is per 256 inputs in wide forms.
struct QuantiseArgs { const float* x; int64_t cols; Variant variant; int8_t* q; float* scale; int32_t* isum; float* sum; int8_t* q_low = nullptr; };

// Keys and values of one layer: [pages, n_kv_heads, page_tokens, dim], so that a head's keys are one run of memory per page.
enum class CacheType : uint8_t { f32, half, int8 };
struct CacheView {
  void* keys = nullptr;
  void* values = nullptr;
  float* key_scales = nullptr;    // int8: what a code is worth, one per row of keys
  float* value_scales = nullptr;
  CacheType type = CacheType::f32;
  int32_t page_tokens = 0, n_kv_heads = 0, key_dim = 0, value_dim = 0;
  static int64_t width(CacheType t) { return t == CacheType::f32 ? 4 : t == CacheType::half ? 2 : 1; }
  int64_t key_bytes() const { return key_dim * width(type); }
  int64_t value_bytes() const { return value_dim * width(type); }
  // Row of the token with this index.
  int64_t at(const int32_t* pages, int32_t index, int32_t head) const {
    return (int64_t{pages[index / page_tokens]} * n_kv_heads + head) * page_tokens + index % page_tokens;
  }
};
// Attention of queries that share one key/value head: q and out rows are heads [n][dim] at the given strides.
struct AttentionArgs {
  const CacheView* cache = nullptr;
  const int32_t* pages = nullptr;
  int32_t kv_head = 0;
  const float* q = nullptr;          // first query head of the first row
  float* out = nullptr;
  float* partial = nullptr;          // [queries][partial_floats]: where a split's result goes instead of `out`
  int64_t q_row_stride = 0, out_row_stride = 0;
  int32_t n_rows = 0, heads = 0;     // heads per kv head; rows are consecutive indices from `index`
  int32_t index = 0;                 // index of the first row in its sequence
  int32_t length = 0;                // keys present (for non-causal attention)
  int32_t first_key = 0, last_key = INT32_MAX;  // only keys of [first_key, last_key), multiples of kAttentionSplit
  float scale = 1;
  int32_t window = 0;
  bool causal = true;
  float* scratch = nullptr;          // attention_scratch_floats()
};
// Keys per softmax block and per split; queries per pass over the keys; up to how many of them keys are not transposed for.
constexpr int kAttentionBlock = 64, kAttentionSplit = 512, kAttentionQueries = 96, kFewQueries = 32;
constexpr int64_t round16(int64_t n) { return (n + 15) / 16 * 16; }
inline int64_t partial_floats(int value_dim) { return round16(value_dim) + 16; }  // acc, then peak and sum
inline int64_t attention_scratch_floats(int key_dim, int value_dim) {
  const int64_t k = round16(key_dim), v = round16(value_dim);
  return kAttentionQueries * (k + kAttentionBlock + 2 * v + 5) + k * kAttentionBlock + 4 * 16 * 16 + kAttentionBlock * v + 256;
}

// The delta rule of one slice of one value head's columns over the rows of one sequence. A slice of the state is
// [key_dim][kDeltaColumns] and the scale of all of it, padded to 16 floats; unused columns are zero.
constexpr int kDeltaColumns = 32;
inline int64_t delta_slices(int value_dim) { return (value_dim + kDeltaColumns - 1) / kDeltaColumns; }
inline int64_t delta_slice_floats(int key_dim) { return int64_t{key_dim} * kDeltaColumns + 16; }
struct DeltaArgs {
  const float* q = nullptr; const float* k = nullptr; int64_t key_stride = 0;   // from unit_keys, and their dot product
  const float* kq = nullptr; int64_t kq_stride = 0;
  const float* gates = nullptr; int64_t gate_stride = 0;                        // decay, beta
  const float* v = nullptr; int64_t v_stride = 0;                               // this slice's first column
  float* out = nullptr; int64_t out_stride = 0;
  float* state = nullptr;
  int32_t n_rows = 0, key_dim = 0, columns = 0;
};

struct ConvArgs {  // channels [first, first + count) over the rows of one sequence
  const float* x = nullptr; int64_t row_stride = 0;
  float* out = nullptr; int64_t out_stride = 0;  // of the first of these channels
  const float* taps = nullptr;       // [kernel][channels]: transposed, so that lanes are channels
  float* state = nullptr;            // [kernel - 1][channels], oldest first
  int64_t channels = 0, first = 0, count = 0;
  int32_t n_rows = 0, kernel = 4;
};

struct Kernels {
  const char* name;
  int64_t (*int8_peak)(int64_t rounds, float* sink);  // does nothing useful as fast as it can; -> multiply-adds
  bool wide;                           // quantised matrices are computed from the wide forms of activations
  LinearFn integer[kLinearKindCount];  // null where activations cannot be quantised (float weights)
  LinearFn exact[kLinearKindCount];
  void (*quantise)(const QuantiseArgs&);
  void (*group_sums)(const float* x, int64_t cols, float* sums);
  float (*dot)(const float* a, const float* b, int64_t n);
  void (*rms_norm)(const float* x, const float* gain, float eps, int64_t n, float* y);
  void (*gate)(const float* g, const float* u, int64_t n, Activation a, float* y);
  void (*sigmoid_gate)(const float* x, const float* g, int64_t n, float* y);
  void (*add)(const float* a, const float* b, int64_t n, float* y);
  void (*add_scaled)(const float* a, const float* b, float s, int64_t n, float* y);  // a + s * b; a may be null
  float (*exponentials)(const float* x, int64_t n, float* y);  // y = e^(x - max x); returns their sum
  void (*scale)(const float* x, float s, int64_t n, float* y);
  void (*softcap)(const float* x, float cap, int64_t n, float* y);
  void (*store_cache)(const CacheView& c, int64_t at, const float* k, const float* v);  // one token of one kv head into row `at`
  void (*attention)(const AttentionArgs&);
  void (*merge_attention)(const AttentionArgs&, int n, int64_t stride);  // n partials, `stride` floats apart, become `out`
  float (*unit_keys)(float* q, float* k, int32_t n);
  void (*delta)(const DeltaArgs&);
  void (*conv)(const ConvArgs&);
};

// Best first, the scalar reference last. `why_not` is "" or the reason this machine cannot run it.
struct IsaEntry { const char* name; const Kernels* kernels; std::string why_not; };
std::vector<IsaEntry> isa_list();

extern const Kernels scalar_kernels;  // only those of this build's processor are linked in
extern const Kernels neon_kernels;
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
const Kernels& amx_kernels();  // avx512's, with other linear kernels for prompts

}  // namespace cpu
