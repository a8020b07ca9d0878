// profile: the GPU is held back until a stretch of launches is queued, so that what is measured is kernels and not how fast the host launches them.
#include "device/cuda/profile.h"

#include <algorithm>
#include <cstdio>
#include <semaphore>
#include <string_view>

namespace cuda {
namespace {

constexpr size_t kStretch = 128;     // launches that fit into a stream's queue together with their events
constexpr int64_t kDecodeRows = 64;  // a step of more reads prompts

std::binary_semaphore stretch_is_queued{0};
void CUDART_CB wait_until_queued(void*) { stretch_is_queued.acquire(); }

Status check(cudaError_t code) {
  if (code == cudaSuccess) return ok_status();
  return Error{Code::device, std::string("cannot measure a step: CUDA says ") + cudaGetErrorName(code) + ", " + cudaGetErrorString(code)};
}

// Launches are named after what they do: the first word tells the kind of work.
Work work_of(std::string_view launch) {
  constexpr std::pair<const char*, Work> words[] = {{"linear", Work::matrices}, {"floats", Work::matrices}, {"halves", Work::matrices}, {"experts", Work::experts}, {"group", Work::experts},
                                                    {"attention", Work::attention}, {"merge", Work::attention}, {"delta", Work::delta}, {"convolution", Work::delta}, {"history", Work::delta}};
  for (const auto& [word, work] : words)
    if (launch.starts_with(word)) return work;
  return Work::rest;
}

}  // namespace

Profile::~Profile() {
  for (const cudaEvent_t e : events_) cudaEventDestroy(e);
}

Status Profile::run_stretch(std::span<const Launch> launches, cudaStream_t stream, const std::function<Status(const Launch&)>& launch) {
  while (events_.size() < 2 * launches.size()) TRY_STATUS(check(cudaEventCreate(&events_.emplace_back())));
  // A kernel that never ran is loaded when it is launched, which waits for the GPU: such a stretch cannot be held back.
  const bool hold = std::ranges::all_of(launches, [&](const Launch& l) { return loaded_.contains(l.kernel); });
  for (const Launch& l : launches) loaded_.insert(l.kernel);
  if (hold) TRY_STATUS(check(cudaLaunchHostFunc(stream, wait_until_queued, nullptr)));
  Status queued = ok_status();
  for (size_t i = 0; i < launches.size() && queued; i++) {
    queued = check(cudaEventRecord(events_[2 * i], stream));
    if (queued) queued = launch(launches[i]);
    if (queued) queued = check(cudaEventRecord(events_[2 * i + 1], stream));
  }
  if (hold) stretch_is_queued.release();  // also after a failure: the stream waits for it
  const Status done = check(cudaStreamSynchronize(stream));
  TRY_STATUS(queued);
  TRY_STATUS(done);
  for (size_t i = 0; i < launches.size(); i++) {
    float ms = 0;
    TRY_STATUS(check(cudaEventElapsedTime(&ms, events_[2 * i], events_[2 * i + 1])));
    seconds_.push_back(ms * 1e-3);
  }
  return ok_status();
}

Status Profile::run(const Recording& recording, int64_t rows, cudaStream_t stream, const std::function<Status(const Launch&)>& launch) {
  const std::span<const Launch> all = recording.launches;
  seconds_.clear();
  for (size_t at = 0; at < all.size(); at += kStretch) TRY_STATUS(run_stretch(all.subspan(at, std::min(kStretch, all.size() - at)), stream, launch));
  Kind& kind = rows <= kDecodeRows ? decode_ : prefill_;
  kind.steps++, kind.rows += rows, kind.launches += std::ssize(all);
  for (size_t i = 0; i < all.size(); i++) {
    Total& t = kind.by_name[all[i].name];
    t.calls++, t.seconds += seconds_[i], kind.seconds += seconds_[i];
  }
  for (size_t i = 0; i < costs.size(); i++) kind.costs[i] += costs[i];
  costs = {};
  return ok_status();
}

void Profile::say() const {
  Ceilings best;
  if (const auto calibration = make_cuda_calibration({})) best = (*calibration)->measure();
  for (const Kind* kind : {&prefill_, &decode_})
    if (kind->steps > 0) say_kernels(*kind), say_floors(*kind, best);
}

void Profile::say_kernels(const Kind& kind) {
  const auto steps = static_cast<double>(kind.steps);
  std::fprintf(stderr, "profile: %s: %lld steps of %.1f rows and %.0f kernels, %.1f us a step with each kernel by itself\n", kind.name, static_cast<long long>(kind.steps), static_cast<double>(kind.rows) / steps,
               static_cast<double>(kind.launches) / steps, kind.seconds / steps * 1e6);
  std::fprintf(stderr, "profile: %-20s %10s %10s %11s %7s\n", "kernel", "a step", "us each", "us a step", "%");
  std::vector<std::pair<std::string, Total>> rows(kind.by_name.begin(), kind.by_name.end());
  std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [name, t] : rows)
    std::fprintf(stderr, "profile: %-20s %10.1f %10.2f %11.1f %7.1f\n", name.c_str(), static_cast<double>(t.calls) / steps, t.seconds / static_cast<double>(t.calls) * 1e6, t.seconds / steps * 1e6, 100 * t.seconds / kind.seconds);
}

// At the rates that this GPU has just shown; "-" where it would not be measured.
void Profile::say_floors(const Kind& kind, const Ceilings& best) {
  static constexpr const char* names[kWorks] = {"matrices", "experts", "attention", "delta rule", "rest"};
  std::array<double, kWorks> seconds{};
  for (const auto& [name, t] : kind.by_name) seconds[static_cast<size_t>(work_of(name))] += t.seconds;
  const auto steps = static_cast<double>(kind.steps);
  std::fprintf(stderr, "profile: %-20s %10s %10s %11s %7s   at %.2f TB/s and %.0f TFLOPS\n", "kind of work", "bytes, us", "macs, us", "us a step", "x floor", best.read_bytes_per_s * 1e-12, 2e-12 * best.macs_per_s);
  for (size_t i = 0; i < kWorks; i++) {
    const double bytes = best.read_bytes_per_s > 0 ? kind.costs[i].bytes / best.read_bytes_per_s : 0, macs = best.macs_per_s > 0 ? kind.costs[i].macs / best.macs_per_s : 0, floor = std::max(bytes, macs);
    if (seconds[i] <= 0) continue;
    std::fprintf(stderr, "profile: %-20s", names[i]);
    if (floor > 0) std::fprintf(stderr, " %10.1f %10.1f %11.1f %7.1f\n", bytes / steps * 1e6, macs / steps * 1e6, seconds[i] / steps * 1e6, seconds[i] / floor);
    else std::fprintf(stderr, " %10s %10s %11.1f %7s\n", "-", "-", seconds[i] / steps * 1e6, "-");
  }
}

}  // namespace cuda
