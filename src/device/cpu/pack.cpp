// pack: repacks stored matrices into tiles, in parallel, and reads single rows back.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include "core/half.h"
#include "device/cpu/kernels.h"
#include "device/cpu/split.h"
#include "device/cpu/team.h"

namespace cpu {
namespace {

uint32_t load32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}
void store32(uint8_t* p, uint32_t v) { std::memcpy(p, &v, 4); }

// Puts 32 codes of one lane into a chunk.
void put_nibbles(const uint8_t* codes, uint8_t* chunk, int lane) {
  for (int j = 0; j < 4; j++)
    store32(chunk + 64 * j + 4 * lane, (load32(codes + 8 * j) & 0x0f0f0f0fu) | (load32(codes + 8 * j + 4) & 0x0f0f0f0fu) << 4);
}
void put_pairs(const uint8_t* codes, uint8_t* chunk, int lane) {
  for (int j = 0; j < 2; j++) {
    uint32_t word = 0;
    for (int q = 0; q < 4; q++) word |= (load32(codes + 16 * j + 4 * q) & 0x03030303u) << (2 * q);
    store32(chunk + 64 * j + 4 * lane, word);
  }
}
void put_plane(const uint8_t* codes, int bit, uint8_t* plane, int lane) {
  for (int quad = 0; quad < 8; quad++) {
    unsigned nibble = 0;
    for (int i = 0; i < 4; i++) nibble |= ((codes[4 * quad + i] >> bit) & 1u) << i;
    plane[8 * quad + lane / 2] = static_cast<uint8_t>(plane[8 * quad + lane / 2] | nibble << (4 * (lane & 1)));
  }
}
void put_chunk(PackCodes c, const uint8_t* codes, uint8_t* chunk, int lane) {
  switch (c) {
    case PackCodes::u2: return put_pairs(codes, chunk, lane);
    case PackCodes::u3: put_pairs(codes, chunk, lane); return put_plane(codes, 2, chunk + 128, lane);
    case PackCodes::u5: put_nibbles(codes, chunk, lane); return put_plane(codes, 4, chunk + 256, lane);
    case PackCodes::u6:
      put_nibbles(codes, chunk, lane);
      put_plane(codes, 4, chunk + 256, lane);
      return put_plane(codes, 5, chunk + 320, lane);
    case PackCodes::s8:
      for (int quad = 0; quad < 8; quad++) store32(chunk + 64 * quad + 4 * lane, load32(codes + 4 * quad));
      return;
    default: return put_nibbles(codes, chunk, lane);
  }
}

void put16(uint8_t* p, int lane, uint16_t v) { std::memcpy(p + 2 * lane, &v, 2); }
void put_float(uint8_t* p, int lane, float v) { std::memcpy(p + 4 * lane, &v, 4); }
void put_scales(const PackLayout& l, int inputs, const RowBlock& b, uint8_t* p, int lane) {
  const int groups = (inputs + l.scale_group - 1) / l.scale_group;
  if (l.scales == PackScales::super || l.scales == PackScales::super_min) {
    put16(p, lane, b.d);
    if (l.scales == PackScales::super_min) put16(p + 32, lane, b.dmin);
  }
  for (int g = 0; g < groups; g++) switch (l.scales) {
      case PackScales::f16: put16(p + 32 * g, lane, b.scale16[g]); break;
      case PackScales::f16_min: case PackScales::bf16_min:
        put16(p + 64 * g, lane, b.scale16[g]);
        put16(p + 64 * g + 32, lane, b.min16[g]);
        break;
      case PackScales::f32_min:
        put_float(p + 128 * g, lane, b.scale32[g]);
        put_float(p + 128 * g + 64, lane, b.min32[g]);
        break;
      case PackScales::e8m0: p[16 * g + lane] = b.sub_scale[g]; break;
      case PackScales::super_min: p[64 + 16 * (groups + g) + lane] = b.sub_min[g]; [[fallthrough]];
      case PackScales::super: p[64 + 16 * g + lane] = b.sub_scale[g]; break;
      case PackScales::none: break;
    }
}

size_t tile_size(const PackLayout& l, int64_t cols) {
  size_t bytes = 0;
  if (is_float(l.codes)) bytes = static_cast<size_t>(cols) * chunk_bytes(l.codes) / 32;
  else
    for (int64_t k = 0; k < cols; k += l.block) {
      const int inputs = static_cast<int>(std::min<int64_t>(l.block, cols - k));
      bytes += scale_bytes(l, inputs) + chunk_bytes(l.codes) * static_cast<size_t>(inputs / 32);
    }
  return (bytes + 63) / 64 * 64;
}

int kernel_index(const PackLayout& l) {
  for (int i = 0; i < kLinearKindCount; i++) {
    const LinearKind& k = kLinearKinds[i];
    if (k.codes == l.codes && k.scales == l.scales && (is_float(l.codes) || (k.group == l.group && k.offset == l.offset && k.signed_scales == l.signed_scales))) return i;
  }
  return -1;
}

// Finds logical row `r` of the concatenated, reordered source.
struct RowFinder {
  const MatrixSource& source;
  int64_t rows_per_part;
  std::pair<const StoredMatrix*, int64_t> find(int64_t r) const {
    if (!source.row_order.empty()) r = source.row_order[static_cast<size_t>(r)];
    const size_t part = static_cast<size_t>(r / rows_per_part);
    return {&source.parts[part], r % rows_per_part};
  }
};

void pack_integer_lane(const PackedMatrix& m, const PackPlan& plan, const StoredMatrix& part, int64_t row, uint8_t* p, int lane) {
  RowBlock block;
  const PackLayout& l = plan.layout;
  for (int64_t k = 0; k < m.cols; k += l.block) {
    const int inputs = static_cast<int>(std::min<int64_t>(l.block, m.cols - k));
    plan.split(part, row, k, inputs, block);
    put_scales(l, inputs, block, p, lane);
    p += scale_bytes(l, inputs);
    for (int i = 0; i < inputs; i += 32, p += chunk_bytes(l.codes)) put_chunk(l.codes, block.codes + i, p, lane);
  }
}
void pack_float_lane(const PackedMatrix& m, const StoredMatrix& part, int64_t row, std::vector<float>& values, uint8_t* p, int lane) {
  decode_row(part, row, values.data());
  for (int64_t k = 0; k < m.cols; k++) {
    const float v = values[static_cast<size_t>(k)];
    if (m.layout.codes == PackCodes::f32) put_float(p + 64 * k, lane, v);
    else put16(p + 32 * k, lane, m.layout.codes == PackCodes::f16 ? float_to_f16(v) : float_to_bf16(v));
  }
}

std::byte* allocate(size_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
  ::madvise(p, bytes, MADV_HUGEPAGE);  // 2 MB pages: 10-15 % of decode speed (docs/performance.md)
#endif
  return static_cast<std::byte*>(p);
}
size_t mapped_size(size_t bytes) { return bytes + 16384; }  // kernels prefetch, never read, past the end

}  // namespace

