// project_shape: how a product of few rows is spread over thread blocks and their shared memory.
#include <algorithm>
#include "device/cuda/project.h"

namespace cuda {
namespace {

constexpr int kOperandBytes = 256 + 32 + 16, kSumBytes = kStripRows * (kStageWarps + 4) * 4, kMostInGroup = 32;  // as the kernels have them

ProjectPlaces places_of(const ProjectArgs& a, int rows, int slots, int group, bool turns) {
  ProjectPlaces p{};
  int at = static_cast<int>(a.strip_bytes) * slots;
  p.operand_row = a.each * kOperandBytes;
  while (p.operand_row % 128 != (a.layout.codes == Codes::f16 ? 32 : 64)) p.operand_row += 16;  // so that rows lie in different banks
  p.inputs = at;
  if (rows > 1 || a.each > (a.source.kind > SourceKind::rms ? 2 : 1)) at += kStageWarps * rows * p.operand_row;
  p.sums = at, at += (turns ? 2 : 1) * group * rows * kSumBytes;
  p.squares = at, at += kStageWarps * rows * 4;
  p.barriers = at, at += 8 * std::max(slots, 1);
  p.bytes = std::max((at + 15) / 16 * 16, (kFloatRows + 1) * kStageWarps * rows * 4);
  return p;
}

}  // namespace

bool shape_project(ProjectArgs& a, int multiprocessors, size_t most_shared, ProjectShape& shape) {
  const int chunk_blocks = a.layout.codes != Codes::f16 && a.layout.groups == 4 ? 1 : 2, chunks = (a.blocks + chunk_blocks - 1) / chunk_blocks;
  a.each = std::max(1, (chunks + kStageWarps - 1) / kStageWarps);
  const int unit = a.pair ? 2 : 1, units = a.n_strips / unit;
  for (int rows = std::min(a.rows, kStageRows); rows >= 1; rows = rows / 2) {
    a.strip_blocks = std::min(units, multiprocessors);
    const int most = a.strip_blocks ? unit * ((units + a.strip_blocks - 1) / a.strip_blocks) : 0;  // strips of a thread block
    const auto bytes = [&](int slots, int group) { return static_cast<size_t>(places_of(a, rows, slots, group, most > group).bytes); };
    // All strips of a block at once where they fit with another stage beside them, else two groups in turns.
    a.slots = a.group = std::clamp(most, 1, kMostInGroup);
    const size_t comfortable = std::min(most_shared, size_t{132} << 10);
    if (bytes(a.slots, a.group) > comfortable) {
      a.group = std::min(most, 4) / unit * unit;
      while (a.group > unit && bytes(2 * a.group, a.group) > comfortable) a.group -= unit;
      a.slots = 2 * a.group;
      if (bytes(a.slots, a.group) > most_shared) a.slots = a.group;
    }
    if (bytes(a.slots, a.group) > most_shared) continue;
    const int float_blocks = (a.n_float_rows + kFloatRows - 1) / kFloatRows;
    a.rows_each = rows;
    a.share = a.strip_blocks ? units / a.strip_blocks : 0, a.extra = a.strip_blocks ? units % a.strip_blocks : 0;
    a.places = places_of(a, rows, a.slots, a.group, most > a.group);
    shape = {static_cast<unsigned>(a.strip_blocks + float_blocks), static_cast<unsigned>((a.rows + rows - 1) / rows), static_cast<size_t>(a.places.bytes)};
    return true;
  }
  return false;
}

}  // namespace cuda
