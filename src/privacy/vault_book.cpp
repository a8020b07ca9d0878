// vault: conversations by name or by their messages, in memory and, with a folder, sealed on disk.
#include <algorithm>
#include <map>
#include <mutex>
#include <openssl/hmac.h>
#include "privacy/digest.h"
#include "privacy/vault_database.h"
#include "privacy/vault_parts.h"

namespace {

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS conversations(id TEXT PRIMARY KEY, used INTEGER NOT NULL, sealed BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS conversations_by_use ON conversations(used);
CREATE TABLE IF NOT EXISTS prefixes(digest TEXT PRIMARY KEY, conversation TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS prefixes_by_conversation ON prefixes(conversation);
)";
constexpr size_t max_in_memory = 4096;  // conversations that also lie on disk
constexpr int64_t expire_every_s = 60;
constexpr size_t max_at_all = 1 << 16;  // where there is no disk

}  // namespace

struct VaultBook::Parts {
  struct Known { std::shared_ptr<Vault> vault; int64_t used; std::vector<std::string> prefixes; size_t kept_prefixes = 0; uint64_t kept_revision = 0; int64_t kept_used = 0; };

  std::string keyed(std::string_view purpose, std::string_view api_key, std::string_view text) const {
    std::string message;
    for (const std::string_view part : {purpose, api_key, text}) message += std::to_string(part.size()) + ":" + std::string(part);
    return hmac_sha256_hex(key.view(), message);
  }
  std::string conversation_of(const std::string& prefix);
  Result<Known*> load(const std::string& id);
  void forget(const std::string& id);
  void make_room();
  void expire();
  Status write(const std::string& id, Known& known);

