// gguf: a GGUF model as one file or as a split set, any shard of which opens all.
#include <filesystem>
#include "file/gguf_reader.h"

namespace file_room {
namespace {

class GgufFile final : public Catalogue {
 public:
  GgufFile(std::string path, std::string folder) : Catalogue(std::move(path), std::move(folder)) {}
  Container container() const override { return Container::gguf; }
  const MetaValue* meta(std::string_view key) const override {
    const auto at = meta_.find(key);
    return at == meta_.end() ? nullptr : &at->second;
  }
  std::vector<std::string_view> meta_keys() const override { return keys_; }
  std::string_view config() const override { return {}; }

  // The first shard added speaks for all.
  void add_shard(std::unique_ptr<MappedFile> mapping, GgufContents contents) {
    if (keys_.empty()) {
      keys_ = std::move(contents.keys);
      meta_ = std::move(contents.meta);
    }
    add(std::move(mapping), std::move(contents.tensors));
  }

 private:
  std::vector<std::string_view> keys_;
  std::unordered_map<std::string_view, MetaValue> meta_;
};

// What a shard says of the set it belongs to.
struct Split {
  int64_t number = 0, count = 1, tensors = -1;  // number counts from 0; tensors is -1 when not said
};

Result<int64_t> split_value(const std::string& path, const GgufContents& contents, const char* key, int64_t absent) {
  const auto at = contents.meta.find(key);
  if (at == contents.meta.end()) return absent;
  const int64_t* value = std::get_if<int64_t>(&at->second.value);
  if (!value || *value < 0) return refuse(path, std::string(key) + ": a whole number expected");
  return *value;
}

Result<Split> split_of(const std::string& path, const GgufContents& contents) {
  Split split;
  TRY(split.number, split_value(path, contents, "split.no", 0));
  TRY(split.count, split_value(path, contents, "split.count", 1));
  TRY(split.tensors, split_value(path, contents, "split.tensors.count", -1));
  if (split.count == 0) split.count = 1;  // gguf-split's merge leaves 0
  if (split.number >= split.count || split.count > 99999)
    return refuse(path, "split.no " + std::to_string(split.number) + " of split.count " + std::to_string(split.count) + " makes no sense");
  return split;
}

Result<ShardName> name_of_set(const std::string& path, const Split& split) {
  const auto name = shard_name(path);
  if (name && name->number == split.number + 1 && name->count == split.count) return *name;
  const ShardName expected{"NAME", ".gguf", 1, static_cast<int>(split.count)};
  return refuse(path, "shard " + std::to_string(split.number + 1) + " of " + std::to_string(split.count) + ", whose name must end in " +
                          expected.of(static_cast<int>(split.number) + 1).substr(4));
}

Status check_present(const std::string& path, const ShardName& name) {
  std::vector<std::string> missing;
  for (int i = 1; i <= name.count; i++) {
    std::error_code error;
    const std::string shard = name.of(i);
    if (!std::filesystem::is_regular_file(shard, error)) missing.push_back(shard.substr(shard.rfind('/') + 1));
  }
  if (missing.empty()) return ok_status();
  return refuse(path, std::to_string(missing.size()) + " of " + std::to_string(name.count) + " shards missing: " + listed(missing), Code::not_found);
}

Status add_set(GgufFile& whole, const ShardName& name, int64_t tensors) {
  for (int i = 1; i <= name.count; i++) {
    TRY(auto mapping, MappedFile::open(name.of(i)));
    TRY(auto contents, read_gguf(*mapping));
    TRY(const Split split, split_of(mapping->path(), contents));
    if (split.number != i - 1 || split.count != name.count)
      return refuse(mapping->path(), "shard " + std::to_string(i) + " of " + std::to_string(name.count) + " expected, it says " + std::to_string(split.number + 1) + " of " +
                                         std::to_string(split.count));
    whole.add_shard(std::move(mapping), std::move(contents));
  }
  if (tensors >= 0 && static_cast<size_t>(tensors) != whole.tensors().size())
    return refuse(whole.path(), "split.tensors.count " + std::to_string(tensors) + " expected, the shards hold " + std::to_string(whole.tensors().size()));
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<WeightFile>> open_gguf(std::unique_ptr<MappedFile> mapping) {
  const std::string path = mapping->path();
  const size_t slash = path.rfind('/');
  TRY(auto contents, read_gguf(*mapping));
  TRY(const Split split, split_of(path, contents));
  auto whole = std::make_unique<GgufFile>(path, slash == std::string::npos ? "." : path.substr(0, slash));
  if (split.count == 1) {
    whole->add_shard(std::move(mapping), std::move(contents));
  } else {
    TRY(const ShardName name, name_of_set(path, split));
    TRY_STATUS(check_present(path, name));
    TRY_STATUS(add_set(*whole, name, split.tensors));
  }
  TRY_STATUS(whole->finish());
  return std::unique_ptr<WeightFile>(std::move(whole));
}

}  // namespace file_room
