// list: names, type ids, sizes, and the formats that no outside vector covers.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include "format/format.h"

namespace {

template <class T> float decoded(const char* name, T stored) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, &stored, sizeof stored);
  float out = 0;
  find_format(name)->decode(bytes, &out);
  return out;
}

TEST(list, names_and_types_are_unique) {
  std::set<std::string> names;
  std::set<int> types;
  for (const Format* format : formats()) {
    EXPECT_TRUE(names.insert(format->name).second) << format->name;
    EXPECT_TRUE(format->ggml_type < 0 || types.insert(format->ggml_type).second) << format->name;
    EXPECT_NE(format->decode == nullptr, format->decode_planar == nullptr) << format->name;
    EXPECT_EQ(find_format(format->name), format);
  }
  EXPECT_EQ(find_format("Q9"), nullptr);
  EXPECT_EQ(find_ggml_format(-1), nullptr);
  EXPECT_EQ(find_affine_format(7, 64), nullptr);
  EXPECT_STREQ(ggml_type_name(12), "Q4_K");
  EXPECT_STREQ(ggml_type_name(21), "IQ3_S");
  EXPECT_STREQ(ggml_type_name(97), "type 97 (private to ik_llama.cpp)");
  EXPECT_STREQ(ggml_type_name(77), "type 77");
}

TEST(list, plain_elements) {
  EXPECT_EQ(decoded("F32", 1.25f), 1.25f);
  EXPECT_EQ(decoded("F64", 0.5), 0.5f);
  EXPECT_EQ(decoded<uint16_t>("F16", 0x3c01), 1.0009765625f);
  EXPECT_EQ(decoded<uint16_t>("BF16", 0xc040), -3.0f);
  EXPECT_EQ(decoded<uint8_t>("F8_E4M3", 0x7e), 448.0f);
  EXPECT_EQ(decoded<uint8_t>("F8_E5M2", 0x7b), 57344.0f);
  EXPECT_EQ(decoded<uint8_t>("F8_E8M0", 126), 0.5f);
  EXPECT_EQ(decoded<int8_t>("I8", -7), -7.0f);
  EXPECT_EQ(decoded<uint32_t>("U32", 4294967295u), 4294967296.0f);
  EXPECT_EQ(decoded<int64_t>("I64", -5), -5.0f);
}

TEST(list, sizes) {
  EXPECT_EQ(row_bytes(*find_format("Q4_K"), 512), 288u);
  EXPECT_EQ(row_bytes(*find_affine_format(3, 64), 128), 48u);
  EXPECT_EQ(bits_per_weight(*find_format("Q4_0")), 4.5);
  EXPECT_EQ(bits_per_weight(*find_affine_format(4, 64)), 4.5);
  EXPECT_EQ(bits_per_weight(*find_format("mlx_mxfp4")), 4.25);
}

// Two experts of 130 x 129: edge blocks, and scales that start anew with each expert.
TEST(fp8_block, scales_by_block_and_expert) {
  const std::vector<std::byte> codes(2 * 130 * 129, std::byte{0x38});  // 1.0
  std::vector<float> scales;
  for (int i = 0; i < 8; i++) scales.push_back(static_cast<float>(i + 1));
  StoredMatrix matrix{.format = find_format("fp8_block"), .shape = {2, 130, 129}, .codes = codes, .scale = std::as_bytes(std::span(scales)), .scale_type = DType::f32};
  ASSERT_TRUE(check_matrix(matrix));
  std::vector<float> row(129);
  decode_row(matrix, 130 + 129, row.data());
  EXPECT_EQ(row[0], 7.0f);
  EXPECT_EQ(row[127], 7.0f);
  EXPECT_EQ(row[128], 8.0f);
  decode_row(matrix, 127, row.data());
  EXPECT_EQ(row[128], 2.0f);
  matrix.scale = matrix.scale.first(28);
  EXPECT_EQ(check_matrix(matrix).error().message, "scales of 32 bytes expected, 28 found");
}

TEST(affine, half_and_float_planes_and_wrong_sizes) {
  std::vector<std::byte> codes(16, std::byte{0x21});
  const float scale = -2, bias = 10;
  StoredMatrix matrix{.format = find_affine_format(4, 32), .shape = {1, 32}, .codes = codes, .scale = std::as_bytes(std::span(&scale, 1)), .bias = std::as_bytes(std::span(&bias, 1)),
                      .scale_type = DType::f32};
  ASSERT_TRUE(check_matrix(matrix));
  float row[32];
  decode_row(matrix, 0, row);
  EXPECT_EQ(row[0], 8.0f);
  EXPECT_EQ(row[1], 6.0f);
  matrix.bias = {};
  EXPECT_FALSE(check_matrix(matrix));
  matrix.shape = {1, 31};
  EXPECT_FALSE(check_matrix(matrix));
}

TEST(nvfp4, global_scale) {
  const std::byte codes[8] = {std::byte{0x22}}, scale[1] = {std::byte{0x38}};
  StoredMatrix matrix{.format = find_format("mlx_nvfp4"), .shape = {1, 16}, .codes = codes, .scale = scale, .scale_type = DType::u8, .global_scale = 0.5f};
  ASSERT_TRUE(check_matrix(matrix));
  float row[16];
  decode_row(matrix, 0, row);
  EXPECT_EQ(row[0], 0.5f);
}

}  // namespace
