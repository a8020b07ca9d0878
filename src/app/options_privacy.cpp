// options: the rows of the commands that look for private values and account for them.
#include "app/options_rows.h"

#include <algorithm>

namespace {

bool text(std::string& out, std::string_view v) { return !v.empty() && (out = v, true); }

bool set_tiers(Options& o, std::string_view v) {
  const bool known = !v.empty() && std::ranges::all_of(v, [&](char c) { return (c == 'a' || c == 'b' || c == 'c') && std::ranges::count(v, c) == 1; });
  if (known) o.privacy.tiers = v;
  return known;
}

bool set_header(Options& o, std::string_view v) {
  if (v.find(':') == std::string_view::npos || v[0] == ':') return false;
  o.privacy.headers.emplace_back(v);
  return true;
}

const OptionSpec kRows[] = {
    {kScan, "--jsonl", "FILE", "a path, or - for standard input", "one {\"id\",\"text\"} a line; each is answered at once", "", [](Options& o, std::string_view v) { return text(o.privacy.jsonl, v); }},
    {kScan | kGateView, "--policy", "CONFIG", "a path", "the [privacy] of this configuration: its thresholds, terms and limits", "", [](Options& o, std::string_view v) { return text(o.privacy.policy, v); }},
    {kScan, "--tiers", "LETTERS", "some of the letters a, b and c", "which detectors (abc): a the usual ones, b further countries' numbers, c organisations, places, dates, amounts", "", set_tiers},
    {kPolicy, "--model", "M", "a model's name", "the model the request is for, instead of its own", "", [](Options& o, std::string_view v) { return text(o.privacy.model, v); }},
    {kPolicy, "--header", "LINE", "NAME: VALUE", "a header of the request; may be given several times", "", set_header},
    {kPolicy, "--key-env", "VARIABLE", "the name of an environment variable", "hash: where the key of terms_hmac is", "", [](Options& o, std::string_view v) { return text(o.privacy.key_env, v); }},
    {kAudit, "--pub", "KEY", "a path, or 64 hexadecimal digits", "verify: the public key (audit.pub beside the log)", "", [](Options& o, std::string_view v) { return text(o.privacy.pub, v); }},
    {kAudit, "--head", "SEQ:HASH", "SEQ:HASH", "verify: a line that has to be there, as an earlier check printed it", "", [](Options& o, std::string_view v) { return text(o.privacy.head, v); }},
    {kAudit, "--since", "TIME", "YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS", "stats and report: from this time on (UTC)", "", [](Options& o, std::string_view v) { return text(o.privacy.since, v); }},
    {kAudit, "--until", "TIME", "YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS", "stats and report: before this time (UTC)", "", [](Options& o, std::string_view v) { return text(o.privacy.until, v); }},
    {kAudit, "--csv", "", "", "export: as comma-separated values, which is what it does anyway", "", [](Options& o, std::string_view) { return o.privacy.csv = true; }},
    {kAudit, "-o, --out", "FILE", "a path", "export and report: write to FILE instead of standard output", "", [](Options& o, std::string_view v) { return text(o.privacy.out, v); }},
};

}  // namespace

std::span<const OptionSpec> privacy_option_rows() { return kRows; }
