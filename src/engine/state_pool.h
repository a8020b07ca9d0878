// state_pool: which pages and recurrent slots are free. Counts references; touches no device.
#pragma once
#include <vector>
#include "core/core.h"

// A page may be held by any number of sequences and by the prefix cache. It is free when nobody holds it. A page is only ever
// written by the one sequence that took it (see Scheduler::start), so sharing needs no locks and no copies of whole pages.
// A slot has exactly one holder: a sequence that advances it, or the prefix cache that keeps it as a snapshot.
class StatePool {
 public:
  StatePool(int n_pages, int n_slots);

  int32_t take_page();             // held once by a sequence; -1 when none is free
  void hold_page(int32_t page);    // one more sequence
  void drop_page(int32_t page);    // one sequence less
  void cache_page(int32_t page);   // the prefix cache holds it too
  void uncache_page(int32_t page);
  bool pinned(int32_t page) const { return sequences_[static_cast<size_t>(page)] > 0; }

  int32_t take_slot();             // -1 when none is free
  void drop_slot(int32_t slot);

  int pages_total() const { return static_cast<int>(sequences_.size()); }
  int pages_free() const { return static_cast<int>(free_pages_.size()); }
  int pages_pinned() const { return pinned_; }  // held by at least one sequence; the rest is free or can be evicted
  int slots_total() const { return n_slots_; }
  int slots_free() const { return static_cast<int>(free_slots_.size()); }

 private:
  void free_if_unheld(int32_t page);

  std::vector<int32_t> sequences_;  // by page: how many sequences hold it
  std::vector<uint8_t> cached_;     // by page: whether the prefix cache holds it
  std::vector<int32_t> free_pages_, free_slots_;  // reserved in full, so that giving back never allocates
  std::vector<uint8_t> slot_taken_;
  int pinned_ = 0, n_slots_ = 0;
};
