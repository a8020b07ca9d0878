// state_plan: splits the budget between pages, slots of running sequences, and snapshots.
#include "engine/plan.h"
#include <algorithm>
#include <cstring>
#include "core/memory.h"

namespace {
constexpr int default_context_tokens = 4096;  // for a model that does not say
constexpr size_t snapshots_per_sequence = 3;  // the last two turns, and one inside the prompt

std::string mib(size_t bytes) { return std::to_string((bytes + (size_t{1} << 20) - 1) >> 20) + " MiB"; }

struct Needs {
  size_t page_bytes, slot_bytes, page_tokens, max_sequences;
  bool recurrent, snapshots;
  size_t pages(size_t tokens) const { return (tokens + page_tokens - 1) / page_tokens; }
  // One page more than a longest sequence: while a shared last page is copied, both exist.
  size_t least(size_t tokens) const { return (pages(tokens) + 1) * page_bytes + (recurrent ? slot_bytes : 0); }
  size_t slots() const { return recurrent ? max_sequences * (snapshots ? 1 + snapshots_per_sequence : 1) : 0; }
  size_t most_pages(size_t tokens) const { return max_sequences * pages(tokens) + 1; }
  size_t most(size_t tokens) const { return most_pages(tokens) * page_bytes + slots() * slot_bytes; }
};

// The longest context that one sequence can have in `budget`.
size_t fitting_context(const Needs& n, size_t budget) {
  const size_t fixed = n.page_bytes + (n.recurrent ? n.slot_bytes : 0);
  if (budget < fixed) return 0;
  return n.page_bytes == 0 ? SIZE_MAX : (budget - fixed) / n.page_bytes * n.page_tokens;
}

StatePlan split(const Needs& n, size_t context, size_t budget, bool use_all) {
  StatePlan plan;
  plan.page_tokens = static_cast<int32_t>(n.page_tokens);
  const size_t beside_pages = budget - std::min(budget, (n.pages(context) + 1) * n.page_bytes);
  size_t slots = n.slots();
  // Half of the budget at most, so that slots (which are large) do not push the pages of other sequences out.
  if (n.slot_bytes > 0) slots = std::min({slots, beside_pages / n.slot_bytes, std::max<size_t>(2, budget / 2 / n.slot_bytes)});
  if (n.recurrent) slots = std::max<size_t>(slots, 1);
  size_t pages = n.most_pages(context);
  if (n.page_bytes > 0) {
    const size_t affordable = (budget - slots * n.slot_bytes) / n.page_bytes;
    pages = use_all ? affordable : std::min(pages, affordable);
  }
  plan.n_pages = static_cast<int32_t>(std::min<size_t>(pages, INT32_MAX));
  plan.n_slots = static_cast<int32_t>(slots);
  return plan;
}
Needs needs_of(const Device& device, const Model& model, const EngineOptions& o) {
  const auto states = model.states();
  Needs n{device.page_bytes(states, o.page_tokens), device.slot_bytes(states), static_cast<size_t>(o.page_tokens), static_cast<size_t>(o.max_sequences),
          false, o.prefix_cache};
  n.recurrent = std::ranges::any_of(states, [](const StateSpec& s) { return s.kind == StateSpec::Kind::recurrent; });
  return n;
}
size_t wanted_context(const Model& model, const EngineOptions& o) {
  const int own = model.config().max_positions > 0 ? model.config().max_positions : default_context_tokens;
  return static_cast<size_t>(o.context_tokens > 0 ? o.context_tokens : own);
}
}  // namespace

size_t least_state_bytes(const Device& device, const Model& model, const EngineOptions& options, int context_tokens) {
  return needs_of(device, model, options).least(static_cast<size_t>(std::max(context_tokens, 1)));
}
size_t most_state_bytes(const Device& device, const Model& model, const EngineOptions& options) { return needs_of(device, model, options).most(wanted_context(model, options)); }

Result<EnginePlan> plan_state(const Device& device, const Model& model, const EngineOptions& o) {
  const Needs n = needs_of(device, model, o);
  size_t context = wanted_context(model, o);
  const bool given = o.state_bytes > 0;
  const size_t budget = given ? o.state_bytes : std::min(available_memory_bytes() / 2, n.most(context));
  const size_t fits = fitting_context(n, budget);
  if (o.context_tokens == 0) context = std::min(context, fits);
  if (fits < context || context < 1)
    return Error{Code::too_large, "cannot hold one sequence of " + std::to_string(context > 0 ? context : n.page_tokens) + " tokens: its state takes " +
                                      mib(n.least(std::max<size_t>(context, 1))) + ", " + (given ? "state_bytes allows " : "half of the free memory is ") +
                                      mib(budget) + (fits > 0 ? ", enough for " + std::to_string(fits) + " tokens" : "")};
  StatePlan state = split(n, context, budget, given);
  state.scratch_bytes = o.scratch_bytes;
  return EnginePlan{state, static_cast<int>(context), n.recurrent, static_cast<size_t>(state.n_pages) * n.page_bytes + static_cast<size_t>(state.n_slots) * n.slot_bytes};
}
