// store: models on this machine. Resolves names to paths, downloads from a hub into the Hugging Face cache layout, lists and removes.
#pragma once
#include <functional>
#include <stop_token>
#include <string>
#include <vector>
#include "core/core.h"

// Where things are and how the hub is reached; app/ fills it from the environment (HF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE).
struct StoreOptions {
  std::string cache_dir;                              // …/hub, in the layout other tools share: models--owner--repo/{blobs,refs,snapshots}
  std::string endpoint = "https://huggingface.co";
  std::string token;                                  // "" for none; never logged
  bool offline = false;
  int max_retries = 5;
};
StoreOptions store_options_from_environment();        // the only reader of those variables

struct Progress { std::string file; size_t done_bytes = 0, total_bytes = 0; double bytes_per_second = 0; };
using ProgressSink = std::function<void(const Progress&)>;

struct LocalModel { std::string name, path, container, quantisation; size_t bytes = 0; int64_t modified_unix_s = 0; };
struct Pulled { std::string path; std::string chosen_file, reason; };  // why this file when the repository has several

// An existing path, an alias ("starter"), or owner/repo[:QUANT] that lies in the cache. not_found says what to type to get it.
Result<std::string> resolve_model(const std::string& name, const StoreOptions& options);
// Downloads what resolve_model would need; resumes, verifies size and sha256, no half file under a final name.
Result<Pulled> pull_model(const std::string& name, const StoreOptions& options, const ProgressSink& progress, std::stop_token stop);
Result<std::vector<LocalModel>> list_models(const StoreOptions& options);
Result<size_t> remove_model(const std::string& name, const StoreOptions& options);  // bytes freed

struct Alias { const char* name; const char* repo; const char* file; const char* sha256; size_t bytes; const char* pypi_package; const char* what; };
std::span<const Alias> aliases();
