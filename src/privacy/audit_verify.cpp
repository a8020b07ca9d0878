// audit: whether a log is whole, from what lies beside it.
#include <filesystem>
#include "core/mapped_file.h"
#include "privacy/audit.h"
#include "privacy/audit_walk.h"

namespace {

constexpr size_t max_head_bytes = 4096;

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// FILE.pub, the log's name ending in .pub instead, or audit.pub beside it.
std::string public_key_beside(const std::string& path) {
  const std::filesystem::path whole(path);
  for (const std::string& candidate : {path + ".pub", std::filesystem::path(whole).replace_extension(".pub").string(), (whole.parent_path() / "audit.pub").string()})
    if (exists(candidate)) return candidate;
  return "";
}

AuditCheck bad(AuditCheck check, int64_t seq, std::string reason) {
  check.ok = false, check.bad_seq = seq, check.reason = std::move(reason);
  return check;
}

struct Beside { std::optional<AuditKey> key; std::vector<AuditHead> heads; bool head_file = false, head_file_broken = false; };

Result<Beside> look_beside(const std::string& path, const std::string& pub, const std::string& head) {
  Beside beside;
  if (!head.empty()) {
    const auto parsed = parse_head(head);
    if (!parsed) return Error{Code::invalid_request, "cannot verify the audit log: the head: SEQ:HASH expected"};
    beside.heads.push_back(*parsed);
  }
  if (exists(head_path(path))) {
    TRY(const std::string text, read_file(head_path(path), max_head_bytes));
    const auto parsed = parse_head(text);
    beside.head_file = true, beside.head_file_broken = !parsed;
    if (parsed) beside.heads.push_back(*parsed);
  }
  const std::string key = pub.empty() ? public_key_beside(path) : pub;
  if (!key.empty()) {
    TRY(beside.key, AuditKey::open_public(key));
  }
  return beside;
}

}  // namespace

Result<AuditCheck> verify_audit(const std::string& path, const std::string& pub, const std::string& head) {
  TRY(const Beside beside, look_beside(path, pub, head));
  AuditCheck check;
  check.signatures = beside.key.has_value();
  if (!exists(path) && full_parts(path).empty() && beside.head_file) return bad(std::move(check), 1, "the log is gone, its head is there");
  TRY(const AuditChain chain, walk_audit(path, beside.key ? &*beside.key : nullptr, beside.heads, false));
  check.lines = chain.lines, check.seq = chain.seq;
  check.head = to_text({chain.seq, chain.hash});
  if (chain.first_seq > 1) check.notes.push_back("older parts are not here, the chain is whole from line " + std::to_string(chain.first_seq) + " on");
  if (!beside.key) check.notes.push_back("no public key here: signatures were not checked");
  if (!beside.head_file && head.empty()) check.notes.push_back("no head here: a cut behind the last signed line would not be seen");
  if (chain.broken) return bad(std::move(check), chain.broken->seq, chain.broken->reason);
  if (beside.head_file_broken) return bad(std::move(check), chain.seq + 1, "the head beside the log is not SEQ:HASH");
  check.ok = true;
  return check;
}
