// fault: what becomes of a device whose kernel went wrong, and of a step that found no memory. Each in a process of its own: the fault takes the context along.
#include <cstdlib>
#include <gtest/gtest.h>
#include <source_location>
#include "cuda/gpu.h"
#include "device/plan.h"

namespace {

void require(bool holds, std::source_location at = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "line %u does not hold\n", static_cast<unsigned>(at.line()));
  std::_Exit(1);
}

// A device told to fail, and steps that look one row up.
class Failing {
 public:
  explicit Failing(const char* fault) {
    DeviceOptions options;
    options.device = test_device(), options.precision = Precision::exact, options.fault = parse_fault(fault).value();
    device_ = std::move(*make_device(options));
    table_ = std::move(*device_->upload_lookup({find_format("F32"), {4, 64}, std::as_bytes(std::span(values_)), {}, {}}));
    std::vector<std::string> notes;
    require(static_cast<bool>(device_->end_uploads(notes)));
  }
  Status step() {
    const std::vector<TokenId> ids{1};
    device_->begin().embed(*table_, ids, 1);
    return device_->finish();
  }
  const Error* dead() const { return device_->dead(); }

 private:
  const std::vector<float> values_ = std::vector<float>(4 * 64, 1.0f);
  std::unique_ptr<Device> device_;
  std::unique_ptr<Weight> table_;
};

void die_in_the_second_step() {
  Failing device("step:2");
  require(device.step() && !device.dead());
  const Status second = device.step();
  require(!second && second.error().code == Code::device && device.dead());
  const Status third = device.step();
  require(!third && third.error().message == device.dead()->message);
  if (std::string_view(test_device()) == "cuda") {
    require(device.dead()->message.find("cudaErrorIllegalAddress") != std::string::npos);
    DeviceOptions again;
    again.device = "cuda";
    require(!choose_device(again));  // not in this process
    again.device = "auto";
    require(choose_device(again)->device == "cpu");
  }
  std::_Exit(0);
}

void find_no_memory_in_the_second_step() {
  Failing device("memory:2");
  require(static_cast<bool>(device.step()));
  const Status second = device.step();
  require(!second && second.error().code == Code::device && !device.dead());
  require(second.error().message.find("memory") != std::string::npos);
  require(static_cast<bool>(device.step()));
  std::_Exit(0);
}

TEST(FaultDeathTest, AKernelThatGoesWrongLeavesADeadDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(die_in_the_second_step(), testing::ExitedWithCode(0), "");
}

TEST(FaultDeathTest, AStepWithoutMemoryFailsAlone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(find_no_memory_in_the_second_step(), testing::ExitedWithCode(0), "");
}

}  // namespace
