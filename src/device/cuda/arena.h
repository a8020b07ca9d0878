// arena: device memory for one step's tensors: bump allocation that gives the same addresses to the same requests, so that recorded steps can be replayed.
#pragma once
#include <vector>
#include "core/core.h"

namespace cuda {

class Arena {
 public:
  struct Mark { size_t chunk = 0, at = 0; };
  ~Arena();
  void* take(size_t bytes);  // 256-byte aligned; null when the device has no more: see failed()
  template <class T> T* array(int64_t n) { return static_cast<T*>(take(static_cast<size_t>(n) * sizeof(T))); }
  Mark mark() const { return now_; }
  void rewind(Mark to) { now_ = to; }
  bool failed() const { return failed_; }
  size_t bytes() const;

 private:
  struct Chunk { std::byte* data; size_t size; };
  std::vector<Chunk> chunks_;
  Mark now_;
  bool failed_ = false;
};

}  // namespace cuda
