// calibrate_test: the loops that measure a machine's ceilings do the work that they count.
#include <gtest/gtest.h>
#include "device/isas.h"

namespace {

TEST(Calibrate, Int8LoopsCountWhatTheyMultiply) {
  for (const cpu::IsaEntry& isa : cpu::runnable_isas()) {
    float once = 0, thrice = 0;
    const int64_t macs = isa.kernels->int8_peak(100, &once);
    EXPECT_GE(macs, 6400) << isa.name;
    EXPECT_EQ(isa.kernels->int8_peak(300, &thrice), 3 * macs) << isa.name;
    EXPECT_EQ(thrice, 3 * once) << isa.name;
    EXPECT_NE(once, 0) << isa.name;
  }
}

TEST(Calibrate, MeasuresBothCeilings) {
  DeviceOptions options;
  options.threads = 2;
  const auto calibration = make_cpu_calibration(options);
  ASSERT_TRUE(calibration);
  EXPECT_EQ((*calibration)->threads, 2);
  EXPECT_EQ((*calibration)->isa, (*calibration)->best_isa);
  const Ceilings c = (*calibration)->measure();
  EXPECT_GT(c.read_bytes_per_s, 1e8);
  EXPECT_GT(c.macs_per_s, 1e8);
}

TEST(Calibrate, AnInstructionSetThatIsNotHereIsRefused) {
  DeviceOptions options;
  options.isa = "mmx";
  const auto calibration = make_cpu_calibration(options);
  ASSERT_FALSE(calibration);
  EXPECT_EQ(calibration.error().message, "cannot use instruction set mmx: this machine or build lacks it");
}

}  // namespace
