// selftest_checks: batched = alone, cached = afresh, any chunk, any thread count, any ISA; and how far fast is from exact.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <latch>
#include <thread>
#include "app/console.h"
#include "app/probabilities.h"
#include "app/selftest.h"
#include "device/plan.h"

namespace {

constexpr int kLengths[16] = {1, 2, 3, 5, 7, 8, 13, 17, 31, 32, 33, 64, 65, 96, 130, 160};
constexpr int kAnswer = 12;
constexpr float kIsaBound = 1e-3f;      // exact precision: float32 sums in another order
constexpr double kKlBound = 2e-3;       // fast against exact, on real models
constexpr double kTopBound = 0.99;

Line verdict(std::string name, const Comparison& c, const std::string& more = "") { return {std::move(name), c.text() + (more.empty() ? "" : ", " + more), c.different == 0}; }

Result<std::vector<Trial>> one_by_one(Engine& engine, const Prompts& prompts, std::span<const int> lengths) {
  std::vector<Trial> trials;
  for (size_t i = 0; i < lengths.size(); i++) {
    TRY(auto trial, try_prompt(engine, prompts.make(lengths[i], static_cast<int>(i)), kAnswer, false));
    trials.push_back(std::move(trial));
  }
  return trials;
}

Result<std::vector<Trial>> all_at_once(Engine& engine, const Prompts& prompts, std::span<const int> lengths) {
  std::vector<std::optional<Result<Trial>>> slots(lengths.size());
  std::latch start(static_cast<std::ptrdiff_t>(lengths.size()));
  {
    std::vector<std::jthread> callers;
    for (size_t i = 0; i < lengths.size(); i++)
      callers.emplace_back([&, i] {
        const auto prompt = prompts.make(lengths[i], static_cast<int>(i));
        start.arrive_and_wait();
        slots[i] = try_prompt(engine, prompt, kAnswer, false);
      });
  }
  std::vector<Trial> trials;
  for (auto& slot : slots) {
    TRY(auto trial, std::move(*slot));
    trials.push_back(std::move(trial));
  }
  return trials;
}

// The long prompt of the chunk and thread checks.
Result<std::vector<Trial>> long_and_short(const Options& options, const Prompts& prompts, int prefill_chunk) {
  TRY(auto model, open_for_test(options, prefill_chunk));
  const int lengths[] = {600, 20};
  return one_by_one(*model.engine, prompts, lengths);
}

constexpr int kShort[] = {24, 9, 1};

Line within_bound(std::string name, std::span<const Trial> reference, std::span<const Trial> trials) {
  const Comparison c = compare(reference, trials);
  Line line = verdict(std::move(name), c, fmt::format("at most {:g} allowed", kIsaBound));
  line.ok = line.ok && c.largest_difference <= kIsaBound;
  return line;
}

// Where the model does not run on the CPU, the CPU is what it has to agree with.
Status check_against_cpu(SelftestContext& context) {
  std::vector<std::vector<Trial>> trials;
  for (const std::string& device : {std::string("cpu"), context.options.device}) {
    Options options = context.options;
    options.device = device;
    options.precision = Precision::exact;
    TRY(auto model, open_for_test(options, 512));
    TRY(auto some, one_by_one(*model.engine, context.prompts, kShort));
    trials.push_back(std::move(some));
  }
  context.add(within_bound("exact precision, GPU = CPU", trials[0], trials[1]));
  return ok_status();
}

}  // namespace

Status check_batch(SelftestContext& context, OpenedModel& model) {
  const uint64_t before = model.engine->stats().steps;
  TRY(const auto alone, one_by_one(*model.engine, context.prompts, kLengths));
  const uint64_t between = model.engine->stats().steps;
  TRY(const auto together, all_at_once(*model.engine, context.prompts, kLengths));
  const uint64_t after = model.engine->stats().steps;
  context.add(verdict("16 sequences together = each alone", compare(alone, together), fmt::format("{} steps instead of {}", after - between, between - before)));
  return ok_status();
}

