// prefix_cache: what is found, what is given back, and that nothing is lost on the way.
#include "engine/prefix_cache.h"
#include "engine/cache_id.h"
#include <gtest/gtest.h>
#include <random>

namespace {
using Ids = std::vector<TokenId>;
// A sequence that computed `tokens` and went.
void run(StatePool& pool, PrefixCache& cache, const Ids& tokens, int page_tokens, bool snapshot = false) {
  std::vector<int32_t> pages;
  for (size_t i = 0; i < tokens.size(); i += static_cast<size_t>(page_tokens)) pages.push_back(pool.take_page());
  cache.insert(0, tokens, pages, snapshot ? pool.take_slot() : -1);
  for (int32_t page : pages) pool.drop_page(page);
}
int32_t found(PrefixCache& cache, const Ids& tokens) {
  CacheHit hit;
  cache.find(0, tokens, hit);
  return hit.tokens;
}
}  // namespace

TEST(PrefixCache, FindsTheLongestPrefixToTheToken) {
  StatePool pool(20, 0);
  PrefixCache cache(pool, 4, false);
  run(pool, cache, {1, 2, 3, 4, 5, 6}, 4);
  run(pool, cache, {1, 2, 3, 4, 5, 9, 9}, 4);
  EXPECT_EQ(found(cache, {1, 2, 3, 4, 5, 6, 7}), 6);
  EXPECT_EQ(found(cache, {1, 2, 3, 4, 5, 9}), 6);
  EXPECT_EQ(found(cache, {1, 2, 3, 4, 5}), 5);
  EXPECT_EQ(found(cache, {1, 2, 8}), 2);
  EXPECT_EQ(found(cache, {2}), 0);
  EXPECT_EQ(pool.pages_free(), 20 - 3);  // the second sequence's copy of the first page went back
  run(pool, cache, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 4);
  EXPECT_EQ(cache.nodes(), 4u);  // the short leaf was extended
  EXPECT_EQ(found(cache, {1, 2, 3, 4, 5, 6, 7, 8, 9}), 9);
}

TEST(PrefixCache, SnapshotsDecideWhereAPrefixEnds) {
  StatePool pool(20, 4);
  PrefixCache cache(pool, 4, true);
  run(pool, cache, {1, 2, 3, 4, 5, 6}, 4, true);
  run(pool, cache, {1, 2, 3}, 4, true);
  EXPECT_EQ(found(cache, {1, 2, 3, 4, 5, 6, 7}), 6);
  EXPECT_EQ(found(cache, {1, 2, 3, 4, 5, 7}), 3);
  EXPECT_EQ(found(cache, {1, 2}), 0);
  CacheHit hit;
  cache.find(0, Ids{1, 2, 3, 4, 5, 6, 7}, hit);
  EXPECT_TRUE(cache.evict_snapshot(hit.slot));  // the other one
  EXPECT_EQ(found(cache, {1, 2, 3, 4, 5, 7}), 0);
  EXPECT_TRUE(cache.evict_snapshot());
  EXPECT_EQ(cache.nodes(), 0u);  // nothing leads anywhere any more
  EXPECT_EQ(pool.pages_free(), 20);
  EXPECT_EQ(pool.slots_free(), 4);
  EXPECT_FALSE(cache.evict_snapshot());
}

TEST(PrefixCache, GivesUpTheLeastRecentlyUsedFirstAndHeldPagesLast) {
  StatePool pool(20, 0);
  PrefixCache cache(pool, 2, false);
  run(pool, cache, {1, 1, 1, 1}, 2);
  run(pool, cache, {2, 2, 2, 2}, 2);
  EXPECT_EQ(found(cache, {1, 1, 1, 1}), 4);
  EXPECT_TRUE(cache.evict_page());
  EXPECT_EQ(found(cache, {2, 2, 2, 2}), 2);
  CacheHit hit;
  cache.find(0, Ids{2, 2}, hit);
  pool.hold_page(hit.pages[0]);
  EXPECT_TRUE(cache.evict_page());
  EXPECT_TRUE(cache.evict_page());
  EXPECT_EQ(found(cache, {1, 1, 1, 1}), 0);
  EXPECT_EQ(found(cache, {2, 2}), 2);
  EXPECT_TRUE(cache.evict_page());  // the held one: forgotten, not free
  EXPECT_EQ(pool.pages_free(), 19);
  EXPECT_FALSE(cache.evict_page());
}

