// audit_walk: each line against the one before, heads met on the way, signatures never further apart than the log's own start says.
#include "privacy/audit_walk.h"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include "privacy/digest.h"

namespace {

constexpr std::array<std::string_view, 6> kinds = {"request", "checkpoint", "start", "stop", "consent", "policy"};

class Walker {
 public:
  Walker(const AuditKey* key, const std::vector<AuditHead>& heads, bool torn_is_fine) : key_(key), heads_(heads), met_(heads.size()), torn_is_fine_(torn_is_fine) {}

  // false: the chain broke.
  Result<bool> read(const std::string& file, bool last_file) {
    TRY(LineReader reader, LineReader::open(file));
    first_of_file_ = true;
    while (true) {
      TRY(const auto line, reader.next());
      if (!line) break;
      if (!line->ended) return torn(*line, last_file);
      if (!follow(line->text)) return false;
      chain_.whole_bytes = line->offset + static_cast<int64_t>(line->text.size()) + 1;
    }
    if (first_of_file_ && !(last_file && torn_is_fine_)) return broken("the file is empty: " + std::filesystem::path(file).filename().string());
    return true;
  }

  void next_file() { chain_.whole_bytes = 0; }

  AuditChain finish() {
    for (size_t i = 0; i < heads_.size() && !chain_.broken; ++i) {
      if (met_[i] || heads_[i].seq < chain_.first_seq) continue;
      chain_.end_missing = true;
      broken(heads_[i].seq == chain_.seq + 1 ? fmt::format("line {} is missing", heads_[i].seq) : fmt::format("lines {} to {} are missing at the end", chain_.seq + 1, heads_[i].seq));
    }
    return std::move(chain_);
  }

 private:
  bool broken(std::string reason) {
    chain_.broken = {chain_.seq + 1, std::move(reason)};
    return false;
  }

  bool torn(const LineReader::Line& line, bool last_file) {
    if (!last_file || !torn_is_fine_) return broken("the line is cut off");
    chain_.torn_bytes = static_cast<int64_t>(line.text.size());
    chain_.torn_sha256 = sha256_hex(line.text);
    return true;
  }

  bool follow(std::string_view text) {
    const auto line = take_apart(text, parser_);
    if (!line || std::ranges::find(kinds, line->kind) == kinds.end()) return broken("this is no line of an audit log");
    if (!hash_is_right(*line)) return broken("the line was changed");
    if (first_of_file_ && !begins_file(*line)) return false;
    if (!first_of_file_ && find_int(line->json, "part")) return broken("the beginning of a file stands in the middle of one");
    first_of_file_ = false;
    if (line->seq > chain_.seq + 1) return broken(line->seq == chain_.seq + 2 ? fmt::format("line {} is missing", chain_.seq + 1) : fmt::format("lines {} to {} are missing", chain_.seq + 1, line->seq - 1));
    if (line->seq <= chain_.seq) return broken(fmt::format("line {} stands here again, or out of order", line->seq));
    if (line->prev != chain_.hash) return broken("the line does not follow the one before it");
    if (!signed_in_time(*line)) return false;
    remember(*line);
    return meets_heads();
  }

  // The first line of a file says which part it is. Older parts may have been deleted; then the chain begins where the oldest one left does.
  bool begins_file(const StoredLine& line) {
    const auto part = find_int(line.json, "part");
    if (line.kind != "start" || !part || *part < 1 || *part > INT32_MAX) return broken("the file does not begin with its first line");
    if (chain_.lines == 0 && *part > 1) {
      if (line.seq <= 1) return broken("the file does not begin with its first line");
      chain_.seq = line.seq - 1, chain_.first_seq = line.seq, chain_.hash = line.prev;
    } else if (*part != chain_.part + 1) {
      return broken("a part of the log is missing");
    }
    chain_.part = static_cast<int>(*part);
    return true;
  }

  bool signed_in_time(const StoredLine& line) {
    if (is_signed_kind(line.kind)) {
      if (key_ != nullptr && !signature_is_right(line, *key_)) return broken("the signature is not of this key");
      chain_.since_signed = 0;
      return true;
    }
    ++chain_.since_signed;
    const bool checked = key_ != nullptr && chain_.checkpoint_lines > 0;
    return !checked || chain_.since_signed <= chain_.checkpoint_lines || broken(fmt::format("a signed checkpoint is missing, one every {} lines expected", chain_.checkpoint_lines));
  }

  void remember(const StoredLine& line) {
    ++chain_.lines;
    chain_.seq = line.seq;
    chain_.hash = line.hash;
    if (line.kind == "start") {
      chain_.checkpoint_lines = static_cast<int>(std::clamp<int64_t>(find_int(line.json, "checkpoint_lines").value_or(0), 0, INT32_MAX));
      if (const auto id = find_string(line.json, "chain")) chain_.id = *id;
    }
    if (line.kind != "policy" && line.kind != "start") return;
    if (const auto policy = find_string(line.json, "policy_sha256")) chain_.policy = *policy;
  }

  bool meets_heads() {
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (heads_[i].seq != chain_.seq) continue;
      met_[i] = true;
      if (heads_[i].hash != chain_.hash) return chain_.seq--, broken("the line is another one than the head says");
    }
    return true;
  }

  const AuditKey* key_;
  const std::vector<AuditHead>& heads_;
  std::vector<bool> met_;
  const bool torn_is_fine_;
  bool first_of_file_ = true;
  AuditChain chain_;
  simdjson::dom::parser parser_;
};

std::vector<std::string> files_of(const std::string& path) {
  std::vector<std::string> files;
  for (const AuditPart& part : full_parts(path)) files.push_back(part.path);
  std::error_code error;
  if (std::filesystem::exists(path, error) || files.empty()) files.push_back(path);
  return files;
}

Result<AuditChain> walk_once(const std::vector<std::string>& files, const AuditKey* key, const std::vector<AuditHead>& heads, bool torn_is_fine) {
  Walker walker(key, heads, torn_is_fine);
  for (const std::string& file : files) {
    walker.next_file();
    TRY(const bool whole, walker.read(file, &file == &files.back()));
    if (!whole) break;
  }
  return walker.finish();
}

}  // namespace

Result<AuditChain> walk_audit(const std::string& path, const AuditKey* key, const std::vector<AuditHead>& heads, bool torn_is_fine) {
  constexpr int attempts = 3;
  for (int attempt = 1;; ++attempt) {
    const auto files = files_of(path);
    TRY(AuditChain chain, walk_once(files, key, heads, torn_is_fine));
    // A log that is being written may have been caught in the middle of a line, or while it went over to a new file.
    const bool moving = chain.broken && (chain.broken->reason == "the line is cut off" || files != files_of(path));
    if (!moving || attempt == attempts || !is_being_written(path)) return chain;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}
