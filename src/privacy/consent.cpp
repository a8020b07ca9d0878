// consent: ids that carry a MAC over what they allow, and a row in SQLite that can be used up once.
#include "privacy/consent.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <mutex>
#include <openssl/crypto.h>
#include "privacy/digest.h"
#include "privacy/vault_database.h"

namespace {

constexpr const char* schema = R"(
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS consents(id TEXT PRIMARY KEY, destination TEXT NOT NULL, choices TEXT NOT NULL, expires INTEGER NOT NULL, state TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS consents_by_end ON consents(expires);
CREATE TABLE IF NOT EXISTS sessions(conversation TEXT NOT NULL, key TEXT NOT NULL, class TEXT NOT NULL, expires INTEGER NOT NULL, PRIMARY KEY(conversation, key, class));
)";
constexpr int64_t remembered_s = 7 * 86400;  // ended consents stay listed so long
constexpr size_t id_bytes = 16, max_id = 200;

struct Word { Choice choice; std::string_view name; };
constexpr std::array<Word, 5> words = {{{Choice::mask_once, "mask_once"}, {Choice::mask_session, "mask_session"}, {Choice::send_once, "send_once"}, {Choice::local, "local"}, {Choice::cancel, "cancel"}}};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string joined(const std::vector<Choice>& choices) {
  std::string out = " ";
  for (const Choice choice : choices) out.append(name_of(choice)) += ' ';
  return out;
}

bool same(std::string_view a, std::string_view b) { return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

// Which choices one class leaves open.
std::vector<Scope> scopes_of(const Policy& policy, PrivacyClass cls) {
  if (cls == PrivacyClass::secret) return {};
  const auto found = policy.consent.scopes.find(cls);
  return found == policy.consent.scopes.end() ? std::vector<Scope>{Scope::once} : found->second;
}

const Error refused{Code::denied, "cannot use this consent: it is unknown, used, expired, or was given for something else"};

}  // namespace

std::string_view name_of(Choice choice) { return words[static_cast<size_t>(choice)].name; }

std::optional<Choice> choice_named(std::string_view name) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const Word& word) { return word.name == name; });
  if (found == words.end()) return std::nullopt;
  return found->choice;
}

std::vector<Choice> permitted_choices(const Policy& policy, const std::vector<FieldFinding>& findings) {
  const auto all_permit = [&](Scope scope) {
    return !findings.empty() && std::all_of(findings.begin(), findings.end(), [&](const FieldFinding& found) {
      const std::vector<Scope> scopes = scopes_of(policy, found.finding.cls);
      return std::find(scopes.begin(), scopes.end(), scope) != scopes.end();
    });
  };
  std::vector<Choice> out;
  if (all_permit(Scope::once)) out.push_back(Choice::mask_once);
  if (all_permit(Scope::session)) out.push_back(Choice::mask_session);
  if (all_permit(Scope::as_is)) out.push_back(Choice::send_once);
  out.push_back(Choice::local);
  out.push_back(Choice::cancel);
  return out;
}

struct ConsentBook::Parts {
  // Over the random half of an id, its end, the choices, and every part of the subject; lengths keep parts apart.
  std::string mac(std::string_view random, int64_t expires, std::string_view choices, const ConsentSubject& subject) const {
    const std::string end = std::to_string(expires);
    const std::string_view parts[] = {random, end, choices, subject.request_sha256, subject.findings_sha256, subject.destination, subject.policy_sha256, subject.key};
    std::string message;
    for (const std::string_view part : parts) message += std::to_string(part.size()) + ":" + std::string(part);
    return hmac_sha256_hex(key.view(), message);
  }
  void forget_old() {
    Query(database.get(), "DELETE FROM consents WHERE expires < ?").bind(unix_now() - remembered_s).done();
    Query(database.get(), "DELETE FROM sessions WHERE expires < ?").bind(unix_now()).done();
  }
  mutable std::mutex mutex;
  Secret key;
  Database database;
};

