// pack: repacks stored matrices into tiles, in parallel, and reads single rows back.
#include <algorithm>
#include <atomic>
#include "core/half.h"
#include "core/mapped_file.h"
#include "device/cpu/slabs.h"
#include "device/cpu/kernels.h"
#include "device/cpu/team.h"
#include "device/cpu/tile.h"

namespace cpu {
namespace {

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

// What one thread needs to fill tiles.
class TileWriter {
 public:
  TileWriter(const PackedMatrix& m, const PackPlan& plan, const RowFinder& finder) : m_(m), plan_(plan), finder_(finder) {
    if (!plan.tile) widened_.resize(static_cast<size_t>(kTileRows * m.cols) * (m.layout.codes == PackCodes::f32 ? 4 : 2)), row_.resize(static_cast<size_t>(m.cols));
  }
  // False when a scale is NaN or infinite.
  bool write(int64_t t, uint8_t* tile) {
    const int64_t first = t % m_.tiles * kTileRows, lanes = std::min<int64_t>(kTileRows, m_.rows - first);
    Row rows[kTileRows];
    bool good = true;
    for (int64_t lane = 0; lane < lanes; lane++) {
      const auto [part, row] = finder_.find(t / m_.tiles * m_.rows + first + lane);
      good = scales_are_finite(*part, row, 1) && good;
      rows[lane] = plan_.tile ? row_of(*part, row) : widened(*part, row, lane);
    }
    const TileFn fill = plan_.tile ? plan_.tile : m_.layout.codes == PackCodes::f32 ? pack_elements<U32x4> : pack_elements<U16x8>;
    fill(m_.layout, {rows, static_cast<size_t>(lanes)}, m_.cols, tile);
    return good;
  }

 private:
  Row widened(const StoredMatrix& part, int64_t row, int64_t lane) {
    decode_row(part, row, row_.data());
    uint8_t* const out = widened_.data() + widened_.size() / kTileRows * static_cast<size_t>(lane);
    if (m_.layout.codes == PackCodes::f32) std::memcpy(out, row_.data(), row_.size() * 4);
    else
      for (size_t i = 0; i < row_.size(); i++) store(out + 2 * i, m_.layout.codes == PackCodes::f16 ? float_to_f16(row_[i]) : float_to_bf16(row_[i]));
    return {out};
  }
  const PackedMatrix& m_;
  const PackPlan& plan_;
  const RowFinder& finder_;
  std::vector<uint8_t> widened_;
  std::vector<float> row_;
};

RowFinder finder_of(const MatrixSource& source) { return {source, source.parts.front().shape.rows()}; }

// The stored rows behind tiles [begin, end) when they lie one after the other in one part, for letting go of their pages.
std::span<const std::byte> source_of(const PackedMatrix& m, const MatrixSource& source, int64_t begin, int64_t end) {
  if (!source.row_order.empty()) return {};
  const auto row_at = [&](int64_t t) { return t / m.tiles * m.rows + std::min(t % m.tiles * kTileRows, m.rows); };
  const RowFinder finder = finder_of(source);
  const auto [part, row] = finder.find(row_at(begin));
  const int64_t rows = std::min(row_at(end), m.n_experts * m.rows) - row_at(begin);
  const size_t row_size = part->codes.size() / static_cast<size_t>(finder.rows_per_part);
  return row + rows > finder.rows_per_part ? std::span<const std::byte>{} : part->codes.subspan(static_cast<size_t>(row) * row_size, static_cast<size_t>(rows) * row_size);
}

}  // namespace

PackedMatrix plan_matrix(const MatrixSource& source) {
  CHECK(!source.parts.empty() && source.n_experts > 0);
  const StoredMatrix& first = source.parts.front();
  for (const StoredMatrix& part : source.parts) CHECK(part.format == first.format && part.shape.back() == first.shape.back() && part.shape.rows() == first.shape.rows());
  const int64_t all_rows = source.row_order.empty() ? first.shape.rows() * static_cast<int64_t>(source.parts.size()) : static_cast<int64_t>(source.row_order.size());
  CHECK(all_rows % source.n_experts == 0);
  PackedMatrix m;
  m.layout = plan_packing(first).layout;
  m.format_name = first.format->name;
  m.cols = first.shape.back();
  m.n_experts = source.n_experts;
  m.rows = all_rows / source.n_experts;
  m.tiles = (m.rows + kTileRows - 1) / kTileRows;
  m.tile_bytes = tile_size(m.layout, m.cols);
  m.post_scale = first.format->scales == Scales::e4m3 ? first.global_scale : 1.0f;
  m.precise = source.precise;
  m.kernel = kernel_index(m.layout);
  CHECK(m.kernel >= 0);
  m.bytes = static_cast<size_t>(m.n_experts * m.tiles) * m.tile_bytes;
  return m;
}

Packer::Packer(const MatrixSource& source) : source_(source), matrix_(plan_matrix(source)) {}

Status Packer::fill(int64_t first, int64_t last, std::byte* to, Team& team) const {
  const PackPlan plan = plan_packing(source_.parts.front());
  const RowFinder finder = finder_of(source_);
  constexpr size_t kPiece = size_t{2} << 20;  // bytes that a thread takes at a time, and whose pages it lets go of
  const int64_t batch = std::max<int64_t>(1, std::min(static_cast<int64_t>(kPiece / matrix_.tile_bytes), (last - first) / (8 * team.size())));
  std::atomic<int64_t> next{first};
  std::atomic<bool> good{true};
  team.run([&](int) {
    TileWriter writer(matrix_, plan, finder);
    for (int64_t begin; (begin = next.fetch_add(batch)) < last;) {
      const int64_t end = std::min(begin + batch, last);
      for (int64_t t = begin; t < end; t++)
        if (!writer.write(t, reinterpret_cast<uint8_t*>(to) + static_cast<size_t>(t - first) * matrix_.tile_bytes)) good = false;
      if (source_.mapped && matrix_.bytes > 16 * kPiece) MappedFile::drop(source_of(matrix_, source_, begin, end));
    }
  });
  if (!good) return Error{Code::corrupt_file, "finite scales expected, NaN or infinity found"};
  return ok_status();
}

Result<std::unique_ptr<PackedMatrix>> pack(const MatrixSource& source, Team& team, Slabs& slabs) {
  const Packer packer(source);
  auto m = std::make_unique<PackedMatrix>(packer.matrix());
  const std::shared_ptr<std::byte> memory = slabs.take(m->bytes);
  if (!memory) return Error{Code::device, "cannot take " + std::to_string(m->bytes) + " bytes of memory for a weight matrix: the system refused"};
  m->data = memory.get();
  m->memory = memory;
  TRY_STATUS(packer.fill(0, m->n_experts * m->tiles, memory.get(), team));
  return m;
}
Result<std::unique_ptr<PackedMatrix>> pack(const MatrixSource& source, Team& team) {
  Slabs slabs;
  return pack(source, team, slabs);
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

uint16_t get16(const uint8_t* p, int lane) { return load<uint16_t>(p + 2 * lane); }
float get_float(const uint8_t* p, int lane) { return load<float>(p + 4 * lane); }
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
