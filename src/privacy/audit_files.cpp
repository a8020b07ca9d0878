// audit_files: names, heads, the lock, and reading line by line.
#include "privacy/audit_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/file.h>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include "privacy/audit_line.h"

namespace {

constexpr size_t part_digits = 6, read_bytes = size_t{1} << 16;

std::optional<int> part_number(std::string_view digits) {
  int number = 0;
  if (digits.size() < part_digits) return std::nullopt;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number <= 0) return std::nullopt;
  return number;
}

}  // namespace

std::string part_path(const std::string& path, int number) { return fmt::format("{}.{:06}", path, number); }
std::string head_path(const std::string& path) { return path + ".head"; }

std::vector<AuditPart> full_parts(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string stem = whole.filename().string() + ".";
  std::vector<AuditPart> parts;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(whole.has_parent_path() ? whole.parent_path() : ".", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(stem)) continue;
    if (const auto number = part_number(std::string_view(name).substr(stem.size()))) parts.push_back({*number, entry->path().string()});
  }
  std::ranges::sort(parts, {}, &AuditPart::number);
  return parts;
}

std::string to_text(const AuditHead& head) { return fmt::format("{}:{}", head.seq, head.hash); }

std::optional<AuditHead> parse_head(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  AuditHead head;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.size() != colon + 65) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + colon, head.seq);
  if (error != std::errc() || end != text.data() + colon || head.seq <= 0 || text[0] == '0') return std::nullopt;
  head.hash = text.substr(colon + 1);
  if (head.hash.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return head;
}

Result<FileDescriptor> lock_audit(const std::string& path) {
  const std::string lock = path + ".lock";
  FileDescriptor file(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return Error{Code::io, "cannot open the audit log: " + lock + ": " + last_system_error()};
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK) return Error{Code::overloaded, "cannot open the audit log: " + path + ": another program writes it"};
  return Error{Code::io, "cannot lock the audit log: " + lock + ": " + last_system_error()};
}

bool is_being_written(const std::string& path) {
  const FileDescriptor file(open((path + ".lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file && flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Status sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const FileDescriptor file(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file || fsync(file.get()) != 0) return Error{Code::io, "cannot secure the audit log: its folder: " + last_system_error()};
  return ok_status();
}

Result<LineReader> LineReader::open(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error{errno == ENOENT ? Code::not_found : Code::io, "cannot read the audit log: " + path + ": " + last_system_error()};
  return LineReader(std::move(file), path);
}

Result<bool> LineReader::read_more() {
  if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
    filled_ -= begin_, begin_ = 0;
  }
  if (buffer_.size() < filled_ + read_bytes + simdjson::SIMDJSON_PADDING) buffer_.resize(filled_ + read_bytes + simdjson::SIMDJSON_PADDING);
  ssize_t n = 0;
  while ((n = read(file_.get(), buffer_.data() + filled_, read_bytes)) < 0 && errno == EINTR) {
  }
  if (n < 0) return Error{Code::io, "cannot read the audit log: " + path_ + ": " + last_system_error()};
  filled_ += static_cast<size_t>(n);
  return n > 0;
}

Result<std::optional<LineReader::Line>> LineReader::next() {
  size_t searched = begin_;
  while (true) {
    const std::string_view rest(buffer_.data() + begin_, filled_ - begin_);
    const size_t newline = rest.find('\n', searched - begin_);
    if (newline != std::string_view::npos || rest.size() > max_audit_line) {
      const size_t size = std::min(newline, rest.size());
      const Line line{rest.substr(0, size), newline != std::string_view::npos, offset_};
      begin_ += size + (line.ended ? 1 : 0);
      offset_ += static_cast<int64_t>(size) + (line.ended ? 1 : 0);
      return std::optional(line);
    }
    searched = begin_ + rest.size();
    const size_t before = begin_;
    TRY(const bool more, read_more());
    searched -= before;
    if (!more) break;
  }
  if (filled_ == begin_) return std::optional<Line>();
  const Line line{{buffer_.data() + begin_, filled_ - begin_}, false, offset_};
  offset_ += static_cast<int64_t>(filled_ - begin_);
  begin_ = filled_;
  return std::optional(line);
}
