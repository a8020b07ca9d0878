// scheduler: laying out steps, and what happens to the state around them.
#include "engine/scheduler.h"
#include <algorithm>
#include <limits>

Scheduler::Scheduler(Device& device, const EngineOptions& options, StatePlan plan, bool recurrent)
    : device_(device), options_(options), recurrent_(recurrent), pool_(plan.n_pages, plan.n_slots), cache_(pool_, plan.page_tokens, recurrent) {
  const auto rows = static_cast<size_t>(options.max_batch_tokens), sequences = static_cast<size_t>(options.max_sequences);
  ids_.reserve(rows);
  positions_.reserve(rows);
  logit_rows_.reserve(rows);
  rows_.reserve(sequences);
  entries_.reserve(sequences);
  running_.reserve(sequences);
}

// ---- the next step ------------------------------------------------------------------------------------------------------

const Batch& Scheduler::next_step() {
  note_pauses();
  start_waiting();
  // A preemption moves the sequences behind it, so look at all of them again; those that have their page cost nothing.
  for (size_t i = 0; i < running_.size();) {
    const size_t before = running_.size();
    Sequence& sequence = *running_[i];
    if (sequence.n_generated() > 0 && !sequence.paused) grow(sequence);
    i = running_.size() == before ? i + 1 : 0;
  }
  ids_.clear();
  positions_.clear();
  logit_rows_.clear();
  rows_.clear();
  entries_.clear();
  for (const auto& sequence : running_)
    if (sequence->decoding() && !sequence->paused) add_rows(*sequence, 1);
  const int decoding = static_cast<int>(ids_.size());
  int left = options_.max_batch_tokens - decoding;
  if (decoding > 0) left = std::min(left, options_.mixed_chunk);
  for (const auto& sequence : running_) {
    if (sequence->decoding() || sequence->paused || left <= 0) continue;
    const int n_rows = chunk(*sequence, left);
    if (n_rows > 0) add_rows(*sequence, n_rows);
    left -= n_rows;
  }
  batch_ = {ids_, positions_, rows_, logit_rows_};
  return batch_;
}

void Scheduler::note_pauses() {
  const auto now = EngineClock::now();
  for (const auto& sequence : running_) {
    const bool paused = sequence->room_rows(1) == 0;
    if (paused && !sequence->paused) sequence->paused_since = now;
    sequence->paused = paused;
  }
}

void Scheduler::took(double seconds) {
  constexpr size_t many_rows = 128;
  if (ids_.size() < many_rows || seconds <= 0) return;
  rows_per_second_ = static_cast<double>(ids_.size()) / seconds;
}

// How a prompt is cut changes no bit of its result, so the clock may decide it.
int Scheduler::bearable_chunk() const {
  constexpr int least = 512;
  if (rows_per_second_ == 0) return std::min(least, options_.prefill_chunk);
  const double rows = std::min(rows_per_second_ * options_.prefill_step_ms * 1e-3, static_cast<double>(options_.prefill_chunk));
  return std::min(options_.prefill_chunk, std::max(least, static_cast<int>(rows) / 256 * 256));
}

int Scheduler::chunk(const Sequence& s, int at_most) const {
  int n_rows = std::min({s.n_pending(), at_most, bearable_chunk()});
  if (keeps_snapshots(s)) n_rows = std::min(n_rows, next_border(s) - s.n_past);
  return s.room_rows(n_rows);
}

bool Scheduler::keeps_snapshots(const Sequence& s) const { return recurrent_ && options_.prefix_cache && s.request->use_cache; }

// The next position behind n_past at which the recurrent state is kept: it cannot be cut out of a longer one later.
int Scheduler::next_border(const Sequence& s) const {
  const int every = options_.snapshot_every_tokens;
  int border = every > 0 ? (s.n_past / every + 1) * every : std::numeric_limits<int>::max();
  if (border >= s.n_prompt) border = std::numeric_limits<int>::max();
  for (int32_t at : s.snapshot_at)
    if (at > s.n_past) return std::min(border, at);
  return border;
}

