// gguf_reader: magic, metadata and tensor table of one GGUF file; no count or length is believed before the bytes behind it are there.
#include "file/gguf_reader.h"

#include <algorithm>
#include <unordered_set>
#include "file/gguf_cursor.h"

namespace file_room {
namespace {

// Value types. [spec 4.4]
enum Type : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

constexpr uint64_t least_pair_bytes = 8 + 1 + 4 + 1;            // key length, key, type, value
constexpr uint64_t least_tensor_bytes = 8 + 1 + 4 + 4 + 8;      // name length, name, rank, type, offset
constexpr uint64_t most_array_elements = uint64_t{1} << 24;     // of one file together; the largest vocabularies have 2^18 entries
constexpr uint64_t most_name_bytes = 1024, most_alignment = 65536;

// The fewest bytes an element takes in an array; 0 for what cannot be one.
uint64_t least_bytes(uint32_t type) {
  switch (type) {
    case u8: case i8: case boolean: return 1;
    case u16: case i16: return 2;
    case u32: case i32: case f32: return 4;
    case string: case u64: case i64: case f64: return 8;
    default: return 0;
  }
}

struct TensorInfo {
  StoredTensor tensor;
  uint64_t offset = 0, bytes = 0;
};

class Reader {
 public:
  explicit Reader(const MappedFile& file) : file_(file), cursor_(file.bytes()) {}
  Result<GgufContents> read();

 private:
  Error bad(const std::string& seen, Code code = Code::corrupt_file) const { return refuse(file_.path(), seen, code); }
  Error ends(const std::string& what) const { return bad("the file ends inside " + what + " at byte " + std::to_string(cursor_.position())); }
  Status read_head();
  Status read_pair();
  Result<MetaValue> read_value(const std::string& key, uint32_t type);
  Result<MetaValue> read_array(const std::string& key);
  template <class Stored, class Wide> Result<MetaValue> number(const std::string& key);
  template <class Stored, class Wide> Result<MetaValue> numbers(const std::string& key, uint64_t count);
  Result<MetaValue> strings(const std::string& key, uint64_t count);
  Status read_alignment();
  Result<TensorInfo> read_tensor();
  Result<uint32_t> read_extents(const std::string& what, std::array<uint64_t, 4>& extents);
  Status place_tensors(std::vector<TensorInfo>& infos);

