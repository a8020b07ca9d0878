// scheduler: who runs, and which rows the next step computes. Owns the waiting and running sequences, their pages and slots; engine thread only.
#pragma once
#include <deque>
#include <memory>
#include <vector>
#include "device/device.h"
#include "engine/engine.h"
#include "engine/prefix_cache.h"
#include "engine/sequence.h"
#include "engine/state_pool.h"

// Continuous batching: a step holds one row of every decoding sequence and, behind them, chunks of prompts. While anything decodes, all
// prompts together get at most one prefill_chunk, so that no decoder waits for more than that.
//
// A sequence is started when the pages of all its known tokens are there; a page more is taken as it grows. When none is left, first the
// prefix cache gives up what it holds, then the youngest sequence is preempted: its state is dropped and computed again later from its
// tokens, which do not change. The pool holds the pages of one longest sequence plus one, so the oldest sequence always gets on.
class Scheduler {
 public:
  struct Entry {  // what one step does for one sequence
    Sequence* sequence = nullptr;
    int32_t first_row = 0, n_rows = 0;
    int32_t first_logit = 0, n_logits = 0;  // in the logits tensor; the last one belongs to the last row
    bool samples = false;                   // the last row's logits give the next token
  };

  Scheduler(Device& device, const EngineOptions& options, StatePlan plan, bool recurrent);

  std::deque<std::shared_ptr<Sequence>>& waiting() { return waiting_; }
  std::span<const std::shared_ptr<Sequence>> running() const { return running_; }
  const StatePool& pool() const { return pool_; }
  const PrefixCache& cache() const { return cache_; }

  void arrive(Sequence& sequence) { sequence.age = ++arrivals_; }
  // Starts what can be started, then lays out the next step. Empty: nothing can run (no work, or all readers are slow).
  const Batch& next_step();
  std::span<const Entry> entries() const { return entries_; }
  void took(double seconds);  // the step, so that later ones can be cut to last a bearable time
  // After the step: the rows are in the state. Takes snapshots that are due, so it may copy slots.
  void advance(const Entry& entry);
  // Takes a running sequence out. Its state is remembered for later prompts when `keep`.
  std::shared_ptr<Sequence> retire(Sequence& sequence, bool keep);

  uint64_t cached_tokens() const { return cached_tokens_; }
  uint64_t preemptions() const { return preemptions_; }

 private:
  void note_pauses();
  int bearable_chunk() const;
  int chunk(const Sequence& sequence, int at_most) const;
  int next_border(const Sequence& sequence) const;
  bool keeps_snapshots(const Sequence& sequence) const;
  void add_rows(Sequence& sequence, int n_rows);
  void remember(Sequence& sequence);
  void start_waiting();
  bool start(Sequence& sequence);
  void take_prefix(Sequence& sequence, size_t whole_pages);
  void place_in_slot(Sequence& sequence, int32_t snapshot);
  int32_t obtain_page();
  int32_t obtain_slot(int32_t keep);
  void grow(Sequence& sequence);
  Sequence* victim() const;
  void preempt(Sequence& sequence);
  bool preempt_stalled();
  void release(Sequence& sequence);
  std::shared_ptr<Sequence> remove_running(Sequence& sequence);

  static constexpr std::chrono::seconds stalled_after{2};  // a reader this far behind gives its place up when others wait for one
  double rows_per_second_ = 0;  // of the last steps with many rows; 0: unknown
  Device& device_;
  const EngineOptions options_;
  const bool recurrent_;
  StatePool pool_;
  PrefixCache cache_;
  std::deque<std::shared_ptr<Sequence>> waiting_;    // oldest first
  std::vector<std::shared_ptr<Sequence>> running_;   // oldest first
  uint64_t arrivals_ = 0, cached_tokens_ = 0, preemptions_ = 0;
  CacheHit hit_;

  Batch batch_;  // spans into the vectors below, all reserved in full
  std::vector<TokenId> ids_;
  std::vector<int32_t> positions_, logit_rows_;
  std::vector<SequenceRows> rows_;
  std::vector<Entry> entries_;
};
