// prefix_cache: which part of a prompt need not be computed again. Owns pages by reference count and snapshots of recurrent slots; one thread.
// find() costs O(tokens); nothing here touches the device.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>
#include "core/core.h"
#include "engine/state_pool.h"

struct CacheHit {
  int32_t tokens = 0;           // how many tokens of the prompt are in the state described here
  int32_t slot = -1;            // snapshot to copy from, for models with recurrent layers
  std::vector<int32_t> pages;   // ceil(tokens / page_tokens); the last one may be filled only in part
};

// A tree of pages for each space: nothing is found in another one. A node is one page and the tokens whose keys and values lie in it; its path from the root is the whole history, so
// what lies in a page depends on nothing but the path. Only full pages have children. Siblings may begin with the same tokens.
// Pages alone describe a prefix of any length. Recurrent layers cannot be cut, so with `needs_snapshots` a prefix can be reused only at
// a position where a slot was kept; a leaf without one would be useless and is pruned.
class PrefixCache {
 public:
  PrefixCache(StatePool& pool, int page_tokens, bool needs_snapshots);
  ~PrefixCache();

  // The longest reusable prefix of `tokens`. What it names stays valid until the next insert or evict; hold the pages before either.
  void find(uint64_t space, std::span<const TokenId> tokens, CacheHit& hit);
  bool has_snapshot(uint64_t space, std::span<const TokenId> tokens) const;  // of exactly these tokens
  // Tokens in common with the most similar prompt that is kept, whether or not state can be reused there, and what comes behind them there.
  struct Nearest { int32_t at = 0; std::vector<TokenId> follows; };
  Nearest nearest(uint64_t space, std::span<const TokenId> tokens, size_t most_tokens) const;
  // Remembers that `pages` hold `tokens`. Takes the slot (if any) over as the snapshot at their end, or gives it back to the pool
  // when there is one already. Pages must be held by the calling sequence.
  void insert(uint64_t space, std::span<const TokenId> tokens, std::span<const int32_t> pages, int32_t slot = -1);
  // Gives the least recently used leaf back: a page that nothing stands behind, so what conversations share goes last. True: something was given back, though perhaps nothing became free (call again).
  bool evict_page();
  // Frees the slot of the least useful snapshot, sparing `keep`. False: there is none to free.
  bool evict_snapshot(int32_t keep = -1);
  void take_over(int32_t slot);  // the caller becomes the slot's holder; the snapshot is forgotten
  void touch_snapshot(int32_t slot);
  void clear();
  size_t snapshots() const { return snapshots_.size(); }
  size_t nodes() const { return n_nodes_; }

 private:
  struct Node {
    Node* parent = nullptr;
    int32_t page = -1, start = 0;             // start: tokens before the page
    std::vector<TokenId> tokens;
    std::vector<std::unique_ptr<Node>> children;
    uint64_t space = 0;                       // of a root
    int n_snapshots = 0;
    Node *newer = nullptr, *older = nullptr;  // in order of last use
  };
  struct Snapshot {
    Node* node;
    int32_t offset;  // tokens of the node's page before the snapshot, 1 … page_tokens
    int32_t slot;
    uint64_t used;
    int n_ends = 0;  // while one is chosen to go: how many conversations lead through it
    int32_t end() const { return node->start + offset; }
  };
  const Node* root(uint64_t space) const;
  Node* walk_or_add(Node* parent, std::span<const TokenId> chunk, int32_t page);
  void use_path(Node* node);
  void link_newest(Node* node);
  void unlink(Node* node);
  void remove_leaf(Node* node);
  void evict_leaf(Node* node);
  void prune(Node* node);
  void forget(size_t snapshot);
  const Snapshot* best_snapshot(const Node* node, int32_t limit) const;
  const Snapshot* snapshot_below(const Snapshot& snapshot) const;

  StatePool& pool_;
  const size_t page_tokens_;
  const bool needs_snapshots_;
  std::unordered_map<uint64_t, std::unique_ptr<Node>> roots_;  // by space; those without children go
  Node *newest_ = nullptr, *oldest_ = nullptr;
  std::vector<Snapshot> snapshots_;  // few (slots are large), so they are scanned
  uint64_t clock_ = 0;
  size_t n_nodes_ = 0;
};
