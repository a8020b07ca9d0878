// list: which container a path is, told by content first and by name second.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include "file/catalogue.h"

namespace {
using namespace file_room;

bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

bool is_gguf(const MappedFile& file) { return begins_with(file.bytes(), "GGUF") || file.path().ends_with(".gguf"); }

// Eight bytes of length, then a JSON object.
bool is_safetensors(const MappedFile& file) {
  return file.path().ends_with(".safetensors") || (file.bytes().size() > 8 && file.bytes()[8] == std::byte{'{'});
}

struct ContainerKind {
  bool (*recognises)(const MappedFile& file);
  Result<std::unique_ptr<WeightFile>> (*open)(std::unique_ptr<MappedFile> mapping);
};
constexpr ContainerKind containers[] = {{is_gguf, open_gguf}, {is_safetensors, open_safetensors}};

}  // namespace

Result<std::unique_ptr<WeightFile>> open_weights(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return open_safetensors_folder(path);
  TRY(auto mapping, MappedFile::open(path));
  for (const auto& container : containers)
    if (container.recognises(*mapping)) return container.open(std::move(mapping));
  return refuse(path, "a GGUF file, a safetensors file or a folder expected, neither magic nor name says so", Code::unsupported);
}
