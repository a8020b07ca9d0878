// arena: device memory for one step's tensors: bump allocation that gives the same addresses to the same requests, so that recorded steps can be replayed.
#pragma once
#include <vector>
#include "core/core.h"

namespace cuda {

class Arena {
 public:
  struct Mark { size_t chunk = 0, at = 0; };
  explicit Arena(bool dry = false) : dry_(dry) {}  // dry: only counts, what is handed out must not be touched
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  bool reserve(size_t bytes);  // in one piece, before anything is taken
  void* take(size_t bytes);    // 256-byte aligned; null when the device has no more: see refused_bytes()
  template <class T> T* array(int64_t n) { return static_cast<T*>(take(static_cast<size_t>(n) * sizeof(T))); }
  Mark mark() const { return now_; }
  void rewind(Mark to) { now_ = to; }
  void restart() { now_ = {}, refused_ = 0; }  // everything taken is free again
  size_t refused_bytes() const { return refused_; }  // of the first request since the restart that failed
  bool dry() const { return dry_; }
  size_t bytes() const;  // taken of the device
  size_t most_bytes() const { return most_; }  // of one chunk: enough for every step so far when they all began in one

 private:
  struct Chunk { std::byte* data; size_t size; };
  std::vector<Chunk> chunks_;
  Mark now_;
  const bool dry_;
  size_t refused_ = 0, most_ = 0;
};

}  // namespace cuda
