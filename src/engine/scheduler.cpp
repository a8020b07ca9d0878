// scheduler: laying out steps, and what happens to the state after them.
#include "engine/scheduler.h"
#include <algorithm>
#include <limits>
#include "engine/device_draw.h"

Scheduler::Scheduler(Device& device, const EngineOptions& options, StatePlan plan, bool recurrent, Sizes sizes, DiskCache* disk)
    : device_(device), options_(options), recurrent_(recurrent), sizes_(sizes), disk_(disk), pool_(plan.n_pages, plan.n_slots), cache_(pool_, plan.page_tokens, recurrent) {
  const auto rows = static_cast<size_t>(options.max_batch_tokens), sequences = static_cast<size_t>(options.max_sequences);
  ids_.reserve(rows);
  positions_.reserve(rows);
  logit_rows_.reserve(rows);
  rows_.reserve(sequences);
  entries_.reserve(sequences);
  before_.reserve(sequences);
  specs_.reserve(sequences);
  running_.reserve(sequences);
  prompts_.reserve(sequences);
}

void Scheduler::arrive(Sequence& s) {
  s.age = ++arrivals_;
  s.arrived = EngineClock::now();
  s.tenant = tenants_.get(s.request->tenant);
  places_changed_ = true;
}

// ---- the next step ------------------------------------------------------------------------------------------------------

void Scheduler::next_step() {
  note_pauses();
  start_waiting();
  places_changed_ = false;
  looked_ = EngineClock::now();
  continue_restores();
  // A preemption moves the sequences behind it, so look at all of them again; those that have their page cost nothing.
  for (size_t i = 0; i < running_.size();) {
    const size_t before = running_.size();
    Sequence& sequence = *running_[i];
    if (sequence.n_generated() > 0 && !sequence.paused) grow(sequence);
    i = running_.size() == before ? i + 1 : 0;
  }
  clear_step();
  choose_kind();
  for (const auto& sequence : running_)  // the last row of a prompt, a cached one for instance, costs no more than a decoding one
    if (sequence->n_pending() == 1 && !sequence->paused && !sequence->restore && sequence->request->hidden == last_hidden_) add_rows(*sequence, 1);
  step_decoding_ = static_cast<int>(ids_.size());
  const bool all_decode = std::ranges::all_of(entries_, [](const Entry& entry) { return entry.sequence->decoding(); });
  add_prompt_rows(step_decoding_);
  batch_ = {ids_, positions_, rows_, logit_rows_, last_hidden_};
  may_be_followed_ = !entries_.empty() && all_decode && step_decoding_ == std::ssize(ids_) && specs_.size() == entries_.size();
}

void Scheduler::clear_step() {
  ids_.clear();
  positions_.clear();
  logit_rows_.clear();
  rows_.clear();
  entries_.clear();
  specs_.clear();
}

void Scheduler::add_prompt_rows(int n_decoding) {
  prompts_.clear();
  for (const auto& sequence : running_)
    if (sequence->n_pending() > 1 && !sequence->paused && !sequence->restore && sequence->request->hidden == last_hidden_) prompts_.push_back(sequence.get());
  if (prompts_.empty()) return;
  int left = options_.max_batch_tokens - n_decoding;
  if (n_decoding > 0) left = std::min(left, pace_.rows(n_decoding, options_.mixed_chunk));
  // Short prompts are answered soon, however long the others are; and the oldest one gets on, however many short ones come.
  const Sequence* oldest = *std::ranges::min_element(prompts_, {}, &Sequence::age);
  int kept = std::min(oldest->n_pending(), std::max(1, left / 4));
  std::ranges::sort(prompts_, [](const Sequence* a, const Sequence* b) { return std::pair(a->n_pending(), a->age) < std::pair(b->n_pending(), b->age); });
  for (Sequence* s : prompts_) {
    if (s == oldest) kept = 0;
    const int n_rows = left > kept ? chunk(*s, left - kept) : 0;
    if (n_rows > 0) add_rows(*s, n_rows);
    left -= n_rows;
  }
}

// A step gives logits or hidden states, so the two take turns.
void Scheduler::choose_kind() {
  const auto waits = [&](bool hidden) {
    return std::ranges::any_of(running_, [&](const auto& s) { return s->request->hidden == hidden && !s->paused && !s->restore && s->n_pending() > 0; });
  };
  last_hidden_ = waits(true) && (!last_hidden_ || !waits(false));
}

void Scheduler::note_pauses() {
  const auto now = EngineClock::now();
  for (const auto& sequence : running_) {
    const bool paused = sequence->room_rows(1) == 0;
    if (paused && !sequence->paused) sequence->paused_since = now;
    sequence->paused = paused;
  }
}

