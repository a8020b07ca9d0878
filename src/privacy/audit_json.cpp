// audit: how lines are written: canonical JSON, ids, and findings without a trace of their text.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include "privacy/audit.h"
#include "privacy/digest.h"

namespace {

void write_canonical(const Json& json, std::string& out);

void write_object(const Json& json, std::string& out) {
  std::vector<std::pair<std::string_view, const Json*>> members;
  members.reserve(json.size());
  for (const auto& [key, value] : json.items()) members.emplace_back(key, &value);
  std::ranges::sort(members, {}, [](const auto& member) { return member.first; });
  out += '{';
  bool first = true;
  for (const auto& [key, value] : members) {
    if (!first) out += ',';
    first = false;
    out += text_of(Json(key));
    out += ':';
    write_canonical(*value, out);
  }
  out += '}';
}

void write_canonical(const Json& json, std::string& out) {
  if (json.is_object()) return write_object(json, out);
  if (!json.is_array()) return void(out += text_of(json));
  out += '[';
  for (size_t i = 0; i < json.size(); ++i) {
    if (i != 0) out += ',';
    write_canonical(json[i], out);
  }
  out += ']';
}

// Of an entry of "findings": count and best score.
struct Tally { int count = 0; float score = 0; };

}  // namespace

std::string canonical(const Json& json) {
  std::string out;
  write_canonical(json, out);
  return out;
}

std::string new_audit_id() { return "audit_" + random_hex(12); }

Json audit_findings(std::span<const FieldFinding> findings, std::span<const Action> actions) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, Action>;  // class, kind, detector, field, action
  std::map<Key, Tally> tallies;
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i].finding;
    const std::string_view kind = finding.cls == PrivacyClass::custom ? std::string_view("term") : finding.kind;  // a term's name often is the term
    Tally& tally = tallies[{name_of(finding.cls), kind, finding.detector, findings[i].field, i < actions.size() ? actions[i] : Action::local}];
    ++tally.count;
    tally.score = std::max(tally.score, finding.score);
  }
  Json list = Json::array();
  for (const auto& [key, tally] : tallies) {
    const auto& [cls, kind, detector, field, action] = key;
    list.push_back({{"class", cls}, {"kind", kind}, {"count", tally.count}, {"max_score", std::round(static_cast<double>(tally.score) * 100) / 100}, {"detector", detector}, {"field", field}, {"action", name_of(action)}});
  }
  return list;
}
