// perplexity: how well a model foresees a text, in one window.
#include <fmt/format.h>
#include <cmath>
#include "app/commands.h"
#include "app/console.h"
#include "app/open.h"
#include "app/probabilities.h"
#include "core/mapped_file.h"

namespace {

struct Measured { double ppl = 0; size_t n_tokens = 0; };

Result<std::vector<TokenId>> window(const Options& options, const OpenedModel& model, size_t limit) {
  const std::string& path = options.arguments[0];
  TRY(const std::string text, path == "-" ? read_standard_input("the text") : read_file(path, size_t{64} << 20));
  std::vector<TokenId> ids = model.tokenizer->encode(text, {.special = true, .bos_eos = true});
  if (ids.size() > limit) {
    note(fmt::format("{} has {} tokens: the first {}, which fit the context, are measured", path, ids.size(), limit));
    ids.resize(limit);
  }
  if (ids.size() < 2) return Error{Code::invalid_request, fmt::format("cannot measure: {}: at least 2 tokens expected, {} found", path, ids.size())};
  return ids;
}

Result<Measured> measure(const Options& options) {
  OpenTuning tuning{engine_options(options), false};
  tuning.engine.max_sequences = 1;
  tuning.engine.prefix_cache = false;
  if (options.context > 0) tuning.engine.context_tokens = options.context + 1;  // the engine keeps room for a token after the prompt
  TRY(const OpenedModel model, open_model(options, tuning));
  if (!model.tokenizer) return Error{Code::unsupported, model.tokenizer_error};
  TRY(const auto ids, window(options, model, static_cast<size_t>(std::max(2, model.engine->context_tokens() - 1))));
  double sum = 0;
  Generation request;
  request.prompt = ids;
  request.sampling.temperature = 0;
  request.max_tokens = 1;
  request.use_cache = false;
  ProgressLine line;
  request.prompt_logits = [&](int position, std::span<const float> logits) {
    const auto next = static_cast<size_t>(position) + 1;
    if (next < ids.size()) sum -= log_probability(logits, ids[next]);
    line.show(fmt::format("{} of {} tokens", next, ids.size()));
  };
  TRY(const Finish finish, model.engine->generate(request, [](const TokenEvent&) { return false; }));
  (void)finish;
  const double mean = sum / static_cast<double>(ids.size() - 1);
  if (!std::isfinite(mean)) return Error{Code::corrupt_file, "cannot measure: " + model.file.path + ": logits are not numbers"};
  return Measured{std::exp(mean), ids.size()};
}

}  // namespace

int perplexity_command(const Options& options) {
  const auto measured = measure(options);
  if (!measured) return fail(measured.error());
  if (options.json) {
    print_json({{"ppl", measured->ppl}, {"n_tokens", measured->n_tokens}});
  } else {
    fmt::print("perplexity {:.4f} over {} tokens\n", measured->ppl, measured->n_tokens);
  }
  return 0;
}
