// disk_index: which pages and snapshots lie on disk, as a tree, and which of them are the least useful. Memory only; no files.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>
#include "engine/cache_id.h"

// An entry stands behind its parent and is of no use without it, so children leave with their parents, and only what has no children can
// leave alone. Recurrent models cannot begin at a page, so their pages leave when no snapshot stands behind them any more.
class DiskIndex {
 public:
  enum class Kind : uint8_t { root, page, snapshot };
  struct Entry {
    CacheId id;
    Kind kind = Kind::page;
    Entry* parent = nullptr;          // null: a root
    int32_t end = 0;                  // tokens from the start of the prompt to its end
    std::vector<TokenId> tokens{};    // a page's own; a snapshot's behind its parent
    size_t payload_bytes = 0;
    int64_t used_ms = 0;              // since 1970; never later than its parent's
    bool stored = false;              // the file is there; before, it waits to be written
    std::vector<Entry*> children{};
  };

  explicit DiskIndex(bool needs_snapshots) : needs_snapshots_(needs_snapshots) {}

  Entry* find(const CacheId& id);
  Entry* root(const CacheId& id);     // made when it is not there
  // Null when there is one of that name.
  Entry* add(const CacheId& id, Kind kind, Entry* parent, std::span<const TokenId> tokens, size_t payload_bytes, int64_t now_ms);
  void set_stored(Entry* entry);
  void touch(Entry* entry, int64_t now_ms);  // and all before it
  // Takes an entry out, with what stands behind it and with pages before it that then lead nowhere. Names of all that had files, or will.
  void remove(Entry* entry, std::vector<CacheId>& removed);
  // Takes the least useful entries out until at most `bytes` are left.
  void shrink(size_t bytes, int64_t now_ms, std::vector<CacheId>& removed);

  size_t bytes() const { return bytes_; }  // of the files, stored ones only
  size_t entries() const { return entries_.size(); }
  template <class Visit> void visit(Visit visit) {
    for (auto& [id, entry] : entries_) visit(*entry);
  }

 private:
  Entry* least_useful_snapshot(int64_t now_ms);
  bool shrink_pages(size_t bytes, std::vector<CacheId>& removed);
  void detach(Entry* entry, std::vector<CacheId>& removed);
  void prune(Entry* entry, std::vector<CacheId>& removed);

  const bool needs_snapshots_;
  std::unordered_map<CacheId, std::unique_ptr<Entry>, CacheIdHash> entries_;
  size_t bytes_ = 0;
};
