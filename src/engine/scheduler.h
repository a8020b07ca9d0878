// scheduler: who runs, and which rows the next step computes. Owns the waiting and running sequences, their pages and slots; engine thread only.
#pragma once
#include <deque>
#include <memory>
#include <vector>
#include "device/device.h"
#include "engine/disk_cache.h"
#include "engine/engine.h"
#include "engine/pace.h"
#include "engine/prefix_cache.h"
#include "engine/sequence.h"
#include "engine/state_pool.h"

// Continuous batching: a step holds one row of every decoding sequence and, behind them, chunks of prompts. While anything decodes, prompts
// get as many rows as Pace finds bearable. The shortest rest of a prompt goes first, and a quarter is left for the oldest prompt.
//
// Places go to the tenant that has the fewest of them; among a tenant's own, and between tenants that have equally many, to the highest
// priority, then in turns, then to who came first. A tenant that has none for fair_after, while another has several, gets one of those.
//
// A sequence is started when the pages of all its known tokens are there; a page more is taken as it grows. When none is left, first the
// prefix cache gives up what it holds, then the least important sequence is preempted: its state goes to the prefix cache (and to disk) and
// is found there again later, or computed again from its tokens, which do not change. The pool holds the pages of one longest sequence
// plus one, so the most important sequence always gets on.
//
// State that is found on disk is read by the disk's thread while others compute, and put back piece by piece before a step.
//
// On a device that draws tokens itself, a step in which every row decodes and is drawn there can be followed by another one of the same
// sequences before its ids are known here. What changes the state of sequences (starting, preempting, retiring, remembering) waits until no
// step under way has rows of them. A sequence that turns out to have ended has one row too many under way by then: its id was the true one,
// so the state behind that row is that of all of the sequence's tokens, and is remembered as such; what was drawn from it is dropped.
class Scheduler {
 public:
  struct Entry {  // what one step does for one sequence
    Sequence* sequence = nullptr;
    int32_t first_row = 0, n_rows = 0;
    int32_t first_logit = 0, n_logits = 0;  // in the logits tensor; the last one belongs to the last row
    bool samples = false;                   // the last row's logits give the next token
    int32_t spec = -1;                      // which of specs() draws it on the device; -1: the host does
  };
  struct Rows { int decoding = 0, all = 0; };  // of a step

  // Bytes of a page and a slot; disk: may be null.
  struct Sizes { size_t page_bytes = 0, slot_bytes = 0; };
  Scheduler(Device& device, const EngineOptions& options, StatePlan plan, bool recurrent, Sizes sizes, DiskCache* disk);

  std::deque<std::shared_ptr<Sequence>>& waiting() { return waiting_; }
  std::span<const std::shared_ptr<Sequence>> running() const { return running_; }
  const StatePool& pool() const { return pool_; }
  const PrefixCache& cache() const { return cache_; }

  void arrive(Sequence& sequence);
  // Starts what can be started, then lays out the next step. Empty: nothing can run (no work, all readers are slow, or state is still
  // being read; restored() tells whether something of that has arrived).
  void next_step();
  // The step behind the one laid out last, which is under way. False: that one must be waited for first.
  bool follow_step();
  bool may_be_followed() const { return may_be_followed_; }  // the step laid out last
  bool restored() const { return restored_; }
  const Batch& batch() const { return batch_; }
  std::span<const Entry> entries() const { return entries_; }
  std::span<const SampleSpec> specs() const { return specs_; }  // drawn on the device, by their logit row
  Rows rows() const { return {step_decoding_, static_cast<int>(ids_.size())}; }
  void took(Rows rows, double seconds);  // a step, so that later ones can be cut to last a bearable time
  // After the step: the rows are in the state. Takes snapshots that are due, so it may copy slots.
  void advance(const Entry& entry);
  // Takes a running sequence out. Its state is remembered for later prompts when `keep`.
  std::shared_ptr<Sequence> retire(Sequence& sequence, bool keep);

