// audit: one line for every decision, chained by SHA-256 and signed now and then; and what can be read from such a log.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include "core/core.h"
#include "core/json_writer.h"
#include "privacy/policy.h"

// The file of one running program. Safe from many threads; lines are whole or absent.
class AuditLog {
 public:
  // Goes on with an existing file, whose chain is checked first; makes the key when it is missing. Fails when the file is in use.
  static Result<std::unique_ptr<AuditLog>> open(const AuditOptions& options, const Policy& policy);
  virtual ~AuditLog() = default;
  // Adds kind, seq, time, prev and hash to `line` and writes it. An error means that nothing may be sent.
  virtual Status append(std::string_view kind, Json line) = 0;
};
std::string new_audit_id();
// The member "findings" of a request's line: one entry for each class, kind, detector and field, with what was decided for it as "action".
Json audit_findings(std::span<const FieldFinding> findings, std::span<const Action> actions);
// Keys sorted, no spaces, UTF-8: what is hashed.
std::string canonical(const Json& json);

struct AuditCheck {
  bool ok = false, signatures = false;       // signatures: they were checked, a public key was at hand
  int64_t lines = 0, seq = 0, bad_seq = 0;
  std::string head, reason;                  // head: SEQ:HASH
  std::vector<std::string> notes;            // what is honest and yet worth knowing: lines lost in a crash, older parts that are gone
};
// Follows rotation into older files of the same name. `pub`, `head`: "" takes FILE.pub (audit.pub) and FILE.head when they are there.
Result<AuditCheck> verify_audit(const std::string& path, const std::string& pub, const std::string& head);
Result<Json> audit_stats(const std::string& path, const std::string& since, const std::string& until);
Status export_audit_csv(const std::string& path, std::FILE* out);
// One self-contained HTML page: by class, destination and outcome over time.
Result<std::string> audit_report(const std::string& path, const std::string& since, const std::string& until);
