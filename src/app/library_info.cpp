// library: what files say about a model, and the list of copies.
#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include "app/library.h"
#include "app/text_parts.h"
#include "core/json.h"
#include "core/json_writer.h"
#include "core/mapped_file.h"

namespace {

namespace fs = std::filesystem;

// MLX keeps codes in 32-bit words; how many in one is in its configuration.
int codes_per_word(const WeightFile& file) {
  const auto document = JsonDocument::parse("config.json", std::string(file.config()));
  if (!document) return 8;
  for (const char* key : {"quantization", "quantization_config"})
    if (const auto block = find(document->root(), key))
      if (const auto bits = find_int(*block, "bits"); bits && *bits > 0 && *bits <= 32) return static_cast<int>(32 / *bits);
  return 8;
}

std::string count_text(double n) { return n >= 1e9 ? fmt::format("{:.1f}B", n / 1e9) : n >= 1e6 ? fmt::format("{:.0f}M", n / 1e6) : fmt::format("{:.0f}K", n / 1e3); }

void add_sizes(const WeightFile& file, ModelInfo& info) {
  std::map<std::string, size_t> bytes_of;  // by format
  double parameters = 0;
  const int packed = file.container() == Container::gguf ? 1 : codes_per_word(file);
  for (const StoredTensor& t : file.tensors()) {
    const std::string format = t.format->name;
    const bool words = format == "U32";
    if (t.name.ends_with(".scales") || t.name.ends_with(".biases")) continue;
    bytes_of[words ? fmt::format("{}-bit", 32 / packed) : format] += t.bytes.size();
    parameters += static_cast<double>(t.shape.elements()) * (words ? packed : 1);
  }
  const auto most = std::ranges::max_element(bytes_of, {}, [](const auto& entry) { return entry.second; });
  if (most != bytes_of.end()) info.quantization = most->first;
  info.parameters = count_text(parameters);
  info.bytes = file.weight_bytes();
}

// Caches of the Hugging Face layout link to files that are called by their sha256.
std::string digest_of(const std::string& path) {
  std::error_code error;
  const std::string blob = fs::read_symlink(path, error).filename().string();
  return blob.size() == 64 && blob.find_first_not_of("0123456789abcdef") == std::string::npos ? blob : "";
}

}  // namespace

Result<ModelInfo> inspect_info(const std::string& path) {
  TRY(const auto file, open_weights(path));
  TRY(const ModelReport report, inspect_model(*file));
  ModelInfo info;
  info.architecture = report.config.architecture;
  info.context_tokens = report.config.max_positions;
  info.format = file->container() == Container::gguf ? "gguf" : "safetensors";
  add_sizes(*file, info);
  if (auto source = chat_template_source(*file)) info.chat_template = std::move(*source);
  info.thinks = info.chat_template.find("enable_thinking") != std::string::npos || info.chat_template.find("<think>") != std::string::npos;
  info.digest = digest_of(path);
  info.loaded = false;
  struct stat seen {};
  if (::stat(path.c_str(), &seen) == 0) info.modified_unix_s = static_cast<int64_t>(seen.st_mtime);
  return info;
}

Result<std::vector<std::pair<std::string, std::string>>> CopyList::read() const {
  std::vector<std::pair<std::string, std::string>> copies;
  std::error_code error;
  if (path_.empty() || !fs::exists(path_, error)) return copies;
  TRY(const std::string text, read_file(path_, size_t{1} << 20));
  const Json list = Json::parse(text, nullptr, false);
  if (!list.is_object()) return Error{Code::corrupt_file, "cannot read the names of models: " + path_ + ": an object expected"};
  for (const auto& [name, of] : list.items())
    if (of.is_string()) copies.emplace_back(name, of.get<std::string>());
  return copies;
}

Status CopyList::add(const std::string& name, const std::string& of) const {
  TRY(auto copies, read());
  std::erase_if(copies, [&](const auto& copy) { return copy.first == name; });
  copies.emplace_back(name, of);
  return write(copies);
}

Status CopyList::remove(const std::string& name) const {
  TRY(auto copies, read());
  if (std::erase_if(copies, [&](const auto& copy) { return copy.first == name; }) == 0) return Error{Code::not_found, "cannot remove a copy of that name: there is none"};
  return write(copies);
}

// A new file under the old one's name, so that a crash leaves one of the two.
Status CopyList::write(const std::vector<std::pair<std::string, std::string>>& copies) const {
  if (path_.empty()) return Error{Code::io, "cannot keep the names of models: no state folder is known (XDG_STATE_HOME or HOME)"};
  Json list = Json::object();
  for (const auto& [name, of] : copies) list[name] = of;
  std::error_code error;
  fs::create_directories(fs::path(path_).parent_path(), error);
  const std::string fresh = path_ + ".new";
  {
    std::ofstream file(fresh, std::ios::trunc);
    file << list.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    if (!file.flush()) return Error{Code::io, "cannot keep the names of models: " + fresh + ": it was not written"};
  }
  fs::permissions(fresh, fs::perms::owner_read | fs::perms::owner_write, error);
  fs::rename(fresh, path_, error);
  if (error) return Error{Code::io, "cannot keep the names of models: " + path_ + ": " + error.message()};
  return ok_status();
}
