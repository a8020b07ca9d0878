// dry: the GPU as a Device that counts: no memory is taken, no call reaches a driver.
#include "device/cuda/encoder.h"
#include "device/cuda/start.h"
#include "device/cuda/upload.h"
#include "device/plan.h"

namespace cuda {
namespace {

class DryCudaDevice final : public Device {
 public:
  DryCudaDevice(const DeviceOptions& options, const Limits& limits) : options_(options), limits_(limits), uploader_(options.precision, 1, true), encoder_(state_, tables_, limits_, true) {}
  std::string name() const override { return "cuda, dry"; }
  Precision precision() const override { return options_.precision; }
  Result<std::unique_ptr<Weight>> upload(const MatrixSource& source) override {
    TRY(auto weight, uploader_.matrix(source));
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
  bool samples() const override { return true; }
  int prompt_rows() const override { return liked_rows(options_.precision); }
  bool has_packed() const override { return true; }  // nothing is read

  Status allocate_state(std::span<const StateSpec> layers, StatePlan plan) override {
    state_.describe(layers, plan, kind());
    return ok_status();
  }
  size_t page_bytes(std::span<const StateSpec> layers, int page_tokens) const override { return DeviceState::page_bytes(layers, page_tokens, kind()); }
  size_t slot_bytes(std::span<const StateSpec> layers) const override { return DeviceState::slot_bytes(layers); }
  void copy_page(int32_t, int32_t) override {}
  void copy_slot(int32_t, int32_t) override {}
  void clear_slot(int32_t) override {}
  void read_page(int32_t, std::span<std::byte>) const override {}
  void write_page(int32_t, std::span<const std::byte>) override {}
  void read_slot(int32_t, std::span<std::byte>) const override {}
  void write_slot(int32_t, std::span<const std::byte>) override {}

  Encoder& begin() override {
    encoder_.end();
    encoder_.reset();
    return encoder_;
  }
  Status finish() override { return Error{Code::internal, "cannot run a step on a dry device"}; }
  std::span<const float> host(const Tensor&) override { return {}; }
  size_t scratch_bytes() {
    encoder_.end();
    return encoder_.arena.most_bytes();
  }

 private:
  CacheKind kind() const { return cache_kind(options_); }
  const DeviceOptions options_;
  const Limits limits_;
  Uploader uploader_;
  Tables tables_;
  DeviceState state_;
  CudaEncoder encoder_;
};

}  // namespace
}  // namespace cuda

Result<DryDevice> make_dry_cuda_device(const DeviceOptions& options) {
  cuda::Gpu gpu;  // of one that is not here
  gpu.major = 9, gpu.multiprocessors = 132, gpu.most_shared = 227 << 10;
  if (auto found = cuda::start_gpu(options)) gpu = std::move(*found);
  auto device = std::make_unique<cuda::DryCudaDevice>(options, cuda::limits_of(options, gpu));
  std::function<size_t()> scratch_bytes = [raw = device.get()] { return raw->scratch_bytes(); };
  return DryDevice{std::move(device), std::move(scratch_bytes)};
}
