// packed_bytes: matrices of every format and of odd shapes, made of integers alone, and what their packed bytes fold to.
#pragma once
#include <algorithm>
#include <map>
#include "device/cpu/packed.h"
#include "matrices.h"

// Any code in any place, finite scales. The same bytes with every compiler and library.
inline TestMatrix integer_matrix(const std::string& name, int64_t rows, int64_t cols, uint32_t seed, DType scale_type = DType::bf16) {
  const Format* f = find_format(name);
  TestMatrix m;
  m.stored.format = f;
  m.stored.shape = {rows, cols};
  const auto fill = [&](std::vector<std::byte>& to, size_t n) {
    to.resize(n);
    for (auto& b : to) b = static_cast<std::byte>((seed = seed * 1664525u + 1013904223u) >> 24);
  };
  const auto clear = [](std::vector<std::byte>& of, size_t first, size_t stride, int bits) {
    for (size_t i = first; i < of.size(); i += stride) of[i] &= static_cast<std::byte>(~bits);
  };
  fill(m.codes, static_cast<size_t>(rows) * row_bytes(*f, cols));
  const size_t block = static_cast<size_t>(f->block_bytes);
  if (const auto it = half_fields().find(name); it != half_fields().end())
    for (const int field : it->second) clear(m.codes, static_cast<size_t>(field) + 1, block, 0x40);
  if (name == "MXFP4") clear(m.codes, 0, block, 0x80);
  if (name == "F32") clear(m.codes, 3, 4, 0x40);
  if (name == "F16" || name == "BF16") clear(m.codes, 1, 2, 0x40);
  if (name == "mlx_mxfp8") clear(m.codes, 0, 1, 0x40);
  if (f->decode_planar) {
    const bool bytes = f->scales != Scales::affine;
    m.stored.scale_type = bytes ? DType::u8 : scale_type;
    const size_t width = bytes ? 1 : scale_type == DType::f32 ? 4 : 2, n = static_cast<size_t>(rows * cols / f->group) * width;
    fill(m.scale, n);
    clear(m.scale, width - 1, width, bytes && f->scales == Scales::e8m0 ? 0x80 : 0x40);
    if (!bytes) fill(m.bias, n), clear(m.bias, width - 1, width, 0x40);
  }
  m.stored.codes = m.codes, m.stored.scale = m.scale, m.stored.bias = m.bias;
  return m;
}

struct PackCase {
  TestMatrix matrix;
  std::vector<int32_t> row_order;
  int32_t n_experts = 1;
  MatrixSource source() const { return {{matrix.stored}, row_order, n_experts}; }
};
inline std::vector<PackCase> pack_cases(const std::string& format) {
  const Format* f = find_format(format);
  const bool floats = f->scales == Scales::none;
  const int64_t unit = std::max<int64_t>({floats ? 1 : 32, f->block_weights, f->scales == Scales::none ? 1 : f->group});
  std::vector<PackCase> cases;
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    if (f->scales != Scales::affine && type != DType::bf16) continue;
    for (const auto& [rows, units, experts] : {std::array<int64_t, 3>{1, 1, 1}, {16, 2, 1}, {17, 3, 1}, {37, 7, 1}, {60, 5, 3}, {528, 2, 1}}) {
      cases.push_back({integer_matrix(format, rows, units * unit, 7 + static_cast<uint32_t>(rows), type), {}, static_cast<int32_t>(experts)});
      if (rows == 37)
        for (int32_t i = 0; i < 20; i++) cases.back().row_order.push_back((i * 11 + 3) % 37);
    }
  }
  return cases;
}

inline uint64_t fold(uint64_t digest, std::span<const std::byte> bytes) {  // FNV-1a
  for (const std::byte b : bytes) digest = (digest ^ std::to_integer<uint64_t>(b)) * 1099511628211u;
  return digest;
}

// As the packer of commit 9497fba gave them.
inline const std::map<std::string, uint64_t>& first_packers_digests() {
  static const std::map<std::string, uint64_t> digests = {
      {"F32", 0xf43086761733a987u}, {"F16", 0x6a42503eb9731577u}, {"BF16", 0x6a42503eb9731577u}, {"mlx_mxfp4", 0xa04d658a63390ca0u},
      {"mlx_mxfp8", 0x72fc4cb6bc62deb4u}, {"mlx_nvfp4", 0x899aa4713658c42du}, {"IQ4_NL", 0x885a1342d5f01ddcu}, {"IQ4_XS", 0x04486b00db4f0c8eu},
      {"MXFP4", 0xb2514b34f8e447a8u}, {"NVFP4", 0x93923e4f6c9ef24eu}, {"Q2_K", 0xe91a1d70a6d48225u}, {"Q3_K", 0xce14c15ff0e28d53u},
      {"Q4_0", 0x885a1342d5f01ddcu}, {"Q4_1", 0xa73c2f18007867cfu}, {"Q4_K", 0xdbbf379f35fc2d30u}, {"Q5_0", 0xabe6c8c4bb3c7d94u},
      {"Q5_1", 0xf60128e4d86dfb4au}, {"Q5_K", 0xdbf7320dfa6bbf49u}, {"Q6_K", 0x3b641d0199ee418cu}, {"Q8_0", 0x01e3916bba1db2ecu},
      {"affine2g32", 0x9cac3a38e0dcee5du}, {"affine2g64", 0x4bf742c2c77e1783u}, {"affine2g128", 0xf309be6ad67b74f9u}, {"affine3g32", 0x915a66f1c90b066bu},
      {"affine3g64", 0x4fe3ac3f8769ec96u}, {"affine3g128", 0x7dcc0840d8a82e11u}, {"affine4g32", 0x368adb5e0411b97eu}, {"affine4g64", 0xbf7a2044c7d2857au},
      {"affine4g128", 0x293b999123dfe742u}, {"affine5g32", 0xc26b896a9ca03b6bu}, {"affine5g64", 0x2a118a9fa697a8a5u}, {"affine5g128", 0xe8c7b93a9a171f13u},
      {"affine6g32", 0x13d0e3e8047ae5fcu}, {"affine6g64", 0xcfbf44965ed208cfu}, {"affine6g128", 0x2339390b678da093u}, {"affine8g32", 0x4861971debab9ba0u},
      {"affine8g64", 0xb5dd1d2f028a0b94u}, {"affine8g128", 0x02c13cdde21caa6fu}};
  return digests;
}
