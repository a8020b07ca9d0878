// responses: the tables, statements and limits of stored responses.
#include "wire/responses_store.h"

#include <algorithm>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>
#include "wire/backend.h"

namespace {

constexpr const char* schema = R"(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA foreign_keys = ON;
PRAGMA temp_store = MEMORY;
PRAGMA secure_delete = ON;
CREATE TABLE IF NOT EXISTS responses(
  tenant TEXT NOT NULL, id TEXT NOT NULL, previous TEXT NOT NULL, used INTEGER NOT NULL, bytes INTEGER NOT NULL,
  response TEXT NOT NULL, input TEXT NOT NULL, PRIMARY KEY(tenant, id));
CREATE INDEX IF NOT EXISTS responses_by_use ON responses(used);
CREATE TABLE IF NOT EXISTS items(
  tenant TEXT NOT NULL, id TEXT NOT NULL, response TEXT NOT NULL, item TEXT NOT NULL, PRIMARY KEY(tenant, id),
  FOREIGN KEY(tenant, response) REFERENCES responses(tenant, id) ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS items_by_response ON items(tenant, response);
)";

constexpr size_t max_chain = 10000;  // responses that continue one another

// One prepared statement, with its parameters bound in order.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) { sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr); }
  Statement(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }
  Statement& bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  bool row() { return sqlite3_step(statement_) == SQLITE_ROW; }
  bool done() { return sqlite3_step(statement_) == SQLITE_DONE; }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? "" : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

Json parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json() : json;
}

Error failure(const char* attempted, sqlite3* database) { return {Code::io, std::string("cannot ") + attempted + ": " + sqlite3_errmsg(database)}; }

}  // namespace

Result<std::unique_ptr<ResponseStore>> ResponseStore::open(const std::string& path) {
  // For this user alone: answers hold what a privacy gate put back into them. SQLite's other files take the mode over.
  if (!path.empty()) {
    if (const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); file >= 0) ::close(file);
  }
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(path.empty() ? ":memory:" : path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  if (opened != SQLITE_OK) {
    const Error error = failure("open the database of responses", database);
    sqlite3_close(database);
    return error;
  }
  auto store = std::unique_ptr<ResponseStore>(new ResponseStore(database));
  sqlite3_busy_timeout(database, 5000);
  if (sqlite3_exec(database, schema, nullptr, nullptr, nullptr) != SQLITE_OK) return failure("prepare the database of responses", database);
  return store;
}

ResponseStore::~ResponseStore() { sqlite3_close(database_); }

Status ResponseStore::save(const std::string& tenant, const Json& response, const Json& input) {
  const std::lock_guard lock(mutex_);
  const std::string id = response["id"], body = text_of(response), items = text_of(input);
  const std::string previous = response.contains("previous_response_id") && response["previous_response_id"].is_string() ? response["previous_response_id"].get<std::string>() : "";
  sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  bool good = Statement(database_, "INSERT OR REPLACE INTO responses(tenant, id, previous, used, bytes, response, input) VALUES(?, ?, ?, ?, ?, ?, ?)")
                  .bind(tenant).bind(id).bind(previous).bind(unix_seconds()).bind(static_cast<int64_t>(body.size() + items.size())).bind(body).bind(items).done();
  for (const Json* list : {&input, &response["output"]}) {
    for (const Json& item : *list) {
      if (!good || !item.is_object() || !item.contains("id") || !item["id"].is_string()) continue;
      good = Statement(database_, "INSERT OR IGNORE INTO items(tenant, id, response, item) VALUES(?, ?, ?, ?)")
                 .bind(tenant).bind(item["id"].get<std::string>()).bind(id).bind(text_of(item)).done();
    }
  }
  if (good) evict();
  if (good && sqlite3_exec(database_, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK) return ok_status();
  const Error error = failure("store a response", database_);
  sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  return error;
}

// Called inside a transaction; at most 100 go at once.
void ResponseStore::evict() {
  Statement(database_, "DELETE FROM responses WHERE used < ?").bind(unix_seconds() - max_age_s).done();
  Statement totals(database_, "SELECT count(*), coalesce(sum(bytes), 0) FROM responses");
  if (!totals.row()) return;
  int64_t entries = totals.number(0), bytes = totals.number(1);
  Statement oldest(database_, "SELECT rowid, bytes FROM responses ORDER BY used, rowid LIMIT 100");
  std::vector<int64_t> victims;
  while ((entries > max_entries || bytes > max_bytes) && oldest.row()) {
    victims.push_back(oldest.number(0));
    --entries;
    bytes -= oldest.number(1);
  }
  for (const int64_t row : victims) Statement(database_, "DELETE FROM responses WHERE rowid = ?").bind(row).done();
}

std::optional<ResponseStore::Entry> ResponseStore::load(const std::string& tenant, const std::string& id) {
  Statement found(database_, "SELECT previous, response, input FROM responses WHERE tenant = ? AND id = ? AND used >= ?");
  if (!found.bind(tenant).bind(id).bind(unix_seconds() - max_age_s).row()) return std::nullopt;
  return Entry{found.text(0), parsed(found.text(1)), parsed(found.text(2))};
}

std::optional<Json> ResponseStore::response(const std::string& tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = load(tenant, id);
  return entry ? std::optional(entry->response) : std::nullopt;
}

std::optional<Json> ResponseStore::context(const std::string& tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  return chain(tenant, id);
}

std::optional<Json> ResponseStore::input(const std::string& tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = load(tenant, id);
  if (!entry) return std::nullopt;
  auto before = entry->previous.empty() ? std::optional(Json::array()) : chain(tenant, entry->previous);
  Json items = before ? std::move(*before) : Json::array();
  items.insert(items.end(), entry->input.begin(), entry->input.end());
  return items;
}

std::optional<Json> ResponseStore::chain(const std::string& tenant, const std::string& id) {
  std::vector<Entry> entries;
  for (std::string at = id; !at.empty() && entries.size() < max_chain; at = entries.back().previous) {
    auto entry = load(tenant, at);
    if (!entry) return std::nullopt;
    Statement(database_, "UPDATE responses SET used = ? WHERE tenant = ? AND id = ?").bind(unix_seconds()).bind(tenant).bind(at).done();
    entries.push_back(std::move(*entry));
  }
  Json items = Json::array();
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    items.insert(items.end(), entry->input.begin(), entry->input.end());
    const Json& output = entry->response["output"];
    items.insert(items.end(), output.begin(), output.end());
  }
  return items;
}

std::optional<Json> ResponseStore::item(const std::string& tenant, const std::string& item_id) {
  const std::lock_guard lock(mutex_);
  Statement found(database_, "SELECT item FROM items WHERE tenant = ? AND id = ?");
  if (!found.bind(tenant).bind(item_id).row()) return std::nullopt;
  return parsed(found.text(0));
}

bool ResponseStore::remove(const std::string& tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  return Statement(database_, "DELETE FROM responses WHERE tenant = ? AND id = ?").bind(tenant).bind(id).done() && sqlite3_changes(database_) > 0;
}
