// prefix_cache: the tree of pages, its order of use, and the snapshots in it.
#include "engine/prefix_cache.h"
#include <algorithm>
#include "engine/usefulness.h"

namespace {
size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const size_t n = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < n && a[i] == b[i]) ++i;
  return i;
}
}  // namespace

PrefixCache::PrefixCache(StatePool& pool, int page_tokens, bool needs_snapshots)
    : pool_(pool), page_tokens_(static_cast<size_t>(page_tokens)), needs_snapshots_(needs_snapshots) {
  snapshots_.reserve(static_cast<size_t>(pool.slots_total()));
}
PrefixCache::~PrefixCache() { clear(); }

const PrefixCache::Snapshot* PrefixCache::best_snapshot(const Node* node, int32_t limit) const {
  const Snapshot* best = nullptr;
  if (node->n_snapshots == 0) return best;
  for (const Snapshot& s : snapshots_)
    if (s.node == node && s.offset <= limit && (!best || s.offset > best->offset)) best = &s;
  return best;
}

const PrefixCache::Node* PrefixCache::root(uint64_t space) const {
  const auto at = roots_.find(space);
  return at == roots_.end() ? nullptr : at->second.get();
}

void PrefixCache::find(uint64_t space, std::span<const TokenId> tokens, CacheHit& hit) {
  hit.tokens = 0;
  hit.slot = -1;
  hit.pages.clear();
  Node *at = const_cast<Node*>(root(space)), *end = nullptr;
  for (size_t start = 0; at && start < tokens.size(); start += page_tokens_) {
    const auto rest = tokens.subspan(start, std::min(page_tokens_, tokens.size() - start));
    Node* next = nullptr;
    for (const auto& child : at->children) {
      const size_t matched = common_prefix(child->tokens, rest);
      if (matched == page_tokens_) next = child.get();
      // Every child counts, not only the longest match: the one with fewer common tokens may be the one with the snapshot.
      const Snapshot* snapshot = needs_snapshots_ ? best_snapshot(child.get(), static_cast<int32_t>(matched)) : nullptr;
      const int32_t reach = static_cast<int32_t>(start) + (needs_snapshots_ ? (snapshot ? snapshot->offset : 0) : static_cast<int32_t>(matched));
      if (reach <= hit.tokens || (needs_snapshots_ && !snapshot) || matched == 0) continue;
      hit.tokens = reach;
      hit.slot = snapshot ? snapshot->slot : -1;
      end = child.get();
    }
    at = next;
  }
  if (!end) return;
  use_path(end);
  for (Node* node = end; node->parent; node = node->parent) hit.pages.push_back(node->page);
  std::reverse(hit.pages.begin(), hit.pages.end());
}

PrefixCache::Nearest PrefixCache::nearest(uint64_t space, std::span<const TokenId> tokens, size_t most_tokens) const {
  Nearest nearest;
  const Node *at = root(space), *likest = nullptr;
  size_t common = 0;
  while (at) {
    const auto rest = tokens.subspan(static_cast<size_t>(nearest.at));
    likest = nullptr, common = 0;
    for (const auto& child : at->children)
      if (const size_t n = common_prefix(child->tokens, rest); !likest || n > common) likest = child.get(), common = n;
    nearest.at += static_cast<int32_t>(common);
    at = common == page_tokens_ ? likest : nullptr;
  }
  for (; likest && nearest.follows.size() < most_tokens; likest = likest->children.empty() ? nullptr : likest->children.front().get(), common = 0)
    nearest.follows.insert(nearest.follows.end(), likest->tokens.begin() + static_cast<std::ptrdiff_t>(common), likest->tokens.end());
  nearest.follows.resize(std::min(nearest.follows.size(), most_tokens));
  return nearest;
}

bool PrefixCache::has_snapshot(uint64_t space, std::span<const TokenId> tokens) const {
  const Node* at = root(space);
  for (size_t start = 0; at && start < tokens.size(); start += page_tokens_) {
    const auto chunk = tokens.subspan(start, std::min(page_tokens_, tokens.size() - start));
    const bool last = start + chunk.size() == tokens.size();
    const Node* next = nullptr;
    for (const auto& child : at->children) {
      if (common_prefix(child->tokens, chunk) != chunk.size()) continue;
      if (last) {
        const Snapshot* s = best_snapshot(child.get(), static_cast<int32_t>(chunk.size()));
        if (s && s->offset == static_cast<int32_t>(chunk.size())) return true;
      }
      next = child.get();
    }
    if (last || !next) return false;
    at = next;
  }
  return false;
}

// The child of `parent` that covers `chunk`: one that already does, one that ends early and can be extended, or a new one.
PrefixCache::Node* PrefixCache::walk_or_add(Node* parent, std::span<const TokenId> chunk, int32_t page) {
  for (const auto& child : parent->children)
    if (common_prefix(child->tokens, chunk) == chunk.size()) return child.get();
  for (const auto& child : parent->children) {
    if (common_prefix(child->tokens, chunk) != child->tokens.size()) continue;
    // Same tokens, and more of them in our page: ours replaces theirs. Snapshots depend on tokens alone and stay.
    if (child->page != page) {
      pool_.cache_page(page);
      pool_.uncache_page(child->page);
      child->page = page;
    }
    child->tokens.assign(chunk.begin(), chunk.end());
    return child.get();
  }
  auto node = std::make_unique<Node>();
  node->parent = parent;
  node->start = parent->start + static_cast<int32_t>(parent->tokens.size());
  node->page = page;
  node->tokens.reserve(page_tokens_);
  node->tokens.assign(chunk.begin(), chunk.end());
  pool_.cache_page(page);
  link_newest(node.get());
  ++n_nodes_;
  parent->children.push_back(std::move(node));
  return parent->children.back().get();
}

