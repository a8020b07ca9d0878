// models: what lies in the cache, and removing it again without touching what other snapshots still use.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>
#include "core/json.h"
#include "store/resolve.h"

namespace fs = std::filesystem;

namespace store {
namespace {

size_t total(const std::vector<RepoFile>& files) {
  size_t bytes = 0;
  for (const RepoFile& file : files) bytes += file.bytes;
  return bytes;
}

int64_t modified(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_mtime) : 0;
}

// "4-bit group 64" from a quantization block, else the element kind, else "".
std::string quant_of_config(const std::string& path) {
  const auto document = JsonDocument::read(path, size_t{4} << 20);
  if (!document) return "";
  const JsonView root = document->root();
  for (const char* key : {"quantization", "quantization_config"}) {
    const auto block = find(root, key);
    if (!block) continue;
    const auto bits = find_int(*block, "bits"), group = find_int(*block, "group_size");
    if (bits) return fmt::format("{}-bit{}", *bits, group ? fmt::format(" group {}", *group) : "");
    if (const auto method = find_string(*block, "quant_method")) return std::string(*method);
  }
  const auto text = find(root, "text_config");
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (const auto kind = find_string(root, key)) return std::string(*kind);
    if (const auto kind = text ? find_string(*text, key) : std::nullopt) return std::string(*kind);
  }
  return "";
}

void add_models(const Snapshot& snapshot, const std::string& repo, std::set<std::string>& seen, std::vector<LocalModel>& out) {
  const auto add = [&](LocalModel model, const std::string& dated) {
    model.modified_unix_s = modified(dated);
    if (seen.insert(model.name).second) out.push_back(std::move(model));
  };
  if (const Result<Choice> choice = choose_local(snapshot, {repo, "", nullptr}); choice && choice->container == "safetensors")
    add({repo, snapshot.path, "safetensors", quant_of_config(snapshot.path + "/config.json"), total(choice->files)},
        snapshot.path + "/" + choice->files.back().name);
  for (const GgufGroup& group : gguf_groups(snapshot.files)) {
    if (static_cast<int>(group.shards.size()) != group.of) continue;
    const std::string path = snapshot.path + "/" + group.shards.front().name;
    add({repo + ":" + (group.quant.empty() ? group.stem : group.quant), path, "gguf", group.quant, total(group.shards)}, path);
  }
}

std::string blob_of(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? "" : target.filename().string();
}

std::set<std::string> blobs_in_use(const std::string& folder) {
  std::set<std::string> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder + "/snapshots", error), end; !error && it != end; it.increment(error))
    if (const std::string blob = blob_of(it->path().string()); !blob.empty()) out.insert(blob);
  return out;
}

size_t bytes_under(const std::string& folder) {
  size_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->is_symlink(gone) || !it->is_regular_file(gone)) continue;
    const size_t size = it->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

Result<size_t> remove_folder(const std::string& folder) {
  const size_t bytes = bytes_under(folder);
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) return Error{Code::io, fmt::format("cannot remove {}: {}", folder, error.message())};
  return bytes;
}

// The files in every snapshot that `wanted` names, or an error that lists what is there.
Result<std::vector<std::string>> files_to_remove(const ModelName& wanted, const StoreOptions& options) {
  std::vector<std::string> paths;
  Error first{Code::not_found, ""};
  for (const Snapshot& snapshot : snapshots(options.cache_dir, wanted.repo)) {
    const Result<Choice> choice = choose_files(snapshot.files, wanted);
    if (!choice && first.message.empty()) first = choice.error();
    if (!choice) continue;
    for (const RepoFile& file : choice->files) paths.push_back(snapshot.path + "/" + file.name);
  }
  if (paths.empty())
    return Error{Code::not_found, fmt::format("cannot remove {}: it is not on this machine{}", spelled(wanted), first.message.empty() ? "" : ": " + first.message)};
  return paths;
}

Result<size_t> remove_files(const std::vector<std::string>& paths, const std::string& folder) {
  std::set<std::string> blobs;
  size_t freed = 0;
  for (const std::string& path : paths) {
    const std::string blob = blob_of(path);
    std::error_code error;
    if (blob.empty())
      freed += fs::file_size(path, error);
    else
      blobs.insert(blob);
    if (!fs::remove(path, error) && error) return Error{Code::io, fmt::format("cannot remove {}: {}", path, error.message())};
  }
  const std::set<std::string> used = blobs_in_use(folder);
  for (const std::string& blob : blobs) {
    if (used.contains(blob)) continue;
    std::error_code error;
    const size_t bytes = fs::file_size(blob_path(folder, blob), error);
    if (!error && fs::remove(blob_path(folder, blob), error)) freed += bytes;
    if (error) return Error{Code::io, fmt::format("cannot remove {}: {}", blob_path(folder, blob), error.message())};
  }
  return freed;
}

bool has_weights(const std::string& cache_dir, const std::string& repo) {
  return std::ranges::any_of(snapshots(cache_dir, repo), [](const Snapshot& snapshot) {
    return !gguf_groups(snapshot.files).empty() || !safetensors_files(snapshot.files).empty();
  });
}

}  // namespace
}  // namespace store

Result<std::vector<LocalModel>> list_models(const StoreOptions& options) {
  std::vector<LocalModel> out;
  for (const std::string& repo : store::cached_repos(options.cache_dir)) {
    std::set<std::string> seen;
    for (const store::Snapshot& snapshot : store::snapshots(options.cache_dir, repo)) store::add_models(snapshot, repo, seen, out);
  }
  return out;
}

Result<size_t> remove_model(const std::string& name, const StoreOptions& options) {
  const auto wanted = store::parse_name(name, true);
  if (!wanted) {
    if (store::exists(name))
      return Error{Code::invalid_request, fmt::format("cannot remove {}: a path; only models of the cache are removed, by their name", name)};
    return store::unknown_name(name, options);
  }
  const std::string folder = store::repo_folder(options.cache_dir, wanted->repo);
  if (!store::exists(folder)) {
    Error error = store::unknown_name(name, options);
    return Error{Code::not_found, fmt::format("cannot remove {}: it is not on this machine{}", name,
                                              error.message.find("did you mean") != std::string::npos && !wanted->alias ? "; " + error.message : "")};
  }
  if (wanted->quant.empty() && !(wanted->alias && *wanted->alias->file)) return store::remove_folder(folder);
  TRY(const std::vector<std::string> paths, store::files_to_remove(*wanted, options));
  TRY(const size_t freed, store::remove_files(paths, folder));
  if (store::has_weights(options.cache_dir, wanted->repo)) return freed;
  TRY(const size_t rest, store::remove_folder(folder));
  return freed + rest;
}
