// list: every format in one list, and what can be said about any of them.
#include <algorithm>
#include "format/codes.h"

// One line per file of this room: its name and how many formats it holds.
#define EACH_FAMILY(FAMILY) \
  FAMILY(float, 8)          \
  FAMILY(integer, 9)        \
  FAMILY(q4_0, 1)           \
  FAMILY(q4_1, 1)           \
  FAMILY(q5_0, 1)           \
  FAMILY(q5_1, 1)           \
  FAMILY(q8_0, 1)           \
  FAMILY(q2_k, 1)           \
  FAMILY(q3_k, 1)           \
  FAMILY(q4_k, 1)           \
  FAMILY(q5_k, 1)           \
  FAMILY(q6_k, 1)           \
  FAMILY(iq4_nl, 1)         \
  FAMILY(iq4_xs, 1)         \
  FAMILY(mxfp4, 1)          \
  FAMILY(nvfp4, 1)          \
  FAMILY(affine, 18)        \
  FAMILY(mlx_float, 3)      \
  FAMILY(fp8_block, 1)

#define DECLARE(family, count) extern const std::array<Format, count> family##_formats;
EACH_FAMILY(DECLARE)

namespace {

std::vector<const Format*> collect() {
  std::vector<const Format*> all;
#define COLLECT(family, count) \
  for (const Format& format : family##_formats) all.push_back(&format);
  EACH_FAMILY(COLLECT)
  return all;
}

template <class Predicate> const Format* first(Predicate predicate) {
  const auto all = formats();
  const auto at = std::ranges::find_if(all, predicate);
  return at == all.end() ? nullptr : *at;
}

struct TypeName {
  int type;
  const char* name;
};
// ggml's types that have no decoder here. [spec 4.4]
constexpr TypeName other_types[] = {
    {9, "Q8_1"},   {15, "Q8_K"},   {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"},
    {22, "IQ2_S"}, {29, "IQ1_M"},  {34, "TQ1_0"},   {35, "TQ2_0"},  {41, "Q1_0"},    {42, "Q2_0"},  {4, "Q4_2 (retired)"},
    {5, "Q4_3 (retired)"},
    {31, "Q4_0_4_4 (retired)"}, {32, "Q4_0_4_8 (retired)"}, {33, "Q4_0_8_8 (retired)"}, {37, "IQ4_NL_4_8 (retired)"}, {38, "IQ4_NL_8_8 (retired)"},
    {36, "type 36 (retired, or private to ik_llama.cpp)"},
};

// Names of numbers nobody here knows; static because callers keep the pointer.
const char* numbered_name(int type) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 512; i++) {
      const bool is_private = (i >= 97 && i <= 99) || (i >= 133 && i <= 158) || i >= 202;
      all.push_back("type " + std::to_string(i) + (is_private ? " (private to ik_llama.cpp)" : ""));
    }
    return all;
  }();
  return type >= 0 && type < 512 ? names[static_cast<size_t>(type)].c_str() : "a type beyond 511";
}

size_t bytes_of(DType type) {
  switch (type) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::u8: return 1;
  }
  return 1;
}

// Elements of the scale plane.
int64_t scale_count(const StoredMatrix& m) {
  if (m.format->scales != Scales::block) return m.shape.elements() / m.format->group;
  const int64_t side = m.format->group, rows = m.shape.rank > 1 ? m.shape[m.shape.rank - 2] : 1;
  if (rows == 0) return 0;
  return m.shape.rows() / rows * ((rows + side - 1) / side) * ((m.shape.back() + side - 1) / side);
}

Status expect_bytes(const char* what, size_t expected, size_t found) {
  if (expected == found) return ok_status();
  return Error{Code::corrupt_file, std::string(what) + " of " + std::to_string(expected) + " bytes expected, " + std::to_string(found) + " found"};
}

}  // namespace

std::span<const Format* const> formats() {
  static const std::vector<const Format*> all = collect();
  return all;
}

const Format* find_format(std::string_view name) {
  return first([&](const Format* format) { return format->name == name; });
}

const Format* find_ggml_format(int type) {
  return type < 0 ? nullptr : first([&](const Format* format) { return format->ggml_type == type; });
}

const char* ggml_type_name(int type) {
  if (const Format* format = find_ggml_format(type)) return format->name;
  for (const TypeName& other : other_types)
    if (other.type == type) return other.name;
  return numbered_name(type);
}

const Format* find_affine_format(int bits, int group) {
  return first([&](const Format* format) {
    return format->scales == Scales::affine && format->group == group && format->block_bytes * 8 == bits * format->block_weights;
  });
}

size_t row_bytes(const Format& format, int64_t cols) {
  return static_cast<size_t>(cols / format.block_weights) * static_cast<size_t>(format.block_bytes);
}

Status check_matrix(const StoredMatrix& matrix) {
  const Format& format = *matrix.format;
  const int64_t cols = matrix.shape.back();
  const int unit = std::max<int>(format.block_weights, format.scales == Scales::block ? 1 : format.group);
  if (cols % unit != 0)
    return Error{Code::corrupt_file, std::string("rows of a multiple of ") + std::to_string(unit) + " weights expected for " + format.name + ", " + std::to_string(cols) + " found"};
  TRY_STATUS(expect_bytes("codes", static_cast<size_t>(matrix.shape.rows()) * row_bytes(format, cols), matrix.codes.size()));
  if (!format.decode_planar) return ok_status();
  const bool byte_scales = format.scales == Scales::e8m0 || format.scales == Scales::e4m3;
  if ((matrix.scale_type == DType::u8) != byte_scales || matrix.scale_type == DType::i32)
    return Error{Code::corrupt_file, std::string(byte_scales ? "one-byte" : "float") + " scales expected for " + format.name};
  const size_t expected = static_cast<size_t>(scale_count(matrix)) * bytes_of(matrix.scale_type);
  TRY_STATUS(expect_bytes("scales", expected, matrix.scale.size()));
  return expect_bytes("biases", format.scales == Scales::affine ? expected : 0, matrix.bias.size());
}

void decode_row(const StoredMatrix& matrix, int64_t row, float* out) {
  const Format& format = *matrix.format;
  CHECK(row >= 0 && row < matrix.shape.rows());
  if (format.decode_planar) return format.decode_planar(matrix, row, out);
  const int64_t cols = matrix.shape.back();
  const size_t stride = row_bytes(format, cols);
  const std::byte* at = matrix.codes.data() + static_cast<size_t>(row) * stride;
  for (int64_t i = 0; i < cols; i += format.block_weights, at += format.block_bytes) format.decode(at, out + i);
}

double bits_per_weight(const Format& format) {
  const double codes = 8.0 * format.block_bytes / format.block_weights;
  if (!format.decode_planar) return codes;
  switch (format.scales) {
    case Scales::affine: return codes + 32.0 / format.group;
    case Scales::block: return codes + 16.0 / (static_cast<double>(format.group) * format.group);
    default: return codes + 8.0 / format.group;
  }
}

float codes::plane_value(std::span<const std::byte> plane, DType type, int64_t i) {
  const std::byte* at = plane.data() + static_cast<size_t>(i) * bytes_of(type);
  switch (type) {
    case DType::f32: return load<float>(at);
    case DType::f16: return half(at);
    case DType::bf16: return bf16_to_float(load<uint16_t>(at));
    case DType::i32: return static_cast<float>(load<int32_t>(at));
    case DType::u8: return static_cast<float>(load<uint8_t>(at));
  }
  return 0;
}