  std::mutex mutex;
  int ttl_s = 0;
  int64_t expired_at = 0;
  bool on_disk = false;
  Secret key;
  Database database;
  std::map<std::string, Known, std::less<>> conversations;
  std::unordered_map<std::string, std::string> prefixes;  // of those in memory
};

VaultBook::VaultBook(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
VaultBook::~VaultBook() = default;

Result<std::unique_ptr<VaultBook>> VaultBook::open(const std::string& folder, int ttl_s) {
  auto parts = std::make_unique<Parts>();
  parts->ttl_s = ttl_s;
  parts->on_disk = !folder.empty();
  TRY(parts->key, open_key(folder, "vault.key"));
  if (parts->on_disk) {
    TRY(parts->database, open_database(folder, "vault.db", schema));
  }
  auto book = std::unique_ptr<VaultBook>(new VaultBook(std::move(parts)));
  book->expire();
  return book;
}

std::string VaultBook::Parts::conversation_of(const std::string& prefix) {
  if (const auto found = prefixes.find(prefix); found != prefixes.end()) return found->second;
  if (!on_disk) return "";
  Query query(database.get(), "SELECT conversation FROM prefixes WHERE digest = ?");
  return query.bind(prefix).row() ? query.text(0) : "";
}

// nullptr: there is none, or it is too old.
Result<VaultBook::Parts::Known*> VaultBook::Parts::load(const std::string& id) {
  const int64_t oldest = unix_now() - ttl_s;
  if (const auto found = conversations.find(id); found != conversations.end()) {
    if (found->second.used > oldest) return &found->second;
    forget(id);
    return nullptr;
  }
  if (!on_disk) return nullptr;
  Query query(database.get(), "SELECT sealed, used FROM conversations WHERE id = ?");
  if (!query.bind(id).row()) return nullptr;
  if (query.number(1) <= oldest) return forget(id), nullptr;
  TRY(std::shared_ptr<Vault> vault, Vault::unseal(query.text(0), key.view()));
  return &conversations.emplace(id, Known{std::move(vault), query.number(1), {}}).first->second;
}

void VaultBook::Parts::forget(const std::string& id) {
  if (const auto found = conversations.find(id); found != conversations.end()) {
    for (const std::string& prefix : found->second.prefixes) {
      if (const auto at = prefixes.find(prefix); at != prefixes.end() && at->second == id) prefixes.erase(at);
    }
    conversations.erase(found);
  }
  if (!on_disk) return;
  Query(database.get(), "DELETE FROM prefixes WHERE conversation = ?").bind(id).done();
  Query(database.get(), "DELETE FROM conversations WHERE id = ?").bind(id).done();
}

// The longest unused ones leave memory; on disk they stay.
void VaultBook::Parts::make_room() {
  if (conversations.size() < (on_disk ? max_in_memory : max_at_all)) return;
  std::vector<std::pair<int64_t, std::string>> by_use;
  for (const auto& [id, known] : conversations) by_use.emplace_back(known.used, id);
  std::sort(by_use.begin(), by_use.end());
  by_use.resize(by_use.size() / 8);
  for (const auto& [used, id] : by_use) {
    const Known& known = conversations.find(id)->second;
    if (on_disk && (known.vault.use_count() > 1 || known.kept_prefixes < known.prefixes.size())) continue;  // in use
    for (const std::string& prefix : known.prefixes) prefixes.erase(prefix);
    conversations.erase(id);
  }
}

Result<VaultBook::Conversation> VaultBook::find(std::string_view api_key, std::string_view client_id, const std::vector<std::string>& message_digests) {
  Parts& parts = *parts_;
  const std::lock_guard lock(parts.mutex);
  if (unix_now() - parts.expired_at >= expire_every_s) parts.expire();
  std::vector<std::string> chain;
  for (const std::string& digest : message_digests) chain.push_back(parts.keyed("prefix", api_key, (chain.empty() ? "" : chain.back()) + digest));
  std::string id;
  Parts::Known* known = nullptr;
  if (!client_id.empty()) {
    id = parts.keyed("client", api_key, client_id);
    TRY(known, parts.load(id));
  }
  for (size_t i = chain.size(); client_id.empty() && known == nullptr && i-- > 0;) {
    id = parts.conversation_of(chain[i]);
    if (id.empty()) continue;
    TRY(known, parts.load(id));
  }
  if (known == nullptr) {
    parts.make_room();
    if (client_id.empty()) id = random_hex(32);
    TRY(const Secret vault_key, Secret::random(32));
    TRY(std::shared_ptr<Vault> vault, Vault::make(vault_key.view()));
    known = &parts.conversations.emplace(id, Parts::Known{std::move(vault), 0, {}}).first->second;
  }
  known->used = unix_now();
  if (client_id.empty()) {
    for (const std::string& prefix : chain) {
      if (parts.prefixes.try_emplace(prefix, id).second) known->prefixes.push_back(prefix);
    }
  }
  return Conversation{id, known->vault};
}

Status VaultBook::Parts::write(const std::string& id, Known& known) {
  sqlite3* db = database.get();
  const uint64_t revision = known.vault->revision();
  const bool is_kept = known.kept_revision == revision && known.kept_prefixes == known.prefixes.size() && known.used - known.kept_used < ttl_s / 16;
  if (known.kept_used > 0 && is_kept) return ok_status();
  TRY(const std::string sealed, known.vault->seal(key.view()));
  bool good = sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
  good = good && Query(db, "INSERT INTO conversations(id, used, sealed) VALUES(?, ?, ?) ON CONFLICT(id) DO UPDATE SET used = excluded.used, sealed = excluded.sealed")
                     .bind(id).bind(known.used).bind_blob(sealed).done();
  for (size_t i = known.kept_prefixes; good && i < known.prefixes.size(); ++i) {
    good = Query(db, "INSERT INTO prefixes(digest, conversation) VALUES(?, ?) ON CONFLICT(digest) DO UPDATE SET conversation = excluded.conversation")
               .bind(known.prefixes[i]).bind(id).done();
  }
  if (good && sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK) {
    known.kept_prefixes = known.prefixes.size(), known.kept_revision = revision, known.kept_used = known.used;
    return ok_status();
  }
  const Error error{Code::io, std::string("cannot keep a conversation's placeholders: ") + sqlite3_errmsg(db)};
  sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  return error;
}

Status VaultBook::keep(const Conversation& conversation) {
  const std::lock_guard lock(parts_->mutex);
  if (!parts_->on_disk) return ok_status();
  const auto found = parts_->conversations.find(conversation.id);
  if (found == parts_->conversations.end() || found->second.vault != conversation.vault) return Error{Code::internal, "cannot keep a conversation's placeholders: it has expired"};
  return parts_->write(conversation.id, found->second);
}

void VaultBook::Parts::expire() {
  const int64_t now = unix_now(), oldest = now - ttl_s;
  expired_at = now;
  std::vector<std::string> old;
  for (const auto& [id, known] : conversations) {
    if (known.used <= oldest) old.push_back(id);
  }
  if (on_disk) {
    Query query(database.get(), "SELECT id FROM conversations WHERE used <= ?");
    query.bind(oldest);
    while (query.row()) {
      const std::string id = query.text(0);
      if (!conversations.contains(id)) old.push_back(id);
    }
  }
  for (const std::string& id : old) forget(id);
  if (on_disk && !old.empty()) sqlite3_wal_checkpoint_v2(database.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
}

void VaultBook::expire() {
  const std::lock_guard lock(parts_->mutex);
  parts_->expire();
}
