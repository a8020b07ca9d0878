// disk_cache: what the engine thread asks, and the thread that works on files.
#include "engine/disk_cache.h"
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include "engine/disk_folder.h"

namespace {
constexpr size_t max_waiting_bytes = size_t{256} << 20;  // copies of state that wait to be written; beyond, nothing is put
constexpr size_t max_ready_bytes = size_t{64} << 20;     // of one restore, read ahead of the engine

int64_t now_ms() { return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count(); }
}  // namespace

Result<std::unique_ptr<DiskCache>> DiskCache::open(const DiskCacheOptions& options) {
  TRY(const DiskFolder folder, open_disk_folder(options.dir, hex(root_id(options.key, 0)).substr(0, 16), options.max_bytes));
  std::unique_ptr<DiskCache> cache(new DiskCache(options, folder.path, folder.lock_fd, folder.elsewhere_bytes));
  TRY_STATUS(cache->load());
  cache->thread_ = std::thread([self = cache.get()] { self->run(); });
  return cache;
}

DiskCache::DiskCache(DiskCacheOptions options, std::string folder, int lock_fd, size_t elsewhere_bytes)
    : options_(std::move(options)),
      folder_(std::move(folder)),
      lock_fd_(lock_fd),
      max_bytes_(options_.max_bytes - std::min(options_.max_bytes, elsewhere_bytes)),
      index_(options_.needs_snapshots) {}

DiskCache::~DiskCache() {
  if (thread_.joinable()) {
    {
      const Lock lock(mutex_);
      ending_ = true;
      work_.notify_one();
    }
    thread_.join();
  }
  ::close(lock_fd_);  // and with it the lock
}

std::string DiskCache::path(const CacheId& id) const { return blob_path(folder_, id); }

// Whether a row is what this cache would have written: its name is the hash of what it says, and its sizes are those of the layout.
bool DiskCache::plausible(const IndexFile::Row& row) const {
  if (!row.snapshot) return row.tokens.size() == options_.page_tokens && row.payload_bytes == options_.page_bytes && row.id == page_id(row.parent, row.tokens);
  const size_t bytes = options_.slot_bytes + (row.tokens.empty() ? 0 : options_.page_bytes);
  return options_.needs_snapshots && row.tokens.size() < options_.page_tokens && row.payload_bytes == bytes && row.id == snapshot_id(row.parent, row.tokens);
}

// Rows without a file of their size are dropped, files without a row are deleted.
Status DiskCache::load() {
  const std::string index_path = folder_ + "/index.sqlite";
  auto file = IndexFile::open(index_path);
  auto rows = file ? (*file)->rows() : Result<std::vector<IndexFile::Row>>(file.error());
  if (!rows) {  // damaged: begin again
    if (file) file->reset();
    ++counts_.corrupted;
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((index_path + suffix).c_str());
    file = IndexFile::open(index_path);
    if (!file) return file.error();
    rows = std::vector<IndexFile::Row>();
  }
  file_ = std::move(*file);
  auto files = list_blobs(folder_);
  std::vector<CacheId> lost;
  for (const IndexFile::Row& row : *rows) {
    const auto found = files.find(row.id);
    DiskIndex::Entry* parent = row.end == static_cast<int32_t>(row.tokens.size()) ? index_.root(row.parent) : index_.find(row.parent);
    const bool whole = plausible(row) && found != files.end() && found->second == blob_file_bytes(row.payload_bytes);
    if (!whole || !parent) {
      lost.push_back(row.id);
      continue;
    }
    if (auto* entry = index_.add(row.id, row.snapshot ? DiskIndex::Kind::snapshot : DiskIndex::Kind::page, parent, row.tokens, row.payload_bytes, row.used_ms)) index_.set_stored(entry);
    files.erase(found);
  }
  counts_.corrupted += lost.size();
  for (const auto& [id, bytes] : files) ::unlink(path(id).c_str());
  index_.shrink(max_bytes_, now_ms(), lost);
  file_->begin();
  for (const CacheId& id : lost) {
    file_->remove(id);
    ::unlink(path(id).c_str());
  }
  file_->commit();
  return ok_status();
}

// ---- engine thread ------------------------------------------------------------------------------------------------------

bool DiskCache::has(const CacheId& id) {
  const Lock lock(mutex_);
  return index_.find(id) != nullptr;
}

bool DiskCache::room(size_t bytes) {
  const Lock lock(mutex_);
  return waiting_bytes_ == 0 || waiting_bytes_ + bytes <= max_waiting_bytes;
}

