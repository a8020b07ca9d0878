// file: weights on disk. Every container becomes the same thing: config text, metadata and named byte ranges of mappings.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
#include "core/core.h"
#include "format/format.h"

// One named tensor as it lies in the file. `format` tells its element kind (U32 code planes of MLX are Codes::i32 "U32").
struct StoredTensor {
  std::string name;
  const Format* format;
  Shape shape;                       // outermost first (GGUF's order is reversed on reading)
  std::span<const std::byte> bytes;  // points into a mapping that the WeightFile owns; may be misaligned (MLX)
};

// GGUF metadata values. Arrays of strings keep views into the mapping; numeric arrays are widened.
struct MetaValue {
  std::variant<int64_t, double, bool, std::string_view, std::vector<int64_t>, std::vector<double>, std::vector<std::string_view>> value;
};

enum class Container : uint8_t { safetensors, gguf };

class WeightFile {
 public:
  virtual ~WeightFile() = default;
  virtual Container container() const = 0;
  virtual std::span<const StoredTensor> tensors() const = 0;
  virtual const StoredTensor* find(std::string_view name) const = 0;       // null when absent
  virtual const MetaValue* meta(std::string_view key) const = 0;           // GGUF key, null when absent (always null for safetensors)
  virtual std::vector<std::string_view> meta_keys() const = 0;
  virtual std::string_view config() const = 0;                             // config.json's text; "" for GGUF
  virtual const std::string& path() const = 0;                             // what was opened: a .gguf, or a folder
  virtual std::vector<std::string> files() const { return {path()}; }      // every file that holds weights
  // A text file that lies beside the weights (tokenizer.json, generation_config.json, chat_template.jinja), at most max_bytes.
  // not_found when there is none.
  virtual Result<std::string> sidecar(std::string_view name, size_t max_bytes) const = 0;
  virtual size_t weight_bytes() const = 0;                                 // sum over tensors
};

// `path` is a .gguf (for split files, any shard), a .safetensors, or a folder with config.json and *.safetensors. Everything is
// validated before anything is returned: magic, lengths, offsets, overlaps, duplicates, shapes against bytes, alignment, shard sets.
Result<std::unique_ptr<WeightFile>> open_weights(const std::string& path);

// Typed look-ups in GGUF metadata; nullopt when absent or of another kind.
std::optional<int64_t> meta_int(const WeightFile& file, std::string_view key);
std::optional<double> meta_double(const WeightFile& file, std::string_view key);
std::optional<bool> meta_bool(const WeightFile& file, std::string_view key);
std::optional<std::string_view> meta_string(const WeightFile& file, std::string_view key);
