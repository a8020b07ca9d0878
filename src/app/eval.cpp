// eval: raw logits and greedy tokens for given ids, in the form that ../shared/oracles/check.py reads.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include "app/commands.h"
#include "app/console.h"
#include "app/open.h"

namespace {

constexpr size_t kTop = 20;

// The best entries, largest first; equal ones by lower id.
Json top_entries(std::span<const float> logits) {
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t n = std::min(kTop, order.size());
  const auto better = [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(), better);
  Json top = Json::array();
  for (size_t i = 0; i < n; i++) top.push_back(Json::array({order[i], static_cast<double>(logits[static_cast<size_t>(order[i])])}));
  return top;
}

bool has_nan(std::span<const float> logits) {
  return std::ranges::any_of(logits, [](float x) { return std::isnan(x); });
}

struct CloseFile { void operator()(std::FILE* file) const { std::fclose(file); } };
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

Error cannot_write(const Options& options) { return {Code::io, "cannot write the logits: " + options.logits_file + ": " + std::strerror(errno)}; }

// --logits FILE: every listed row whole, float32 in this machine's byte order. May be a named pipe.
Result<OpenFile> open_logits(const Options& options) {
  OpenFile file;
  if (options.logits_file.empty()) return file;
  file.reset(std::fopen(options.logits_file.c_str(), "wb"));
  if (!file) return cannot_write(options);
  return file;
}

Status check_ids(const Options& options, const OpenedModel& model) {
  if (options.ids.empty()) return Error{Code::invalid_request, "cannot evaluate: --ids: at least one token id expected"};
  const int vocabulary = model.engine->config().vocab_size;
  for (const TokenId id : options.ids)
    if (id >= vocabulary)
      return Error{Code::invalid_request, "cannot evaluate: --ids: ids below " + std::to_string(vocabulary) + " expected, " + std::to_string(id) + " found"};
  return ok_status();
}

Result<Json> evaluate(const Options& options) {
  if (options.ids.empty()) return Error{Code::invalid_request, "cannot evaluate: --ids: at least one token id expected"};
  const int wanted = options.max_tokens.value_or(0);
  OpenTuning tuning{engine_options(options), false};
  tuning.engine.max_sequences = 1;
  tuning.engine.prefix_cache = false;
  if (options.context == 0) tuning.engine.context_tokens = static_cast<int>(options.ids.size()) + std::max(1, wanted);
  TRY(const OpenedModel model, open_model(options, tuning));
  TRY_STATUS(check_ids(options, model));

  Json rows = Json::array(), generated = Json::array();
  bool nan = false, written = true;
  TRY(const OpenFile file, open_logits(options));
  const auto add_row = [&](int position, std::span<const float> logits) {
    nan = nan || has_nan(logits);
    if (file) written = written && std::fwrite(logits.data(), sizeof(float), logits.size(), file.get()) == logits.size();
    if (!nan) rows.push_back({{"pos", position}, {"top", top_entries(logits)}});
  };
  Generation request;
  request.prompt = options.ids;
  request.sampling.temperature = 0;
  request.max_tokens = std::max(1, wanted);  // one step more than asked for shows the last row
  request.want_logits = true;
  request.use_cache = false;
  if (options.all_positions) request.prompt_logits = add_row;
  const int last = static_cast<int>(options.ids.size()) - 1;
  const auto on_token = [&](const TokenEvent& event) {
    if (event.index == 0 && !options.all_positions) add_row(last, event.logits);
    if (event.index < wanted) generated.push_back(event.id);
    return !nan;
  };
  TRY(const Finish finish, model.engine->generate(request, on_token));
  (void)finish;
  if (!written || (file && std::fflush(file.get()) != 0)) return cannot_write(options);
  if (nan) return Error{Code::corrupt_file, "cannot evaluate: " + model.file.path + ": logits are not numbers"};
  return Json{{"logits", std::move(rows)}, {"generated", std::move(generated)}};
}

}  // namespace

int eval_command(const Options& options) {
  const auto answer = evaluate(options);
  if (!answer) return fail(answer.error());
  print_json(*answer);
  return 0;
}
