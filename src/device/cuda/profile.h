// profile: what each kernel of a step takes, launched one by one between events, and how far each kind of work is from the least time it could take.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>
#include "device/cuda/cost.h"
#include "device/cuda/recording.h"

namespace cuda {

class Profile {
 public:
  Profile() = default;
  Profile(const Profile&) = delete;
  ~Profile();
  Costs costs{};  // of the step that is recorded
  // Calls `launch` for each kernel of a step in order, waits for the GPU and adds up the times by name.
  Status run(const Recording& recording, int64_t rows, cudaStream_t stream, const std::function<Status(const Launch&)>& launch);
  void say() const;  // on standard error

 private:
  struct Total { int64_t calls = 0; double seconds = 0; };
  struct Kind { const char* name; int64_t steps = 0, rows = 0, launches = 0; double seconds = 0; std::map<std::string, Total> by_name{}; Costs costs{}; };
  Status run_stretch(std::span<const Launch> launches, cudaStream_t stream, const std::function<Status(const Launch&)>& launch);
  std::vector<cudaEvent_t> events_;  // before and behind each launch of a stretch
  std::vector<double> seconds_;      // of each launch of the step
  std::set<const void*> loaded_;     // kernels that ran already
  Kind decode_{"decode"}, prefill_{"prefill"};
  static void say_kernels(const Kind& kind);
  static void say_floors(const Kind& kind, const Ceilings& best);
};

}  // namespace cuda
