// memory_plan: a dry load and dry steps of the largest sizes.
#include "app/memory_plan.h"

#include <fmt/format.h>
#include <algorithm>
#include "app/console.h"

namespace {

constexpr int kLeastContext = 2048;  // a model that cannot hold this much is of no use to a server, unless less was asked for
constexpr int kDeepContext = 32768;  // how far back the recorded steps look: attention over more is cut into no more pieces

std::string size(size_t bytes) { return human_bytes(static_cast<double>(bytes)); }

int own_context(const ModelConfig& config) { return config.max_positions > 0 ? config.max_positions : 4096; }

// Records a step of `n_sequences` times `rows` rows, each behind `past` tokens.
void record(Device& device, const Model& model, int n_sequences, int rows, int past, int page_tokens) {
  const size_t all = static_cast<size_t>(n_sequences) * static_cast<size_t>(rows);
  const std::vector<TokenId> ids(all);
  std::vector<int32_t> positions(all), logit_rows;
  const std::vector<int32_t> pages(static_cast<size_t>((past + rows + page_tokens - 1) / page_tokens + 1));
  std::vector<SequenceRows> sequences;
  for (int s = 0; s < n_sequences; s++) {
    sequences.push_back({s * rows, rows, past, pages.data(), 0});
    for (int r = 0; r < rows; r++) positions[static_cast<size_t>(s * rows + r)] = past + r;
    logit_rows.push_back((s + 1) * rows - 1);
  }
  model.forward(device.begin(), {ids, positions, sequences, logit_rows});
}

// all: of what may be asked for, because memory is taken once.
Result<size_t> measure_scratch(const DryDevice& dry, const Model& model, const EngineOptions& o, bool all) {
  TRY_STATUS(dry.device->allocate_state(model.states(), {1, o.page_tokens, 1}));
  const int deepest = o.context_tokens > 0 ? o.context_tokens : own_context(model.config()), context = all ? deepest : std::min(deepest, kDeepContext);
  const int rows = std::clamp(std::min(o.prefill_chunk, o.max_batch_tokens), 1, context);
  record(*dry.device, model, 1, rows, context - rows, o.page_tokens);
  record(*dry.device, model, o.max_sequences, 1, context - 1, o.page_tokens);
  return dry.scratch_bytes();
}

}  // namespace

Result<MemoryPlanner> MemoryPlanner::open(const WeightFile& file, const DeviceOptions& device, const EngineOptions& engine, size_t room) {
  constexpr int kLeastRows = 512;
  TRY(MemoryPlanner planner, rehearse(file, device, engine));
  while (planner.least_bytes() > room && engine.prefill_chunk == 0 && engine.max_batch_tokens == 0 && planner.engine_.prefill_chunk >= 2 * kLeastRows) {
    EngineOptions fewer = engine;
    fewer.prefill_chunk = fewer.max_batch_tokens = planner.engine_.prefill_chunk / 2;
    TRY(planner, rehearse(file, device, fewer));
  }
  return planner;
}

Result<MemoryPlanner> MemoryPlanner::rehearse(const WeightFile& file, const DeviceOptions& device, const EngineOptions& engine) {
  MemoryPlanner planner;
  planner.device_memory_ = device_memory(device.device);
  TRY(planner.dry_, make_dry_device(device));
  planner.engine_ = with_device_sizes(engine, *planner.dry_.device);
  TRY(planner.loaded_, load_model(file, *planner.dry_.device));
  const Model& model = *planner.loaded_.model;
  TRY(planner.scratch_, measure_scratch(planner.dry_, model, planner.engine_, planner.own_memory()));
  const int context = engine.context_tokens > 0 ? engine.context_tokens : std::min(own_context(model.config()), kLeastContext);
  planner.least_state_ = least_state_bytes(*planner.dry_.device, model, engine, context);
  return planner;
}

Result<MemoryPlan> MemoryPlanner::plan(size_t available_bytes) const {
  if (least_bytes() > available_bytes) return refusal(available_bytes);
  MemoryPlan plan;
  plan.weight_bytes = dry_.device->weight_bytes();
  plan.scratch_bytes = scratch_;
  plan.kept_bytes = device_memory_ ? device_memory_->kept_bytes : 0;
  plan.engine = engine_;
  plan.engine.scratch_bytes = device_memory_ ? scratch_ : 0;
  const size_t useful = std::min((available_bytes - fixed_bytes()) / 2, most_state_bytes(*dry_.device, *loaded_.model, engine_));
  plan.engine.state_bytes = std::max(least_state_, engine_.state_bytes > 0 ? std::min(useful, engine_.state_bytes) : useful);
  TRY(plan.state, plan_state(*dry_.device, *loaded_.model, plan.engine));
  return plan;
}

Error MemoryPlanner::refusal(size_t available) const {
  const size_t weights = dry_.device->weight_bytes(), beside = scratch_ + least_state_;
  std::string message = fmt::format("it takes {} of weights, {} of scratch and at least {} of state, {} in all; {} are available", size(weights), size(scratch_), size(least_state_),
                                    size(least_bytes()), size(available));
  if (device_memory_) message += fmt::format(" of the GPU's {}", size(device_memory_->total_bytes));
  if (const int context = fitting_context(available); context > 0 && context < engine_.context_tokens) message += fmt::format("; a context of {0} tokens would fit (--ctx-size {0})", context);
  else if (available > beside) message += fmt::format("; weights of at most {} would fit: a quantisation {:.1f} times smaller", size(available - beside), static_cast<double>(weights) / static_cast<double>(available - beside));
  return {Code::too_large, message};
}

int MemoryPlanner::fitting_context(size_t available_bytes) const {
  const auto fits = [&](int context) { return fixed_bytes() + least_state_bytes(*dry_.device, *loaded_.model, engine_, context) <= available_bytes; };
  int low = 0, high = own_context(config()) / 1024;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    fits(middle * 1024) ? low = middle : high = middle - 1;
  }
  return low * 1024;
}

std::string describe(const MemoryPlan& plan, size_t available_bytes) {
  const std::string kept = plan.kept_bytes > 0 ? fmt::format(" of GPU memory, {} more kept free for its driver", size(plan.kept_bytes)) : "";
  return fmt::format("weights {}, state up to {} ({} {} at once, context {} tokens), scratch {}: {} of {} that are available{}", size(plan.weight_bytes), size(plan.state.state_bytes),
                     plan.engine.max_sequences, plan.engine.max_sequences == 1 ? "sequence" : "sequences", plan.state.context_tokens, size(plan.scratch_bytes), size(plan.total_bytes()), size(available_bytes), kept);
}
