// overlap: candidates are taken best first, each only where no better one stands.
#include "privacy/overlap.h"

#include <algorithm>
#include <map>
#include <tuple>
#include "privacy/characters.h"

namespace {

// The more specific a class, the smaller.
int rank_of(PrivacyClass cls) {
  constexpr PrivacyClass order[] = {
      PrivacyClass::secret, PrivacyClass::card, PrivacyClass::iban, PrivacyClass::crypto, PrivacyClass::gov_id, PrivacyClass::bank, PrivacyClass::email,
      PrivacyClass::mac, PrivacyClass::ip, PrivacyClass::phone, PrivacyClass::dob, PrivacyClass::address, PrivacyClass::handle, PrivacyClass::person,
      PrivacyClass::host, PrivacyClass::health, PrivacyClass::opaque};
  return static_cast<int>(std::find(std::begin(order), std::end(order), cls) - std::begin(order));
}

bool is_low(const Finding& f) { return group_of(f.cls) == "low"; }

// A secret is seldom validated, and must not lose to the address or number that it contains.
bool is_strong(const Candidate& c) { return c.validated || (c.finding.cls == PrivacyClass::secret && c.finding.score >= 0.5f); }

// Nothing takes the password out of "scheme://user:password@host": least of all the address that it seems to be.
bool is_plain_secret(const Candidate& c) { return c.finding.cls == PrivacyClass::secret && (c.validated || c.finding.score >= 0.9f); }

bool better(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& c) {
    const Finding& f = c.finding;
    return std::tuple(f.cls == PrivacyClass::custom, is_plain_secret(c), !is_low(f), f.cls != PrivacyClass::opaque, is_strong(c), f.end - f.begin, c.validated, f.score, -rank_of(f.cls));
  };
  if (key(a) != key(b)) return key(a) > key(b);
  return a.finding.begin < b.finding.begin;
}

// Digits that another class claims are no loss (F2), nor is a host without its user; words and passwords are.
bool keeps_remainders(const Finding& f) {
  switch (f.cls) {
    case PrivacyClass::secret: case PrivacyClass::custom: case PrivacyClass::email: case PrivacyClass::address: case PrivacyClass::person: case PrivacyClass::opaque: return f.score >= 0.5f;
    default: return false;
  }
}

bool is_substance(char c) { return !is_ascii_letter(static_cast<unsigned char>(c)) && !is_digit(static_cast<unsigned char>(c)) ? static_cast<unsigned char>(c) >= 0x80 : true; }

class Resolver {
 public:
  Resolver(std::string_view text, size_t n_candidates) : text_(text), steps_left_(64 * n_candidates + 1024) {}

  bool take(const Finding& finding) {
    if (free(finding)) {
      taken_.emplace(finding.begin, finding);
      return true;
    }
    return !keeps_remainders(finding) || take_remainders(finding);
  }
  // A statement stands beside the person it is about; where another finding covers all of it, it is the one that counts.
  bool take_statement(const Finding& statement) {
    const size_t before = taken_.size();
    if (free(statement)) return taken_.emplace(statement.begin, statement), true;
    if (!take_remainders(statement)) return false;
    if (taken_.size() > before) return true;
    Finding& covering = first_over(statement)->second;
    if (covering.cls == PrivacyClass::secret || covering.cls == PrivacyClass::custom) return true;
    covering.cls = statement.cls, covering.kind = statement.kind, covering.detector = statement.detector, covering.score = statement.score;
    return true;
  }
  std::vector<Finding> findings() {
    std::vector<Finding> out;
    for (auto& [begin, finding] : taken_) {
      if (!out.empty() && is_continued(out.back(), finding)) {
        out.back().end = finding.end;
        out.back().score = std::max(out.back().score, finding.score);
      } else {
        out.push_back(std::move(finding));
      }
    }
    return out;
  }

 private:
  std::map<size_t, Finding>::iterator first_over(const Finding& f) {
    auto at = taken_.upper_bound(f.begin);
    if (at != taken_.begin() && std::prev(at)->second.end > f.begin) return std::prev(at);
    return at != taken_.end() && at->first < f.end ? at : taken_.end();
  }
  bool free(const Finding& f) { return first_over(f) == taken_.end(); }

  // The parts of a finding that nothing covers yet.
  bool take_remainders(const Finding& finding) {
    std::vector<Finding> parts;
    size_t begin = finding.begin;
    for (auto at = first_over(finding); at != taken_.end() && at->first < finding.end; ++at) {
      if (steps_left_-- == 0) return false;
      add_part(finding, begin, at->second.begin, parts);
      begin = at->second.end;
    }
    add_part(finding, begin, finding.end, parts);
    for (const Finding& part : parts) taken_.emplace(part.begin, part);
    return true;
  }
  void add_part(const Finding& whole, size_t begin, size_t end, std::vector<Finding>& parts) const {
    while (begin < end && !is_substance(text_[begin])) ++begin;
    while (end > begin && !is_substance(text_[end - 1])) --end;
    if (end < begin + 2) return;
    if (whole.cls == PrivacyClass::email && text_.substr(begin, end - begin).find('@') == std::string_view::npos) return;
    parts.push_back(whole);
    parts.back().begin = begin, parts.back().end = end;
  }
  // Lines of one address, parts of one name; what two detectors found of one name has no gap.
  bool is_continued(const Finding& a, const Finding& b) const {
    if (a.cls != b.cls || a.view != b.view || a.end > b.begin) return false;
    const std::string_view gap = text_.substr(a.end, b.begin - a.end);
    if (a.cls == PrivacyClass::person) return gap == " " || (gap.empty() && a.detector != b.detector);
    return a.cls == PrivacyClass::address && !gap.empty() && gap.size() <= 3 && gap.find_first_not_of(", \r\n") == std::string_view::npos;
  }

  std::string_view text_;
  size_t steps_left_;
  std::map<size_t, Finding> taken_;  // by begin
};

std::vector<Finding> apart(std::vector<Finding> statements) {
  std::sort(statements.begin(), statements.end(), [](const Finding& a, const Finding& b) { return std::tuple(a.begin, b.end) < std::tuple(b.begin, a.end); });
  std::vector<Finding> out;
  for (Finding& s : statements) {
    if (out.empty() || s.begin >= out.back().end) out.push_back(std::move(s));
  }
  return out;
}

}  // namespace

std::optional<Resolved> resolve(std::string_view text, std::vector<Candidate> candidates) {
  std::vector<Finding> statements;
  std::vector<Candidate*> order;
  for (Candidate& c : candidates) {
    if (c.statement) statements.push_back(std::move(c.finding));
    else order.push_back(&c);
  }
  std::sort(order.begin(), order.end(), [](const Candidate* a, const Candidate* b) { return better(*a, *b); });
  Resolver resolver(text, candidates.size());
  bool has_person = false;
  for (const Candidate* c : order) {
    if (!resolver.take(c->finding)) return std::nullopt;
    has_person |= c->finding.cls == PrivacyClass::person && c->finding.score >= 0.5f;
  }
  statements = apart(std::move(statements));
  if (!has_person) return Resolved{resolver.findings(), std::move(statements)};
  for (const Finding& s : statements) {
    if (!resolver.take_statement(s)) return std::nullopt;
  }
  return Resolved{resolver.findings(), {}};
}
