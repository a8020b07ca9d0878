// device: why a GPU is not used, in words, from what a runtime would have answered; faults that tests ask for; the choice where there is no GPU.
#include "device/cuda/refusals.h"
#include <gtest/gtest.h>
#include "device/plan.h"

namespace {

using namespace cuda;

constexpr size_t kGiB = size_t{1} << 30;
RuntimeSeen seen(std::vector<GpuSeen> gpus) { return {.driver = 13000, .runtime = 13000, .driver_too_old = false, .error = "", .gpus = std::move(gpus)}; }
std::string refusal(const RuntimeSeen& seen, int wanted = -1) {
  const auto chosen = choose_gpu(seen, wanted);
  if (chosen) return "GPU " + std::to_string(*chosen);
  EXPECT_EQ(chosen.error().code, Code::unsupported);
  return chosen.error().message;
}

TEST(GpuChoice, SaysWhyThereIsNone) {
  RuntimeSeen none = seen({});
  EXPECT_EQ(refusal(none), "cannot use an NVIDIA GPU: the driver sees none");
  none.driver_too_old = true, none.driver = 12040;
  EXPECT_EQ(refusal(none), "cannot use an NVIDIA GPU: the driver is too old: CUDA 13.0 needed, it knows CUDA 12.4");
  none.driver = 0;
  EXPECT_EQ(refusal(none), "cannot use an NVIDIA GPU: no driver is installed");
  RuntimeSeen broken = seen({});
  broken.error = "cudaErrorUnknown, unknown error";
  EXPECT_EQ(refusal(broken), "cannot use an NVIDIA GPU: CUDA says cudaErrorUnknown, unknown error (driver for CUDA 13.0, CUDA 13.0 in this build)");
}

TEST(GpuChoice, RefusesOldGpus) {
  EXPECT_EQ(refusal(seen({{"Tesla V100", 7, 0, 16 * kGiB}})), "cannot use an NVIDIA GPU: compute capability 8.0 or later needed, Tesla V100 has 7.0");
  EXPECT_EQ(no_kernels({"Some GPU", 11, 2, kGiB}, "cudaErrorNoKernelImageForDevice, no kernel image").message,
            "cannot use an NVIDIA GPU: this build has no kernels for Some GPU, compute capability 11.2: CUDA says cudaErrorNoKernelImageForDevice, no kernel image (see CMAKE_CUDA_ARCHITECTURES)");
}

TEST(GpuChoice, TakesTheLatestThenTheLargestThenTheFirst) {
  const RuntimeSeen four = seen({{"V100", 7, 0, 32 * kGiB}, {"A100", 8, 0, 40 * kGiB}, {"H100", 9, 0, 80 * kGiB}, {"H200", 9, 0, 141 * kGiB}});
  EXPECT_EQ(refusal(four), "GPU 3");
  EXPECT_EQ(refusal(four, 1), "GPU 1");
  EXPECT_EQ(refusal(four, 0), "cannot use an NVIDIA GPU: compute capability 8.0 or later needed, V100 has 7.0");
  EXPECT_EQ(refusal(four, 4), "cannot use an NVIDIA GPU: number 4 was asked for, the driver sees 4, numbers 0 to 3");
  EXPECT_EQ(refusal(seen({{"A100", 8, 0, 40 * kGiB}}), 1), "cannot use an NVIDIA GPU: number 1 was asked for, the driver sees 1, number 0");
  EXPECT_EQ(refusal(seen({{"A", 8, 6, kGiB}, {"B", 8, 6, kGiB}})), "GPU 0");
}

TEST(GpuChoice, ReadsItsNumber) {
  EXPECT_EQ(wanted_gpu("cuda"), -1);
  EXPECT_EQ(wanted_gpu("cuda:0"), 0);
  EXPECT_EQ(wanted_gpu("cuda:12"), 12);
  for (const char* wrong : {"cpu", "cuda:", "cuda:-1", "cuda:1x", "cuda: 1", "cuda:99999", "cudas"}) EXPECT_EQ(wanted_gpu(wrong), std::nullopt) << wrong;
}

TEST(GpuMemory, IsRefusedWithNumbers) {
  EXPECT_EQ(memory_refused("a step", 3 * kGiB + 1, 2 * kGiB, 141 * kGiB), "cannot take 3073 MiB of GPU memory for a step: 2048 MiB of 144384 are free");
  EXPECT_EQ(memory_refused("a step", kGiB, 0, 0), "cannot take 1024 MiB of GPU memory for a step: there is no more");
}

TEST(Faults, AreReadWholeOrNotAtAll) {
  EXPECT_TRUE(parse_fault("step:3")->strikes(InjectedFault::Kind::step, 3));
  EXPECT_FALSE(parse_fault("step:3")->strikes(InjectedFault::Kind::step, 4));
  EXPECT_FALSE(parse_fault("step:3")->strikes(InjectedFault::Kind::memory, 3));
  EXPECT_TRUE(parse_fault("memory:1")->strikes(InjectedFault::Kind::memory, 1));
  for (const char* wrong : {"", "step", "step:", "step:0", "step:-1", "step:1x", "stop:1"}) EXPECT_FALSE(parse_fault(wrong)) << wrong;
  EXPECT_FALSE(InjectedFault{}.strikes(InjectedFault::Kind::step, 0));
}

TEST(DeviceChoice, NamesOneOrRefuses) {
  DeviceOptions options;
  ASSERT_TRUE(choose_device(options));
  EXPECT_EQ(choose_device(options)->device, "cpu");
  EXPECT_FALSE(device_memory("cpu"));
  options.device = "abacus";
  EXPECT_EQ(choose_device(options).error().message, "cannot start a device named abacus: one of cuda, cpu, auto expected");
  EXPECT_FALSE(make_device(options));
  options.device = "auto";
  const auto found = choose_device(options);
  ASSERT_TRUE(found);
  options.device = "cuda";
  const auto gpu = choose_device(options);
  EXPECT_EQ(found->device, gpu ? gpu->device : "cpu");
  if (gpu) return;
  EXPECT_EQ(found->why, "cpu: " + gpu.error().message);
  EXPECT_TRUE(gpu.error().message.starts_with("cannot use an NVIDIA GPU: ")) << gpu.error().message;
  EXPECT_EQ(make_device(options).error().message, gpu.error().message);
}

// A dry device of any kind gives sizes without the hardware; one of this build.
TEST(DryDevice, CpuNeedsNoMemory) {
  const auto dry = make_dry_device(DeviceOptions{});
  ASSERT_TRUE(dry);
  EXPECT_EQ(dry->device->weight_bytes(), 0u);
}

}  // namespace
