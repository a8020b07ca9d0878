// cache: the Hugging Face cache layout on disk; the only writer of it.
#pragma once
#include <stop_token>
#include <utility>
#include "store/choose.h"

namespace store {

struct Snapshot { std::string commit, path; std::vector<RepoFile> files; bool is_main = false; int64_t modified_unix_s = 0; };

std::string repo_folder(const std::string& cache_dir, const std::string& repo);       // …/models--owner--repo
std::vector<std::string> cached_repos(const std::string& cache_dir);
// The one that refs/main names first, then the newest. Files whose blob is missing are left out.
std::vector<Snapshot> snapshots(const std::string& cache_dir, const std::string& repo);
// choose_files, and that every shard an index names is there.
Result<Choice> choose_local(const Snapshot& snapshot, const ModelName& wanted);
std::string model_path(const Snapshot& snapshot, const Choice& choice);

bool exists(const std::string& path);                                                 // follows links
std::string blob_path(const std::string& folder, const std::string& etag);
Status make_folders(const std::string& path);
// snapshots/<commit>/<file> -> blobs/<etag>, relative; replaces a link that is there.
Status link_blob(const std::string& folder, const std::string& commit, const std::string& file, const std::string& etag);
Status write_ref(const std::string& folder, const std::string& commit);
Status sync_and_rename(int descriptor, const std::string& from, const std::string& to);  // durable when it returns
// Refuses when less than `bytes` and a margin are free where `path` lies.
Status check_space(const std::string& path, size_t bytes);

// One download of one blob at a time, across processes and with huggingface_hub: flock on .locks/<repo>/<etag>.lock.
class BlobLock {
 public:
  static Result<BlobLock> take(const std::string& cache_dir, const std::string& repo, const std::string& etag, std::stop_token stop);
  BlobLock(BlobLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  BlobLock& operator=(BlobLock&&) = delete;
  ~BlobLock();

 private:
  explicit BlobLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace store
