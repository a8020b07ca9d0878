// upload: a ring of stages. The host fills one while the copies, and the GPU's own packing, of those before it go on.
#include "device/cuda/upload.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include "device/cuda/repack.h"

namespace cuda {

namespace {

constexpr size_t kStageBytes = size_t{32} << 20, kAlign = 256;

// Adds the time until it goes to `to`.
class Timer {
 public:
  explicit Timer(double& to) : to_(to) {}
  ~Timer() { to_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

 private:
  double& to_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

Matrix tiles_of(const cpu::PackedMatrix& m) {
  return {nullptr, static_cast<int64_t>(m.tile_bytes), static_cast<int64_t>(m.tile_bytes) * m.tiles, static_cast<int32_t>(m.rows), static_cast<int32_t>(m.cols), m.post_scale, m.layout};
}

}  // namespace

Status Uploader::start() {
  if (!stream_) {
    const Timer timer(times_.memory_s);
    if (Status taken = take_staging(); !taken) return drop_staging(), taken;
  }
  under_way_ = true;
  return ok_status();
}

Status Uploader::take_staging() {
  CUDA_TRY("start uploads to the GPU", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  for (Stage& s : stages_) {
    CUDA_TRY("take " + std::to_string(kStageBytes >> 20) + " MiB of pinned memory for uploads", cudaHostAlloc(reinterpret_cast<void**>(&s.host), kStageBytes, cudaHostAllocDefault));
    if (const cudaError_t code = cudaMalloc(reinterpret_cast<void**>(&s.device), kStageBytes); code != cudaSuccess) return no_memory("uploads", kStageBytes, code);
    CUDA_TRY("start uploads to the GPU", cudaEventCreateWithFlags(&s.empty, cudaEventDisableTiming));
  }
  CUDA_TRY("start uploads to the GPU", cudaMalloc(reinterpret_cast<void**>(&largest_), kMaxPending * sizeof(uint32_t)));
  CUDA_TRY("start uploads to the GPU", cudaMemsetAsync(largest_, 0, kMaxPending * sizeof(uint32_t), stream_));
  team_.emplace(threads_, false);
  return ok_status();
}

void Uploader::drop_staging() {
  if (stream_) cudaStreamSynchronize(stream_), cudaStreamDestroy(stream_);
  for (Stage& s : stages_) {
    if (s.host) cudaFreeHost(s.host);
    if (s.device) cudaFree(s.device);
    if (s.empty) cudaEventDestroy(s.empty);
    s = {};
  }
  if (largest_) cudaFree(largest_);
  stream_ = nullptr, largest_ = nullptr;
  now_ = 0;
  under_way_ = false;
  pending_.clear();
  team_.reset();
}

Status Uploader::next_stage() {
  CUDA_TRY("upload weights", cudaEventRecord(stages_[now_].empty, stream_));
  now_ = (now_ + 1) % kStages;
  stages_[now_].used = 0;
  const Timer timer(times_.wait_s);
  CUDA_TRY("upload weights", cudaEventSynchronize(stages_[now_].empty));
  return ok_status();
}

Result<Uploader::Room> Uploader::room(size_t bytes) {
  CHECK(bytes <= kStageBytes);
  if (stages_[now_].used + bytes > kStageBytes) TRY_STATUS(next_stage());
  Stage& s = stages_[now_];
  const size_t at = s.used;
  s.used = (at + bytes + kAlign - 1) / kAlign * kAlign;
  return Room{s.host + at, s.device + at};
}

Result<std::byte*> Uploader::send(const cpu::Packer& packer, int64_t first, int64_t last, std::byte* to) {
  const size_t bytes = static_cast<size_t>(last - first) * packer.matrix().tile_bytes;
  TRY(const Room here, room(bytes));
  {
    const Timer timer(times_.pack_s);
    TRY_STATUS(packer.fill(first, last, here.host, *team_));
  }
  if (!to) to = here.device;
  CUDA_TRY("upload a weight matrix", cudaMemcpyAsync(to, here.host, bytes, cudaMemcpyHostToDevice, stream_));
  times_.packed_bytes += bytes;
  return to;
}

Status Uploader::send_tiles(const cpu::Packer& packer, const DeviceMatrix& to) {
  const cpu::PackedMatrix& m = packer.matrix();
  const auto at_once = static_cast<int64_t>(kStageBytes / m.tile_bytes);
  for (int64_t first = 0; first < m.n_experts * m.tiles; first += at_once)
    TRY_STATUS(send(packer, first, std::min(first + at_once, m.n_experts * m.tiles), to.memory.get() + static_cast<size_t>(first) * m.tile_bytes));
  return ok_status();
}

Status Uploader::send_strips(const cpu::Packer& packer, DeviceMatrix& to) {
  const cpu::PackedMatrix& m = packer.matrix();
  const int64_t tiles = m.n_experts * m.tiles, at_once = static_cast<int64_t>(kStageBytes / m.tile_bytes);
  CHECK(pending_.size() < kMaxPending);
  uint32_t* const largest = largest_ + pending_.size();
  // Floats are stored in units of their largest: a matrix of them that takes more than one piece passes twice.
  const bool twice = cpu::is_float(m.layout.codes) && tiles > at_once;
  for (int pass = twice ? 0 : 1; pass < 2; pass++)
    for (int64_t first = 0; first < tiles; first += at_once) {
      const int64_t last = std::min(first + at_once, tiles);
      TRY(const std::byte* const staged, send(packer, first, last, nullptr));
      Matrix piece = tiles_of(m);
      piece.data = reinterpret_cast<const uint8_t*>(staged);
      if (pass == 0 || !twice) CUDA_TRY("lay a weight matrix out on the GPU", find_largest(piece, last - first, largest, stream_));
      if (pass == 1) CUDA_TRY("lay a weight matrix out on the GPU", repack_piece(piece, first, last - first, to.strips, largest, stream_));
    }
  pending_.push_back(&to);
  return ok_status();
}

Status Uploader::send_floats(const cpu::Packer& packer, const DeviceMatrix& to) {
  const cpu::PackedMatrix& m = packer.matrix();
  const auto at_once = static_cast<int64_t>(kStageBytes / m.tile_bytes);
  for (int64_t first = 0; first < m.tiles; first += at_once) {
    const int64_t last = std::min(first + at_once, m.tiles), row = first * cpu::kTileRows;
    TRY(const std::byte* const staged, send(packer, first, last, nullptr));
    Matrix piece = tiles_of(m);
    piece.data = reinterpret_cast<const uint8_t*>(staged);
    piece.rows = static_cast<int32_t>(std::min(m.rows, last * cpu::kTileRows) - row);
    CUDA_TRY("lay a weight matrix out on the GPU", unpack_rows(piece, reinterpret_cast<float*>(to.memory.get()) + row * m.cols, stream_));
  }
  return ok_status();
}

Result<std::unique_ptr<DeviceMatrix>> Uploader::matrix(const MatrixSource& source) {
  const cpu::Packer packer(source);
  const cpu::PackedMatrix& m = packer.matrix();
  if (m.tile_bytes > kStageBytes) return Error{Code::unsupported, "rows too wide for the GPU: " + std::to_string(m.cols) + " columns"};
  using Form = DeviceMatrix::Form;
  auto weight = std::make_unique<DeviceMatrix>();
  weight->rows = static_cast<int32_t>(m.rows), weight->cols = static_cast<int32_t>(m.cols);
  weight->n_experts = m.n_experts;
  weight->format_name = m.format_name;
  weight->form = precision_ == Precision::exact ? Form::tiles : source.precise && m.n_experts == 1 ? Form::floats : Form::strips;
  size_t bytes = m.bytes;
  if (weight->form == Form::strips) weight->strips = plan_strips(m.layout, m.rows, m.cols, m.post_scale), bytes = static_cast<size_t>(strips_bytes(weight->strips, m.n_experts));
  if (weight->form == Form::floats) bytes = static_cast<size_t>(m.rows * m.cols) * sizeof(float);
  {
    const Timer timer(times_.memory_s);
    weight->memory = slabs_.take(bytes);
  }
  if (!weight->memory) return no_memory("a weight matrix", bytes, cudaGetLastError());
  const auto* const data = reinterpret_cast<const uint8_t*>(weight->memory.get());
  if (weight->form == Form::tiles) weight->tiles = tiles_of(m), weight->tiles.data = data;
  if (weight->form == Form::strips) weight->strips.data = data;
  if (dry_) return weight;
  TRY_STATUS(start());
  if (weight->form == Form::tiles) TRY_STATUS(send_tiles(packer, *weight));
  if (weight->form == Form::floats) TRY_STATUS(send_floats(packer, *weight));
  if (weight->form == Form::strips) TRY_STATUS(send_strips(packer, *weight));
  return weight;
}

Result<std::unique_ptr<DeviceVector>> Uploader::vector(std::span<const float> values) {
  auto weight = std::make_unique<DeviceVector>();
  weight->size = std::ssize(values);
  weight->memory = slabs_.take(values.size_bytes());
  if (!weight->memory) return no_memory("a vector of weights", values.size_bytes(), cudaGetLastError());
  weight->data = reinterpret_cast<float*>(weight->memory.get());
  if (dry_) return weight;
  TRY_STATUS(start());
  const auto bytes = std::as_bytes(values);
  for (size_t at = 0; at < bytes.size(); at += kStageBytes) {
    const auto piece = bytes.subspan(at, std::min(kStageBytes, bytes.size() - at));
    TRY(const Room here, room(piece.size()));
    std::memcpy(here.host, piece.data(), piece.size());
    CUDA_TRY("upload a vector of weights", cudaMemcpyAsync(weight->memory.get() + at, here.host, piece.size(), cudaMemcpyHostToDevice, stream_));
  }
  return weight;
}

Status Uploader::settle() {
  if (!under_way_) return ok_status();
  const Timer timer(times_.wait_s);
  std::vector<uint32_t> largest(pending_.size());
  CUDA_TRY("upload weights", cudaMemcpyAsync(largest.data(), largest_, largest.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream_));
  CUDA_TRY("upload weights", cudaMemsetAsync(largest_, 0, largest.size() * sizeof(uint32_t), stream_));
  CUDA_TRY("upload weights", cudaStreamSynchronize(stream_));
  for (size_t i = 0; i < pending_.size(); i++) set_unit(pending_[i]->strips, largest[i]);
  pending_.clear();
  under_way_ = false;
  return ok_status();
}

Status Uploader::end() {
  Status settled = settle();
  drop_staging();
  return settled;
}

}  // namespace cuda
