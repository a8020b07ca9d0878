// safetensors: one file's header, strictly read: every entry, every byte of the data area accounted for.
#include <algorithm>
#include <cstring>
#include <unordered_set>
#include "core/json.h"
#include "file/safetensors.h"

namespace file_room {
namespace {

constexpr uint64_t longest_header = 100'000'000;  // the same bound as Hugging Face's reader
constexpr size_t most_extents = 8;

// dtypes that are legal in a header; each is also the name of its Format.
constexpr std::string_view dtypes[] = {"F64", "F32",  "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4"};

// Duplicate keys survive in simdjson's DOM, so they are seen by walking.
struct Entry {
  std::optional<JsonView> dtype, shape, offsets;
};

class Reader {
 public:
  explicit Reader(const MappedFile& file) : file_(file) {}
  Result<std::vector<StoredTensor>> read();

 private:
  Error bad(const std::string& seen) const { return refuse(file_.path(), seen); }
  Error bad(std::string_view tensor, const std::string& seen) const { return bad("tensor " + printable(tensor) + ": " + seen); }
  Result<std::string_view> header();
  Status read_metadata(JsonView value) const;
  Result<Entry> read_entry(std::string_view name, JsonView value) const;
  Result<StoredTensor> read_tensor(std::string_view name, JsonView value) const;
  Result<std::vector<uint64_t>> numbers(std::string_view name, const char* key, JsonView value, size_t most) const;
  Status check_layout(const std::vector<StoredTensor>& tensors) const;

