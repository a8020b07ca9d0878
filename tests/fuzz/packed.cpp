// packed fuzz: any bytes as the front and the end of a packed file, once as they are and once with the checksum put right.
#include <cstdlib>
#include "core/hash.h"
#include "device/cpu/packed_file.h"

namespace {
void read(std::span<const std::byte> file) {
  const auto table = cpu::read_packed_table(file, "");
  if (!table) {
    for (const char c : table.error().message)
      if (c == '\n' || c == '\r') std::abort();  // an error is one line
    return;
  }
  for (const cpu::PackedEntry& e : *table)
    if (e.start > file.size() || e.bytes > file.size() - e.start) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A whole file is 2 MB and more: the header comes from the front of the input, its data is zeroes, the table is the rest.
  const size_t front = std::min(size, sizeof(cpu::PackedHeader));
  std::vector<std::byte> file(cpu::kPackedDataStart + 4096 + size - front);
  if (size > 0) std::memcpy(file.data(), data, front);
  if (size > front) std::memcpy(file.data() + file.size() - (size - front), data + front, size - front);
  read(file);
  cpu::PackedHeader h;
  std::memcpy(&h, file.data(), sizeof h);
  h.file_bytes = file.size();
  h.checksum = 0;
  if (h.table_start > file.size()) return 0;
  h.checksum = xxh64(std::span(file).subspan(h.table_start), xxh64(std::as_bytes(std::span(&h, 1))));
  std::memcpy(file.data(), &h, sizeof h);
  read(file);
  read(std::as_bytes(std::span(data, size)));
  return 0;
}
