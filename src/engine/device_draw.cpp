// device_draw: what a request asks of its draws, against what devices know.
#include "engine/device_draw.h"
#include "engine/sampler.h"

namespace {
bool is_plain(const Sampling& s) {
  return s.logit_bias.empty() && s.repetition_penalty == 1 && s.frequency_penalty == 0 && s.presence_penalty == 0 && s.dry_multiplier <= 0 && s.top_n_sigma <= 0 && s.typical_p >= 1 &&
         s.xtc_probability <= 0 && s.mirostat == 0;
}
}  // namespace

std::optional<SampleSpec> device_draw(const Sequence& sequence, int index) {
  const Generation& g = *sequence.request;
  const Sampling& s = g.sampling;
  const bool stops_forbidden = index < s.min_tokens && !g.stop_ids.empty();
  if (g.constraint || g.want_logits || g.hidden || stops_forbidden || !is_plain(s)) return std::nullopt;
  return SampleSpec{0, sequence.n_valid_ids, s.top_k, s.temperature, s.top_p, s.min_p, counter_uniform(s.seed, static_cast<uint64_t>(index))};
}
