// gpu: the device under test, fed and read through its public words only, and poisoned before every step.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "device/device.h"

const char* test_device();  // "cuda", or another one from CALLA_TEST_DEVICE: to try the tests themselves

class Gpu {
 public:
  explicit Gpu(DeviceOptions options);
  static Gpu& of(Precision precision);  // one for the whole program
  Device& device() { return *device_; }
  bool exact() const { return device_->precision() == Precision::exact; }

  std::unique_ptr<Weight> upload(const MatrixSource& source);
  std::unique_ptr<Weight> upload(const StoredMatrix& matrix, bool precise = false, int32_t n_experts = 1);
  std::unique_ptr<Weight> vector(std::span<const float> values);
  // State of these layers; what nobody has written yet is NaN, slots begin cleared.
  void allocate_state(std::span<const StateSpec> layers, StatePlan plan);

  // Records and runs a step over NaN. Inputs are host arrays that input() turned into tensors.
  void run(const std::function<void(Encoder&)>& record);
  Tensor input(Encoder& e, std::span<const float> x, Shape shape);  // shape[0] the same for all inputs of a step
  std::vector<float> read(const Tensor& t);

 private:
  void poison();
  std::unique_ptr<Device> device_;
  std::unique_ptr<Weight> one_row_;
  std::vector<std::unique_ptr<Weight>> inputs_;  // of this step
  std::vector<TokenId> ids_;
};

// Pages in an order that is not that of the tokens: sequence s of n has its pages at [s * per_sequence, ..).
std::vector<int32_t> scattered_pages(int n_pages);
// The rows of a step: `rows` and `past` of each sequence; pages and slots by the sequence's number.
class Step {
 public:
  struct Part { int32_t rows, past; int32_t sequence; };
  Step(std::span<const Part> parts, std::span<const int32_t> pages = {}, int pages_each = 0, std::span<const int32_t> logit_rows = {});
  Step(const Step&) = delete;
  const Batch& batch() const { return batch_; }
  int32_t rows() const { return static_cast<int32_t>(ids_.size()); }

 private:
  std::vector<TokenId> ids_;
  std::vector<int32_t> positions_;
  std::vector<SequenceRows> sequences_;
  Batch batch_;
};
