// selftest_trials: prompts, single runs and comparisons for the self-check.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "app/console.h"
#include "app/probabilities.h"
#include "app/selftest.h"

namespace {

constexpr const char* kText =
    "The harbour lay quiet in the early light. A fishing boat came in from the north, low in the water, and two men stood at its bow with ropes in their hands. "
    "Nobody on the quay had expected them before noon. The captain's list said that 129 crates were on board; the clerk counted 131, wrote the number down, and "
    "asked where the other two had been taken on. \"At sea,\" said the older man, and laughed. Water is made of hydrogen and oxygen, and it boils at one hundred "
    "degrees Celsius at sea level; on a mountain it boils earlier, because the air presses less on its surface. To find the sum of a list, begin with zero and add "
    "each number in turn: def total(xs): return sum(xs). In the year 1815 a volcano changed the weather of the whole world, and the summer after it was so cold "
    "that snow fell in June. People wrote about red evening skies without knowing what made them. The letters that they sent took weeks to arrive, and many of "
    "them are kept in libraries today. Reading them, one learns how little was certain, and how calmly most people went on with their work. ";

float gap_of(std::span<const float> logits) {
  float first = -INFINITY, second = -INFINITY;
  for (const float x : logits) {
    if (x > first) second = std::exchange(first, x);
    else second = std::max(second, x);
  }
  return first - second;
}

}  // namespace

Prompts::Prompts(const Tokenizer* tokenizer, int vocabulary) : vocabulary_(vocabulary) {
  if (tokenizer == nullptr) return;
  text_ = tokenizer->encode(kText);
  const bool inside = std::ranges::all_of(text_, [&](TokenId id) { return id >= 0 && id < vocabulary; });
  // A vocabulary that knows English needs about a token per four letters; a dummy one little less than a token per letter.
  real_ = inside && tokenizer->size() >= 4096 && text_.size() * 3 < std::string_view(kText).size();
}

std::vector<TokenId> Prompts::make(int length, int variant) const {
  std::vector<TokenId> ids;
  uint32_t seed = static_cast<uint32_t>(variant) * 2654435761u + 12345u;
  for (int i = 0; i < length; i++) {
    if (real_) {
      ids.push_back(text_[static_cast<size_t>(i + variant * 37) % text_.size()]);
      continue;
    }
    seed = seed * 1664525u + 1013904223u;
    ids.push_back(static_cast<TokenId>((seed >> 8) % static_cast<uint32_t>(vocabulary_)));
  }
  return ids;
}

Result<Trial> try_prompt(Engine& engine, std::span<const TokenId> prompt, int n_tokens, bool use_cache) {
  Trial trial;
  Generation request;
  request.prompt.assign(prompt.begin(), prompt.end());
  request.sampling.temperature = 0;
  request.max_tokens = n_tokens;
  request.want_logits = true;
  request.use_cache = use_cache;
  const auto on_token = [&](const TokenEvent& event) {
    trial.ids.push_back(event.id);
    trial.gaps.push_back(gap_of(event.logits));
    if (event.index == 0) trial.first_row.assign(event.logits.begin(), event.logits.end());
    return true;
  };
  TRY(trial.finish, engine.generate(request, on_token));
  return trial;
}

Comparison compare(std::span<const Trial> a, std::span<const Trial> b) {
  Comparison result;
  for (size_t i = 0; i < std::min(a.size(), b.size()); i++) {
    result.largest_difference = std::max(result.largest_difference, largest_difference(a[i].first_row, b[i].first_row));
    const auto [x, y] = std::ranges::mismatch(a[i].ids, b[i].ids);
    const auto at = static_cast<size_t>(x - a[i].ids.begin());
    if (x == a[i].ids.end() && y == b[i].ids.end()) result.equal++;
    else if (at < a[i].gaps.size() && a[i].gaps[at] < kTieGap) result.ties++;
    else result.different++;
  }
  return result;
}

std::string Comparison::text() const {
  std::string out = fmt::format("{} of {} sequences equal", equal, equal + ties + different);
  if (ties > 0) out += fmt::format(", {} part at a tie (two best logits within {:g})", ties, kTieGap);
  return out + (largest_difference == 0 ? ", logits bit for bit" : fmt::format(", largest logit difference {:.2g}", largest_difference));
}

Result<OpenedModel> open_for_test(const Options& options, int prefill_chunk) {
  OpenTuning tuning{engine_options(options), true};
  tuning.engine.max_sequences = 16;
  tuning.engine.prefill_chunk = prefill_chunk;
  if (options.batch > 0) tuning.engine.max_batch_tokens = std::max(options.batch, prefill_chunk);
  if (options.context == 0) tuning.engine.context_tokens = 1024;
  return open_model(options, tuning);
}
