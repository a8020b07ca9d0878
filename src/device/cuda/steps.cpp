// steps: from a recording to kernels on the stream, and back to ids.
#include "device/cuda/steps.h"

#include <algorithm>
#include <utility>
#include "core/hash.h"
#include "device/cuda/calls.h"
#include "device/cuda/send.h"

namespace cuda {
namespace {

constexpr int64_t kGraphRows = 64;  // steps of more rows are launched kernel by kernel: their shapes hardly repeat

template <class T> constexpr size_t words_of(int64_t n) { return static_cast<size_t>(n) * sizeof(T) / sizeof(uint32_t); }

}  // namespace

void Steps::stop() {
  graphs_.clear();
  for (Side& side : sides_) {
    cudaFreeHost(std::exchange(side.tables, nullptr));
    if (side.ended) cudaEventDestroy(std::exchange(side.ended, nullptr));
  }
  cudaFreeHost(std::exchange(drawn_on_host_, nullptr));
  cudaFree(std::exchange(tables_memory_, nullptr));
}

Status Steps::start(cudaStream_t stream) {
  stream_ = stream;
  constexpr auto rows = static_cast<size_t>(Tables::max_rows), sequences = static_cast<size_t>(Tables::max_sequences), pages = static_cast<size_t>(Tables::max_pages), fold_heads = static_cast<size_t>(Tables::max_fold_heads);
  constexpr size_t words = words_of<SampleSpec>(Tables::max_sequences) + words_of<SequenceOnDevice>(Tables::max_sequences) + 4 * rows + (2 + fold_heads) * sequences + pages + 64;
  CUDA_TRY("take memory for tables", cudaMalloc(&tables_memory_, words * sizeof(uint32_t)));
  auto* at = static_cast<int32_t*>(tables_memory_);
  const auto next = [&](size_t n) { return std::exchange(at, at + n); };
  tables_.specs_on_device = reinterpret_cast<SampleSpec*>(next(words_of<SampleSpec>(Tables::max_sequences)));
  tables_.ids_on_device = next(rows), tables_.positions_on_device = next(rows), tables_.row_sequence_on_device = next(rows), tables_.picked_on_device = next(rows);
  tables_.sequences_on_device = reinterpret_cast<SequenceOnDevice*>(next(words_of<SequenceOnDevice>(Tables::max_sequences)));
  which_on_device_ = next(64);
  tables_.drawn.on_device = next(sequences);
  tables_.turns_on_device = reinterpret_cast<uint32_t*>(next(sequences));
  tables_.fold_turns_on_device = reinterpret_cast<uint32_t*>(next(fold_heads * sequences));
  tables_.pages_on_device = at;
  CUDA_TRY("clear tables", cudaMemset(tables_.turns_on_device, 0, (1 + fold_heads) * sequences * sizeof(uint32_t)));
  CUDA_TRY("take pinned memory for ids", cudaMallocHost(reinterpret_cast<void**>(&drawn_on_host_), 2 * sequences * sizeof(int32_t)));
  tables_.drawn.on_host = drawn_on_host_, tables_.drawn.which = which_on_device_, tables_.drawn.stride = static_cast<int64_t>(sequences);
  for (Side& side : sides_) CUDA_TRY("start the GPU", cudaEventCreateWithFlags(&side.ended, cudaEventDisableTiming));
  return ok_status();
}

Status Steps::submit(Recording& recording, Profile* profile) {
  CHECK(n_under_way_ < 2);
  const size_t which = (oldest_ + n_under_way_) % 2;
  Side& side = sides_[which];
  TRY_STATUS(send(side));
  if (profile) {
    TRY_STATUS(profile->run(recording, std::ssize(tables_.ids), stream_, [&](const Launch& l) { return launch(recording, l, false); }));
  } else if (std::ssize(tables_.ids) <= kGraphRows) {
    TRY_STATUS(replay(recording));
  } else {
    TRY_STATUS(launch_all(recording));
  }
  CUDA_TRY("run a step", cudaEventRecord(side.ended, stream_));
  side.n_drawn = tables_.specs.size();
  ++n_under_way_;
  return ok_status();
}

Result<std::span<const TokenId>> Steps::await() {
  CHECK(n_under_way_ > 0);
  const size_t which = oldest_;
  oldest_ = (oldest_ + 1) % 2, --n_under_way_;
  CUDA_TRY("run a step", cudaEventSynchronize(sides_[which].ended));
  return std::span<const TokenId>(drawn_on_host_ + which * static_cast<size_t>(Tables::max_sequences), sides_[which].n_drawn);
}

Status Steps::send(Side& side) {
  const auto which = static_cast<uint32_t>(&side - sides_);
  const auto words = [](const auto& table) { return static_cast<uint32_t>(words_of<typename std::decay_t<decltype(table)>::value_type>(std::ssize(table))); };
  const size_t bytes = sizeof(uint32_t) * (size_t{1} + words(tables_.specs) + words(tables_.ids) + words(tables_.positions) + words(tables_.row_sequence) + words(tables_.picked) + words(tables_.sequences) + words(tables_.pages));
  if (bytes > side.tables_size) {
    cudaFreeHost(std::exchange(side.tables, nullptr));
    const size_t size = std::exchange(side.tables_size, 0) == 0 ? std::max(bytes, size_t{256} << 10) : 2 * bytes;
    CUDA_TRY("take pinned memory for a step's tables", cudaMallocHost(reinterpret_cast<void**>(&side.tables), size));
    side.tables_size = size;
  }
  SendArgs args;
  args.from = reinterpret_cast<const uint32_t*>(side.tables), args.drawn = tables_.drawn.on_device;
  uint32_t end = 0;
  const auto put = [&](SendArgs::Part part, const void* from, uint32_t n, void* to) {
    if (n > 0) std::memcpy(side.tables + sizeof(uint32_t) * end, from, sizeof(uint32_t) * n);
    args.to[part] = static_cast<uint32_t*>(to), args.ends[part] = end += n;
  };
  put(SendArgs::specs, tables_.specs.data(), words(tables_.specs), tables_.specs_on_device);
  put(SendArgs::which, &which, 1, which_on_device_);
  put(SendArgs::ids, tables_.ids.data(), words(tables_.ids), tables_.ids_on_device);
  put(SendArgs::positions, tables_.positions.data(), words(tables_.positions), tables_.positions_on_device);
  put(SendArgs::row_sequence, tables_.row_sequence.data(), words(tables_.row_sequence), tables_.row_sequence_on_device);
  put(SendArgs::picked, tables_.picked.data(), words(tables_.picked), tables_.picked_on_device);
  put(SendArgs::sequences, tables_.sequences.data(), words(tables_.sequences), tables_.sequences_on_device);
  put(SendArgs::pages, tables_.pages.data(), words(tables_.pages), tables_.pages_on_device);
  CUDA_TRY("send a step's tables", send_tables(args, stream_));
  return ok_status();
}

Status Steps::launch(const Recording& recording, const Launch& l, bool overlap_with_last) {
  cudaLaunchConfig_t config{};
  config.gridDim = l.grid, config.blockDim = l.block, config.dynamicSmemBytes = l.shared_bytes, config.stream = stream_;
  if (uint32_t& allowed = allowed_shared_[l.kernel]; l.shared_bytes > std::max(allowed, 48u << 10)) {
    CUDA_TRY("take shared memory", cudaFuncSetAttribute(l.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(l.shared_bytes)));
    allowed = l.shared_bytes;
    cudaFuncAttributes about{};  // clusters come to run as many at once as they have shared memory for; a wish, so that a refusal is no error
    if (cudaFuncGetAttributes(&about, l.kernel) == cudaSuccess && about.requiredClusterWidth > 0) cudaFuncSetAttribute(l.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
    cudaGetLastError();
  }
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap, config.numAttrs = overlap_with_last ? 1 : 0;
  void* arguments[] = {const_cast<std::byte*>(recording.arguments.data()) + l.at};
  if (const cudaError_t code = cudaLaunchKernelExC(&config, l.kernel, arguments); code != cudaSuccess) return failed(std::string("launch ") + l.name, code);
  return ok_status();
}

Status Steps::launch_all(const Recording& recording) {
  for (const Launch& l : recording.launches) TRY_STATUS(launch(recording, l, overlap_));
  return ok_status();
}

// The same launches as before, with the same arguments: one graph. What differs lies in the tables.
Status Steps::replay(Recording& recording) {
  if (recording.signature == 0) recording.signature = xxh64(recording.arguments) * 0x9E3779B97F4A7C15ull ^ xxh64(std::as_bytes(std::span(recording.launches)));
  Graphs::Entry* entry = graphs_.find(recording.signature);
  if (!entry) {
    graphs_.add(recording.signature);
    return launch_all(recording);
  }
  if (!entry->graph) TRY_STATUS(capture(recording, entry->graph));
  CUDA_TRY("run a recorded step", cudaGraphLaunch(entry->graph, stream_));
  return ok_status();
}

Status Steps::capture(const Recording& recording, cudaGraphExec_t& to) {
  CUDA_TRY("record a step", cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  const Status launched = launch_all(recording);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
  if (!launched) return launched.error();
  if (ended != cudaSuccess) return failed("record a step", ended);
  const cudaError_t made = cudaGraphInstantiate(&to, graph, 0);
  cudaGraphDestroy(graph);
  if (made != cudaSuccess) return to = nullptr, failed("record a step", made);
  return ok_status();
}

}  // namespace cuda
