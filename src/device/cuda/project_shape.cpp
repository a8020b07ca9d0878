// project_shape: how a product of few rows is spread over thread blocks and their shared memory.
#include <algorithm>
#include "device/cuda/project.h"

namespace cuda {
namespace {

constexpr int kOperandBytes = 256 + 32 + 16, kSumBytes = kStripRows * (kStageWarps + 4) * 4, kMostInGroup = 32;  // as the kernels have them

ProjectPlaces places_of(const ProjectArgs& a, int rows, int slots, int group, bool turns, bool one) {
  ProjectPlaces p{};
  int at = static_cast<int>(a.strip_bytes) * slots;
  p.operand_row = a.each * kOperandBytes;
  while (p.operand_row % 128 != (a.layout.codes == Codes::f16 ? 32 : 64)) p.operand_row += 16;  // so that rows lie in different banks
  p.inputs = at;
  if (!one) at += kStageWarps * rows * p.operand_row;
  p.sums = at, at += (turns ? 2 : 1) * group * rows * kSumBytes;
  p.squares = at, at += kStageWarps * rows * 4;
  p.floats = at, at += a.n_float_rows ? kFloatRows * kStageWarps * rows * 4 : 0;
  p.barriers = at, at += 8 * std::max(slots, 1);
  p.bytes = (at + 15) / 16 * 16;
  return p;
}

// Which thread blocks take float rows. In a step of one row all blocks should run at once: such as have no strips take them, else the last ones beside theirs.
unsigned share_floats(ProjectArgs& a, int multiprocessors, bool one) {
  const int n = a.n_float_rows, strips = a.strip_blocks, most = one && a.each > 1 ? 2 : kFloatRows, free = multiprocessors - strips;
  const auto blocks = [&](int each) { return (n + each - 1) / each; };
  a.floats_each = most, a.float_from = strips;
  if (n == 0) return static_cast<unsigned>(strips);
  if (one && free > 0 && blocks(most) <= free) a.floats_each = (n + free - 1) / free;
  else if (one && blocks(2) <= strips) a.floats_each = 2, a.float_from = strips - blocks(2);
  else if (one && blocks(most) <= strips) a.float_from = strips - blocks(most);
  return static_cast<unsigned>(std::max(strips, a.float_from + blocks(a.floats_each)));
}

}  // namespace

bool has_one_row_kernel(const ProjectArgs& a) {
  const int inputs = a.layout.codes != Codes::f16 && a.layout.groups == 4 ? 64 : 128;
  const auto address = [](const void* p) { return reinterpret_cast<uintptr_t>(p); };
  return a.rows == 1 && (a.source.kind == SourceKind::plain || a.source.kind == SourceKind::rms || a.source.kind == SourceKind::heads) && a.cols % inputs == 0 && a.cols / inputs <= kMostEach * kStageWarps &&
         ((address(a.source.x) | address(a.source.gain)) & 7) == 0;
}

bool shape_project(ProjectArgs& a, int multiprocessors, size_t most_shared, ProjectShape& shape) {
  const int chunk_inputs = a.layout.codes != Codes::f16 && a.layout.groups == 4 ? 64 : 128, chunks = (a.cols + chunk_inputs - 1) / chunk_inputs;
  const bool one = has_one_row_kernel(a);
  a.each = std::max(1, (chunks + kStageWarps - 1) / kStageWarps);
  if (a.each == 3 && a.cols % chunk_inputs == 0) a.each = kMostEach;  // as the kernel of one row has it
  const int unit = a.pair ? 2 : 1, units = a.n_strips / unit;
  for (int rows = std::min(a.rows, kStageRows); rows >= 1; rows = rows / 2) {
    a.strip_blocks = std::min(units, multiprocessors);
    const int most = a.strip_blocks ? unit * ((units + a.strip_blocks - 1) / a.strip_blocks) : 0;  // strips of a thread block
    const auto bytes = [&](int slots, int group) { return static_cast<size_t>(places_of(a, rows, slots, group, most > group, one).bytes); };
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
    a.rows_each = rows;
    a.share = a.strip_blocks ? units / a.strip_blocks : 0, a.extra = a.strip_blocks ? units % a.strip_blocks : 0;
    a.places = places_of(a, rows, a.slots, a.group, most > a.group, one);
    const unsigned blocks = share_floats(a, multiprocessors, one);
    shape = {blocks, static_cast<unsigned>((a.rows + rows - 1) / rows), static_cast<size_t>(a.places.bytes)};
    return true;
  }
  return false;
}

}  // namespace cuda