Status check_cache(SelftestContext& context, OpenedModel& model) {
  std::vector<TokenId> talk = context.prompts.make(200, 3);
  TRY(const Trial first, try_prompt(*model.engine, talk, 24, true));
  talk.insert(talk.end(), first.ids.begin(), first.ids.end());
  const auto more = context.prompts.make(40, 9);
  talk.insert(talk.end(), more.begin(), more.end());
  TRY(const Trial continued, try_prompt(*model.engine, talk, kAnswer, true));
  TRY(const Trial afresh, try_prompt(*model.engine, talk, kAnswer, false));
  Line line = verdict("conversation continued from the cache = afresh", compare({&afresh, 1}, {&continued, 1}),
                      fmt::format("{} of {} prompt tokens reused", continued.finish.cached_tokens, talk.size()));
  line.ok = line.ok && continued.finish.cached_tokens > 0 && afresh.finish.cached_tokens == 0;
  context.add(std::move(line));
  return ok_status();
}

Status check_chunks(SelftestContext& context) {
  TRY(const auto whole, long_and_short(context.options, context.prompts, 1024));
  for (const int chunk : {1, 7, 64, 512}) {
    TRY(const auto cut, long_and_short(context.options, context.prompts, chunk));
    context.add(verdict(fmt::format("prefill in chunks of {} = whole", chunk), compare(whole, cut)));
  }
  return ok_status();
}

Status check_threads(SelftestContext& context) {
  std::vector<std::vector<Trial>> trials;
  for (const int threads : {1, 2}) {
    Options options = context.options;
    options.threads = threads;
    TRY(auto run, long_and_short(options, context.prompts, 512));
    trials.push_back(std::move(run));
  }
  context.add(verdict("1 thread = 2 threads", compare(trials[0], trials[1])));
  return ok_status();
}

Status check_isas(SelftestContext& context) {
  TRY(const DeviceChoice choice, choose_device(device_options(context.options)));
  if (choice.device != "cpu") return check_against_cpu(context);
  std::vector<Trial> reference;
  for (const char* isa : {"scalar", "avx2", "avx512", "amx", "neon"}) {
    Options options = context.options;
    options.isa = isa;
    options.precision = Precision::exact;
    const std::string name = fmt::format("exact precision, {} = scalar", isa);
    DeviceOptions probe = device_options(options);
    probe.threads = 1;
    if (const auto device = make_cpu_device(probe); !device) {
      context.add({name, device.error().message, true, true});
      continue;
    }
    TRY(auto model, open_for_test(options, 512));
    TRY(auto trials, one_by_one(*model.engine, context.prompts, kShort));
    if (reference.empty()) {
      reference = std::move(trials);
      continue;
    }
    context.add(within_bound(name, reference, trials));
  }
  return ok_status();
}

Status check_precision(SelftestContext& context) {
  std::vector<std::vector<float>> exact;
  double sum = 0;
  int same = 0, positions = 0;
  for (const Precision precision : {Precision::exact, Precision::fast}) {
    Options options = context.options;
    options.precision = precision;
    TRY(auto model, open_for_test(options, 512));
    const size_t row_bytes = static_cast<size_t>(model.engine->config().vocab_size) * sizeof(float);
    const int length = static_cast<int>(std::clamp<size_t>((size_t{192} << 20) / row_bytes, 16, 256));  // rows are kept: at most 192 MB
    Generation request;
    request.prompt = context.prompts.make(length, 0);
    request.sampling.temperature = 0;
    request.max_tokens = 1;
    request.use_cache = false;
    request.prompt_logits = [&](int position, std::span<const float> logits) {
      if (precision == Precision::exact) return void(exact.emplace_back(logits.begin(), logits.end()));
      const auto& truth = exact[static_cast<size_t>(position)];
      sum += divergence(truth, logits);
      same += best(truth) == best(logits);
      positions++;
    };
    TRY(const Finish finish, model.engine->generate(request, [](const TokenEvent&) { return true; }));
    (void)finish;
  }
  const double kl = sum / std::max(1, positions), agreement = static_cast<double>(same) / std::max(1, positions);
  Line line{"fast precision against exact", fmt::format("mean KL {:.2g}, same best token in {:.1f} % of {} positions", kl, 100 * agreement, positions)};
  if (context.prompts.real()) {
    line.figures += fmt::format(" (at most {:g} and at least {:g} % allowed)", kKlBound, 100 * kTopBound);
    line.ok = kl <= kKlBound && agreement >= kTopBound;
  } else {
    line.figures += " (no bound for a dummy vocabulary)";
    line.ok = std::isfinite(kl);
  }
  context.add(std::move(line));
  return ok_status();
}
