// device: an NVIDIA GPU as a Device.
#include <algorithm>
#include <list>
#include <thread>
#include "device/cuda/calls.h"
#include "device/cuda/encoder.h"
#include "device/cuda/fault.h"
#include "device/cuda/memory.h"
#include "device/cuda/profile.h"
#include "device/cuda/start.h"
#include "device/cuda/steps.h"
#include "device/cuda/upload.h"

namespace cuda {
namespace {

int upload_threads(const DeviceOptions& options) { return std::max(1, options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency())); }

class CudaDevice final : public Device {
 public:
  CudaDevice(const DeviceOptions& options, const Gpu& gpu)
      : options_(options), gpu_(gpu), uploader_(options.precision, upload_threads(options), false), limits_(limits_of(options, gpu)), encoder_(state_, tables_, limits_), steps_(tables_, gpu.major >= 9) {
    if (options.profile) encoder_.costs = &profile_.emplace().costs;
  }
  ~CudaDevice() override {
    cudaStreamSynchronize(stream_);
    if (profile_) profile_->say();
    steps_.stop();
    cudaFreeHost(staging_);
    if (stream_) cudaStreamDestroy(stream_);
  }

  Status start() {
    CUDA_TRY("start the GPU", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    return steps_.start(stream_);
  }

  std::string name() const override { return "cuda " + gpu_.name; }
  Precision precision() const override { return options_.precision; }

  Result<std::unique_ptr<Weight>> upload(const MatrixSource& source) override {
    TRY(auto weight, uploader_.matrix(source));
    memory_.clear();
    if (recording_) TRY_STATUS(uploader_.settle());  // what is recorded holds on to its factor
    return std::unique_ptr<Weight>(std::move(weight));
  }
  Result<std::unique_ptr<Weight>> upload_lookup(const StoredMatrix& table) override {
    MatrixSource source;
    source.parts = {table};
    return upload(source);
  }
  Result<std::unique_ptr<Weight>> upload_vector(std::span<const float> values) override {
    TRY(auto weight, uploader_.vector(values));
    return std::unique_ptr<Weight>(std::move(weight));
  }
  size_t weight_bytes() const override { return uploader_.bytes(); }
  Status end_uploads(std::vector<std::string>&) override {
    TRY_STATUS(uploader_.end());
    const UploadTimes& t = uploader_.times();
    if (options_.profile)
      std::fprintf(stderr, "profile: uploads: %.2f GB packed in %.2f s, %.2f s of waiting for the GPU, %.2f s for memory\n", static_cast<double>(t.packed_bytes) * 1e-9, t.pack_s, t.wait_s, t.memory_s);
    return ok_status();
  }

  Status allocate_state(std::span<const StateSpec> layers, StatePlan plan) override {
    CUDA_TRY("end the last step", cudaStreamSynchronize(stream_));
    steps_.forget_graphs();
    memory_.clear();
    TRY_STATUS(state_.allocate(layers, plan, kind()));
    if (plan.scratch_bytes > 0 && !encoder_.arena.reserve(plan.scratch_bytes)) return no_memory("steps", plan.scratch_bytes, cudaErrorMemoryAllocation);
    return ok_status();
  }
  size_t page_bytes(std::span<const StateSpec> layers, int page_tokens) const override { return DeviceState::page_bytes(layers, page_tokens, kind()); }
  size_t slot_bytes(std::span<const StateSpec> layers) const override { return DeviceState::slot_bytes(layers); }
  void copy_page(int32_t from, int32_t to) override {
    std::vector<std::byte*> sources;
    state_.visit_page(from, [&](std::byte* p, size_t) { sources.push_back(p); });
    size_t i = 0;
    state_.visit_page(to, [&](std::byte* p, size_t n) { note(cudaMemcpyAsync(p, sources[i++], n, cudaMemcpyDeviceToDevice, stream_)); });
  }
  void copy_slot(int32_t from, int32_t to) override {
    std::vector<std::byte*> sources;
    state_.visit_slot(from, [&](std::byte* p, size_t) { sources.push_back(p); });
    size_t i = 0;
    state_.visit_slot(to, [&](std::byte* p, size_t n) { note(cudaMemcpyAsync(p, sources[i++], n, cudaMemcpyDeviceToDevice, stream_)); });
  }
  void clear_slot(int32_t slot) override {
    state_.visit_slot(slot, [&](std::byte* p, size_t n) { note(cudaMemsetAsync(p, 0, n, stream_)); });
  }
  void read_page(int32_t page, std::span<std::byte> out) const override {
    size_t at = 0;
    state_.visit_page(page, [&](std::byte* p, size_t n) { fetch(out, at, p, n); });
    wait();
  }
  void write_page(int32_t page, std::span<const std::byte> in) override {
    size_t at = 0;
    state_.visit_page(page, [&](std::byte* p, size_t n) { send(in, at, p, n); });
    wait();
  }
  void read_slot(int32_t slot, std::span<std::byte> out) const override {
    size_t at = 0;
    state_.visit_slot(slot, [&](std::byte* p, size_t n) { fetch(out, at, p, n); });
    wait();
  }
  void write_slot(int32_t slot, std::span<const std::byte> in) override {
    size_t at = 0;
    state_.visit_slot(slot, [&](std::byte* p, size_t n) { send(in, at, p, n); });
    wait();
  }

  Encoder& begin() override {
    start_recording();
    return encoder_;
  }
  void remember(const Batch& b, std::span<const SampleSpec> specs, const Tensor& result) override {
    if (profile_) return;  // it counts words
    encoder_.end();
    if (!encoder_.refusal() && encoder_.arena.refused_bytes() == 0) memory_.add(b, specs, encoder_.recording, tables_.picked, result);
  }
  std::optional<Tensor> repeat(const Batch& b, std::span<const SampleSpec> specs) override {
    StepMemory::Step* step = memory_.find(b, specs);
    if (!step) return std::nullopt;
    start_recording();
    encoder_.fill(b, step->picked, specs);
    repeated_ = &step->recording;
    return step->result;
  }

  std::span<const float> host(const Tensor& t) override {
    const size_t bytes = static_cast<size_t>(t.shape.elements()) * sizeof(float);
    if (bytes == 0) return {};
    std::byte* to = stage(bytes);
    if (!to || cudaMemcpyAsync(to, t.data, bytes, cudaMemcpyDeviceToHost, stream_) != cudaSuccess || cudaStreamSynchronize(stream_) != cudaSuccess) {
      look_whether_dead(failed("read the result of a step", cudaGetLastError()));
      return lost_.emplace_back(static_cast<size_t>(t.shape.elements()));
    }
    return {reinterpret_cast<const float*>(to), static_cast<size_t>(t.shape.elements())};
  }

  Status finish() override {
    TRY_STATUS(submit());
    while (steps_.under_way())
      if (const auto ended = await(); !ended) return ended.error();
    return ok_status();
  }
  bool samples() const override { return true; }
  int prompt_rows() const override { return liked_rows(options_.precision); }
  Status submit() override {
    recording_ = false;
    if (dead_) return *dead_;
    ++n_steps_;
    const Status status = run();
    if (!status) look_whether_dead(status.error());
    return status;
  }
  Result<std::span<const TokenId>> await() override {
    auto drawn = steps_.await();
    if (!drawn) look_whether_dead(drawn.error());
    return drawn;
  }
  const Error* dead() const override { return dead_ ? &*dead_ : nullptr; }

 private:
  void start_recording() {
    uploads_ = uploader_.settle();
    recording_ = true;
    encoder_.reset();
    staged_ = 0, repeated_ = nullptr;
  }
  Status run() {
    TRY_STATUS(uploads_);
    TRY_STATUS(uploader_.settle());
    encoder_.end();
    if (encoder_.refusal()) return Error{Code::unsupported, std::string("cannot run a step on the GPU: ") + encoder_.refusal()};
    if (encoder_.arena.refused_bytes() > 0) return no_memory("a step", encoder_.arena.refused_bytes(), cudaErrorMemoryAllocation);
    if (options_.fault.step > 0) TRY_STATUS(injected_fault());
    if (!tables_.fits()) return Error{Code::too_large, "cannot run a step on the GPU: too many rows, sequences or pages"};
    if (const cudaError_t code = std::exchange(noted_, cudaSuccess); code != cudaSuccess) return failed("run a step", code);
    return steps_.submit(repeated_ ? *repeated_ : encoder_.recording, profile_ ? &*profile_ : nullptr);
  }

  // A fault inside a kernel stays: from then on every call fails, whatever it asks for.
  void look_whether_dead(const Error& cause) const {
    cudaGetLastError();
    if (!dead_ && cudaDeviceSynchronize() != cudaSuccess) dead_ = Error{Code::device, "the GPU is out of order until this process starts anew: " + cause.message};
  }
  void wait() const {
    if (const cudaError_t code = cudaStreamSynchronize(stream_); code != cudaSuccess) look_whether_dead(failed("read the state of a sequence", code));
  }
  Status injected_fault() {
    void* none = nullptr;
    if (options_.fault.strikes(InjectedFault::Kind::memory, n_steps_))
      if (const cudaError_t code = cudaMalloc(&none, size_t{1} << 50); code != cudaSuccess) return no_memory("a step", size_t{1} << 50, code);
    if (options_.fault.strikes(InjectedFault::Kind::step, n_steps_)) CUDA_TRY("run a step", enqueue_fault(stream_));
    return ok_status();
  }

  CacheKind kind() const { return cache_kind(options_); }
  // A failure that finish reports.
  void note(cudaError_t code) const {
    if (code != cudaSuccess && noted_ == cudaSuccess) noted_ = code;
  }
  void fetch(std::span<std::byte> out, size_t& at, const std::byte* from, size_t n) const { note(cudaMemcpyAsync(out.data() + at, from, n, cudaMemcpyDeviceToHost, stream_)), at += n; }
  void send(std::span<const std::byte> in, size_t& at, std::byte* to, size_t n) { note(cudaMemcpyAsync(to, in.data() + at, n, cudaMemcpyHostToDevice, stream_)), at += n; }

  // Pinned memory for what crosses the bus in this step.
  std::byte* stage(size_t bytes) {
    bytes = (bytes + 255) / 256 * 256;
    if (staged_ + bytes > staging_size_) {
      if (staged_ > 0) {  // spans into the old memory stay valid until the next begin
        std::vector<float>& more = lost_.emplace_back(bytes / sizeof(float));
        return reinterpret_cast<std::byte*>(more.data());
      }
      cudaFreeHost(staging_);
      staging_ = nullptr, staging_size_ = 0;
      if (cudaMallocHost(&staging_, std::max(2 * bytes, size_t{8} << 20)) != cudaSuccess) return cudaGetLastError(), nullptr;
      staging_size_ = std::max(2 * bytes, size_t{8} << 20);
    }
    staged_ += bytes;
    return static_cast<std::byte*>(staging_) + staged_ - bytes;
  }

  const DeviceOptions options_;
  const Gpu gpu_;
  Uploader uploader_;
  cudaStream_t stream_ = nullptr;
  void* staging_ = nullptr;
  size_t staging_size_ = 0, staged_ = 0;
  std::list<std::vector<float>> lost_;
  Tables tables_;
  const Limits limits_;
  DeviceState state_;
  CudaEncoder encoder_;
  Steps steps_;
  StepMemory memory_;
  Recording* repeated_ = nullptr;  // this step's, when it was recorded before
  std::optional<Profile> profile_;
  mutable cudaError_t noted_ = cudaSuccess;
  bool recording_ = false;
  Status uploads_ = ok_status();
  int n_steps_ = 0;
  mutable std::optional<Error> dead_;
};

}  // namespace
}  // namespace cuda

Result<std::unique_ptr<Device>> make_cuda_device(const DeviceOptions& options) {
  TRY(const cuda::Gpu gpu, cuda::start_gpu(options));
  auto device = std::make_unique<cuda::CudaDevice>(options, gpu);
  TRY_STATUS(device->start());
  return std::unique_ptr<Device>(std::move(device));
}
