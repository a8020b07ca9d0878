// disk_index: walks up and down the tree.
#include "engine/disk_index.h"
#include <algorithm>
#include "engine/blob_file.h"
#include "engine/usefulness.h"

namespace {
using Entry = DiskIndex::Entry;

bool begins_with(std::span<const TokenId> tokens, std::span<const TokenId> beginning) {
  return beginning.size() <= tokens.size() && std::equal(beginning.begin(), beginning.end(), tokens.begin());
}

// The next snapshot below on the way to `s`, or null.
Entry* snapshot_below(const Entry& s) {
  Entry* best = nullptr;
  for (const Entry* at = &s; at->parent && !best; at = at->parent)
    for (Entry* other : at->parent->children)
      if (other != &s && other->kind == DiskIndex::Kind::snapshot && other->end < s.end && begins_with(at->tokens, other->tokens) && (!best || other->end > best->end)) best = other;
  return best;
}
}  // namespace

Entry* DiskIndex::find(const CacheId& id) {
  const auto at = entries_.find(id);
  return at == entries_.end() ? nullptr : at->second.get();
}

Entry* DiskIndex::root(const CacheId& id) {
  auto& entry = entries_[id];
  if (!entry) entry = std::make_unique<Entry>(Entry{id, Kind::root});
  return entry.get();
}

Entry* DiskIndex::add(const CacheId& id, Kind kind, Entry* parent, std::span<const TokenId> tokens, size_t payload_bytes, int64_t now_ms) {
  auto& entry = entries_[id];
  if (entry) return nullptr;
  entry = std::make_unique<Entry>(Entry{id, kind, parent, parent->end + static_cast<int32_t>(tokens.size()), {tokens.begin(), tokens.end()}, payload_bytes});
  parent->children.push_back(entry.get());
  touch(entry.get(), now_ms);
  return entry.get();
}

void DiskIndex::set_stored(Entry* entry) {
  if (entry->stored) return;
  entry->stored = true;
  bytes_ += blob_file_bytes(entry->payload_bytes);
}

void DiskIndex::touch(Entry* entry, int64_t now_ms) {
  for (; entry && entry->used_ms < now_ms; entry = entry->parent) entry->used_ms = now_ms;
}

void DiskIndex::remove(Entry* entry, std::vector<CacheId>& removed) {
  Entry* parent = entry->parent;
  if (parent) std::erase(parent->children, entry);
  detach(entry, removed);
  if (parent) prune(parent, removed);
}

void DiskIndex::detach(Entry* entry, std::vector<CacheId>& removed) {
  std::vector<Entry*> left{entry};  // a chain of pages is too long for recursion
  while (!left.empty()) {
    Entry* at = left.back();
    left.pop_back();
    left.insert(left.end(), at->children.begin(), at->children.end());
    if (at->stored) bytes_ -= blob_file_bytes(at->payload_bytes);
    if (at->kind != Kind::root) removed.push_back(at->id);
    const CacheId id = at->id;
    entries_.erase(id);
  }
}

void DiskIndex::prune(Entry* entry, std::vector<CacheId>& removed) {
  while (entry && entry->children.empty() && (needs_snapshots_ || entry->kind == Kind::root)) {
    Entry* parent = entry->parent;
    if (parent) std::erase(parent->children, entry);
    detach(entry, removed);
    entry = parent;
  }
}

void DiskIndex::shrink(size_t bytes, int64_t now_ms, std::vector<CacheId>& removed) {
  while (bytes_ > bytes) {
    Entry* snapshot = needs_snapshots_ ? least_useful_snapshot(now_ms) : nullptr;
    if (snapshot) remove(snapshot, removed);
    else if (!shrink_pages(bytes, removed)) return;
  }
}

Entry* DiskIndex::least_useful_snapshot(int64_t now_ms) {
  std::vector<Entry*> all;
  for (const auto& [id, entry] : entries_)
    if (entry->kind == Kind::snapshot && entry->stored) all.push_back(entry.get());
  std::ranges::sort(all, [](const Entry* a, const Entry* b) { return a->end > b->end; });  // so that those behind are counted before those below
  std::unordered_map<const Entry*, int> ends;
  Entry* worst = nullptr;
  double least = 0;
  for (Entry* s : all) {
    Entry* below = snapshot_below(*s);
    const int n = std::max(ends[s], 1);
    if (below) ends[below] += n;
    const double worth = usefulness(s->end - (below ? below->end : 0), n, static_cast<double>(now_ms - s->used_ms) * 1e-3);
    if (!worst || worth < least) worst = s, least = worth;
  }
  return worst;
}

// Every page costs as much as any other and saves as much, so the one that was used longest ago and has nothing behind it goes: what
// conversations share is never such a page.
bool DiskIndex::shrink_pages(size_t bytes, std::vector<CacheId>& removed) {
  std::vector<Entry*> leaves;
  for (const auto& [id, entry] : entries_)
    if (entry->kind == Kind::page && entry->stored && entry->children.empty()) leaves.push_back(entry.get());
  std::ranges::sort(leaves, [](const Entry* a, const Entry* b) { return a->used_ms < b->used_ms; });
  for (size_t i = 0; i < leaves.size() && bytes_ > bytes; ++i) {
    const int64_t next_used = i + 1 < leaves.size() ? leaves[i + 1]->used_ms : INT64_MAX;
    for (Entry* at = leaves[i]; at && bytes_ > bytes && at->kind == Kind::page && at->stored && at->children.empty() && at->used_ms <= next_used;) {
      Entry* parent = at->parent;
      remove(at, removed);
      at = parent && parent->kind == Kind::root ? nullptr : parent;
    }
  }
  return !leaves.empty();
}
