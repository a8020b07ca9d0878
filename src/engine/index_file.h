// index_file: the names, sizes and last uses of cached blobs in SQLite, so that they are found again after a restart.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "engine/cache_id.h"

struct sqlite3;
struct sqlite3_stmt;

// One thread at a time. A lost or damaged index costs what is cached and nothing else, so errors of single statements are not reported:
// a row that is missing or wrong is found out when its blob is looked for.
class IndexFile {
 public:
  struct Row {
    CacheId id, parent;
    bool snapshot = false;
    int32_t end = 0;
    std::vector<TokenId> tokens;
    size_t payload_bytes = 0;
    int64_t used_ms = 0;
  };
  // A file that is no such index, is damaged, or was written by another format is an error; the caller throws it away.
  static Result<std::unique_ptr<IndexFile>> open(const std::string& path);
  ~IndexFile();
  IndexFile(const IndexFile&) = delete;
  IndexFile& operator=(const IndexFile&) = delete;

  Result<std::vector<Row>> rows();  // parents first
  void put(const Row& row);
  void remove(const CacheId& id);
  void touch(const CacheId& id, int64_t used_ms);
  void begin();                     // statements up to commit() are written together
  void commit();

 private:
  explicit IndexFile(sqlite3* db) : db_(db) {}
  Status prepare();
  bool run(const char* sql);
  sqlite3* db_;
  sqlite3_stmt *put_ = nullptr, *remove_ = nullptr, *touch_ = nullptr, *begin_ = nullptr, *commit_ = nullptr;
};
