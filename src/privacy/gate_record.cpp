// gate_record: the members of an audit line; what a client says stands in it only when nothing sensitive is found there.
#include "privacy/gate_record.h"

#include <algorithm>
#include <cstdio>
#include "privacy/digest.h"

std::string harmless(const Scanner& scanner, std::string_view text) {
  constexpr size_t longest = 128;
  const bool printable = std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 127 && c != '"' && c != '\\'; });
  if (text.empty()) return "";
  if (!printable || text.size() > longest) return "other";
  const ScanReport report = scanner.scan(text);
  return report.findings.empty() && report.statements.empty() ? std::string(text) : "other";
}

GateRecord::GateRecord(GateParts& parts, const GateNotes& notes, std::string requested)
    : parts_(parts), id_(new_audit_id()), key_(harmless(*parts.scanner, notes.key)), endpoint_(harmless(*parts.scanner, notes.endpoint)), requested_(std::move(requested)), bytes_in_(notes.body_bytes) {}

void GateRecord::decided(const Decision& decision, std::span<const FieldFinding> findings) {
  action_ = decision.action;
  settled(findings, decision.of_finding);
  parts_.metrics.findings(findings, decision.of_finding);
}

void GateRecord::settled(std::span<const FieldFinding> findings, std::span<const Action> actions) { findings_ = audit_findings(findings, actions); }

bool GateRecord::reserve(size_t bytes) {
  if (!parts_.audit || parts_.audit_broken) return false;
  if (!parts_.pending) return true;
  Json line = this->line();
  line["status"] = 0;
  line["code"] = "interrupted";
  line["bytes_upstream"] = bytes;      // as if all had left: nobody knows how far they came
  reserved_ = parts_.pending->put(id_, line).has_value();
  return reserved_;
}

void GateRecord::sent(const UpstreamAnswer& answer) {
  if (answer.sent.bytes > 0) bytes_upstream_ += answer.sent.bytes, digests_.push_back(answer.sent.sha256);
  attempts_ += answer.sent.attempts;
  upstream_us_ += answer.total_us;
}

void GateRecord::restored(int restored, int unresolved, int url_blocked) {
  restored_ += restored;
  unresolved_ += unresolved;
  url_blocked_ += url_blocked;
}

void GateRecord::fell_back(const UpstreamFailure& failure) {
  fallback_ = failure.kind == UpstreamFailure::Kind::timeout ? "upstream_timeout" : "upstream_failed";
}

Json GateRecord::line() const {
  Json out = {{"id", id_}, {"key", key_}, {"endpoint", endpoint_}, {"requested", requested_}, {"model", model_}, {"route", route_}, {"action", name_of(action_)}, {"status", status_}};
  out["policy"] = parts_.policy.label();
  out["findings"] = findings_;
  out["bytes_in"] = bytes_in_;
  out["bytes_upstream"] = bytes_upstream_;
  out["upstream_sha256"] = nullptr;
  if (digests_.size() == 1) out["upstream_sha256"] = digests_.front();
  if (digests_.size() > 1) {           // several prompts, a body for each: the digest of their digests
    std::string all;
    for (const std::string& digest : digests_) all += digest;
    out["upstream_sha256"] = sha256_hex(all);
    out["upstream_requests"] = digests_.size();
  }
  if (attempts_ > 1) out["attempts"] = attempts_;
  out["consent"] = consent_;
  out["restored"] = restored_;
  out["unresolved"] = unresolved_;
  out["url_blocked"] = url_blocked_;
  out["us"] = {{"scan", scan_us_}, {"upstream", upstream_us_}};
  if (!code_.empty()) out["code"] = code_;
  if (!fallback_.empty()) out["fallback"] = fallback_;
  return out;
}

void GateRecord::write() {
  if (written_) return;
  written_ = true;
  parts_.metrics.request(route_);
  if (scan_us_ > 0) parts_.metrics.scanned(scan_us_);
  parts_.metrics.restored(restored_, unresolved_);
  if (!parts_.audit) return;
  try {
    const Status status = parts_.audit->append("request", line());
    if (status) {
      parts_.audit_broken = false;
      if (reserved_) parts_.pending->drop(id_);
      return;
    }
    parts_.audit_broken = true;
    std::fprintf(stderr, "calla: %s; nothing is sent to an upstream\n", status.error().message.c_str());
  } catch (const std::exception&) {
    parts_.audit_broken = true;
    std::fprintf(stderr, "calla: cannot write a line of the audit log: no memory; nothing is sent to an upstream\n");
  }
}
