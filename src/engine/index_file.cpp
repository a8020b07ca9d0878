// index_file: the statements.
#include "engine/index_file.h"
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

namespace {
constexpr int format = 1;  // PRAGMA user_version
// With WAL and synchronous=NORMAL a process that dies loses nothing that was committed; a machine that does, the last rows at most.
constexpr char schema[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    "CREATE TABLE IF NOT EXISTS blob(id BLOB PRIMARY KEY, parent BLOB NOT NULL, snapshot INTEGER NOT NULL, ends INTEGER NOT NULL,"
    " tokens BLOB NOT NULL, bytes INTEGER NOT NULL, used_ms INTEGER NOT NULL) WITHOUT ROWID; PRAGMA user_version=1;";

Error failed(const char* what, sqlite3* db) { return {Code::corrupt_file, std::string("cannot ") + what + " the index of the cache: " + (db ? sqlite3_errmsg(db) : "out of memory")}; }

void bind(sqlite3_stmt* s, int at, const CacheId& id) { sqlite3_bind_blob(s, at, id.bytes.data(), static_cast<int>(id.bytes.size()), SQLITE_TRANSIENT); }
bool read(sqlite3_stmt* s, int at, CacheId& id) {
  if (sqlite3_column_bytes(s, at) != static_cast<int>(id.bytes.size())) return false;
  std::memcpy(id.bytes.data(), sqlite3_column_blob(s, at), id.bytes.size());
  return true;
}
void step(sqlite3_stmt* s) {
  sqlite3_step(s);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
}
int user_version(sqlite3* db) {
  sqlite3_stmt* s = nullptr;
  if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, nullptr) != SQLITE_OK) return -1;
  const int version = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int(s, 0) : -1;
  sqlite3_finalize(s);
  return version;
}
}  // namespace

Result<std::unique_ptr<IndexFile>> IndexFile::open(const std::string& path) {
  if (const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); fd >= 0) ::close(fd);  // SQLite's other files take its mode over
  sqlite3* db = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr);
  std::unique_ptr<IndexFile> index(new IndexFile(db));
  if (opened != SQLITE_OK) return failed("open", db);
  sqlite3_busy_timeout(db, 1000);
  if (const int version = user_version(db); version != 0 && version != format) return Error{Code::corrupt_file, "cannot open the index of the cache: another format"};
  if (!index->run(schema)) return failed("open", db);
  TRY_STATUS(index->prepare());
  return index;
}

Status IndexFile::prepare() {
  const auto make = [&](const char* sql, sqlite3_stmt** s) { return sqlite3_prepare_v2(db_, sql, -1, s, nullptr) == SQLITE_OK; };
  if (!make("INSERT OR REPLACE INTO blob VALUES(?1,?2,?3,?4,?5,?6,?7)", &put_) || !make("DELETE FROM blob WHERE id=?1", &remove_) ||
      !make("UPDATE blob SET used_ms=?2 WHERE id=?1", &touch_) || !make("BEGIN", &begin_) || !make("COMMIT", &commit_))
    return failed("prepare", db_);
  return ok_status();
}

IndexFile::~IndexFile() {
  for (sqlite3_stmt* s : {put_, remove_, touch_, begin_, commit_}) sqlite3_finalize(s);
  sqlite3_close(db_);
}

bool IndexFile::run(const char* sql) { return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK; }

Result<std::vector<IndexFile::Row>> IndexFile::rows() {
  sqlite3_stmt* s = nullptr;
  if (sqlite3_prepare_v2(db_, "SELECT id, parent, snapshot, ends, tokens, bytes, used_ms FROM blob ORDER BY ends, snapshot", -1, &s, nullptr) != SQLITE_OK) return failed("read", db_);
  std::vector<Row> rows;
  int state;
  while ((state = sqlite3_step(s)) == SQLITE_ROW) {
    Row row;
    if (!read(s, 0, row.id) || !read(s, 1, row.parent)) continue;
    row.snapshot = sqlite3_column_int(s, 2) != 0;
    row.end = sqlite3_column_int(s, 3);
    const auto* tokens = static_cast<const std::byte*>(sqlite3_column_blob(s, 4));
    row.tokens.resize(static_cast<size_t>(sqlite3_column_bytes(s, 4)) / sizeof(TokenId));
    if (!row.tokens.empty()) std::memcpy(row.tokens.data(), tokens, row.tokens.size() * sizeof(TokenId));
    row.payload_bytes = static_cast<size_t>(sqlite3_column_int64(s, 5));
    row.used_ms = sqlite3_column_int64(s, 6);
    rows.push_back(std::move(row));
  }
  const bool whole = state == SQLITE_DONE;
  sqlite3_finalize(s);
  if (!whole) return failed("read", db_);
  return rows;
}

void IndexFile::put(const Row& row) {
  bind(put_, 1, row.id);
  bind(put_, 2, row.parent);
  sqlite3_bind_int(put_, 3, row.snapshot);
  sqlite3_bind_int(put_, 4, row.end);
  sqlite3_bind_blob(put_, 5, row.tokens.empty() ? static_cast<const void*>("") : row.tokens.data(), static_cast<int>(row.tokens.size() * sizeof(TokenId)), SQLITE_TRANSIENT);
  sqlite3_bind_int64(put_, 6, static_cast<sqlite3_int64>(row.payload_bytes));
  sqlite3_bind_int64(put_, 7, row.used_ms);
  step(put_);
}
void IndexFile::remove(const CacheId& id) {
  bind(remove_, 1, id);
  step(remove_);
}
void IndexFile::touch(const CacheId& id, int64_t used_ms) {
  bind(touch_, 1, id);
  sqlite3_bind_int64(touch_, 2, used_ms);
  step(touch_);
}
void IndexFile::begin() { step(begin_); }
void IndexFile::commit() { step(commit_); }
