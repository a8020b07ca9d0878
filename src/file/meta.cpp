// meta: typed look-ups in GGUF metadata.
#include "file/file.h"

namespace {
template <class T> std::optional<T> look_up(const WeightFile& file, std::string_view key) {
  const MetaValue* meta = file.meta(key);
  const T* value = meta ? std::get_if<T>(&meta->value) : nullptr;
  return value ? std::optional<T>(*value) : std::nullopt;
}
}  // namespace

std::optional<int64_t> meta_int(const WeightFile& file, std::string_view key) { return look_up<int64_t>(file, key); }
std::optional<bool> meta_bool(const WeightFile& file, std::string_view key) { return look_up<bool>(file, key); }
std::optional<std::string_view> meta_string(const WeightFile& file, std::string_view key) { return look_up<std::string_view>(file, key); }

// A whole number is a number too: some converters write 10000 where others write 10000.0.
std::optional<double> meta_double(const WeightFile& file, std::string_view key) {
  if (const auto value = look_up<double>(file, key)) return value;
  const auto whole = look_up<int64_t>(file, key);
  return whole ? std::optional<double>(static_cast<double>(*whole)) : std::nullopt;
}
