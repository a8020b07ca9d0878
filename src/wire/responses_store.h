// responses: finished responses in SQLite, each seen by its own tenant alone.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include "core/core.h"
#include "core/json_writer.h"

struct sqlite3;

// Bounded by number, bytes and age; what was not used for longest goes first. Safe from every thread.
class ResponseStore {
 public:
  static constexpr int max_entries = 10000;
  static constexpr int64_t max_bytes = int64_t{1} << 30, max_age_s = 30 * 86400;

  static Result<std::unique_ptr<ResponseStore>> open(const std::string& path);  // "": in memory
  ~ResponseStore();
  // `response` is the whole object, with its output; `input` the items of its own request.
  Status save(const std::string& tenant, const Json& response, const Json& input);
  std::optional<Json> response(const std::string& tenant, const std::string& id);
  // All items that the response saw and made, oldest first; nothing when one of its ancestors is gone.
  std::optional<Json> context(const std::string& tenant, const std::string& id);
  std::optional<Json> input(const std::string& tenant, const std::string& id);      // the same without its own output
  std::optional<Json> item(const std::string& tenant, const std::string& item_id);
  bool remove(const std::string& tenant, const std::string& id);

 private:
  struct Entry { std::string previous; Json response, input; };
  explicit ResponseStore(sqlite3* database) : database_(database) {}
  std::optional<Entry> load(const std::string& tenant, const std::string& id);
  std::optional<Json> chain(const std::string& tenant, const std::string& id);
  void evict();
  sqlite3* const database_;
  std::mutex mutex_;
};
