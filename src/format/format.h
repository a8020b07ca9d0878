// format: how weights are encoded. A format is a sentence of two words, codes and scales; `decode` is the only definition of truth.
#pragma once
#include "core/core.h"

// How one weight's code is stored; unsigned element kinds share the word of their width ("U32" is i32).
// e2m1 and iq4 are 4-bit indices into a table.
enum class Codes : uint8_t { f32, f16, bf16, s8, u8, u6, u5, u4, u3, u2, e2m1, iq4, e4m3, i32, i64, i16, f64, e5m2, e8m0 };

// What turns codes into values: value = scale * code + min, per group.
//   none        value = code                      f16         one half scale, code offset fixed by the format (Q4_0: -8)
//   f16_min     half scale and half min           affine      scale and bias planes beside the codes (MLX), in f32, f16 or bf16
//   super4_min  K-quants with 4-bit scale and min (Q2_K)       super6      6-bit signed scales under one half (Q3_K, IQ4_XS)
//   super6_min  6-bit scale and min under two halves (Q4_K, Q5_K)  super8  8-bit signed scales under one half (Q6_K)
//   e8m0        power-of-two scale                 e4m3        8-bit float scale (NVFP4)
//   block       one scale for a 128 x 128 block (FP8 checkpoints)
enum class Scales : uint8_t { none, f16, f16_min, affine, super4_min, super6, super6_min, super8, e8m0, e4m3, block };

struct StoredMatrix;

// One way to store a weight matrix row by row.
struct Format {
  const char* name;         // "Q4_K", "affine4g64", "BF16"
  Codes codes;
  Scales scales;
  int16_t group;            // weights that share a scale
  int16_t block_weights;    // weights of the smallest self-contained unit of a row in the file
  int16_t block_bytes;      // its bytes; for planar formats (scales in tensors of their own) the bytes of codes alone
  int16_t ggml_type;        // GGUF type id, or -1
  // Decodes one block to block_weights floats. Null for planar formats, which have decode_planar instead.
  void (*decode)(const std::byte* block, float* out);
  // Decodes row `row` of a matrix whose scales are planes of their own.
  void (*decode_planar)(const StoredMatrix& matrix, int64_t row, float* out) = nullptr;
};

// A stored weight matrix: [.., rows, cols] in one format, with its planes. Spans point into a mapping owned elsewhere.
struct StoredMatrix {
  const Format* format = nullptr;
  Shape shape{};                            // logical extents, outermost first; back() is the input dimension
  std::span<const std::byte> codes{};       // blocks, or the packed code plane
  std::span<const std::byte> scale{}, bias{};  // planar formats only
  DType scale_type = DType::bf16;           // element kind of those planes: f32, f16, bf16, u8 (e8m0, e4m3)
  float global_scale = 1;                   // NVFP4's optional per-tensor factor, already divided by 448 * 6
};

// Every format, in one list; null when there is none of that name or GGUF type.
std::span<const Format* const> formats();
const Format* find_format(std::string_view name);
const Format* find_ggml_format(int type);
const char* ggml_type_name(int type);  // also for types we cannot read; "type 97" when unknown
const Format* find_affine_format(int bits, int group);

// Bytes of one row of `cols` weights in the code plane.
size_t row_bytes(const Format& format, int64_t cols);
// ok when the planes have the sizes that shape and format ask for; whoever assembles a matrix from a file calls this before decode_row.
// The message says what was expected and found, without the tensor's name.
Status check_matrix(const StoredMatrix& matrix);
// Whether the scales of these rows are numbers. A matrix with a NaN or an infinity among them is refused by whoever takes it in: check_scales
// looks at all rows at once, in the words of a refusal.
bool scales_are_finite(const StoredMatrix& matrix, int64_t first_row, int64_t rows);
Status check_scales(const StoredMatrix& matrix);
// Decodes row `row` (0 … shape.rows()-1) of the matrix into out[0 … cols). Slow, exact in float32.
void decode_row(const StoredMatrix& matrix, int64_t row, float* out);
// Bits per weight including scales; planes of scales are counted at 16 bits an element (8 for e8m0 and e4m3).
double bits_per_weight(const Format& format);
