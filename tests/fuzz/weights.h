// weights: fuzzing one container through open_weights: bytes in a memory file, every result walked.
#pragma once
#include <sys/mman.h>
#include <unistd.h>
#include "file/file.h"

inline void touch(const StoredTensor& tensor, const WeightFile& file) {
  volatile unsigned sink = 0;
  if (file.find(tensor.name) != &tensor) std::abort();
  if (tensor.bytes.empty()) return;
  sink = std::to_integer<unsigned>(tensor.bytes.front()) + std::to_integer<unsigned>(tensor.bytes.back());
  const StoredMatrix matrix{.format = tensor.format, .shape = tensor.shape, .codes = tensor.bytes};
  if (!check_matrix(matrix)) return;  // rows of packed pairs may have odd lengths
  std::vector<float> row(static_cast<size_t>(tensor.shape.back()));
  decode_row(matrix, tensor.shape.rows() - 1, row.data());
  sink = sink + static_cast<unsigned>(row.size());
}

inline int open_bytes(const uint8_t* data, size_t size) {
  static const int fd = ::memfd_create("weights", 0);
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  const auto file = open_weights("/proc/self/fd/" + std::to_string(fd));
  if (!file) {
    for (char c : file.error().message)
      if (c == '\n' || c == '\r') std::abort();  // an error is one line
    return 0;
  }
  for (const auto& tensor : (*file)->tensors()) touch(tensor, **file);
  for (const auto key : (*file)->meta_keys())
    if (!(*file)->meta(key)) std::abort();
  return 0;
}
