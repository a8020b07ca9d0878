// scheduler: state goes to disk when the prefix cache gets it, and comes back before a sequence computes what is already known.
#include <algorithm>
#include "engine/scheduler.h"

namespace {
constexpr int least_restored_tokens = 64;                  // fewer are computed sooner than looked at twice
constexpr size_t restore_step_bytes = size_t{32} << 20;    // put back before one step while others compute: some 10 ms
}  // namespace

// ---- to disk ------------------------------------------------------------------------------------------------------------

void Scheduler::extend_chain(Sequence& s, size_t n_pages) {
  const auto page_tokens = static_cast<size_t>(options_.page_tokens);
  while (s.chain.size() < n_pages) s.chain.push_back(page_id(place_in_chain(s, s.chain.size()), std::span(s.tokens).subspan(s.chain.size() * page_tokens, page_tokens)));
}

CacheId Scheduler::place_in_chain(const Sequence& s, size_t n_pages) const { return n_pages == 0 ? disk_->root(s.request->cache_space) : s.chain[n_pages - 1]; }

// Bytes are copied here, between two steps, and written by the disk's thread. Where writing is behind, nothing is put; the same pages are
// offered again at the next border or at the end.
void Scheduler::save(Sequence& s) {
  if (!disk_) return;
  const size_t n_pages = static_cast<size_t>(s.n_past) / static_cast<size_t>(options_.page_tokens);
  extend_chain(s, n_pages);
  if (!recurrent_) return void(save_pages(s, n_pages));
  // A snapshot costs as much as many pages: one that lies less than a page behind another is not worth it.
  if (s.snapshot_saved >= 0 && s.n_past >= s.snapshot_saved && s.n_past - s.snapshot_saved < options_.page_tokens) return;
  while (static_cast<size_t>(s.n_saved) < n_pages && disk_->has(s.chain[static_cast<size_t>(s.n_saved)])) ++s.n_saved;
  // Pages without a snapshot are of no use: all or nothing.
  if (disk_->room((n_pages - static_cast<size_t>(s.n_saved)) * sizes_.page_bytes + sizes_.page_bytes + sizes_.slot_bytes) && save_pages(s, n_pages)) save_snapshot(s);
}

bool Scheduler::save_pages(Sequence& s, size_t n_pages) {
  const auto page_tokens = static_cast<size_t>(options_.page_tokens);
  for (auto i = static_cast<size_t>(s.n_saved); i < n_pages; ++i) {
    if (!disk_->has(s.chain[i])) {
      if (!recurrent_ && !disk_->room(sizes_.page_bytes)) return false;
      Bytes bytes(sizes_.page_bytes);
      device_.read_page(s.pages[i], bytes.span());
      if (device_.dead()) return false;
      disk_->put(DiskIndex::Kind::page, place_in_chain(s, i), s.chain[i], static_cast<int32_t>((i + 1) * page_tokens), std::span(s.tokens).subspan(i * page_tokens, page_tokens),
                 std::move(bytes));
    }
    s.n_saved = static_cast<int32_t>(i + 1);
  }
  return true;
}

// The slot, and behind it the page that is not full yet.
void Scheduler::save_snapshot(Sequence& s) {
  const auto page_tokens = static_cast<size_t>(options_.page_tokens), past = static_cast<size_t>(s.n_past), n_pages = past / page_tokens;
  const auto rest = std::span(s.tokens).subspan(n_pages * page_tokens, past % page_tokens);
  const CacheId parent = place_in_chain(s, n_pages), id = snapshot_id(parent, rest);
  s.snapshot_saved = s.n_past;
  if (disk_->has(id)) return;
  Bytes bytes(sizes_.slot_bytes + (rest.empty() ? 0 : sizes_.page_bytes));
  device_.read_slot(s.slot, bytes.span().first(sizes_.slot_bytes));
  if (!rest.empty()) device_.read_page(s.pages[n_pages], bytes.span().subspan(sizes_.slot_bytes));
  if (device_.dead()) return;
  disk_->put(DiskIndex::Kind::snapshot, parent, id, s.n_past, rest, std::move(bytes));
}

// ---- from disk ----------------------------------------------------------------------------------------------------------

// At least one token is always computed: its logits are what comes next.
void Scheduler::look_on_disk(Sequence& s) {
  if (!disk_) return;
  const auto tokens = std::span(s.tokens).first(s.tokens.size() - 1);
  const size_t n_pages = tokens.size() / static_cast<size_t>(options_.page_tokens);
  extend_chain(s, n_pages);
  auto restore = disk_->find(disk_->root(s.request->cache_space), std::span(s.chain).first(n_pages), tokens, s.n_past);
  if (!restore || !pays(*restore, s.n_past)) return;
  s.restore = restore;
  disk_->start(restore);
}

// Whether reading is quicker than computing. A speed of computing that is not known yet is taken to be low.
bool Scheduler::pays(const Restore& restore, int32_t known_tokens) const {
  const int32_t gained = restore.tokens - known_tokens;
  if (gained < least_restored_tokens) return false;
  return rows_per_second_ == 0 || static_cast<double>(restore.bytes) / disk_->read_bytes_per_s() < gained / rows_per_second_;
}

void Scheduler::continue_restores() {
  restored_ = false;
  if (!disk_) return;
  const bool alone = std::ranges::all_of(running_, [](const auto& s) { return s->restore || s->paused; });
  size_t left = alone ? SIZE_MAX : restore_step_bytes;
  for (const auto& s : running_)
    if (s->restore && left > 0) left -= std::min(left, put_back(*s, left));
}

size_t Scheduler::put_back(Sequence& s, size_t at_most_bytes) {
  size_t done = 0;
  for (Bytes bytes; s.restore && done < at_most_bytes;) {
    const DiskCache::Taken taken = disk_->take(*s.restore, bytes);
    if (taken == DiskCache::Taken::nothing) return done;
    restored_ = true;
    if (taken == DiskCache::Taken::failed) {
      // What is broken has been dropped: something shorter may be there.
      s.restore.reset();
      look_on_disk(s);
      continue;
    }
    const Restore::Piece& piece = s.restore->pieces[s.restore->n_taken - 1];
    const auto content = std::span<const std::byte>(bytes.span());
    if (piece.snapshot) device_.write_slot(s.slot, content.first(sizes_.slot_bytes));
    const auto page = piece.snapshot ? content.subspan(sizes_.slot_bytes) : content;
    if (!page.empty()) device_.write_page(s.pages[static_cast<size_t>(piece.page)], page);
    done += bytes.size;
    if (s.restore->n_taken == s.restore->pieces.size()) end_restore(s);
  }
  return done;
}

void Scheduler::end_restore(Sequence& s) {
  const int32_t gained = s.restore->tokens - s.n_past;
  s.n_past = s.restore->tokens;
  s.restore.reset();
  s.n_saved = s.n_past / options_.page_tokens;
  if (recurrent_) s.snapshot_saved = s.n_past;
  ++disk_hits_;
  disk_hit_tokens_ += static_cast<uint64_t>(gained);
  cached_tokens_ += static_cast<uint64_t>(gained);
  if (s.n_generated() == 0) {
    s.n_cached += gained;
    s.divergence.disk_tokens += gained;
  }
  if (!recurrent_) cache_.insert(s.request->cache_space, std::span(s.tokens).first(static_cast<size_t>(s.n_past)), s.pages);
}
