// audit_line: sealing a line, and taking a stored one apart.
#include "privacy/audit_line.h"

#include <algorithm>
#include <array>
#include "privacy/audit.h"
#include "privacy/digest.h"

namespace {

constexpr std::string_view hash_member = ",\"hash\":\"", line_end = "\"}", sig_member = ",\"sig\":\"", purpose = "calla audit\n";
constexpr size_t hash_digits = 64, signature_digits = 128;

std::string signed_text(std::string_view prev, std::string_view body) { return std::string(purpose).append(prev).append(body); }

// Where the member "sig" of the line itself begins and ends; it stands between "seq" and "time", and no text can hold its unescaped quotes.
std::optional<std::pair<size_t, size_t>> signature_span(std::string_view body, std::string_view signature) {
  const std::string member = std::string(sig_member).append(signature).append("\"");
  const size_t at = body.find(member);
  if (at == std::string_view::npos || body.find(member, at + 1) != std::string_view::npos) return std::nullopt;
  return std::pair(at, at + member.size());
}

}  // namespace

bool is_signed_kind(std::string_view kind) { return kind == "start" || kind == "checkpoint" || kind == "stop"; }

Result<SealedLine> seal_line(Json line, const AuditKey& key) {
  line.erase("hash");
  line.erase("sig");
  const std::string prev = line.value("prev", std::string());
  if (is_signed_kind(line.value("kind", std::string()))) {
    TRY(const std::string signature, key.sign(signed_text(prev, canonical(line))));
    line["sig"] = signature;
  }
  std::string body = canonical(line);
  std::string hash = sha256_hex(prev, body);
  body.pop_back();
  body.append(hash_member).append(hash).append(line_end).append("\n");
  if (body.size() > max_audit_line) return Error{Code::too_large, "cannot write an audit line: it is too long"};
  return SealedLine{std::move(body), std::move(hash)};
}

std::optional<StoredLine> take_apart(std::string_view text, simdjson::dom::parser& parser) {
  const size_t tail = hash_member.size() + hash_digits + line_end.size();
  if (text.size() < tail + 2 || !text.ends_with(line_end)) return std::nullopt;
  const size_t cut = text.size() - tail;
  if (text.substr(cut, hash_member.size()) != hash_member) return std::nullopt;
  StoredLine line;
  line.hash = text.substr(cut + hash_member.size(), hash_digits);
  const auto json = parser.parse(text.data(), text.size(), false);
  if (json.error() != simdjson::SUCCESS || !json.value_unsafe().is_object()) return std::nullopt;
  line.json = json.value_unsafe();
  const auto seq = find_int(line.json, "seq");
  const auto kind = find_string(line.json, "kind"), prev = find_string(line.json, "prev");
  if (!seq || !kind || !prev) return std::nullopt;
  line.seq = *seq, line.kind = *kind, line.prev = *prev;
  line.body.reserve(cut + 1);
  line.body.append(text.substr(0, cut)).append("}");
  return line;
}

bool hash_is_right(const StoredLine& line) { return sha256_hex(line.prev, line.body) == line.hash; }

bool signature_is_right(const StoredLine& line, const AuditKey& key) {
  const auto signature = find_string(line.json, "sig");
  if (!signature || signature->size() != signature_digits) return false;
  const auto span = signature_span(line.body, *signature);
  if (!span) return false;
  const std::string unsigned_body = line.body.substr(0, span->first) + line.body.substr(span->second);
  return key.verifies(signed_text(line.prev, unsigned_body), *signature);
}
