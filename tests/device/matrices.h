// matrices: random stored matrices of every format, for kernel tests. Owns their bytes.
#pragma once
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>
#include "core/half.h"
#include "format/format.h"

struct TestMatrix {
  StoredMatrix stored;
  std::vector<std::byte> codes, scale, bias;
};

// Byte offsets of the half-precision scales of a GGUF block.
inline const std::map<std::string, std::vector<int>>& half_fields() {
  static const std::map<std::string, std::vector<int>> fields = {
      {"Q4_0", {0}}, {"Q4_1", {0, 2}}, {"Q5_0", {0}}, {"Q5_1", {0, 2}}, {"Q8_0", {0}}, {"Q2_K", {80, 82}}, {"Q3_K", {108}},
      {"Q4_K", {0, 2}}, {"Q5_K", {0, 2}}, {"Q6_K", {208}}, {"IQ4_NL", {0}}, {"IQ4_XS", {0}}, {"MXFP4", {}}, {"NVFP4", {}}};
  return fields;
}

// A matrix of `rows` x `cols` whose values are of order one. scale_type only matters for affine formats.
inline TestMatrix random_matrix(const std::string& name, int64_t rows, int64_t cols, unsigned seed, DType scale_type = DType::bf16) {
  TestMatrix m;
  const Format* f = find_format(name);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> unit(0.5f, 1.5f);
  std::normal_distribution<float> normal;
  m.stored.format = f;
  m.stored.shape = {rows, cols};
  m.codes.resize(static_cast<size_t>(rows) * row_bytes(*f, cols));
  for (auto& b : m.codes) b = static_cast<std::byte>(random());
  const auto put_half = [&](std::byte* at, float v) { const uint16_t h = float_to_f16(v); std::memcpy(at, &h, 2); };
  if (name == "F32" || name == "F16" || name == "BF16") {
    for (int64_t i = 0; i < rows * cols; i++) {
      const float v = normal(random);
      const uint16_t h = name == "F16" ? float_to_f16(v) : float_to_bf16(v);
      if (name == "F32") std::memcpy(&m.codes[static_cast<size_t>(i) * 4], &v, 4);
      else std::memcpy(&m.codes[static_cast<size_t>(i) * 2], &h, 2);
    }
  } else if (const auto it = half_fields().find(name); it != half_fields().end()) {
    const float size = name == "Q8_0" || name[0] == 'I' ? 0.01f : name == "Q6_K" || name == "Q3_K" || name == "Q2_K" ? 0.002f : name.back() == 'K' ? 0.005f : 0.1f;
    for (size_t at = 0; at < m.codes.size(); at += static_cast<size_t>(f->block_bytes)) {
      for (int field : it->second) put_half(&m.codes[at + static_cast<size_t>(field)], size * unit(random));
      if (name == "MXFP4") m.codes[at] = static_cast<std::byte>(124 + random() % 4);
      if (name == "NVFP4") for (size_t i = 0; i < 4; i++) m.codes[at + i] = static_cast<std::byte>(0x28 + random() % 24);
    }
  } else {
    const bool bytes = f->scales != Scales::affine;
    m.stored.scale_type = bytes ? DType::u8 : scale_type;
    const size_t n = static_cast<size_t>(rows * cols / f->group), width = bytes ? 1 : scale_type == DType::f32 ? 4 : 2;
    m.scale.resize(n * width);
    if (!bytes) m.bias.resize(n * width);
    for (size_t i = 0; i < n; i++) {
      if (bytes) {
        m.scale[i] = static_cast<std::byte>(f->scales == Scales::e8m0 ? 118 + random() % 8 : 0x28 + random() % 24);
        continue;
      }
      const float s = (random() % 8 ? 1.0f : -1.0f) * unit(random) * 4.0f / static_cast<float>(1 << (8 * f->block_bytes / f->block_weights)), b = normal(random);
      const auto put = [&](std::byte* at, float v) {
        const uint16_t h = scale_type == DType::f16 ? float_to_f16(v) : float_to_bf16(v);
        if (scale_type == DType::f32) std::memcpy(at, &v, 4);
        else std::memcpy(at, &h, 2);
      };
      put(&m.scale[i * width], s);
      put(&m.bias[i * width], b);
    }
    if (name == "mlx_mxfp8") for (auto& b : m.codes) if ((std::to_integer<int>(b) & 0x7f) == 0x7f) b = std::byte{0x11};
    if (name == "mlx_nvfp4") m.stored.global_scale = 0.75f;
  }
  m.stored.codes = m.codes;
  m.stored.scale = m.scale;
  m.stored.bias = m.bias;
  return m;
}

inline std::vector<std::string> weight_formats() {
  std::vector<std::string> names = {"F32", "F16", "BF16", "mlx_mxfp4", "mlx_mxfp8", "mlx_nvfp4"};
  for (const auto& [name, fields] : half_fields()) names.push_back(name);
  for (const char* bits : {"2", "3", "4", "5", "6", "8"})
    for (const char* group : {"32", "64", "128"}) names.push_back(std::string("affine") + bits + "g" + group);
  return names;
}
