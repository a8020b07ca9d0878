// state_pool: reference counts of pages and ownership of slots.
#include "engine/state_pool.h"

StatePool::StatePool(int n_pages, int n_slots)
    : sequences_(static_cast<size_t>(n_pages)), cached_(static_cast<size_t>(n_pages)), slot_taken_(static_cast<size_t>(n_slots)), n_slots_(n_slots) {
  free_pages_.reserve(sequences_.size());
  free_slots_.reserve(slot_taken_.size());
  for (int32_t page = n_pages - 1; page >= 0; --page) free_pages_.push_back(page);  // low numbers first
  for (int32_t slot = n_slots - 1; slot >= 0; --slot) free_slots_.push_back(slot);
}

int32_t StatePool::take_page() {
  if (free_pages_.empty()) return -1;
  const int32_t page = free_pages_.back();
  free_pages_.pop_back();
  hold_page(page);
  return page;
}

void StatePool::hold_page(int32_t page) {
  if (sequences_[static_cast<size_t>(page)]++ == 0) ++pinned_;
}

void StatePool::drop_page(int32_t page) {
  CHECK(sequences_[static_cast<size_t>(page)] > 0);
  if (--sequences_[static_cast<size_t>(page)] == 0) {
    --pinned_;
    free_if_unheld(page);
  }
}

void StatePool::cache_page(int32_t page) {
  CHECK(!cached_[static_cast<size_t>(page)] && pinned(page));
  cached_[static_cast<size_t>(page)] = 1;
}

void StatePool::uncache_page(int32_t page) {
  CHECK(cached_[static_cast<size_t>(page)]);
  cached_[static_cast<size_t>(page)] = 0;
  free_if_unheld(page);
}

void StatePool::free_if_unheld(int32_t page) {
  if (!pinned(page) && !cached_[static_cast<size_t>(page)]) free_pages_.push_back(page);
}

int32_t StatePool::take_slot() {
  if (free_slots_.empty()) return -1;
  const int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slot_taken_[static_cast<size_t>(slot)] = 1;
  return slot;
}

void StatePool::drop_slot(int32_t slot) {
  CHECK(slot_taken_[static_cast<size_t>(slot)]);
  slot_taken_[static_cast<size_t>(slot)] = 0;
  free_slots_.push_back(slot);
}
