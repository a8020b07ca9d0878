// sampling: what a request leaves open, from the options.
#include "app/options.h"

namespace {
template <class T> void fill(std::optional<T>& field, const std::optional<T>& value) {
  if (!field) field = value;
}
}  // namespace

void fill_in_sampling(const Options& o, ChatRequest& r) {
  fill(r.temperature, o.temperature), fill(r.top_p, o.top_p), fill(r.min_p, o.min_p), fill(r.top_k, o.top_k), fill(r.typical_p, o.typical_p), fill(r.top_n_sigma, o.top_n_sigma);
  fill(r.xtc_probability, o.xtc_probability), fill(r.xtc_threshold, o.xtc_threshold);
  fill(r.repetition_penalty, o.repetition_penalty), fill(r.presence_penalty, o.presence_penalty), fill(r.frequency_penalty, o.frequency_penalty), fill(r.repeat_last_n, o.repeat_last_n);
  fill(r.dry_multiplier, o.dry_multiplier), fill(r.dry_base, o.dry_base), fill(r.dry_allowed_length, o.dry_allowed_length), fill(r.dry_penalty_last_n, o.dry_penalty_last_n);
  fill(r.mirostat, o.mirostat), fill(r.mirostat_tau, o.mirostat_tau), fill(r.mirostat_eta, o.mirostat_eta);
  fill(r.seed, o.seed), fill(r.max_tokens, o.max_tokens);
  if (r.stop.empty()) r.stop = o.stop;
}
