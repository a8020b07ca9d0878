// download: one file of a repository into a verified blob, resumed where an earlier try ended.
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include "store/cache.h"
#include "store/hash.h"
#include "store/hub.h"

namespace store {
namespace {

using Clock = std::chrono::steady_clock;

std::optional<size_t> size_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<size_t>(info.st_size);
}

// blobs/<etag>.incomplete: the bytes so far and their hash.
class Partial {
 public:
  Partial(std::string path, const RepoFile& file, const ProgressSink& sink) : path_(std::move(path)), file_(file), sink_(sink) {}
  ~Partial() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;

  Status open(const std::stop_token& stop) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0) return failed("open");
    hasher_.emplace(file_.etag, file_.bytes);
    const size_t there = size_of(path_).value_or(0);
    if (there > file_.bytes) return restart();
    TRY_STATUS(hash_file(path_, there, *hasher_, stop));
    done_ = first_ = there;
    return ok_status();
  }
  Status restart() {
    if (::ftruncate(descriptor_, 0) != 0) return failed("empty");
    hasher_.emplace(file_.etag, file_.bytes);
    done_ = first_ = 0;
    return ok_status();
  }
  Status append(std::string_view bytes) {
    if (bytes.size() > file_.bytes - done_)
      return Error{Code::corrupt_file, fmt::format("{}: the hub sent more than the {} bytes it announced", file_.name, file_.bytes)};
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return failed("write");
      hasher_->update(bytes.data(), static_cast<size_t>(written));
      done_ += static_cast<size_t>(written);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    report(false);
    return ok_status();
  }
  bool verified() { return hasher_->hex() == file_.etag; }
  Status finish(const std::string& blob) {
    TRY_STATUS(sync_and_rename(descriptor_, path_, blob));
    report(true);
    return ok_status();
  }
  void remove() { ::unlink(path_.c_str()); }
  size_t done() const { return done_; }

 private:
  Error failed(const char* attempted) const {
    const int error = errno;
    return {Code::io, fmt::format("cannot {} {}: {}{}", attempted, path_, std::strerror(error),
                                  error == ENOSPC ? "; free some space and pull again, it resumes" : "")};
  }
  void report(bool last) {
    const auto now = Clock::now();
    if (!sink_ || (!last && now - reported_ < std::chrono::milliseconds(100))) return;
    reported_ = now;
    const double seconds = std::chrono::duration<double>(now - started_).count();
    sink_({file_.name, done_, file_.bytes, seconds > 0 ? static_cast<double>(done_ - first_) / seconds : 0});
  }
  std::string path_;
  const RepoFile& file_;
  const ProgressSink& sink_;
  std::optional<Hasher> hasher_;
  int descriptor_ = -1;
  size_t done_ = 0, first_ = 0;
  Clock::time_point started_ = Clock::now(), reported_;
};

// 206 must start where we are; 200 means that the server ignores ranges.
Status align(Partial& partial, const HttpReply& reply, size_t offset) {
  if (offset == 0) return ok_status();
  if (reply.status != 206) return partial.restart();
  const auto range = reply.headers.find("content-range");
  if (range != reply.headers.end() && range->second.starts_with(fmt::format("bytes {}-", offset))) return ok_status();
  return Error{Code::corrupt_file, "the hub answered with another part of the file than asked for"};
}

}  // namespace

Status Hub::download(const std::string& repo, const std::string& commit, const RepoFile& file, const ProgressSink& progress) {
  const StoreOptions& options = client_.options();
  const std::string folder = repo_folder(options.cache_dir, repo), blob = blob_path(folder, file.etag);
  if (size_of(blob) == file.bytes) return ok_status();
  TRY_STATUS(make_folders(folder + "/blobs"));
  TRY(const BlobLock lock, BlobLock::take(options.cache_dir, repo, file.etag, client_.stop()));
  if (size_of(blob) == file.bytes) return ok_status();  // another pull has just finished it
  return fetch_blob(repo, file_url(repo, commit, file.name), file, blob, progress);
}

Status Hub::fetch_blob(const std::string& repo, const std::string& url, const RepoFile& file, const std::string& blob, const ProgressSink& progress) {
  Partial partial(blob + ".incomplete", file, progress);
  TRY_STATUS(partial.open(client_.stop()));
  bool pure = partial.done() == 0;  // every byte is from this call
  int failures = 0;
  for (;;) {
    while (partial.done() < file.bytes || file.bytes == 0) {
      const size_t offset = partial.done();
      Status written = ok_status();
      bool started = false;
      HttpRequest request;
      request.url = url;
      request.offset = offset;
      request.sink = [&](const HttpReply& reply, std::string_view bytes) {
        if (!std::exchange(started, true)) written = align(partial, reply, offset);
        if (written) written = partial.append(bytes);
        return written.has_value();
      };
      HttpReply reply = client_.run(request);
      if (!written) {
        if (written.error().code == Code::corrupt_file) partial.remove();
        return written;
      }
      if (reply.fault == Fault::none && reply.status < 300 && partial.done() < file.bytes) {
        if (partial.done() == offset || reply.headers.contains("content-length")) {  // it ended as announced, but short of the listing
          partial.remove();
          return Error{Code::corrupt_file, fmt::format("{} of {}: {} bytes expected, the hub sent {}", file.name, repo, file.bytes, partial.done())};
        }
        reply.fault = Fault::cut;
      }
      failures = partial.done() > offset ? 1 : failures + 1;
      TRY(const bool again, wait_for_retry(repo, reply, failures));
      if (again) continue;
      if (reply.status == 416 && offset > 0) {
        TRY_STATUS(partial.restart());
        continue;
      }
      if (reply.status >= 300) return refusal(repo, reply);
      if (file.bytes == 0) break;
    }
    if (partial.verified()) return partial.finish(blob);
    if (pure) break;
    TRY_STATUS(partial.restart());  // an earlier try left other bytes; once more from the start
    pure = true;
  }
  partial.remove();
  return Error{Code::corrupt_file, fmt::format("{} of {}: the bytes do not have the announced {}; nothing was kept", file.name, repo,
                                               file.etag.size() == 64 ? "sha256" : "git hash")};
}

}  // namespace store