ConsentBook::ConsentBook(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ConsentBook::~ConsentBook() = default;

Result<std::unique_ptr<ConsentBook>> ConsentBook::open(const std::string& folder) {
  auto parts = std::make_unique<Parts>();
  TRY(parts->key, open_key(folder, "consent.key"));
  TRY(parts->database, open_database(folder, "consent.db", schema));
  parts->forget_old();
  return std::unique_ptr<ConsentBook>(new ConsentBook(std::move(parts)));
}

Result<ConsentOffer> ConsentBook::offer(const ConsentSubject& subject, std::vector<Choice> choices, int ttl_s) {
  const std::lock_guard lock(parts_->mutex);
  parts_->forget_old();
  const std::string random = random_hex(id_bytes), listed = joined(choices);
  ConsentOffer out;
  out.expires_unix_s = unix_now() + ttl_s;
  out.id = random + parts_->mac(random, out.expires_unix_s, listed, subject).substr(0, 2 * id_bytes);
  out.choices = std::move(choices);
  Query insert(parts_->database.get(), "INSERT INTO consents(id, destination, choices, expires, state) VALUES(?, ?, ?, ?, 'open')");
  if (!insert.bind(out.id).bind(subject.destination).bind(listed).bind(out.expires_unix_s).done()) {
    return Error{Code::io, fmt::format("cannot write down a consent: {}", sqlite3_errmsg(parts_->database.get()))};
  }
  return out;
}

Status ConsentBook::take(std::string_view id, Choice choice, const ConsentSubject& subject) {
  const std::lock_guard lock(parts_->mutex);
  sqlite3* database = parts_->database.get();
  if (id.size() != 4 * id_bytes || id.size() > max_id) return refused;
  std::string choices;
  int64_t expires = 0;
  {
    Query query(database, "SELECT choices, expires FROM consents WHERE id = ? AND state = 'open'");
    if (!query.bind(id).row()) return refused;
    choices = query.text(0);
    expires = query.number(1);
  }
  const std::string_view random = id.substr(0, 2 * id_bytes);
  if (!same(id.substr(2 * id_bytes), std::string_view(parts_->mac(random, expires, choices, subject)).substr(0, 2 * id_bytes))) return refused;
  if (expires <= unix_now() || choices.find(fmt::format(" {} ", name_of(choice))) == std::string::npos) return refused;
  // The row decides between threads and between processes: whoever changes it has it.
  Query use(database, "UPDATE consents SET state = 'used' WHERE id = ? AND state = 'open'");
  if (!use.bind(id).done() || sqlite3_changes(database) != 1) return refused;
  return ok_status();
}

void ConsentBook::allow_session(const std::string& conversation, const std::string& key, const std::vector<PrivacyClass>& classes, int ttl_s) {
  const std::lock_guard lock(parts_->mutex);
  for (const PrivacyClass cls : classes) {
    if (cls == PrivacyClass::secret || conversation.empty()) continue;
    Query(parts_->database.get(), "INSERT INTO sessions(conversation, key, class, expires) VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET expires = excluded.expires")
        .bind(conversation).bind(key).bind(name_of(cls)).bind(unix_now() + ttl_s).done();
  }
}

bool ConsentBook::session_allows(const std::string& conversation, const std::string& key, const std::vector<PrivacyClass>& classes) const {
  const std::lock_guard lock(parts_->mutex);
  return !classes.empty() && std::all_of(classes.begin(), classes.end(), [&](PrivacyClass cls) {
    Query query(parts_->database.get(), "SELECT 1 FROM sessions WHERE conversation = ? AND key = ? AND class = ? AND expires > ?");
    return query.bind(conversation).bind(key).bind(name_of(cls)).bind(unix_now()).row();
  });
}

std::vector<ConsentBook::Entry> ConsentBook::entries() const {
  const std::lock_guard lock(parts_->mutex);
  std::vector<Entry> out;
  Query query(parts_->database.get(), "SELECT id, destination, state, expires FROM consents ORDER BY expires, id");
  while (query.row()) {
    const bool is_over = query.text(2) == "open" && query.number(3) <= unix_now();
    out.push_back({query.text(0), query.text(1), is_over ? "expired" : query.text(2), query.number(3)});
  }
  return out;
}

Status ConsentBook::revoke(std::string_view id) {
  const std::lock_guard lock(parts_->mutex);
  Query query(parts_->database.get(), "UPDATE consents SET state = 'revoked' WHERE id = ? AND state = 'open'");
  if (!query.bind(id).done() || sqlite3_changes(parts_->database.get()) != 1) return Error{Code::not_found, "cannot revoke this consent: none is open under this id"};
  return ok_status();
}

Result<ConsentHeader> read_consent_header(std::string_view text) {
  const Error wrong{Code::invalid_request, "cannot read X-Calla-Consent: \"ID; decision=CHOICE\" or \"none\" expected"};
  text = trimmed(text);
  if (text == "none") return ConsentHeader{true, "", Choice::local};
  const size_t semicolon = text.find(';');
  if (semicolon == std::string_view::npos) return wrong;
  const std::string_view id = trimmed(text.substr(0, semicolon)), rest = trimmed(text.substr(semicolon + 1));
  const size_t equals = rest.find('=');
  if (id.empty() || id.size() > max_id || equals == std::string_view::npos || trimmed(rest.substr(0, equals)) != "decision") return wrong;
  const bool plain = std::all_of(id.begin(), id.end(), [](char c) { return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' || c == '_' || c == '.'; });
  const auto choice = choice_named(trimmed(rest.substr(equals + 1)));
  if (!plain || !choice) return wrong;
  return ConsentHeader{false, std::string(id), *choice};
}
