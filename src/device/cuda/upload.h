// upload: weights on their way to the GPU: packed by all threads of the host into pinned memory, copied while the next ones are packed, and turned
// into strips on the GPU where that is their form.
#pragma once
#include <optional>
#include "device/cpu/team.h"
#include "device/cuda/calls.h"
#include "device/cuda/slabs.h"
#include "device/cuda/weights.h"

namespace cuda {

// Where the time of uploads went, on the thread that waits for them.
struct UploadTimes { double pack_s = 0, wait_s = 0, memory_s = 0; size_t packed_bytes = 0; };

class Uploader {
 public:
  Uploader(Precision precision, int threads, bool dry) : precision_(precision), threads_(threads), dry_(dry), slabs_(dry) {}
  ~Uploader() { drop_staging(); }
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // The bytes are on their way when these return; the source is not read any more.
  Result<std::unique_ptr<DeviceMatrix>> matrix(const MatrixSource& source);
  Result<std::unique_ptr<DeviceVector>> vector(std::span<const float> values);
  // Waits for everything under way and settles what the GPU found out about strips: before anything is read. All matrices uploaded since the last time
  // still exist.
  Status settle();
  Status end();  // the same, and gives back what only uploads need; more may follow
  size_t bytes() const { return slabs_.bytes(); }  // of GPU memory, for good
  const UploadTimes& times() const { return times_; }

 private:
  // A stretch of pinned memory, and of GPU memory beside it, in which bytes wait for their turn.
  struct Stage {
    std::byte *host = nullptr, *device = nullptr;
    cudaEvent_t empty = nullptr;  // everything in it has been taken
    size_t used = 0;
  };
  struct Room { std::byte *host, *device; };
  Status start();
  Result<Room> room(size_t bytes);
  Status next_stage();
  Status take_staging();
  Status send_tiles(const cpu::Packer& packer, const DeviceMatrix& to);
  Status send_strips(const cpu::Packer& packer, DeviceMatrix& to);
  Status send_floats(const cpu::Packer& packer, const DeviceMatrix& to);
  // Packs tiles [first, last) and sends them to `to`, or to where this returns.
  Result<std::byte*> send(const cpu::Packer& packer, int64_t first, int64_t last, std::byte* to);
  void drop_staging();

  static constexpr int kStages = 3;
  static constexpr size_t kMaxPending = 1 << 16;
  const Precision precision_;
  const int threads_;
  const bool dry_;
  Slabs slabs_;
  std::optional<cpu::Team> team_;
  cudaStream_t stream_ = nullptr;
  Stage stages_[kStages];
  int now_ = 0;
  bool under_way_ = false;
  uint32_t* largest_ = nullptr;          // GPU memory: of each pending matrix
  std::vector<DeviceMatrix*> pending_;   // strips without their unit
  UploadTimes times_;
};

}  // namespace cuda
