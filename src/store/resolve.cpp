// resolve: from a name to a path on this machine, or to a sentence that says what to type.
#include "store/resolve.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace fs = std::filesystem;

namespace store {
namespace {

std::string or_list(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); i++) out += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return out;
}

std::vector<std::string> known_names(const StoreOptions& options) {
  std::vector<std::string> out;
  for (const Alias& alias : aliases()) out.push_back(alias.name);
  for (const std::string& repo : cached_repos(options.cache_dir)) out.push_back(repo);
  return out;
}

bool looks_like_path(const std::string& name) {
  return name.starts_with('/') || name.starts_with('.') || name.starts_with('~') || lower(name).ends_with(".gguf") ||
         lower(name).ends_with(".safetensors");
}

Error no_such_path(const std::string& name) {
  const fs::path path(name);
  std::vector<std::string> beside;
  std::error_code error;
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(parent, error), end; !error && it != end && beside.size() < 1000; it.increment(error))
    beside.push_back(it->path().filename().string());
  std::vector<std::string> near = near_misses(path.filename().string(), beside);
  for (std::string& file : near) file = (path.has_parent_path() ? parent / file : fs::path(file)).string();
  return {Code::not_found, fmt::format("cannot open {}: no such file or folder{}", name, near.empty() ? "" : "; did you mean " + or_list(near) + "?")};
}

}  // namespace

Error unknown_name(const std::string& name, const StoreOptions& options) {
  if (looks_like_path(name)) return no_such_path(name);
  const std::vector<std::string> near = near_misses(name, known_names(options));
  if (!near.empty()) return {Code::not_found, fmt::format("cannot find model {}: not known here; did you mean {}?", name, or_list(near))};
  return {Code::not_found, fmt::format("cannot find model {}: a path, owner/repo[:QUANT], or a short name such as {} expected", name, aliases()[0].name)};
}

Result<Found> find_cached(const ModelName& wanted, const StoreOptions& options) {
  Error first{Code::not_found, ""};
  for (Snapshot& snapshot : snapshots(options.cache_dir, wanted.repo)) {
    Result<Choice> choice = choose_local(snapshot, wanted);
    if (choice) return Found{std::move(snapshot), std::move(*choice)};
    if (first.message.empty()) first = choice.error();
  }
  const std::string get = options.offline ? fmt::format("offline (HF_HUB_OFFLINE), so unset that and type: calla pull {}", spelled(wanted))
                                          : fmt::format("get it with: calla pull {}", spelled(wanted));
  if (first.message.empty()) return Error{Code::not_found, fmt::format("cannot find model {}: it is not on this machine; {}", spelled(wanted), get)};
  if (first.code == Code::corrupt_file)
    return Error{Code::not_found, fmt::format("cannot find model {}: it is here only in part ({}); {}", spelled(wanted), first.message, get)};
  return Error{Code::not_found, fmt::format("cannot find model {}: it is not on this machine (of it, here: {}); {}", spelled(wanted), first.message, get)};
}

}  // namespace store

Result<std::string> resolve_model(const std::string& name, const StoreOptions& options) {
  if (name.empty())
    return Error{Code::not_found, fmt::format("cannot find a model: none named: a path, owner/repo[:QUANT], or a short name such as {} expected", aliases()[0].name)};
  if (store::exists(name)) return name;
  const auto wanted = store::parse_name(name, true);
  if (!wanted || (wanted->repo.find('/') == wanted->repo.npos && !store::exists(store::repo_folder(options.cache_dir, wanted->repo))))
    return store::unknown_name(name, options);
  Result<store::Found> found = store::find_cached(*wanted, options);
  if (found) return store::model_path(found->snapshot, found->choice);
  if (!wanted->alias && !store::exists(store::repo_folder(options.cache_dir, wanted->repo))) {
    const auto near = store::near_misses(name, store::known_names(options));
    if (!near.empty()) found.error().message += "; or did you mean " + store::or_list(near) + "?";
  }
  return std::move(found.error());
}
