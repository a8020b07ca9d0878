// audit: the writer: lines in the order of their numbers, secured as the options say, over to a new file when one is full.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <thread>
#include "core/mapped_file.h"
#include "privacy/audit.h"
#include "privacy/audit_walk.h"
#include "privacy/digest.h"

namespace {

constexpr auto sync_interval = std::chrono::seconds(1);

std::string time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, ms % 1000);
}

Error cannot_write(const std::string& path) { return {Code::io, "cannot write the audit log: " + path + ": " + last_system_error()}; }

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Parts whose last line is older than `days` go; 0 keeps them all.
int drop_old_parts(const std::string& path, int days) {
  int dropped = 0;
  const auto oldest = std::time(nullptr) - std::time_t{days} * 86400;
  for (const AuditPart& part : full_parts(path)) {
    struct stat info{};
    if (days == 0 || stat(part.path.c_str(), &info) != 0 || info.st_mtime >= oldest) break;  // only from the old end: no holes
    if (unlink(part.path.c_str()) == 0) ++dropped;
  }
  return dropped;
}

class FileLog final : public AuditLog {
 public:
  FileLog(AuditOptions options, std::string policy, std::string policy_sha256, AuditKey key, FileDescriptor lock)
      : options_(std::move(options)), policy_(std::move(policy)), policy_sha256_(std::move(policy_sha256)), key_(std::move(key)), lock_(std::move(lock)) {}

  ~FileLog() override {
    syncer_ = {};  // stops and joins it
    const std::lock_guard lock(mutex_);
    if (file_ && !failed_) static_cast<void>(write("stop", Json::object()));
    if (file_) fdatasync(file_->get());
  }