void Scheduler::took(Rows rows, double seconds) {
  constexpr int many_rows = 128;
  pace_.took(rows.decoding, rows.all - rows.decoding, seconds);
  if (rows.all < many_rows || seconds <= 0) return;
  rows_per_second_ = rows.all / seconds;
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
  Entry entry{&s, first_row, n_rows, static_cast<int32_t>(logit_rows_.size()), 0, false, -1};
  entry.samples = end == static_cast<int32_t>(s.tokens.size()) && s.n_generated() < s.max_tokens;
  const int32_t report_from = s.request->prompt_logits ? std::max(s.n_past, s.prompt_reported) : s.n_prompt;
  for (int32_t at = s.n_past; at < end; ++at)
    if ((at >= report_from && at < s.n_prompt) || (entry.samples && at == end - 1)) logit_rows_.push_back(first_row + at - s.n_past);
  entry.n_logits = static_cast<int32_t>(logit_rows_.size()) - entry.first_logit;
  if (entry.samples) draw_on_device(entry, s.n_generated());
  entries_.push_back(entry);
}

void Scheduler::draw_on_device(Entry& entry, int index) {
  if (!device_.samples()) return;
  auto spec = device_draw(*entry.sequence, index);
  if (!spec) return;
  spec->row = entry.first_logit + entry.n_logits - 1;
  entry.spec = static_cast<int32_t>(specs_.size());
  specs_.push_back(*spec);
}

// ---- a step behind the one under way ------------------------------------------------------------------------------------

bool Scheduler::follow_step() {
  if (!can_follow()) return false;
  std::swap(entries_, before_);
  clear_step();
  for (const Entry& before : before_)
    if (goes_on(*before.sequence)) add_following_row(before);
  step_decoding_ = static_cast<int>(ids_.size());
  batch_ = {ids_, positions_, rows_, logit_rows_, false};
  may_be_followed_ = !entries_.empty() && specs_.size() == entries_.size();
  return !entries_.empty();  // all of them may have been abandoned meanwhile
}

// Whether it has a row behind the one under way, as far as is known.
bool Scheduler::goes_on(const Sequence& s) const { return !s.over && !s.abandoned && !s.expired && s.n_generated() + 1 < s.max_tokens; }

// Nobody would start, come back or be preempted, and those in the step under way have room for one more token each.
bool Scheduler::can_follow() const {
  if (!may_be_followed_) return false;
  if (!waiting_.empty() && (places_changed_ || EngineClock::now() - looked_ > look_after)) return false;
  bool any = false;
  int new_pages = 0;
  for (const auto& sequence : running_) {
    const Sequence& s = *sequence;
    if (s.under_way == 0 && (s.restore || s.room_rows(1) > 0)) return false;
    if (s.under_way == 0 || !goes_on(s)) continue;
    if (s.channel.room() < 2) return false;
    any = true;
    if (static_cast<size_t>(s.n_past + 2) > s.pages.size() * static_cast<size_t>(options_.page_tokens)) ++new_pages;
  }
  return any && new_pages <= pool_.pages_total() - pool_.pages_pinned();
}

void Scheduler::add_following_row(const Entry& before) {
  Sequence& s = *before.sequence;
  const int32_t past = s.n_past + 1, row = static_cast<int32_t>(ids_.size());
  if (static_cast<size_t>(past + 1) > s.pages.size() * static_cast<size_t>(options_.page_tokens)) {
    const int32_t page = obtain_page();
    CHECK(page >= 0);  // see can_follow
    s.pages.push_back(page);
  }
  ids_.push_back(sampled_before(before.spec));
  positions_.push_back(past);
  rows_.push_back({row, 1, past, s.pages.data(), std::max(s.slot, 0)});
  logit_rows_.push_back(row);
  Entry entry{&s, row, 1, row, 1, true, -1};
  draw_on_device(entry, s.n_generated() + 1);
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
  const uint64_t space = s.request->cache_space;
  if (!recurrent_) {
    save(s);
    return cache_.insert(space, tokens, s.pages);
  }
  const bool regular = options_.snapshot_every_tokens > 0 && s.n_past % options_.snapshot_every_tokens == 0 && s.n_past < s.n_prompt;
  if (!regular && !std::ranges::binary_search(s.snapshot_at, s.n_past)) return;
  save(s);
  if (cache_.has_snapshot(space, tokens)) return;
  const int32_t slot = obtain_slot(-1);
  if (slot < 0) return;  // all slots advance sequences
  device_.copy_slot(s.slot, slot);
  cache_.insert(space, tokens, s.pages, slot);
}

std::shared_ptr<Sequence> Scheduler::retire(Sequence& s, bool keep) {
  CHECK(s.under_way == 0);
  places_changed_ = true;
  if (keep && s.request->keep_end) put_away(s);
  release(s);
  return remove_running(s);
}

// Hands what a sequence has computed over to the prefix cache.
void Scheduler::put_away(Sequence& s) {
  if (!options_.prefix_cache || !s.request->use_cache || s.n_past == 0 || s.restore) return;
  save(s);
  cache_.insert(s.request->cache_space, std::span(s.tokens).first(static_cast<size_t>(s.n_past)), s.pages, std::exchange(s.slot, -1));
}

void Scheduler::release(Sequence& s) {
  if (s.restore) disk_->cancel(*s.restore);
  s.restore.reset();
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
  --sequence->tenant->running;
  return sequence;
}