TEST(CacheSpace, TenantsAndSaltsDoNotRunIntoEachOther) {
  EXPECT_EQ(space_id("", ""), 0u);
  EXPECT_EQ(space_id("a", "b"), space_id("a", "b"));
  EXPECT_NE(space_id("a", "b"), space_id("b", "a"));
  EXPECT_NE(space_id("ab", ""), space_id("a", "b"));
  EXPECT_NE(space_id("", "ab"), space_id("ab", ""));
}

TEST(PrefixCache, SpacesShareNothing) {
  StatePool pool(20, 0);
  PrefixCache cache(pool, 4, false);
  run(pool, cache, {1, 2, 3, 4, 5, 6}, 4);
  CacheHit hit;
  cache.find(1, Ids{1, 2, 3, 4, 5, 6}, hit);
  EXPECT_EQ(hit.tokens, 0);
  EXPECT_EQ(cache.nearest(1, Ids{1, 2, 3}, 4).at, 0);
  EXPECT_EQ(cache.nearest(0, Ids{1, 2, 3, 9}, 2).at, 3);
  EXPECT_EQ(cache.nearest(0, Ids{1, 2, 3, 9}, 2).follows, (Ids{4, 5}));
}

// Of a long conversation the snapshots that stay are spread over it, and the last one stays.
TEST(PrefixCache, SnapshotsThatStayAreSpreadOverPositions) {
  StatePool pool(100, 16);
  PrefixCache cache(pool, 4, true);
  Ids tokens;
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < 8; ++k) tokens.push_back(k + i);
    run(pool, cache, tokens, 4, true);
  }
  while (cache.snapshots() > 5) ASSERT_TRUE(cache.evict_snapshot());
  int last = 0, widest = 0;
  for (int end = 8; end <= 128; end += 8) {
    if (!cache.has_snapshot(0, std::span(tokens).first(static_cast<size_t>(end)))) continue;
    widest = std::max(widest, end - last);
    last = end;
  }
  EXPECT_EQ(last, 128);
  EXPECT_LE(widest, 64);
}

// What many conversations begin with stays, though it was used longer ago than the ends of some of them.
TEST(PrefixCache, SharedSnapshotsStay) {
  StatePool pool(200, 12);
  PrefixCache cache(pool, 4, true);
  Ids shared(40, 1);
  run(pool, cache, shared, 4, true);
  for (TokenId i = 0; i < 10; ++i) {
    Ids talk = shared;
    for (int k = 0; k < 8; ++k) talk.push_back(2 + i);
    run(pool, cache, talk, 4, true);
  }
  while (cache.snapshots() > 3) ASSERT_TRUE(cache.evict_snapshot());
  EXPECT_TRUE(cache.has_snapshot(0, shared));
}

TEST(PrefixCache, LosesNoPageOrSlotOverAThousandRandomEvents) {
  for (bool snapshots : {false, true}) {
    StatePool pool(40, 6);
    {
      PrefixCache cache(pool, 4, snapshots);
      std::mt19937 random(1);
      for (int i = 0; i < 3000; ++i) {
        Ids tokens(1 + random() % 20);
        for (TokenId& id : tokens) id = static_cast<TokenId>(random() % 2);
        while (pool.pages_free() < 5) ASSERT_TRUE(cache.evict_page());
        if (snapshots && pool.slots_free() == 0) { ASSERT_TRUE(cache.evict_snapshot()); }
        run(pool, cache, tokens, 4, snapshots);
        ASSERT_EQ(found(cache, tokens), static_cast<int32_t>(tokens.size()));
        ASSERT_LE(cache.nodes(), 40u);
        if (snapshots) { ASSERT_EQ(cache.snapshots(), static_cast<size_t>(6 - pool.slots_free())); }
        ASSERT_EQ(cache.nodes(), static_cast<size_t>(40 - pool.pages_free()));
      }
    }
    EXPECT_EQ(pool.pages_free(), 40);
    EXPECT_EQ(pool.slots_free(), 6);
  }
}
