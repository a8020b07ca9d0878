// steps: runs what was recorded: sends its tables, launches its kernels or replays them as a graph, and lets the host go on meanwhile.
#pragma once
#include <optional>
#include <unordered_map>
#include "device/cuda/graphs.h"
#include "device/cuda/profile.h"
#include "device/cuda/recording.h"
#include "device/cuda/state.h"

namespace cuda {

// Everything is ordered by one stream, so two steps under way share their tables, their arena and the graphs that read them on the device; only
// what the host writes and reads is there twice: the tables on their way, and the ids that come back.
class Steps {
 public:
  Steps(Tables& tables, bool overlap) : tables_(tables), overlap_(overlap) {}
  ~Steps() { stop(); }
  Status start(cudaStream_t stream);
  // profile: may be null; then kernels are launched one by one and waited for.
  Status submit(Recording& recording, Profile* profile);
  Result<std::span<const TokenId>> await();  // the oldest step under way
  bool under_way() const { return n_under_way_ > 0; }
  void stop();
  void forget_graphs() { graphs_.clear(); }  // the addresses in them are no longer true

 private:
  struct Side {  // of the host, for one step
    std::byte* tables = nullptr;
    size_t tables_size = 0, n_drawn = 0;
    cudaEvent_t ended = nullptr;
  };
  Status send(Side& side);
  Status launch(const Recording& recording, const Launch& l, bool overlap_with_last);
  Status launch_all(const Recording& recording);
  Status replay(Recording& recording);
  Status capture(const Recording& recording, cudaGraphExec_t& graph);

  Tables& tables_;
  const bool overlap_;  // kernels may start while the one before them still runs
  std::unordered_map<const void*, uint32_t> allowed_shared_;  // dynamic shared memory that a kernel may have by now
  cudaStream_t stream_ = nullptr;
  void* tables_memory_ = nullptr;
  int32_t *which_on_device_ = nullptr, *drawn_on_host_ = nullptr;
  Side sides_[2];
  size_t oldest_ = 0, n_under_way_ = 0;
  Graphs graphs_;
};

}  // namespace cuda
