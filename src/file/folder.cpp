// folder: a checkpoint as one safetensors file or a folder of them, complete by its index or by its shard names.
#include <algorithm>
#include <filesystem>
#include <set>
#include "core/json.h"
#include "file/safetensors.h"

namespace file_room {
namespace {
namespace fs = std::filesystem;

constexpr size_t longest_config = size_t{16} << 20;
constexpr const char* index_name = "model.safetensors.index.json";

class SafetensorsFile final : public Catalogue {
 public:
  using Catalogue::Catalogue;
  SafetensorsFile(std::string path, std::string folder, std::string config) : Catalogue(std::move(path), std::move(folder)), config_(std::move(config)) {}
  Container container() const override { return Container::safetensors; }
  const MetaValue* meta(std::string_view) const override { return nullptr; }
  std::vector<std::string_view> meta_keys() const override { return {}; }
  std::string_view config() const override { return config_; }

 private:
  std::string config_;
};

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Which files hold which tensors, as the index says.
struct Index {
  std::set<std::string> files;
  std::vector<std::pair<std::string, std::string>> tensors;  // name, file
};

Result<Index> read_index(const std::string& path) {
  TRY(const JsonDocument document, JsonDocument::read(path));
  const auto map = find(document.root(), "weight_map");
  if (!map || !map->is_object()) return refuse(path, "weight_map: an object expected");
  Index index;
  const simdjson::dom::object members = map->get_object().value_unsafe();
  for (const auto [tensor, value] : members) {
    std::string_view file;
    if (value.get(file) != simdjson::SUCCESS || !file.ends_with(".safetensors") || file.find('/') != std::string_view::npos || file.find('\0') != std::string_view::npos)
      return refuse(path, "weight_map " + printable(tensor) + ": the plain name of a .safetensors file expected");
    index.files.emplace(file);
    index.tensors.emplace_back(tensor, file);
  }
  if (index.files.empty()) return refuse(path, "weight_map: at least one tensor expected, none found");
  return index;
}

// model*.safetensors, and every further member of the numbered sets among them.
Result<std::set<std::string>> files_by_name(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("model") && name.ends_with(".safetensors")) names.insert(name);
  }
  if (error) return refuse(folder, "listing it failed: " + error.message(), Code::io);
  const std::set<std::string> found = names;
  for (const auto& name : found) {
    const auto shard = shard_name(name);
    for (int i = 1; shard && i <= shard->count; i++) names.insert(shard->of(i));
  }
  if (names.empty()) return refuse(folder, "model.safetensors or model-00001-of-....safetensors expected, none found", Code::not_found);
  return names;
}

Status check_present(const std::string& folder, const std::set<std::string>& names) {
  std::vector<std::string> missing;
  for (const auto& name : names)
    if (!is_file(folder + "/" + name)) missing.push_back(name);
  if (missing.empty()) return ok_status();
  return refuse(folder, std::to_string(missing.size()) + " of " + std::to_string(names.size()) + " files missing: " + listed(missing), Code::not_found);
}

Status check_index(const std::string& folder, const Index& index, const WeightFile& file) {
  std::vector<std::string> missing;
  for (const auto& [tensor, where] : index.tensors)
    if (!file.find(tensor)) missing.push_back(tensor + " (" + where + ")");
  if (missing.empty()) return ok_status();
  if (missing.size() > 10) missing.resize(10), missing.push_back("...");
  return refuse(folder, std::string("tensors that ") + index_name + " lists are in no file: " + listed(missing));
}

Status add_file(SafetensorsFile& whole, std::unique_ptr<MappedFile> mapping) {
  TRY(auto tensors, read_safetensors(*mapping));
  whole.add(std::move(mapping), std::move(tensors));
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<WeightFile>> open_safetensors(std::unique_ptr<MappedFile> mapping) {
  const std::string path = mapping->path();
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  std::string config;
  if (is_file(folder + "/config.json")) {
    TRY(config, read_file(folder + "/config.json", longest_config));
  }
  auto whole = std::make_unique<SafetensorsFile>(path, folder, std::move(config));
  TRY_STATUS(add_file(*whole, std::move(mapping)));
  TRY_STATUS(whole->finish());
  return std::unique_ptr<WeightFile>(std::move(whole));
}

Result<std::unique_ptr<WeightFile>> open_safetensors_folder(const std::string& folder) {
  if (!is_file(folder + "/config.json")) return refuse(folder, "config.json expected in the folder, none found", Code::not_found);
  TRY(std::string config, read_file(folder + "/config.json", longest_config));
  Index index;
  std::set<std::string> names;
  if (is_file(folder + "/" + index_name)) {
    TRY(index, read_index(folder + "/" + index_name));
    names = index.files;
  } else {
    TRY(names, files_by_name(folder));
  }
  TRY_STATUS(check_present(folder, names));
  auto whole = std::make_unique<SafetensorsFile>(folder, folder, std::move(config));
  for (const auto& name : names) {
    TRY(auto mapping, MappedFile::open(folder + "/" + name));
    TRY_STATUS(add_file(*whole, std::move(mapping)));
  }
  TRY_STATUS(whole->finish());
  TRY_STATUS(check_index(folder, index, *whole));
  return std::unique_ptr<WeightFile>(std::move(whole));
}

}  // namespace file_room