  Status begin() {
    Json start = Json::object();
    const bool continues = exists(options_.path) || !full_parts(options_.path).empty();
    if (!continues && exists(head_path(options_.path))) return Error{Code::corrupt_file, "cannot open the audit log: " + options_.path + " is gone, " + head_path(options_.path) + " is there"};
    if (continues) TRY_STATUS(go_on(start));
    if (chain_.id.empty()) chain_.id = random_hex(16);
    head_ = FileDescriptor(::open(head_path(options_.path).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!head_) return cannot_write(head_path(options_.path));
    if (const int dropped = drop_old_parts(options_.path, options_.retention_days)) start["dropped_parts"] = dropped;
    const bool another_policy = chain_.policy != policy_sha256_;
    if (exists(options_.path) && chain_.whole_bytes > 0) {
      TRY_STATUS(open_file(false));
      TRY_STATUS(write("start", with_start(std::move(start))));
    } else {
      TRY_STATUS(begin_file(std::move(start)));
    }
    if (another_policy) TRY_STATUS(write("policy", {{"policy", policy_}, {"policy_sha256", policy_sha256_}}));
    if (!options_.fsync_lines) syncer_ = std::jthread([this](const std::stop_token& stop) { sync_now_and_then(stop); });
    return ok_status();
  }

  Status append(std::string_view kind, Json line) override {
    const std::lock_guard lock(mutex_);
    if (failed_) return Error{Code::io, "cannot write the audit log: " + options_.path + ": it failed before"};
    if (options_.rotate_bytes > 0 && size_ >= static_cast<int64_t>(options_.rotate_bytes)) TRY_STATUS(rotate());
    TRY_STATUS(checkpoint_when_due());  // only when the last append could not
    TRY_STATUS(write(kind, std::move(line)));
    return checkpoint_when_due();
  }

 private:
  Status checkpoint_when_due() { return chain_.since_signed >= options_.checkpoint_lines ? write("checkpoint", Json::object()) : ok_status(); }

  // Follows the chain that is there; a last line that was interrupted is cut off, and `start` names it.
  Status go_on(Json& start) {
    std::vector<AuditHead> heads;
    if (exists(head_path(options_.path))) {
      TRY(const std::string text, read_file(head_path(options_.path), 4096));
      if (const auto head = parse_head(text)) heads.push_back(*head);
    }
    TRY(chain_, walk_audit(options_.path, &key_, heads, true));
    if (chain_.torn_bytes > 0) start["torn"] = {{"bytes", chain_.torn_bytes}, {"sha256", chain_.torn_sha256}};
    if (chain_.broken && chain_.end_missing && !options_.fsync_lines) {  // a power failure may take lines that the head knows
      start["lost"] = to_text(heads.front());
      chain_.broken.reset();
    }
    if (!chain_.broken) return ok_status();
    return Error{Code::corrupt_file, fmt::format("cannot open the audit log: {}: line {}: {}; 'calla audit verify' tells more, and a log moved away with its head makes room for a new one",
                                                 options_.path, chain_.broken->seq, chain_.broken->reason)};
  }

  Json with_start(Json line) const {
    line["chain"] = chain_.id, line["checkpoint_lines"] = options_.checkpoint_lines, line["signer"] = key_.id();
    line["policy"] = policy_, line["policy_sha256"] = policy_sha256_;
    return line;
  }

  Status open_file(bool fresh) {
    const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (fresh ? O_CREAT | O_EXCL : 0);
    auto file = std::make_shared<FileDescriptor>(::open(options_.path.c_str(), flags, 0600));
    if (!*file || (!fresh && ftruncate(file->get(), chain_.whole_bytes) != 0)) return cannot_write(options_.path);
    file_ = std::move(file);
    size_ = fresh ? 0 : chain_.whole_bytes;
    return ok_status();
  }

  // A file's first line says which part it is, and follows the last line of the part before.
  Status begin_file(Json start) {
    if (chain_.whole_bytes == 0) unlink(options_.path.c_str());  // of a program that died before its first line was whole
    TRY_STATUS(open_file(true));
    TRY_STATUS(sync_folder_of(options_.path));
    start["part"] = ++chain_.part;
    return write("start", with_start(std::move(start)));
  }

  Status rotate() {
    TRY_STATUS(write("checkpoint", Json::object()));
    if (fdatasync(file_->get()) != 0) return fail(cannot_write(options_.path));
    if (rename(options_.path.c_str(), part_path(options_.path, chain_.part).c_str()) != 0) return fail(cannot_write(options_.path));
    chain_.whole_bytes = 0;
    Json start = Json::object();
    if (const int dropped = drop_old_parts(options_.path, options_.retention_days)) start["dropped_parts"] = dropped;
    const Status begun = begin_file(std::move(start));
    return begun ? ok_status() : fail(begun.error());
  }

  Error fail(Error error) {
    failed_ = true;  // what is on the disk is not known any more: nothing is written behind it
    return error;
  }

  Status write(std::string_view kind, Json line) {
    line["kind"] = kind, line["seq"] = chain_.seq + 1, line["time"] = time_now(), line["prev"] = chain_.hash;
    TRY(const SealedLine sealed, seal_line(std::move(line), key_));
    if (!write_all(*file_, sealed.text)) {
      const Error error = cannot_write(options_.path);
      return ftruncate(file_->get(), size_) == 0 ? error : fail(error);  // half a line does not stay
    }
    if (options_.fsync_lines && fdatasync(file_->get()) != 0) return fail(cannot_write(options_.path));
    size_ += static_cast<int64_t>(sealed.text.size());
    chain_.seq += 1, chain_.lines += 1, chain_.hash = sealed.hash;
    chain_.since_signed = is_signed_kind(kind) ? 0 : chain_.since_signed + 1;
    dirty_ = true;
    // In place: numbers only grow, so a head always covers the one before, and it is far smaller than what a disk writes at once.
    const std::string head = to_text({chain_.seq, chain_.hash}) + "\n";
    if (pwrite(head_.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) return cannot_write(head_path(options_.path));
    return ok_status();
  }

  void sync_now_and_then(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, sync_interval, [&] { return stop.stop_requested(); })) {
      if (!std::exchange(dirty_, false)) continue;
      const auto file = file_;
      lock.unlock();
      const bool synced = fdatasync(file->get()) == 0;
      lock.lock();
      failed_ = failed_ || !synced;
    }
  }

  const AuditOptions options_;
  const std::string policy_, policy_sha256_;
  const AuditKey key_;
  const FileDescriptor lock_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::shared_ptr<FileDescriptor> file_;  // shared with a sync that is under way
  FileDescriptor head_;
  AuditChain chain_;
  int64_t size_ = 0;
  bool failed_ = false, dirty_ = false;
  std::jthread syncer_;
};

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(const AuditOptions& options, const Policy& policy) {
  if (options.path.empty()) return Error{Code::invalid_request, "cannot open the audit log: no path"};
  TRY(FileDescriptor lock, lock_audit(options.path));
  AuditOptions settled = options;
  if (settled.key_file.empty()) settled.key_file = std::filesystem::path(options.path).replace_extension(".key").string();
  TRY(AuditKey key, AuditKey::open(settled.key_file));
  auto log = std::make_unique<FileLog>(std::move(settled), policy.label(), policy.sha256, std::move(key), std::move(lock));
  TRY_STATUS(log->begin());
  return std::unique_ptr<AuditLog>(std::move(log));
}
