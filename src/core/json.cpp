// json: bounded parsing with simdjson and lookups that never throw.
#include "core/json.h"

#include <algorithm>
#include <cmath>
#include "core/mapped_file.h"

namespace {

constexpr std::ptrdiff_t most_values = 8'000'000;  // four times what the largest vocabularies need; a value takes up to 32 bytes here

// At least the number of values. Punctuation inside strings counts too, which costs nothing that matters.
std::ptrdiff_t count_values(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return c == ',' || c == ':' || c == '[' || c == '{'; });
}

}  // namespace

Result<JsonDocument> JsonDocument::parse(std::string_view what, std::string_view text, size_t max_bytes) {
  const auto refuse = [&](Code code, const std::string& seen) { return Error{code, "cannot parse " + std::string(what) + ": " + seen}; };
  if (text.size() > max_bytes) return refuse(Code::too_large, "at most " + std::to_string(max_bytes) + " bytes expected, " + std::to_string(text.size()) + " found");
  if (const auto values = count_values(text); values > most_values)
    return refuse(Code::too_large, "at most " + std::to_string(most_values) + " values expected, about " + std::to_string(values) + " found");
  JsonDocument document;
  document.parser_ = std::make_unique<simdjson::dom::parser>(max_bytes + 1);
  const auto parsed = document.parser_->parse(text.data(), text.size(), true);
  if (parsed.error() != simdjson::SUCCESS) return refuse(Code::corrupt_file, std::string("JSON expected, ") + simdjson::error_message(parsed.error()));
  document.root_ = parsed.value_unsafe();
  return document;
}

Result<JsonDocument> JsonDocument::read(const std::string& path, size_t max_bytes) {
  TRY(const std::string text, read_file(path, max_bytes));
  return parse(path, text, max_bytes);
}

std::optional<JsonView> find(JsonView object, std::string_view key) {
  if (!object.is_object()) return std::nullopt;
  JsonView value;
  if (object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

std::optional<int64_t> find_int(JsonView object, std::string_view key) {
  const auto value = find(object, key);
  if (!value) return std::nullopt;
  int64_t integer = 0;
  if (value->get(integer) == simdjson::SUCCESS) return integer;
  double number = 0;
  if (value->get(number) != simdjson::SUCCESS || number != std::floor(number) || std::fabs(number) > 9e15) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::optional<double> find_double(JsonView object, std::string_view key) {
  const auto value = find(object, key);
  double number = 0;
  if (!value || value->get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

std::optional<bool> find_bool(JsonView object, std::string_view key) {
  const auto value = find(object, key);
  bool flag = false;
  if (!value || value->get(flag) != simdjson::SUCCESS) return std::nullopt;
  return flag;
}

std::optional<std::string_view> find_string(JsonView object, std::string_view key) {
  const auto value = find(object, key);
  std::string_view text;
  if (!value || value->get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}
