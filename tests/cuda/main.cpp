// main: the tests of the NVIDIA device. Without a GPU they say so and count as skipped; where CALLA_REQUIRE_GPU is set that is a failure.
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include "cuda/gpu.h"
#include "cuda/twins.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  DeviceOptions options;
  options.device = test_device();
  if (testing::GTEST_FLAG(filter).starts_with("Host")) return RUN_ALL_TESTS();  // those need none
  if (const auto device = make_device(options); !device) {
    std::cout << "SKIPPED: no NVIDIA GPU: " << device.error().message << "\n";  // ctest knows these words, see cmake/tests.cmake
    return std::getenv("CALLA_REQUIRE_GPU") ? 1 : 0;
  }
  const int result = RUN_ALL_TESTS();
  print_distances();
  return result;
}
