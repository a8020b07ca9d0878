// vault_database: files of mode 0600, and SQLite set up to forget what is deleted.
#include "privacy/vault_database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <openssl/crypto.h>

namespace {

constexpr const char* setup = "PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";

Error failure(const char* attempted, const std::string& path, const char* seen) { return {Code::io, fmt::format("cannot {} {}: {}", attempted, path, seen)}; }

struct File {
  int fd;
  ~File() { if (fd >= 0) ::close(fd); }
};

// Made by another process at the same moment: theirs is read.
Status make_private(const std::string& path, std::string_view content) {
  const File file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (file.fd < 0) return errno == EEXIST ? ok_status() : Status(failure("make", path, std::strerror(errno)));
  if (::write(file.fd, content.data(), content.size()) != static_cast<ssize_t>(content.size()) || ::fsync(file.fd) != 0) return failure("write", path, std::strerror(errno));
  return ok_status();
}

}  // namespace

int64_t unix_now() { return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count(); }

Result<Database> open_database(const std::string& folder, const char* name, const char* schema) {
  const std::string path = folder.empty() ? ":memory:" : folder + "/" + name;
  if (!folder.empty()) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failure("make the folder", folder, std::strerror(errno));
    TRY_STATUS(make_private(path, ""));
  }
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database(raw);
  if (opened != SQLITE_OK) return failure("open", path, raw ? sqlite3_errmsg(raw) : "no memory");
  sqlite3_busy_timeout(raw, 5000);
  for (const char* sql : {setup, schema}) {
    if (sqlite3_exec(raw, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure("prepare", path, sqlite3_errmsg(raw));
  }
  return database;
}

Result<Secret> open_key(const std::string& folder, const char* name) {
  TRY(Secret fresh, Secret::random(32));
  if (folder.empty()) return fresh;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failure("make the folder", folder, std::strerror(errno));
  const std::string path = folder + "/" + name;
  TRY_STATUS(make_private(path, fresh.view()));
  const File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info{};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0) return failure("read", path, std::strerror(errno));
  if ((info.st_mode & 077) != 0) return failure("use", path, "others may read it; its mode must be 0600");
  char bytes[33];
  const ssize_t n = ::read(file.fd, bytes, sizeof bytes);
  if (n != 32) return failure("use", path, "it must hold 32 bytes");
  auto key = Secret::of({bytes, 32});
  OPENSSL_cleanse(bytes, sizeof bytes);
  return key;
}

Query& Query::bind(std::string_view bytes) {
  sqlite3_bind_text(statement_, ++bound_, bytes.data() ? bytes.data() : "", static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  return *this;
}
Query& Query::bind_blob(std::string_view bytes) {
  sqlite3_bind_blob(statement_, ++bound_, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  return *this;
}
Query& Query::bind(int64_t number) {
  sqlite3_bind_int64(statement_, ++bound_, number);
  return *this;
}
std::string Query::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return bytes == nullptr ? "" : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}