  const MappedFile& file_;
  std::span<const std::byte> data_;
};

Result<std::string_view> Reader::header() {
  const auto bytes = file_.bytes();
  if (bytes.size() < 8) return bad("a header length of 8 bytes expected, the file has " + std::to_string(bytes.size()));
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  if (length > longest_header) return bad("a header of at most 100000000 bytes expected, " + std::to_string(length) + " announced");
  if (length > bytes.size() - 8)
    return bad("a header of " + std::to_string(length) + " bytes announced, " + std::to_string(bytes.size() - 8) + " bytes follow");
  data_ = bytes.subspan(8 + length);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  if (!text.starts_with('{')) return bad("a JSON object expected as header, it does not begin with {");
  return text;
}

Status Reader::read_metadata(JsonView value) const {
  if (value.is_null()) return ok_status();  // MLX writes null when there is none
  if (!value.is_object()) return bad("__metadata__: an object or null expected");
  const simdjson::dom::object members = value.get_object().value_unsafe();
  for (const auto [key, text] : members)
    if (!text.is_string()) return bad("__metadata__ " + printable(key) + ": a string expected");
  return ok_status();
}

Result<Entry> Reader::read_entry(std::string_view name, JsonView value) const {
  if (!value.is_object()) return bad(name, "an object expected");
  Entry entry;
  const simdjson::dom::object members = value.get_object().value_unsafe();
  for (const auto [key, part] : members) {
    auto* place = key == "dtype" ? &entry.dtype : key == "shape" ? &entry.shape : key == "data_offsets" ? &entry.offsets : nullptr;
    if (!place) continue;
    if (*place) return bad(name, printable(key) + " is there twice");
    *place = part;
  }
  if (!entry.dtype || !entry.shape || !entry.offsets) return bad(name, "dtype, shape and data_offsets expected");
  return entry;
}

Result<std::vector<uint64_t>> Reader::numbers(std::string_view name, const char* key, JsonView value, size_t most) const {
  if (!value.is_array()) return bad(name, std::string(key) + ": an array expected");
  std::vector<uint64_t> all;
  const simdjson::dom::array members = value.get_array().value_unsafe();
  for (const JsonView item : members) {
    uint64_t number = 0;
    if (item.get(number) != simdjson::SUCCESS) return bad(name, std::string(key) + ": whole numbers from 0 on expected");
    if (all.size() == most) return bad(name, std::string(key) + ": at most " + std::to_string(most) + " numbers expected");
    all.push_back(number);
  }
  return all;
}

// Shape has four extents; a fifth and later ones are folded into the fourth, which leaves the bytes' order as it is.
Shape fold(std::span<const uint64_t> extents) {
  Shape shape;
  for (uint64_t extent : extents) {
    if (shape.rank < 4) shape.dim[static_cast<size_t>(shape.rank++)] = static_cast<int64_t>(extent);
    else shape.dim[3] *= static_cast<int64_t>(extent);
  }
  return shape;
}

Result<StoredTensor> Reader::read_tensor(std::string_view name, JsonView value) const {
  if (name.empty()) return bad("a tensor without a name");
  TRY(const Entry entry, read_entry(name, value));
  std::string_view dtype;
  if (entry.dtype->get(dtype) != simdjson::SUCCESS) return bad(name, "dtype: a string expected");
  const Format* format = std::ranges::find(dtypes, dtype) == std::end(dtypes) ? nullptr : find_format(dtype);
  if (!format) return refuse(file_.path(), "tensor " + printable(name) + ": unknown dtype " + printable(dtype), Code::unsupported);
  TRY(const auto extents, numbers(name, "shape", *entry.shape, most_extents));
  TRY(const auto offsets, numbers(name, "data_offsets", *entry.offsets, 2));
  if (offsets.size() != 2) return bad(name, "data_offsets: two numbers expected, " + std::to_string(offsets.size()) + " found");
  const uint64_t begin = offsets[0], end = offsets[1];
  if (begin > end) return bad(name, "data_offsets: end " + std::to_string(end) + " lies before begin " + std::to_string(begin));
  if (end > data_.size())
    return bad(name, "data_offsets: ends at byte " + std::to_string(end) + ", the data area has " + std::to_string(data_.size()) + " bytes");
  const auto bytes = stored_bytes(*format, extents);
  if (!bytes) return bad(name, "shape: the extents overflow or do not fill whole bytes");
  const Shape shape = fold(extents);
  if (*bytes != end - begin)
    return bad(name, format->name + (" " + to_string(shape)) + " needs " + std::to_string(*bytes) + " bytes, data_offsets span " + std::to_string(end - begin));
  return StoredTensor{std::string(name), format, shape, data_.subspan(begin, *bytes)};
}

// Tensors tile the data area: no overlap, no hole, nothing behind the last. Their order in the header is free (MLX).
Status Reader::check_layout(const std::vector<StoredTensor>& tensors) const {
  std::vector<const StoredTensor*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  const auto offset = [this](const StoredTensor* t) { return static_cast<size_t>(t->bytes.data() - data_.data()); };
  std::ranges::sort(order, {}, [&](const StoredTensor* t) { return std::pair(offset(t), t->bytes.size()); });
  size_t at = 0;
  for (const StoredTensor* tensor : order) {
    if (offset(tensor) < at) return bad(tensor->name, "begins at byte " + std::to_string(offset(tensor)) + ", inside the tensor before it, which ends at " + std::to_string(at));
    if (offset(tensor) > at) return bad(tensor->name, "begins at byte " + std::to_string(offset(tensor)) + ", bytes from " + std::to_string(at) + " on belong to no tensor");
    at += tensor->bytes.size();
  }
  if (at != data_.size()) return bad("the tensors end at byte " + std::to_string(at) + " of the data area, which has " + std::to_string(data_.size()));
  return ok_status();
}

Result<std::vector<StoredTensor>> Reader::read() {
  TRY(const auto text, header());
  auto document = JsonDocument::parse("its header", text, longest_header);
  if (!document) return bad(document.error().message);
  const JsonView root = document->root();
  if (!root.is_object()) return bad("a JSON object expected as header");
  std::vector<StoredTensor> tensors;
  std::unordered_set<std::string_view> seen;  // views into the document
  const simdjson::dom::object members = root.get_object().value_unsafe();
  for (const auto [name, value] : members) {
    if (!seen.insert(name).second) return bad(printable(name) + " is in the header twice");
    if (name == "__metadata__") {
      TRY_STATUS(read_metadata(value));
      continue;
    }
    TRY(auto tensor, read_tensor(name, value));
    tensors.push_back(std::move(tensor));
  }
  TRY_STATUS(check_layout(tensors));
  return tensors;
}

}  // namespace

Result<std::vector<StoredTensor>> read_safetensors(const MappedFile& file) { return Reader(file).read(); }

}  // namespace file_room
