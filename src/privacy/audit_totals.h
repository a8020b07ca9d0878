// audit_totals: what the requests of a period add up to, from the log alone.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>
#include "core/json.h"
#include "core/json_writer.h"
#include "privacy/policy.h"

// A period of UTC time, as the log writes it; "" has no end.
struct AuditPeriod { std::string since, until; };  // since <= time < until
// "2026-11-30", "2026-11-30T12:00" and on to milliseconds, with or without a Z.
Result<AuditPeriod> audit_period(const std::string& since, const std::string& until);

// Every whole line in the period, oldest first, through all parts; `json` lives for the call.
Status each_audit_line(const std::string& path, const AuditPeriod& period, const std::function<void(JsonView json)>& visit);

void each_finding(JsonView request, const std::function<void(JsonView finding)>& visit);

struct ClassTotals { int64_t kept = 0, masked = 0, sent = 0; };
struct AuditTotals {
  int64_t requests = 0, bytes_in = 0, bytes_upstream = 0, restored = 0, unresolved = 0, url_blocked = 0;
  std::map<std::string, int64_t> routes, destinations, consents, errors, policies;  // destinations: models that answered
  std::map<std::string, ClassTotals> classes;
  std::map<std::string, std::map<std::string, int64_t>> days;                       // "2026-11-30": requests by route
  std::string first_time, last_time;
  int64_t signed_lines = 0, lines = 0;
};
// Where the findings of one entry went: they stayed here, left as placeholders, or left as they were.
enum class Whereabouts : uint8_t { kept, masked, sent };
Whereabouts whereabouts(JsonView request, JsonView finding);
Result<AuditTotals> audit_totals(const std::string& path, const AuditPeriod& period);
