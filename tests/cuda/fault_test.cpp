// fault: what becomes of a device whose kernel went wrong, and of a step that found no memory. Each in a process of its own: the fault takes the context along.
#include <cstdlib>
#include <gtest/gtest.h>
#include "cuda/gpu.h"
#include "device/plan.h"

namespace {

// A step that looks one row up.
Status look_up(Device& device, const Weight& table) {
  const std::vector<TokenId> ids{1};
  device.begin().embed(table, ids, 1);
  return device.finish();
}

struct Rig {
  std::unique_ptr<Device> device;
  std::unique_ptr<Weight> table;
  explicit Rig(const char* fault) {
    DeviceOptions options;
    options.device = test_device(), options.precision = Precision::exact, options.fault = parse_fault(fault).value();
    device = std::move(*make_device(options));
    static const std::vector<float> values(4 * 64, 1.0f);
    table = std::move(*device->upload_lookup({find_format("F32"), {4, 64}, std::as_bytes(std::span(values)), {}, {}}));
    std::vector<std::string> notes;
    if (!device->end_uploads(notes)) std::exit(2);
  }
};

#define REQUIRE(condition) \
  if (!(condition)) std::fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition), std::exit(1)

TEST(FaultDeathTest, AKernelThatGoesWrongLeavesADeadDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Rig rig("step:2");
        REQUIRE(look_up(*rig.device, *rig.table) && !rig.device->dead());
        const Status second = look_up(*rig.device, *rig.table);
        REQUIRE(!second && second.error().code == Code::device && rig.device->dead());
        const Status third = look_up(*rig.device, *rig.table);
        REQUIRE(!third && third.error().message == rig.device->dead()->message);
        const bool gpu = std::string_view(test_device()) == "cuda";
        REQUIRE(!gpu || rig.device->dead()->message.find("cudaErrorIllegalAddress") != std::string::npos);
        DeviceOptions again;
        again.device = "cuda";
        REQUIRE(!gpu || !choose_device(again));  // not in this process
        again.device = "auto";
        REQUIRE(!gpu || choose_device(again)->device == "cpu");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(FaultDeathTest, AStepWithoutMemoryFailsAlone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Rig rig("memory:2");
        REQUIRE(look_up(*rig.device, *rig.table));
        const Status second = look_up(*rig.device, *rig.table);
        REQUIRE(!second && second.error().code == Code::device && !rig.device->dead());
        REQUIRE(second.error().message.find("memory") != std::string::npos);
        REQUIRE(look_up(*rig.device, *rig.table));
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
