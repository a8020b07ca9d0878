// scheduler: who gets a place and who loses one, and the pages and slots that go with it.
#include <algorithm>
#include "engine/scheduler.h"

// ---- starting and preempting --------------------------------------------------------------------------------------------

void Scheduler::start_waiting() {
  while (const auto next = next_waiting()) {
    Sequence& s = *waiting_[*next];
    if (static_cast<int>(running_.size()) < options_.max_sequences && start(s)) {
      auto sequence = std::move(waiting_[*next]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(*next));
      ++sequence->tenant->running;
      sequence->tenant->served = ++starts_;
      const auto older = [](const auto& a, const auto& b) { return a->age < b->age; };
      running_.insert(std::upper_bound(running_.begin(), running_.end(), sequence, older), std::move(sequence));
      continue;
    }
    if (!preempt_stalled() && !preempt_crowding(s)) return;
  }
}

// Whose turn it is, of those whose readers keep up. Who cannot start now is waited for, so that long prompts are not passed by for ever.
std::optional<size_t> Scheduler::next_waiting() const {
  const auto rank = [](const Sequence& s) { return std::tuple(s.tenant->running, -s.request->priority, s.tenant->served, s.age); };
  std::optional<size_t> best;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i]->room_rows(1) == 0) continue;  // preempted, and its reader is still behind
    if (!best || rank(*waiting_[i]) < rank(*waiting_[*best])) best = i;
  }
  return best;
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

// A place for a tenant that has none, from one that has more than that.
bool Scheduler::preempt_crowding(const Sequence& waiting) {
  if (waiting.tenant->running > 0 || waiting.arrived + fair_after > EngineClock::now()) return false;
  Sequence* out = nullptr;
  for (const auto& s : running_)
    if (s->tenant->running > 1 && (!out || less_important(*s, *out))) out = s.get();
  if (out) preempt(*out);
  return out != nullptr;
}

bool Scheduler::start(Sequence& s) {
  const bool reads_cache = options_.prefix_cache && s.request->use_cache && !(s.request->prompt_logits && s.prompt_reported < s.n_prompt);
  hit_.tokens = 0;
  hit_.slot = -1;
  hit_.pages.clear();
  // At least one token is always computed: its logits are what comes next.
  if (reads_cache) cache_.find(s.request->cache_space, std::span(s.tokens).first(s.tokens.size() - 1), hit_);
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
  s.n_saved = 0;
  cached_tokens_ += static_cast<uint64_t>(hit_.tokens);
  if (!s.was_started) {
    s.started = EngineClock::now();
    s.n_cached = hit_.tokens;
    explain(s);
  }
  if (reads_cache) look_on_disk(s);
  s.was_started = true;
  return true;
}

void Scheduler::explain(Sequence& s) {
  constexpr int32_t before = 8, behind = 24;  // tokens shown around the divergence
  s.divergence.prompt_tokens = s.n_prompt;
  if (!options_.prefix_cache || !s.request->use_cache) return;
  const auto prompt = std::span(s.tokens).first(static_cast<size_t>(s.n_prompt));
  PrefixCache::Nearest nearest = cache_.nearest(s.request->cache_space, prompt, behind);
  if (disk_) {
    extend_chain(s, prompt.size() / static_cast<size_t>(options_.page_tokens));
    DiskCache::Nearest stored = disk_->nearest(disk_->root(s.request->cache_space), s.chain, prompt, behind);
    if (stored.at > nearest.at) nearest = {stored.at, std::move(stored.follows)};
  }
  Divergence& d = s.divergence;
  d.at = nearest.at;
  d.from = std::max(0, nearest.at - before);
  if (!s.request->explain) return;
  const auto ids = [&](int32_t first, int32_t end) { return prompt.subspan(static_cast<size_t>(first), static_cast<size_t>(std::min(end, s.n_prompt) - first)); };
  const auto now = ids(d.from, d.at + behind), common = ids(d.from, d.at);
  d.now.assign(now.begin(), now.end());
  d.was.assign(common.begin(), common.end());
  d.was.insert(d.was.end(), nearest.follows.begin(), nearest.follows.end());
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

// Sequences that wait for a slow reader lose nothing now; after them come low priorities, tenants with many places, and the young.
bool Scheduler::less_important(const Sequence& a, const Sequence& b) {
  const auto rank = [](const Sequence& s) { return std::tuple(!s.paused, s.request->priority, -s.tenant->running, -static_cast<int64_t>(s.age)); };
  return rank(a) < rank(b);
}

Sequence* Scheduler::victim() const {
  const auto least = std::ranges::min_element(running_, [](const auto& a, const auto& b) { return less_important(*a, *b); });
  CHECK(least != running_.end() && (running_.size() > 1 || (*least)->paused));
  return least->get();
}

void Scheduler::preempt(Sequence& s) {
  put_away(s);
  release(s);
  auto sequence = remove_running(s);
  const auto older = [](const auto& a, const auto& b) { return a->age < b->age; };
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), sequence, older), std::move(sequence));
  ++preemptions_;
}
