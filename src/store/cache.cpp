// cache: reads and writes models--owner--repo/{blobs,refs,snapshots} so that other tools find what we pulled, and we theirs.
#include "store/cache.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include "core/json.h"

namespace fs = std::filesystem;

namespace store {
namespace {

Error io_error(const std::string& attempted, int error) { return {Code::io, attempted + ": " + std::strerror(error)}; }

std::string joined(std::string repo) {
  if (const size_t slash = repo.find('/'); slash != repo.npos) repo.replace(slash, 1, "--");
  return "models--" + repo;
}

// A name beside `path` that no other thread or process uses; renamed over it when complete.
std::string fresh_name(const std::string& path) {
  static std::atomic<unsigned> count = 0;
  return path + fmt::format(".{}-{}.new", ::getpid(), count++);
}

std::string ref_main(const std::string& folder) {
  std::ifstream file(folder + "/refs/main");
  std::string commit;
  file >> commit;
  return commit;
}

std::vector<RepoFile> files_under(const std::string& root) {
  std::vector<RepoFile> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    if (!it->is_regular_file(gone)) continue;  // follows links: a link without its blob is not a file
    const size_t bytes = it->file_size(gone);
    if (!gone) out.push_back({it->path().lexically_relative(root).string(), bytes, ""});
  }
  std::ranges::sort(out, {}, &RepoFile::name);
  return out;
}

int64_t modified(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_mtime) : 0;
}

}  // namespace

std::string repo_folder(const std::string& cache_dir, const std::string& repo) { return cache_dir + "/" + joined(repo); }
bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
std::string blob_path(const std::string& folder, const std::string& etag) { return folder + "/blobs/" + etag; }

std::vector<std::string> cached_repos(const std::string& cache_dir) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(cache_dir, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    std::error_code gone;
    if (!name.starts_with("models--") || !it->is_directory(gone)) continue;
    name.erase(0, 8);
    if (const size_t dashes = name.find("--"); dashes != name.npos) name.replace(dashes, 2, "/");
    if (parse_name(name, true)) out.push_back(name);
  }
  std::ranges::sort(out);
  return out;
}

std::vector<Snapshot> snapshots(const std::string& cache_dir, const std::string& repo) {
  const std::string folder = repo_folder(cache_dir, repo), main = ref_main(folder);
  std::vector<Snapshot> out;
  std::error_code error;
  for (fs::directory_iterator it(folder + "/snapshots", error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (!it->is_directory(gone)) continue;
    const std::string path = it->path().string(), commit = it->path().filename().string();
    out.push_back({commit, path, files_under(path), commit == main, modified(path)});
  }
  std::ranges::sort(
      out, [](const Snapshot& a, const Snapshot& b) { return std::pair(a.is_main, a.modified_unix_s) > std::pair(b.is_main, b.modified_unix_s); });
  return out;
}

Result<Choice> choose_local(const Snapshot& snapshot, const ModelName& wanted) {
  TRY(Choice choice, choose_files(snapshot.files, wanted));
  const std::string index = snapshot.path + "/model.safetensors.index.json";
  if (choice.container != "safetensors" || !exists(index)) return choice;
  TRY(const JsonDocument document, JsonDocument::read(index));
  const auto map = find(document.root(), "weight_map");
  if (!map || !map->is_object()) return choice;
  for (const auto& entry : simdjson::dom::object(*map)) {
    std::string_view shard;
    if (entry.value.get(shard) != simdjson::SUCCESS) continue;
    if (std::ranges::find(choice.files, shard, &RepoFile::name) == choice.files.end())
      return Error{Code::corrupt_file, fmt::format("{}: {} is missing", wanted.repo, shard)};
  }
  return choice;
}

std::string model_path(const Snapshot& snapshot, const Choice& choice) {
  return choice.main.empty() ? snapshot.path : snapshot.path + "/" + choice.main;
}

Status make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return io_error("cannot create " + path, error.value());
  return ok_status();
}

Status link_blob(const std::string& folder, const std::string& commit, const std::string& file, const std::string& etag) {
  const std::string link = folder + "/snapshots/" + commit + "/" + file;
  TRY_STATUS(make_folders(fs::path(link).parent_path().string()));
  std::string target = "../../blobs/" + etag;
  for (const char c : file) target.insert(0, c == '/' ? "../" : "");
  const std::string fresh = fresh_name(link);
  ::unlink(fresh.c_str());
  if (::symlink(target.c_str(), fresh.c_str()) != 0 && ::link(blob_path(folder, etag).c_str(), fresh.c_str()) != 0)
    return io_error("cannot link " + link, errno);
  if (::rename(fresh.c_str(), link.c_str()) != 0) return io_error("cannot link " + link, errno);
  return ok_status();
}

Status write_ref(const std::string& folder, const std::string& commit) {
  TRY_STATUS(make_folders(folder + "/refs"));
  const std::string path = folder + "/refs/main", fresh = fresh_name(path);
  const int descriptor = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return io_error("cannot write " + fresh, errno);
  const bool written = ::write(descriptor, commit.data(), commit.size()) == static_cast<ssize_t>(commit.size());
  const int error = errno;
  Status status = written ? sync_and_rename(descriptor, fresh, path) : Status(io_error("cannot write " + fresh, error));
  ::close(descriptor);
  return status;
}

Status sync_and_rename(int descriptor, const std::string& from, const std::string& to) {
  if (::fsync(descriptor) != 0) return io_error("cannot flush " + from, errno);
  if (::rename(from.c_str(), to.c_str()) != 0) return io_error("cannot rename to " + to, errno);
  const int folder = ::open(fs::path(to).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);  // best effort: some filesystems refuse it for folders
    ::close(folder);
  }
  return ok_status();
}

Status check_space(const std::string& path, size_t bytes) {
  constexpr size_t kMargin = size_t{64} << 20;
  std::error_code error;
  const fs::space_info space = fs::space(path, error);
  if (error || bytes == 0) return ok_status();  // unknown: writing will tell
  if (space.available >= kMargin && space.available - kMargin >= bytes) return ok_status();
  return Error{Code::io, fmt::format("not enough space in {}: {:.1f} GB needed, {:.1f} GB free", path, static_cast<double>(bytes) / 1e9,
                                     static_cast<double>(space.available) / 1e9)};
}

Result<BlobLock> BlobLock::take(const std::string& cache_dir, const std::string& repo, const std::string& etag, std::stop_token stop) {
  const std::string folder = cache_dir + "/.locks/" + joined(repo), path = folder + "/" + etag + ".lock";
  TRY_STATUS(make_folders(folder));
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return io_error("cannot open " + path, errno);
  BlobLock lock(descriptor);
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) break;  // a filesystem without locks: go on alone, as huggingface_hub does
    if (stop.stop_requested()) return Error{Code::cancelled, "stopped while another download of " + repo + " was running"};
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return lock;
}

BlobLock::~BlobLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace store