void Scheduler::add_rows(Sequence& s, int n_rows) {
  const auto first_row = static_cast<int32_t>(ids_.size()), end = s.n_past + n_rows;
  for (int32_t at = s.n_past; at < end; ++at) {
    ids_.push_back(s.tokens[static_cast<size_t>(at)]);
    positions_.push_back(at);
  }
  rows_.push_back({first_row, n_rows, s.n_past, s.pages.data(), std::max(s.slot, 0)});
  Entry entry{&s, first_row, n_rows, static_cast<int32_t>(logit_rows_.size()), 0, false};
  entry.samples = end == static_cast<int32_t>(s.tokens.size()) && s.n_generated() < s.max_tokens;
  const int32_t report_from = s.request->prompt_logits ? std::max(s.n_past, s.prompt_reported) : s.n_prompt;
  for (int32_t at = s.n_past; at < end; ++at)
    if ((at >= report_from && at < s.n_prompt) || (entry.samples && at == end - 1)) logit_rows_.push_back(first_row + at - s.n_past);
  entry.n_logits = static_cast<int32_t>(logit_rows_.size()) - entry.first_logit;
  entries_.push_back(entry);
}

// ---- after the step -----------------------------------------------------------------------------------------------------

void Scheduler::advance(const Entry& entry) {
  Sequence& s = *entry.sequence;
  s.n_past += entry.n_rows;
  if (s.n_past <= s.n_prompt) remember(s);
}

// Lets later prompts begin where this one is now.
void Scheduler::remember(Sequence& s) {
  if (!options_.prefix_cache || !s.request->use_cache) return;
  const auto tokens = std::span(s.tokens).first(static_cast<size_t>(s.n_past));
  if (!recurrent_) return cache_.insert(tokens, s.pages);
  const bool regular = options_.snapshot_every_tokens > 0 && s.n_past % options_.snapshot_every_tokens == 0 && s.n_past < s.n_prompt;
  if (!regular && !std::ranges::binary_search(s.snapshot_at, s.n_past)) return;
  if (cache_.has_snapshot(tokens)) return;
  const int32_t slot = obtain_slot(-1);
  if (slot < 0) return;  // all slots advance sequences
  device_.copy_slot(s.slot, slot);
  cache_.insert(tokens, s.pages, slot);
}

std::shared_ptr<Sequence> Scheduler::retire(Sequence& s, bool keep) {
  if (keep && options_.prefix_cache && s.request->use_cache && s.n_past > 0)
    cache_.insert(std::span(s.tokens).first(static_cast<size_t>(s.n_past)), s.pages, std::exchange(s.slot, -1));
  release(s);
  return remove_running(s);
}

void Scheduler::release(Sequence& s) {
  for (int32_t page : s.pages) pool_.drop_page(page);
  s.pages.clear();
  if (s.slot >= 0) pool_.drop_slot(std::exchange(s.slot, -1));
  s.n_past = 0;
}

std::shared_ptr<Sequence> Scheduler::remove_running(Sequence& s) {
  const auto at = std::ranges::find_if(running_, [&](const auto& other) { return other.get() == &s; });
  CHECK(at != running_.end());
  auto sequence = std::move(*at);
  running_.erase(at);
  return sequence;
}

// ---- starting and preempting --------------------------------------------------------------------------------------------