PackedMatrix::~PackedMatrix() {
  if (data) ::munmap(data, mapped_size(bytes));
}

Result<std::unique_ptr<PackedMatrix>> pack(const MatrixSource& source, Team& team) {
  CHECK(!source.parts.empty() && source.n_experts > 0);
  const StoredMatrix& first = source.parts.front();
  const RowFinder finder{source, first.shape.rows()};
  for (const StoredMatrix& part : source.parts) CHECK(part.format == first.format && part.shape.back() == first.shape.back() && part.shape.rows() == first.shape.rows());
  const int64_t all_rows = source.row_order.empty() ? first.shape.rows() * static_cast<int64_t>(source.parts.size()) : static_cast<int64_t>(source.row_order.size());
  CHECK(all_rows % source.n_experts == 0);
  const PackPlan plan = plan_packing(first);

  auto m = std::make_unique<PackedMatrix>();
  m->layout = plan.layout;
  m->format_name = first.format->name;
  m->cols = first.shape.back();
  m->n_experts = source.n_experts;
  m->rows = all_rows / source.n_experts;
  m->tiles = (m->rows + kTileRows - 1) / kTileRows;
  m->tile_bytes = tile_size(plan.layout, m->cols);
  m->post_scale = first.format->scales == Scales::e4m3 ? first.global_scale : 1.0f;
  m->precise = source.precise;
  m->kernel = kernel_index(plan.layout);
  CHECK(m->kernel >= 0);
  m->bytes = static_cast<size_t>(m->n_experts * m->tiles) * m->tile_bytes;
  m->data = allocate(mapped_size(m->bytes));
  if (!m->data) return Error{Code::device, "cannot take " + std::to_string(m->bytes) + " bytes of memory for a weight matrix: the system refused"};

  std::atomic<int64_t> next{0};
  team.run([&](int) {
    std::vector<float> values(plan.split ? 0 : static_cast<size_t>(m->cols));
    constexpr int64_t kBatch = 8;
    for (int64_t begin; (begin = next.fetch_add(kBatch)) < m->n_experts * m->tiles;)
      for (int64_t t = begin; t < std::min(begin + kBatch, m->n_experts * m->tiles); t++) {
        uint8_t* p = reinterpret_cast<uint8_t*>(m->data) + static_cast<size_t>(t) * m->tile_bytes;
        const int64_t expert = t / m->tiles, first_row = t % m->tiles * kTileRows;
        for (int lane = 0; lane < kTileRows && first_row + lane < m->rows; lane++) {
          const auto [part, row] = finder.find(expert * m->rows + first_row + lane);
          if (plan.split) pack_integer_lane(*m, plan, *part, row, p, lane);
          else pack_float_lane(*m, *part, row, values, p, lane);
        }
      }
  });
  return m;
}

