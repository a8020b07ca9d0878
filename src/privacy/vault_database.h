// vault_database: the SQLite files of the vault's folder, and the key that lies beside them.
#pragma once
#include <memory>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include "core/core.h"
#include "privacy/secure_memory.h"

struct CloseDatabase { void operator()(sqlite3* database) const { sqlite3_close_v2(database); } };
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

// FOLDER/NAME, made when missing and readable by its owner alone, or a database in memory when the folder is "". Deleted rows are overwritten.
Result<Database> open_database(const std::string& folder, const char* name, const char* schema);
// 32 bytes of FOLDER/NAME, made with mode 0600 when missing; fails when others may read it. Random when the folder is "".
Result<Secret> open_key(const std::string& folder, const char* name);
int64_t unix_now();

// One prepared statement, its parameters bound in order.
class Query {
 public:
  Query(sqlite3* database, const char* sql) { sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr); }
  Query(const Query&) = delete;
  ~Query() { sqlite3_finalize(statement_); }
  Query& bind(std::string_view bytes);
  Query& bind(int64_t number);
  Query& bind_blob(std::string_view bytes);
  bool row() { return sqlite3_step(statement_) == SQLITE_ROW; }
  bool done() { return sqlite3_step(statement_) == SQLITE_DONE; }
  std::string text(int column) const;
  int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};
