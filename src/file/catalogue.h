// catalogue: what both containers share: mappings, tensors by name, the folder beside them, and words for refusing a file in one line.
#pragma once
#include <unordered_map>
#include "core/mapped_file.h"
#include "file/file.h"

namespace file_room {

// `text` fit for a one-line message: control and non-ASCII bytes become '?', long names are cut.
std::string printable(std::string_view text, size_t longest = 120);
// "cannot load PATH: SEEN"
Error refuse(std::string_view path, const std::string& seen, Code code = Code::corrupt_file);
// "a, b, c and 12 more"
std::string listed(const std::vector<std::string>& names);

// A file name ending in -NUMBER-of-COUNT.EXTENSION, five digits each; numbers start at 1.
struct ShardName {
  std::string prefix, extension;
  int number = 0, count = 0;
  std::string of(int i) const;  // the name of shard i of the same set
};
std::optional<ShardName> shard_name(const std::string& path);

// rows x cols … in `format`: its bytes, or nothing when the extents overflow or do not fill whole blocks.
std::optional<uint64_t> stored_bytes(const Format& format, std::span<const uint64_t> extents);

// A WeightFile except for its metadata.
class Catalogue : public WeightFile {
 public:
  std::span<const StoredTensor> tensors() const override { return tensors_; }
  const StoredTensor* find(std::string_view name) const override;
  const std::string& path() const override { return path_; }
  std::vector<std::string> files() const override;
  Result<std::string> sidecar(std::string_view name, size_t max_bytes) const override;
  size_t weight_bytes() const override;

  // Takes over a mapping and the tensors that point into it.
  void add(std::unique_ptr<MappedFile> mapping, std::vector<StoredTensor> tensors);
  // After the last add: makes tensors findable, refuses a name that is there twice.
  Status finish();

 protected:
  Catalogue(std::string path, std::string folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  const std::string& folder() const { return folder_; }

 private:
  const std::string& file_of(size_t tensor) const;

  std::string path_, folder_;
  std::vector<std::unique_ptr<MappedFile>> mappings_;
  std::vector<StoredTensor> tensors_;
  std::vector<size_t> first_of_mapping_;                     // index into tensors_ of each mapping's first tensor
  std::unordered_map<std::string_view, size_t> by_name_;     // views into the names in tensors_
};

// The containers, for list.cpp. `mapping` is the opened file at its path.
Result<std::unique_ptr<WeightFile>> open_gguf(std::unique_ptr<MappedFile> mapping);
Result<std::unique_ptr<WeightFile>> open_safetensors(std::unique_ptr<MappedFile> mapping);
Result<std::unique_ptr<WeightFile>> open_safetensors_folder(const std::string& folder);

}  // namespace file_room