void DiskCache::put(DiskIndex::Kind kind, const CacheId& parent, const CacheId& id, int32_t end, std::span<const TokenId> tokens, Bytes bytes) {
  const Lock lock(mutex_);
  DiskIndex::Entry* before = end == static_cast<int32_t>(tokens.size()) ? index_.root(parent) : index_.find(parent);
  if (!before || !index_.add(id, kind, before, tokens, bytes.size, now_ms())) return;  // without its parent, dropped a moment ago, it is of no use
  waiting_bytes_ += bytes.size;
  writes_.push_back({id, std::move(bytes)});
  work_.notify_one();
}

std::shared_ptr<Restore> DiskCache::find(const CacheId& root, std::span<const CacheId> chain, std::span<const TokenId> tokens, int32_t known_tokens) {
  const Lock lock(mutex_);
  DiskIndex::Entry* at = index_.find(root);
  if (!at) return nullptr;
  const size_t page_tokens = options_.page_tokens, known_pages = static_cast<size_t>(known_tokens) / page_tokens;
  DiskIndex::Entry *end = nullptr, *snapshot = nullptr;
  size_t n_pages = 0;
  for (size_t i = 0;; ++i) {  // at is the i-th entry of the chain
    if (!options_.needs_snapshots && at->end > known_tokens) end = at, n_pages = i;
    if (options_.needs_snapshots)
      for (DiskIndex::Entry* child : at->children) {
        const auto rest = tokens.subspan(i * page_tokens);
        if (child->kind != DiskIndex::Kind::snapshot || !child->stored || child->tokens.size() > rest.size() || child->end <= std::max(known_tokens, end ? end->end : 0)) continue;
        if (std::equal(child->tokens.begin(), child->tokens.end(), rest.begin())) end = snapshot = child, n_pages = i;
      }
    if (i == chain.size() || !(at = index_.find(chain[i])) || !at->stored) break;
  }
  if (!end) return nullptr;
  index_.touch(end, now_ms());
  used_.push_back(end->id);
  auto restore = std::make_shared<Restore>();
  restore->tokens = end->end;
  for (size_t i = known_pages; i < n_pages; ++i) restore->pieces.push_back({chain[i], static_cast<int32_t>(i), false, options_.page_bytes});
  if (snapshot) restore->pieces.push_back({snapshot->id, static_cast<int32_t>(n_pages), true, snapshot->payload_bytes});
  for (const auto& piece : restore->pieces) restore->bytes += piece.bytes;
  return restore;
}

void DiskCache::start(const std::shared_ptr<Restore>& restore) {
  const Lock lock(mutex_);
  restores_.push_back(restore);
  work_.notify_one();
}

DiskCache::Taken DiskCache::take(Restore& restore, Bytes& piece) {
  const Lock lock(mutex_);
  if (restore.ready.empty()) return restore.failed ? Taken::failed : Taken::nothing;
  piece = std::move(restore.ready.front());
  restore.ready.pop_front();
  restore.ready_bytes -= piece.size;
  ++restore.n_taken;
  work_.notify_one();
  return Taken::piece;
}

void DiskCache::cancel(Restore& restore) {
  const Lock lock(mutex_);
  restore.cancelled = true;
}

DiskCache::Nearest DiskCache::nearest(const CacheId& root, std::span<const CacheId> chain, std::span<const TokenId> tokens, size_t most_tokens) {
  const Lock lock(mutex_);
  Nearest nearest;
  const DiskIndex::Entry* at = index_.find(root);
  if (!at) return nearest;
  for (size_t i = 0; i < chain.size(); ++i) {
    const DiskIndex::Entry* next = index_.find(chain[i]);
    if (!next) break;
    at = next;
  }
  const auto rest = tokens.subspan(static_cast<size_t>(at->end));
  const DiskIndex::Entry* likest = nullptr;
  size_t common = 0;
  for (const DiskIndex::Entry* child : at->children) {
    const auto n = static_cast<size_t>(std::ranges::mismatch(child->tokens, rest).in1 - child->tokens.begin());
    if (!likest || n > common) likest = child, common = n;
  }
  nearest.at = at->end + static_cast<int32_t>(common);
  for (; likest && nearest.follows.size() < most_tokens; likest = likest->children.empty() ? nullptr : likest->children.front(), common = 0)
    nearest.follows.insert(nearest.follows.end(), likest->tokens.begin() + static_cast<std::ptrdiff_t>(common), likest->tokens.end());
  nearest.follows.resize(std::min(nearest.follows.size(), most_tokens));
  return nearest;
}