void PrefixCache::insert(uint64_t space, std::span<const TokenId> tokens, std::span<const int32_t> pages, int32_t slot) {
  if (tokens.empty() || (needs_snapshots_ && slot < 0)) {
    if (slot >= 0) pool_.drop_slot(slot);
    return;
  }
  if (slot >= 0 && has_snapshot(space, tokens)) {
    pool_.drop_slot(slot);
    return;
  }
  auto& root = roots_[space];
  if (!root) root = std::make_unique<Node>(), root->space = space;
  Node* at = root.get();
  int32_t offset = 0;
  for (size_t start = 0; start < tokens.size(); start += page_tokens_) {
    const auto chunk = tokens.subspan(start, std::min(page_tokens_, tokens.size() - start));
    at = walk_or_add(at, chunk, pages[start / page_tokens_]);
    offset = static_cast<int32_t>(chunk.size());
  }
  use_path(at);
  if (slot < 0) return;
  snapshots_.push_back({at, offset, slot, ++clock_});
  ++at->n_snapshots;
}

bool PrefixCache::evict_page() {
  // Descendants are never used later than their ancestors (use_path), so the oldest node is a leaf. Leaves that sequences hold are
  // given back last: that frees no page by itself, but may uncover an ancestor that nobody holds.
  for (Node* node = oldest_; node; node = node->newer) {
    if (!node->children.empty() || pool_.pinned(node->page)) continue;
    evict_leaf(node);
    return true;
  }
  if (!oldest_) return false;
  evict_leaf(oldest_);
  return true;
}

void PrefixCache::evict_leaf(Node* node) {
  Node* parent = node->parent;
  remove_leaf(node);
  prune(parent);
}

bool PrefixCache::evict_snapshot(int32_t keep) {
  // Ends are counted from the highest position down, so that those behind are known before those below.
  std::ranges::sort(snapshots_, [](const Snapshot& a, const Snapshot& b) { return a.end() > b.end(); });
  for (Snapshot& s : snapshots_) s.n_ends = 0;
  size_t worst = snapshots_.size();
  double least = 0;
  for (size_t i = 0; i < snapshots_.size(); ++i) {
    Snapshot& s = snapshots_[i];
    s.n_ends = std::max(s.n_ends, 1);
    const Snapshot* below = snapshot_below(s);
    if (below) snapshots_[static_cast<size_t>(below - snapshots_.data())].n_ends += s.n_ends;
    if (s.slot == keep) continue;
    const double worth = usefulness(s.end() - (below ? below->end() : 0), s.n_ends, static_cast<double>(clock_ - s.used) + 1);
    if (worst < snapshots_.size() && worth >= least) continue;
    worst = i, least = worth;
  }
  if (worst == snapshots_.size()) return false;
  Node* node = snapshots_[worst].node;
  pool_.drop_slot(snapshots_[worst].slot);
  forget(worst);
  prune(node);
  return true;
}

// The next one at a lower position on the way to `s`.
const PrefixCache::Snapshot* PrefixCache::snapshot_below(const Snapshot& s) const {
  const Snapshot* best = best_snapshot(s.node, s.offset - 1);
  for (const Node* at = s.node->parent; at && !best; at = at->parent) best = best_snapshot(at, static_cast<int32_t>(page_tokens_));
  return best;
}

void PrefixCache::take_over(int32_t slot) {
  for (size_t i = 0; i < snapshots_.size(); ++i) {
    if (snapshots_[i].slot != slot) continue;
    Node* node = snapshots_[i].node;
    forget(i);
    prune(node);
    return;
  }
  CHECK(false);
}

void PrefixCache::touch_snapshot(int32_t slot) {
  for (Snapshot& s : snapshots_)
    if (s.slot == slot) s.used = ++clock_;
}

void PrefixCache::clear() {
  while (oldest_) remove_leaf(oldest_);
  roots_.clear();
}

void PrefixCache::forget(size_t snapshot) {
  --snapshots_[snapshot].node->n_snapshots;
  snapshots_[snapshot] = snapshots_.back();
  snapshots_.pop_back();
}

// Gives back leaves that lead to no snapshot any more, and a root that leads nowhere.
void PrefixCache::prune(Node* node) {
  while (needs_snapshots_ && node->parent && node->children.empty() && node->n_snapshots == 0) {
    Node* parent = node->parent;
    remove_leaf(node);
    node = parent;
  }
  if (!node->parent && node->children.empty()) roots_.erase(node->space);
}

void PrefixCache::remove_leaf(Node* node) {
  CHECK(node->children.empty());
  for (size_t i = snapshots_.size(); node->n_snapshots > 0 && i-- > 0;) {
    if (snapshots_[i].node != node) continue;
    pool_.drop_slot(snapshots_[i].slot);
    forget(i);
  }
  pool_.uncache_page(node->page);
  unlink(node);
  --n_nodes_;
  auto& siblings = node->parent->children;
  const auto self = std::find_if(siblings.begin(), siblings.end(), [&](const auto& child) { return child.get() == node; });
  std::swap(*self, siblings.back());
  siblings.pop_back();
}

// Leaf first, so that ancestors end up newer than their descendants.
void PrefixCache::use_path(Node* node) {
  for (; node->parent; node = node->parent) {
    unlink(node);
    link_newest(node);
  }
}

void PrefixCache::link_newest(Node* node) {
  node->older = newest_;
  node->newer = nullptr;
  (newest_ ? newest_->newer : oldest_) = node;
  newest_ = node;
}

void PrefixCache::unlink(Node* node) {
  (node->older ? node->older->newer : oldest_) = node->newer;
  (node->newer ? node->newer->older : newest_) = node->older;
}
