// disk_folder: DIR/NAME/{lock, index.sqlite, blobs/64 hex digits}.
#include "engine/disk_folder.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

namespace fs = std::filesystem;

namespace {
Status make_private(const std::string& path) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Error{Code::io, "cannot create " + path + ": " + std::strerror(errno)};
  if (::chmod(path.c_str(), 0700) != 0) return Error{Code::io, "cannot make " + path + " private: " + std::strerror(errno)};
  return ok_status();
}

int try_lock(const std::string& folder) {
  const int fd = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

template <class Iterator, class Visit> void for_each_entry(const fs::path& dir, Visit visit) {  // unlike a range-based loop, this throws nothing
  std::error_code error;
  for (Iterator at(dir, error), end; !error && at != end; at.increment(error)) visit(*at);
}

struct Other { std::string path; size_t bytes = 0; fs::file_time_type used{}; };
// Only folders that look like a cache's own are touched: 16 hex digits, with an index.
std::vector<Other> list_others(const std::string& dir, const std::string& name) {
  std::vector<Other> others;
  std::error_code ignored;
  for_each_entry<fs::directory_iterator>(dir, [&](const fs::directory_entry& entry) {
    const std::string found = entry.path().filename().string();
    const bool ours = found.size() == 16 && found.find_first_not_of("0123456789abcdef") == std::string::npos && fs::exists(entry.path() / "index.sqlite", ignored);
    if (!ours || found == name) return;
    Other other{entry.path().string()};
    other.used = fs::last_write_time(entry.path() / "lock", ignored);
    for_each_entry<fs::recursive_directory_iterator>(entry.path(), [&](const fs::directory_entry& file) {
      if (file.is_regular_file(ignored)) other.bytes += file.file_size(ignored);
    });
    others.push_back(other);
  });
  std::ranges::sort(others, [](const Other& a, const Other& b) { return a.used < b.used; });
  return others;
}

std::optional<CacheId> id_of(const std::string& name) {
  CacheId id;
  if (name.size() != 2 * id.bytes.size()) return std::nullopt;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (size_t i = 0; i < id.bytes.size(); ++i) {
    const int high = digit(name[2 * i]), low = digit(name[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    id.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return id;
}
}  // namespace

Result<DiskFolder> open_disk_folder(const std::string& dir, const std::string& name, size_t max_bytes) {
  DiskFolder folder;
  folder.path = dir + "/" + name;
  TRY_STATUS(make_private(dir));
  TRY_STATUS(make_private(folder.path));
  TRY_STATUS(make_private(folder.path + "/blobs"));
  folder.lock_fd = try_lock(folder.path);
  if (folder.lock_fd < 0) return Error{Code::overloaded, "cannot keep state in " + folder.path + ": another process does"};
  ::futimens(folder.lock_fd, nullptr);  // when this key was last used
  size_t own = 0;
  for (const auto& [id, bytes] : list_blobs(folder.path)) own += bytes;
  const auto others = list_others(dir, name);
  for (const Other& other : others) folder.elsewhere_bytes += other.bytes;
  for (const Other& other : others) {
    if (folder.elsewhere_bytes + own <= max_bytes) break;
    const int fd = try_lock(other.path);
    if (fd < 0) continue;
    std::error_code ignored;
    fs::remove_all(other.path, ignored);
    ::close(fd);
    folder.elsewhere_bytes -= other.bytes;
  }
  return folder;
}

std::string blob_path(const std::string& folder, const CacheId& id) { return folder + "/blobs/" + hex(id); }

std::unordered_map<CacheId, size_t, CacheIdHash> list_blobs(const std::string& folder) {
  std::unordered_map<CacheId, size_t, CacheIdHash> found;
  std::error_code ignored;
  for_each_entry<fs::directory_iterator>(folder + "/blobs", [&](const fs::directory_entry& entry) {
    const auto id = id_of(entry.path().filename().string());
    if (id && entry.is_regular_file(ignored) && !entry.is_symlink(ignored)) found[*id] = entry.file_size(ignored);
    else fs::remove_all(entry.path(), ignored);
  });
  return found;
}