DiskCache::Counts DiskCache::counts() {
  const Lock lock(mutex_);
  Counts counts = counts_;
  counts.bytes = index_.bytes();
  return counts;
}

// ---- disk thread --------------------------------------------------------------------------------------------------------

// Somebody waits for what is read, nobody for what is written.
void DiskCache::run() {
  Lock lock(mutex_);
  for (;;) {
    if (read_next(lock) || write_next(lock)) continue;
    if (!used_.empty()) note_uses(lock);
    else if (ending_) return;
    else work_.wait(lock);
  }
}

bool DiskCache::read_next(Lock& lock) {
  std::erase_if(restores_, [&](const auto& r) { return ending_ || r->cancelled || r->failed || r->n_read == r->pieces.size(); });
  const auto next = std::ranges::find_if(restores_, [](const auto& r) { return r->ready_bytes < max_ready_bytes; });
  if (next == restores_.end()) return false;
  const std::shared_ptr<Restore> restore = *next;
  const Restore::Piece piece = restore->pieces[restore->n_read];
  lock.unlock();
  const auto began = std::chrono::steady_clock::now();
  auto bytes = read_blob(path(piece.id), piece.id, piece.bytes);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (bytes && piece.bytes > 0) read_bytes_per_s_ = 0.9 * read_bytes_per_s_ + 0.1 * static_cast<double>(piece.bytes) / std::max(seconds, 1e-7);
  lock.lock();
  if (bytes) {
    ++restore->n_read;
    restore->ready_bytes += bytes->size;
    restore->ready.push_back(std::move(*bytes));
  } else {
    restore->failed = true;
    ++counts_.corrupted;
    std::vector<CacheId> removed;
    if (auto* entry = index_.find(piece.id)) index_.remove(entry, removed);
    drop(lock, removed);
  }
  lock.unlock();
  if (wake_) wake_();
  lock.lock();
  return true;
}

bool DiskCache::write_next(Lock& lock) {
  if (writes_.empty()) return false;
  const Write write = std::move(writes_.front());
  writes_.pop_front();
  const DiskIndex::Entry* entry = index_.find(write.id);
  if (!entry) {  // what it stands behind has gone
    waiting_bytes_ -= write.bytes.size;
    return true;
  }
  const IndexFile::Row row{entry->id, entry->parent->id, entry->kind == DiskIndex::Kind::snapshot, entry->end, entry->tokens, entry->payload_bytes, entry->used_ms};
  const bool fits = make_room(lock, blob_file_bytes(row.payload_bytes));
  lock.unlock();
  const bool written = fits && static_cast<bool>(write_blob(path(write.id), write.id, write.bytes.span()));
  if (written) file_->put(row);
  lock.lock();
  waiting_bytes_ -= write.bytes.size;
  auto* still = index_.find(write.id);
  if (written && still) index_.set_stored(still), ++counts_.writes;
  std::vector<CacheId> removed;
  if (!written && still) index_.remove(still, removed), counts_.dropped += removed.size();  // the disk is full, say
  if (written && !still) removed.push_back(write.id);
  drop(lock, removed);
  return true;
}

// Before the file is written, so that the bound holds at every moment.
bool DiskCache::make_room(Lock& lock, size_t bytes) {
  if (bytes > max_bytes_) return false;
  if (index_.bytes() + bytes <= max_bytes_) return true;
  std::vector<CacheId> removed;
  // Some more than needed, so that not every page that is written looks for another one to go.
  index_.shrink(max_bytes_ - std::min(max_bytes_, bytes + max_bytes_ / 64), now_ms(), removed);
  counts_.dropped += removed.size();
  drop(lock, removed);
  return index_.bytes() + bytes <= max_bytes_;
}

void DiskCache::note_uses(Lock& lock) {
  std::vector<CacheId> used;
  used.swap(used_);
  const int64_t now = now_ms();
  lock.unlock();
  file_->begin();
  for (const CacheId& id : used) file_->touch(id, now);
  file_->commit();
  lock.lock();
}

void DiskCache::drop(Lock& lock, const std::vector<CacheId>& ids) {
  if (ids.empty()) return;
  lock.unlock();
  file_->begin();
  for (const CacheId& id : ids) {
    file_->remove(id);
    ::unlink(path(id).c_str());
  }
  file_->commit();
  lock.lock();
}
