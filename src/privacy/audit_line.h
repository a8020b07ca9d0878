// audit_line: one line of the log as bytes: canonical JSON with the hash behind it, so that what is hashed is what is stored.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include "core/json.h"
#include "core/json_writer.h"
#include "privacy/audit_key.h"

inline constexpr std::string_view no_hash = "0000000000000000000000000000000000000000000000000000000000000000";  // what the first line follows
inline constexpr size_t max_audit_line = size_t{16} << 20;

bool is_signed_kind(std::string_view kind);  // start, checkpoint, stop

// {"…":…,"hash":"HEX"}\n and the hash. The line has its members already; signed kinds get "sig".
struct SealedLine { std::string text, hash; };
Result<SealedLine> seal_line(Json line, const AuditKey& key);

// A stored line taken apart. `body` is the line without its hash, which was computed over prev and body.
struct StoredLine {
  std::string body;
  std::string_view hash;                 // as it stands at the line's end
  JsonView json;                         // lives as long as the parser's next line
  int64_t seq = 0;
  std::string_view kind, prev;
};
// nullopt: it is not a line of such a log. The text has SIMDJSON_PADDING readable bytes behind it.
std::optional<StoredLine> take_apart(std::string_view text, simdjson::dom::parser& parser);
bool hash_is_right(const StoredLine& line);
bool signature_is_right(const StoredLine& line, const AuditKey& key);
