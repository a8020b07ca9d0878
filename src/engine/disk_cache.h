// disk_cache: cached pages and snapshots on disk, behind the running engine: a thread of its own reads and writes the files.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include "engine/blob_file.h"
#include "engine/disk_index.h"
#include "engine/index_file.h"

struct DiskCacheOptions {
  std::string dir;       // shared by caches of several keys, each in a folder of its own
  size_t max_bytes = 0;  // of everything in dir
  std::string key;       // all that state depends on beside tokens and space
  size_t page_tokens = 0, page_bytes = 0, slot_bytes = 0;
  bool needs_snapshots = false;
};

// State that is being read, in the order in which it is to be put back.
struct Restore {
  struct Piece { CacheId id; int32_t page = 0; bool snapshot = false; size_t bytes = 0; };  // page: place in the page table; of a snapshot, of the page behind its slot
  std::vector<Piece> pieces;
  int32_t tokens = 0;    // known when all pieces are back
  size_t bytes = 0;
  // Guarded by the cache's mutex.
  std::deque<Bytes> ready;
  size_t n_read = 0, n_taken = 0, ready_bytes = 0;
  bool failed = false, cancelled = false;
};

// Files are named by the hash chain of what they depend on and carry that name and a checksum inside; both are verified when they are read. A
// file that fails, and everything that needs it, is dropped. Only one process uses a folder; another one that comes along does without.
class DiskCache {
 public:
  struct Counts { size_t bytes = 0; uint64_t writes = 0, dropped = 0, corrupted = 0; };
  struct Nearest { int32_t at = 0; std::vector<TokenId> follows; };  // tokens in common with what is kept, and what comes behind them there

  static Result<std::unique_ptr<DiskCache>> open(const DiskCacheOptions& options);
  ~DiskCache();  // writes what still waits
  // Called on the disk thread whenever a piece of a restore is ready, or failed. To be set before the first restore.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  // Engine thread. chain[i] is the page_id of the i-th whole page of `tokens`.
  CacheId root(uint64_t space) const { return root_id(options_.key, space); }
  bool has(const CacheId& id);          // or will have
  bool room(size_t bytes);              // whether so much may be put now; otherwise writing is behind
  // Behind `parent`, which is the root or has been put; `end`: tokens from the start of the prompt.
  void put(DiskIndex::Kind kind, const CacheId& parent, const CacheId& id, int32_t end, std::span<const TokenId> tokens, Bytes bytes);
  // The longest beginning of `tokens` that can be put back, longer than `known_tokens`, of which whole pages are not needed again; or null.
  std::shared_ptr<Restore> find(const CacheId& root, std::span<const CacheId> chain, std::span<const TokenId> tokens, int32_t known_tokens);
  void start(const std::shared_ptr<Restore>& restore);
  enum class Taken : uint8_t { nothing, piece, failed };
  Taken take(Restore& restore, Bytes& piece);  // pieces[n_taken - 1]
  void cancel(Restore& restore);
  Nearest nearest(const CacheId& root, std::span<const CacheId> chain, std::span<const TokenId> tokens, size_t most_tokens);

  double read_bytes_per_s() const { return read_bytes_per_s_; }
  Counts counts();

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Write { CacheId id; Bytes bytes; };
  DiskCache(DiskCacheOptions options, std::string folder, int lock_fd, size_t elsewhere_bytes);
  Status load();
  bool plausible(const IndexFile::Row& row) const;
  std::string path(const CacheId& id) const;

  void run();
  bool read_next(Lock& lock);
  bool write_next(Lock& lock);
  bool make_room(Lock& lock, size_t bytes);
  void note_uses(Lock& lock);
  void drop(Lock& lock, const std::vector<CacheId>& ids);

  const DiskCacheOptions options_;
  const std::string folder_;
  const int lock_fd_;
  const size_t max_bytes_;
  std::function<void()> wake_;
  std::atomic<double> read_bytes_per_s_{500e6};  // until measured: a slow SSD
  std::unique_ptr<IndexFile> file_;              // disk thread, after load()

  std::mutex mutex_;                             // guards what follows
  std::condition_variable work_;
  DiskIndex index_;
  std::deque<Write> writes_;
  size_t waiting_bytes_ = 0;                     // of writes_ and of the one that is being written
  std::vector<std::shared_ptr<Restore>> restores_;
  std::vector<CacheId> used_;                    // whose last use the index file does not have
  Counts counts_;
  bool ending_ = false;
  std::thread thread_;
};