namespace {

int code_of(PackCodes c, const uint8_t* chunk, int lane, int e) {
  const int quad = e / 4, i = 4 * lane + e % 4;
  const auto nibble = [&] { return (chunk[64 * (quad / 2) + i] >> (4 * (quad & 1))) & 15; };
  const auto pair = [&] { return (chunk[64 * (quad / 4) + i] >> (2 * (quad & 3))) & 3; };
  const auto plane = [&](int at) { return (chunk[at + 8 * quad + i / 8] >> (i % 8)) & 1; };
  switch (c) {
    case PackCodes::u2: return pair();
    case PackCodes::u3: return pair() | plane(128) << 2;
    case PackCodes::u4: return nibble();
    case PackCodes::u5: return nibble() | plane(256) << 4;
    case PackCodes::u6: return nibble() | plane(256) << 4 | plane(320) << 5;
    case PackCodes::s8: return static_cast<int8_t>(chunk[64 * quad + i]);
    case PackCodes::iq4: return kIq4Table[nibble()];
    case PackCodes::e2m1: return kE2m1Table[nibble()];
    default: return 0;
  }
}

uint16_t get16(const uint8_t* p, int lane) {
  uint16_t v;
  std::memcpy(&v, p + 2 * lane, 2);
  return v;
}
float get_float(const uint8_t* p, int lane) {
  float v;
  std::memcpy(&v, p + 4 * lane, 4);
  return v;
}
struct Affine { float scale, min; };
Affine scale_of(const PackLayout& l, const uint8_t* p, int groups, int g, int lane) {
  switch (l.scales) {
    case PackScales::f16: return {f16_to_float(get16(p + 32 * g, lane)), 0};
    case PackScales::f16_min: return {f16_to_float(get16(p + 64 * g, lane)), f16_to_float(get16(p + 64 * g + 32, lane))};
    case PackScales::bf16_min: return {bf16_to_float(get16(p + 64 * g, lane)), bf16_to_float(get16(p + 64 * g + 32, lane))};
    case PackScales::f32_min: return {get_float(p + 128 * g, lane), get_float(p + 128 * g + 64, lane)};
    case PackScales::e8m0: return {std::bit_cast<float>(static_cast<uint32_t>(p[16 * g + lane]) << 23), 0};
    case PackScales::super: case PackScales::super_min: {
      const uint8_t sub = p[64 + 16 * g + lane];
      const float d = f16_to_float(get16(p, lane));
      const float scale = d * (l.signed_scales ? static_cast<float>(static_cast<int8_t>(sub)) : static_cast<float>(sub));
      const float min = l.scales == PackScales::super_min ? -f16_to_float(get16(p + 32, lane)) * static_cast<float>(p[64 + 16 * (groups + g) + lane]) : 0.0f;
      return {scale, min};
    }
    case PackScales::none: break;
  }
  return {1, 0};
}

}  // namespace

void unpack_row(const PackedMatrix& m, int64_t row, float* out) {
  const int lane = static_cast<int>(row % m.rows % kTileRows);
  const auto* p = reinterpret_cast<const uint8_t*>(m.tile(row / m.rows, row % m.rows / kTileRows));
  const PackLayout& l = m.layout;
  if (is_float(l.codes)) {
    for (int64_t k = 0; k < m.cols; k++)
      out[k] = l.codes == PackCodes::f32 ? get_float(p + 64 * k, lane) : l.codes == PackCodes::f16 ? f16_to_float(get16(p + 32 * k, lane)) : bf16_to_float(get16(p + 32 * k, lane));
    return;
  }
  for (int64_t k = 0; k < m.cols; k += l.block) {
    const int inputs = static_cast<int>(std::min<int64_t>(l.block, m.cols - k)), groups = (inputs + l.scale_group - 1) / l.scale_group;
    const uint8_t* codes = p + scale_bytes(l, inputs);
    for (int g = 0; g < groups; g++) {
      const Affine a = scale_of(l, p, groups, g, lane);
      for (int e = g * l.scale_group; e < (g + 1) * l.scale_group && e < inputs; e++)
        out[k + e] = (a.scale * static_cast<float>(code_of(l.codes, codes + chunk_bytes(l.codes) * static_cast<size_t>(e / 32), lane, e % 32) - l.offset) + a.min) * m.post_scale;
    }
    p = codes + chunk_bytes(l.codes) * static_cast<size_t>(inputs / 32);
  }
}

}  // namespace cpu
