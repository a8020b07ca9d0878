// catalogue: names to tensors, sidecar files, shard names and one-line refusals.
#include "file/catalogue.h"

#include <algorithm>
#include <iterator>

namespace file_room {

std::string printable(std::string_view text, size_t longest) {
  std::string out;
  for (char c : text.substr(0, longest)) out += c >= 32 && c < 127 ? c : '?';
  if (text.size() > longest) out += "...";
  return out;
}

Error refuse(std::string_view path, const std::string& seen, Code code) { return {code, "cannot load " + printable(path, 4096) + ": " + seen}; }

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t shown = 100;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), shown); i++) text += (i ? ", " : "") + printable(names[i], 200);
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

namespace {
std::string five_digits(int n) {
  const std::string digits = std::to_string(n);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

std::optional<int> parse_five(std::string_view text) {
  int value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}
}  // namespace

std::string ShardName::of(int i) const { return prefix + "-" + five_digits(i) + "-of-" + five_digits(count) + extension; }

std::optional<ShardName> shard_name(const std::string& path) {
  constexpr size_t tail = std::string_view("-00001-of-00002").size();
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot < tail) return std::nullopt;
  const std::string_view name = std::string_view(path).substr(dot - tail, tail);
  if (name[0] != '-' || name.substr(6, 4) != "-of-") return std::nullopt;
  const auto number = parse_five(name.substr(1, 5)), count = parse_five(name.substr(10, 5));
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return ShardName{path.substr(0, dot - tail), path.substr(dot), *number, *count};
}

std::optional<uint64_t> stored_bytes(const Format& format, std::span<const uint64_t> extents) {
  int64_t product = 1;  // of the extents that are not zero, so that no partial product overflows either
  bool empty = false;
  for (uint64_t extent : extents) {
    if (extent == 0) empty = true;
    else if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  if (empty) return 0;
  const uint64_t columns = extents.empty() ? 1 : extents.back();
  uint64_t bytes = 0;
  if (columns % static_cast<uint64_t>(format.block_weights) != 0) return std::nullopt;
  const uint64_t blocks = static_cast<uint64_t>(product) / static_cast<uint64_t>(format.block_weights);
  if (__builtin_mul_overflow(blocks, static_cast<uint64_t>(format.block_bytes), &bytes)) return std::nullopt;
  return bytes;
}

const StoredTensor* Catalogue::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &tensors_[at->second];
}

Result<std::string> Catalogue::sidecar(std::string_view name, size_t max_bytes) const {
  if (name.empty() || name.find('/') != std::string_view::npos || name.starts_with('.'))
    return Error{Code::invalid_request, "cannot read " + printable(name) + " beside " + printable(path_, 4096) + ": a plain file name expected"};
  return read_file(folder_ + "/" + std::string(name), max_bytes);
}

std::vector<std::string> Catalogue::files() const {
  std::vector<std::string> files;
  for (const auto& mapping : mappings_) files.push_back(mapping->path());
  return files;
}

size_t Catalogue::weight_bytes() const {
  size_t total = 0;
  for (const auto& tensor : tensors_) total += tensor.bytes.size();
  return total;
}

void Catalogue::add(std::unique_ptr<MappedFile> mapping, std::vector<StoredTensor> tensors) {
  first_of_mapping_.push_back(tensors_.size());
  mappings_.push_back(std::move(mapping));
  std::ranges::move(tensors, std::back_inserter(tensors_));
}

Status Catalogue::finish() {
  by_name_.reserve(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); i++) {
    const auto [other, is_new] = by_name_.try_emplace(tensors_[i].name, i);
    if (is_new) continue;
    const std::string& first = file_of(other->second);
    return refuse(file_of(i), "tensor " + printable(tensors_[i].name) + ": there already" + (first == file_of(i) ? "" : " in " + printable(first, 4096)));
  }
  return ok_status();
}

const std::string& Catalogue::file_of(size_t tensor) const {
  const auto owner = std::ranges::upper_bound(first_of_mapping_, tensor) - first_of_mapping_.begin() - 1;
  return mappings_[static_cast<size_t>(owner)]->path();
}

}  // namespace file_room