  uint64_t cached_tokens() const { return cached_tokens_; }
  uint64_t preemptions() const { return preemptions_; }
  uint64_t disk_hits() const { return disk_hits_; }
  uint64_t disk_hit_tokens() const { return disk_hit_tokens_; }
  size_t cache_bytes() const { return cache_.nodes() * sizes_.page_bytes + cache_.snapshots() * sizes_.slot_bytes; }

 private:
  void note_pauses();
  void clear_step();
  void choose_kind();
  int bearable_chunk() const;
  int chunk(const Sequence& sequence, int at_most) const;
  int next_border(const Sequence& sequence) const;
  bool keeps_snapshots(const Sequence& sequence) const;
  void add_prompt_rows(int n_decoding);
  void add_rows(Sequence& sequence, int n_rows);
  bool can_follow() const;
  bool goes_on(const Sequence& sequence) const;
  void add_following_row(const Entry& before);
  void draw_on_device(Entry& entry, int index);
  void remember(Sequence& sequence);
  void start_waiting();
  std::optional<size_t> next_waiting() const;
  bool preempt_crowding(const Sequence& waiting);
  bool start(Sequence& sequence);
  void explain(Sequence& sequence);
  void take_prefix(Sequence& sequence, size_t whole_pages);
  void place_in_slot(Sequence& sequence, int32_t snapshot);
  int32_t obtain_page();
  int32_t obtain_slot(int32_t keep);
  void grow(Sequence& sequence);
  static bool less_important(const Sequence& a, const Sequence& b);
  Sequence* victim() const;
  void preempt(Sequence& sequence);
  bool preempt_stalled();
  void put_away(Sequence& sequence);
  void release(Sequence& sequence);
  std::shared_ptr<Sequence> remove_running(Sequence& sequence);

  // In scheduler_disk.cpp.
  void extend_chain(Sequence& sequence, size_t n_pages);
  CacheId place_in_chain(const Sequence& sequence, size_t n_pages) const;
  void save(Sequence& sequence);
  bool save_pages(Sequence& sequence, size_t n_pages);
  void save_snapshot(Sequence& sequence);
  void look_on_disk(Sequence& sequence);
  bool pays(const Restore& restore, int32_t known_tokens) const;
  void continue_restores();
  size_t put_back(Sequence& sequence, size_t at_most_bytes);
  void end_restore(Sequence& sequence);

  static constexpr std::chrono::seconds stalled_after{2};  // a reader this far behind gives its place up when others wait for one
  static constexpr std::chrono::seconds fair_after{2};     // how long a tenant without any place waits for one of those that have several
  static constexpr std::chrono::milliseconds look_after{50};  // how long steps follow each other while somebody waits
  double rows_per_second_ = 0;  // of the last steps with many rows; 0: unknown
  Device& device_;
  const EngineOptions options_;
  const bool recurrent_;
  const Sizes sizes_;
  DiskCache* const disk_;
  StatePool pool_;
  PrefixCache cache_;
  std::deque<std::shared_ptr<Sequence>> waiting_;    // oldest first
  std::vector<std::shared_ptr<Sequence>> running_;   // oldest first
  uint64_t arrivals_ = 0, cached_tokens_ = 0, preemptions_ = 0, disk_hits_ = 0, disk_hit_tokens_ = 0, starts_ = 0;
  Tenants tenants_;
  Pace pace_;
  int step_decoding_ = 0;  // rows of the step that decode; the others are of prompts
  bool may_be_followed_ = false, places_changed_ = false;  // since who may start was last looked at
  EngineClock::time_point looked_;
  bool restored_ = false;
  CacheHit hit_;
  bool last_hidden_ = false;

  Batch batch_;  // spans into the vectors below, all reserved in full
  std::vector<TokenId> ids_;
  std::vector<int32_t> positions_, logit_rows_;
  std::vector<SequenceRows> rows_;
  std::vector<Entry> entries_, before_;  // before_: of the step that is followed
  std::vector<SampleSpec> specs_;
  std::vector<Sequence*> prompts_;
};