void Scheduler::start_waiting() {
  for (size_t i = 0; i < waiting_.size();) {
    if (waiting_[i]->room_rows(1) == 0) {  // preempted, and its reader is still behind
      ++i;
      continue;
    }
    if (static_cast<int>(running_.size()) < options_.max_sequences && start(*waiting_[i])) {
      auto sequence = std::move(waiting_[i]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      const auto older = [](const auto& a, const auto& b) { return a->age < b->age; };
      running_.insert(std::upper_bound(running_.begin(), running_.end(), sequence, older), std::move(sequence));
      continue;
    }
    if (!preempt_stalled()) return;
    i = 0;
  }
}

// Makes room by taking the state of a sequence whose reader has not read for a while.
bool Scheduler::preempt_stalled() {
  const auto long_ago = EngineClock::now() - stalled_after;
  for (size_t i = running_.size(); i-- > 0;) {
    if (!running_[i]->paused || running_[i]->paused_since > long_ago) continue;
    preempt(*running_[i]);
    return true;
  }
  return false;
}

bool Scheduler::start(Sequence& s) {
  const bool reads_cache = options_.prefix_cache && s.request->use_cache && !(s.request->prompt_logits && s.prompt_reported < s.n_prompt);
  hit_.tokens = 0;
  hit_.slot = -1;
  hit_.pages.clear();
  // At least one token is always computed: its logits are what comes next.
  if (reads_cache) cache_.find(std::span(s.tokens).first(s.tokens.size() - 1), hit_);
  const size_t page_tokens = static_cast<size_t>(options_.page_tokens);
  const size_t total = (s.tokens.size() + page_tokens - 1) / page_tokens, whole = static_cast<size_t>(hit_.tokens) / page_tokens;
  const auto unpinned = std::count_if(hit_.pages.begin(), hit_.pages.end(), [&](int32_t page) { return !pool_.pinned(page); });
  // Alone it always fits (see the class). Beside others a page is left over, so that it does not start only to be preempted at once.
  const auto available = static_cast<size_t>(pool_.pages_total() - pool_.pages_pinned());
  if (!running_.empty() && total - whole + static_cast<size_t>(unpinned) + 1 > available) return false;
  if (recurrent_ && pool_.slots_free() == 0 && cache_.snapshots() == 0) return false;
  for (int32_t page : hit_.pages) pool_.hold_page(page);  // before anything is evicted
  if (recurrent_) place_in_slot(s, hit_.slot);
  take_prefix(s, whole);
  while (s.pages.size() < total) {
    const int32_t page = obtain_page();
    CHECK(page >= 0);
    s.pages.push_back(page);
  }
  s.n_past = hit_.tokens;
  s.paused = false;
  cached_tokens_ += static_cast<uint64_t>(hit_.tokens);
  if (s.was_started) return true;
  s.was_started = true;
  s.n_cached = hit_.tokens;
  s.started = EngineClock::now();
  return true;
}

// Whole pages are shared as they are: nobody writes to them again. A last page that is filled in part is copied, because this sequence
// will write behind the prefix where another one already has.
void Scheduler::take_prefix(Sequence& s, size_t whole_pages) {
  s.pages.assign(hit_.pages.begin(), hit_.pages.begin() + static_cast<std::ptrdiff_t>(whole_pages));
  if (hit_.pages.size() == whole_pages) return;
  const int32_t shared = hit_.pages.back(), own = obtain_page();
  CHECK(own >= 0);
  device_.copy_page(shared, own);
  pool_.drop_page(shared);
  s.pages.push_back(own);
}

void Scheduler::place_in_slot(Sequence& s, int32_t snapshot) {
  if (snapshot >= 0) cache_.touch_snapshot(snapshot);
  s.slot = obtain_slot(snapshot);
  if (s.slot < 0) {  // nothing but this snapshot is left: go on in it
    CHECK(snapshot >= 0);
    cache_.take_over(snapshot);
    s.slot = snapshot;
  } else if (snapshot >= 0) {
    device_.copy_slot(snapshot, s.slot);
  } else {
    device_.clear_slot(s.slot);
  }
}

int32_t Scheduler::obtain_page() {
  for (;;) {
    const int32_t page = pool_.take_page();
    if (page >= 0 || !cache_.evict_page()) return page;
  }
}

int32_t Scheduler::obtain_slot(int32_t keep) {
  for (;;) {
    const int32_t slot = pool_.take_slot();
    if (slot >= 0 || !cache_.evict_snapshot(keep)) return slot;
  }
}

// Takes the page that the next token needs. May preempt others, or the sequence itself when it is the youngest.
void Scheduler::grow(Sequence& s) {
  while (s.pages.size() * static_cast<size_t>(options_.page_tokens) < s.tokens.size()) {
    const int32_t page = obtain_page();
    if (page >= 0) {
      s.pages.push_back(page);
      continue;
    }
    Sequence* out = victim();
    preempt(*out);
    if (out == &s) return;
  }
}

// Sequences that wait for a slow reader lose nothing now; after them the youngest.
Sequence* Scheduler::victim() const {
  for (size_t i = running_.size(); i-- > 0;)
    if (running_[i]->paused) return running_[i].get();
  CHECK(running_.size() > 1);
  return running_.back().get();
}

void Scheduler::preempt(Sequence& s) {
  release(s);
  auto sequence = remove_running(s);
  const auto older = [](const auto& a, const auto& b) { return a->age < b->age; };
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), sequence, older), std::move(sequence));
  ++preemptions_;
}