  const MappedFile& file_;
  Cursor cursor_;
  uint64_t n_tensors_ = 0, n_pairs_ = 0, n_elements_ = 0, alignment_ = 32;
  GgufContents contents_;
};

Status Reader::read_head() {
  uint32_t magic = 0, version = 0;
  if (!cursor_.take(magic)) return ends("the magic");
  if (magic == 0x47475546) return bad("magic GGUF expected, FUGG found: a big-endian file, only little-endian ones are read", Code::unsupported);
  if (magic != 0x46554747) {
    const std::string_view seen(reinterpret_cast<const char*>(file_.bytes().data()), 4);
    return bad("magic GGUF expected, \"" + printable(seen) + "\" found", Code::unsupported);
  }
  if (!cursor_.take(version)) return ends("the version");
  if (version != 0 && (version & 0xffff) == 0) return bad("a big-endian file, only little-endian ones are read", Code::unsupported);
  if (version != 2 && version != 3) return bad("GGUF version 2 or 3 expected, " + std::to_string(version) + " found", Code::unsupported);
  if (!cursor_.take(n_tensors_) || !cursor_.take(n_pairs_)) return ends("the counts");
  if (n_pairs_ > cursor_.remaining() / least_pair_bytes)
    return bad(std::to_string(n_pairs_) + " metadata pairs announced, " + std::to_string(cursor_.remaining()) + " bytes follow");
  if (n_tensors_ > cursor_.remaining() / least_tensor_bytes)
    return bad(std::to_string(n_tensors_) + " tensors announced, " + std::to_string(cursor_.remaining()) + " bytes follow");
  return ok_status();
}

template <class Stored, class Wide> Result<MetaValue> Reader::number(const std::string& key) {
  Stored value{};
  if (!cursor_.take(value)) return ends(key);
  if constexpr (std::is_same_v<Stored, uint64_t>)
    if (value > static_cast<uint64_t>(INT64_MAX)) return bad(key + ": at most 2^63 - 1 expected, " + std::to_string(value) + " found");
  return MetaValue{static_cast<Wide>(value)};
}

template <class Stored, class Wide> Result<MetaValue> Reader::numbers(const std::string& key, uint64_t count) {
  std::vector<Wide> all(count);
  for (Wide& wide : all) {
    Stored value{};
    if (!cursor_.take(value)) return ends(key);
    if constexpr (std::is_same_v<Stored, uint64_t>)
      if (value > static_cast<uint64_t>(INT64_MAX)) return bad(key + ": at most 2^63 - 1 expected, " + std::to_string(value) + " found");
    wide = static_cast<Wide>(value);
  }
  return MetaValue{std::move(all)};
}

Result<MetaValue> Reader::strings(const std::string& key, uint64_t count) {
  std::vector<std::string_view> all(count);
  for (auto& text : all)
    if (!cursor_.take_string(text)) return ends(key);
  return MetaValue{std::move(all)};
}

Result<MetaValue> Reader::read_array(const std::string& key) {
  uint32_t type = 0;
  uint64_t count = 0;
  if (!cursor_.take(type) || !cursor_.take(count)) return ends(key);
  if (type == array) return bad(key + ": arrays inside arrays are not read", Code::unsupported);
  const uint64_t each = least_bytes(type);
  if (each == 0) return bad(key + ": unknown element type " + std::to_string(type));
  if (count > cursor_.remaining() / each)
    return bad(key + ": " + std::to_string(count) + " elements announced, " + std::to_string(cursor_.remaining()) + " bytes follow");
  n_elements_ += count;
  if (n_elements_ > most_array_elements) return bad(key + ": at most " + std::to_string(most_array_elements) + " array elements in one file expected");
  switch (type) {
    case u8: case boolean: return numbers<uint8_t, int64_t>(key, count);
    case i8: return numbers<int8_t, int64_t>(key, count);
    case u16: return numbers<uint16_t, int64_t>(key, count);
    case i16: return numbers<int16_t, int64_t>(key, count);
    case u32: return numbers<uint32_t, int64_t>(key, count);
    case i32: return numbers<int32_t, int64_t>(key, count);
    case u64: return numbers<uint64_t, int64_t>(key, count);
    case i64: return numbers<int64_t, int64_t>(key, count);
    case f32: return numbers<float, double>(key, count);
    case f64: return numbers<double, double>(key, count);
    default: return strings(key, count);
  }
}

Result<MetaValue> Reader::read_value(const std::string& key, uint32_t type) {
  switch (type) {
    case u8: return number<uint8_t, int64_t>(key);
    case i8: return number<int8_t, int64_t>(key);
    case u16: return number<uint16_t, int64_t>(key);
    case i16: return number<int16_t, int64_t>(key);
    case u32: return number<uint32_t, int64_t>(key);
    case i32: return number<int32_t, int64_t>(key);
    case u64: return number<uint64_t, int64_t>(key);
    case i64: return number<int64_t, int64_t>(key);
    case f32: return number<float, double>(key);
    case f64: return number<double, double>(key);
    case array: return read_array(key);
    case boolean: {
      uint8_t value = 0;
      if (!cursor_.take(value)) return ends(key);
      if (value > 1) return bad(key + ": a bool of 0 or 1 expected, " + std::to_string(value) + " found");
      return MetaValue{value == 1};
    }
    case string: {
      std::string_view text;
      if (!cursor_.take_string(text)) return bad(key + ": the string runs past the end of the file");
      return MetaValue{text};
    }
    default: return bad(key + ": unknown value type " + std::to_string(type));
  }
}

Status Reader::read_pair() {
  std::string_view key;
  uint32_t type = 0;
  const std::string what = "metadata pair " + std::to_string(contents_.keys.size() + 1) + " of " + std::to_string(n_pairs_);
  if (!cursor_.take_string(key)) return ends(what);
  if (key.empty() || key.size() > most_name_bytes) return bad(what + ": a key of 1 to " + std::to_string(most_name_bytes) + " bytes expected, " + std::to_string(key.size()) + " found");
  const std::string shown = "key " + printable(key);
  if (!cursor_.take(type)) return ends(shown);
  TRY(auto value, read_value(shown, type));
  if (!contents_.meta.try_emplace(key, std::move(value)).second) return bad(shown + " is there twice");
  contents_.keys.push_back(key);
  return ok_status();
}

Status Reader::read_alignment() {
  const auto at = contents_.meta.find("general.alignment");
  if (at == contents_.meta.end()) return ok_status();
  const int64_t* value = std::get_if<int64_t>(&at->second.value);
  if (!value || *value < 1 || *value > static_cast<int64_t>(most_alignment) || (*value & (*value - 1)) != 0)
    return bad("general.alignment: a power of two up to 65536 expected" + (value ? ", " + std::to_string(*value) + " found" : std::string()));
  alignment_ = static_cast<uint64_t>(*value);
  return ok_status();
}

// Extents as stored, innermost first; those beyond the rank stay 1.
Result<uint32_t> Reader::read_extents(const std::string& what, std::array<uint64_t, 4>& extents) {
  uint32_t rank = 0;
  if (!cursor_.take(rank)) return ends(what);
  if (rank > 4) return bad(what + ": at most 4 dimensions expected, " + std::to_string(rank) + " found");
  for (uint32_t i = 0; i < rank; i++) {
    if (!cursor_.take(extents[i])) return ends(what);
    if (extents[i] == 0) return bad(what + ": dimension " + std::to_string(i) + " is 0");
  }
  return rank;
}

Result<TensorInfo> Reader::read_tensor() {
  std::string_view name;
  if (!cursor_.take_string(name)) return ends("the tensor table");
  if (name.empty() || name.size() > most_name_bytes) return bad("a tensor name of 1 to 1024 bytes expected, " + std::to_string(name.size()) + " found");
  const std::string what = "tensor " + printable(name);
  std::array<uint64_t, 4> extents{1, 1, 1, 1};
  TRY(const uint32_t rank, read_extents(what, extents));
  uint32_t type = 0;
  TensorInfo info;
  if (!cursor_.take(type) || !cursor_.take(info.offset)) return ends(what);
  const Format* format = find_ggml_format(type > 100000 ? -1 : static_cast<int>(type));
  if (!format) {
    const std::string known = type > 511 ? "type " + std::to_string(type) : ggml_type_name(static_cast<int>(type));
    return bad(what + ": encoded as " + known + ", which cannot be read", Code::unsupported);
  }
  std::array<uint64_t, 4> outermost_first{};
  info.tensor = {std::string(name), format, Shape{}, {}};
  std::reverse_copy(extents.begin(), extents.begin() + rank, outermost_first.begin());
  const auto bytes = stored_bytes(*format, std::span(outermost_first).first(rank));
  if (!bytes)
    return bad(what + ": the dimensions overflow, or rows of " + std::to_string(extents[0]) + " weights are no multiple of " + std::to_string(format->block_weights) + " (" + format->name + ")");
  for (uint32_t i = 0; i < rank; i++) info.tensor.shape.dim[i] = static_cast<int64_t>(outermost_first[i]);
  info.tensor.shape.rank = static_cast<int>(rank);
  info.bytes = *bytes;
  return info;
}

// Gives every tensor its bytes: inside the file, aligned, none shared.
Status Reader::place_tensors(std::vector<TensorInfo>& infos) {
  const uint64_t size = file_.bytes().size(), start = (cursor_.position() + alignment_ - 1) / alignment_ * alignment_;
  for (TensorInfo& info : infos) {
    const std::string what = "tensor " + printable(info.tensor.name) + ": ";
    if (info.offset % alignment_ != 0) return bad(what + "offset " + std::to_string(info.offset) + " is no multiple of the alignment " + std::to_string(alignment_));
    if (start > size || info.offset > size - start || info.bytes > size - start - info.offset)
      return bad(what + std::to_string(info.bytes) + " bytes at offset " + std::to_string(info.offset) + " expected, the data area has " + std::to_string(size > start ? size - start : 0));
    info.tensor.bytes = file_.bytes().subspan(start + info.offset, info.bytes);
  }
  std::vector<const TensorInfo*> order;
  for (const TensorInfo& info : infos) order.push_back(&info);
  std::ranges::sort(order, {}, &TensorInfo::offset);
  for (size_t i = 1; i < order.size(); i++)
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
      return bad("tensor " + printable(order[i]->tensor.name) + ": overlaps tensor " + printable(order[i - 1]->tensor.name));
  return ok_status();
}

Result<GgufContents> Reader::read() {
  TRY_STATUS(read_head());
  for (uint64_t i = 0; i < n_pairs_; i++) TRY_STATUS(read_pair());
  TRY_STATUS(read_alignment());
  std::vector<TensorInfo> infos;
  for (uint64_t i = 0; i < n_tensors_; i++) {
    TRY(auto info, read_tensor());
    infos.push_back(std::move(info));
  }
  TRY_STATUS(place_tensors(infos));
  contents_.tensors.reserve(infos.size());
  for (TensorInfo& info : infos) contents_.tensors.push_back(std::move(info.tensor));
  return std::move(contents_);
}

}  // namespace

Result<GgufContents> read_gguf(const MappedFile& file) { return Reader(file).read(); }

}  // namespace file_room
