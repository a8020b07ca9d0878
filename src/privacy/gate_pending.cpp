// gate_pending: one small file for each request that may be at an upstream; gone when its line is in the log.
#include "privacy/gate_pending.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr size_t most_bytes = size_t{16} << 20;

Error cannot(const std::string& what, const std::string& path) { return {Code::io, "cannot " + what + " " + path + ": " + std::strerror(errno)}; }

Result<std::string> read_small(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return cannot("read", path);
  char bytes[65536];
  ssize_t count = 0;
  while ((count = read(file, bytes, sizeof bytes)) > 0 && text.size() < most_bytes) text.append(bytes, static_cast<size_t>(count));
  close(file);
  if (count < 0) return cannot("read", path);
  return text;
}

// A file that was being written when the program died had not led to a byte upstream: its request was not yet sent.
Status settle(const std::string& path, AuditLog& log) {
  TRY(const std::string text, read_small(path));
  const Json line = Json::parse(text, nullptr, false);
  if (line.is_object()) TRY_STATUS(log.append("request", line));
  return unlink(path.c_str()) == 0 ? ok_status() : Status(cannot("remove", path));
}

}  // namespace

Result<std::unique_ptr<PendingLines>> PendingLines::open(const std::string& folder, AuditLog& log) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return cannot("make the folder", folder);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    TRY_STATUS(settle(entry.path().string(), log));
  }
  if (error) return Error{Code::io, "cannot list the folder " + folder + ": " + error.message()};
  return std::unique_ptr<PendingLines>(new PendingLines(folder));
}

Status PendingLines::put(const std::string& id, const Json& line) {
  const std::string path = path_of(id), text = text_of(line);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return cannot("write", path);
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const Status status = written ? ok_status() : Status(cannot("write", path));
  close(file);
  if (!written) unlink(path.c_str());
  return status;
}

void PendingLines::drop(const std::string& id) { unlink(path_of(id).c_str()); }
