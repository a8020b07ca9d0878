// audit_files: where a log lies: the file that grows, the parts that are full, the head that says how far it got, and the lock of its one writer.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"
#include "privacy/file_descriptor.h"

// FILE.000001, FILE.000002, … in their order.
struct AuditPart { int number = 0; std::string path; };
std::vector<AuditPart> full_parts(const std::string& path);
std::string part_path(const std::string& path, int number);

struct AuditHead { int64_t seq = 0; std::string hash; };
std::string to_text(const AuditHead& head);                      // "SEQ:HASH"
std::optional<AuditHead> parse_head(std::string_view text);      // a newline may follow
std::string head_path(const std::string& path);                  // FILE.head
// Held as long as the descriptor is open; overloaded when another program has it.
Result<FileDescriptor> lock_audit(const std::string& path);
bool is_being_written(const std::string& path);                  // another program has that lock
Status sync_folder_of(const std::string& path);                  // so that a new name survives a power failure

// Lines of a file, one at a time; SIMDJSON_PADDING readable bytes stand behind each.
class LineReader {
 public:
  static Result<LineReader> open(const std::string& path);
  struct Line { std::string_view text; bool ended = true; int64_t offset = 0; };  // ended: a newline stands behind it
  Result<std::optional<Line>> next();                            // nullopt: no more

 private:
  explicit LineReader(FileDescriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<bool> read_more();
  FileDescriptor file_;
  std::string path_;
  std::vector<char> buffer_;
  size_t begin_ = 0, filled_ = 0;                                // of the buffer: what is not given out yet
  int64_t offset_ = 0;                                           // of begin_ in the file
};
