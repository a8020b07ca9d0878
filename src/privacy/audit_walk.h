// audit_walk: the chain followed from its first line to its last, through all parts, and the first place where it breaks.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "privacy/audit_files.h"
#include "privacy/audit_line.h"

struct AuditBreak { int64_t seq = 0; std::string reason; };
// Where the chain stands after the lines seen so far.
struct AuditChain {
  int64_t lines = 0, seq = 0;
  std::string hash{no_hash}, id, policy;   // id: of the chain, from its start; policy: of the last line that says one
  int part = 0;                            // number of the file, the first is 1
  int checkpoint_lines = 0;                // as the last start said
  int64_t since_signed = 0;                // lines behind the last signed one
  int64_t first_seq = 1;                   // higher when older parts are gone
  std::optional<AuditBreak> broken;
  bool end_missing = false;                // all that broke: a head says there were more lines
  // Bytes at the end of the last file that are no whole line: a write that was interrupted.
  int64_t whole_bytes = 0, torn_bytes = 0;
  std::string torn_sha256;
};

// Follows the chain in `path` and its full parts. `heads` have to be met on the way; signatures are checked with `key` when there is one. A torn
// last line breaks the chain unless `torn_is_fine`. Fails only when nothing can be read.
Result<AuditChain> walk_audit(const std::string& path, const AuditKey* key, const std::vector<AuditHead>& heads, bool torn_is_fine);
