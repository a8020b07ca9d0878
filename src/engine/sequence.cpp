// sequence: sizes of a request's buffers, and when it has ended.
#include "engine/sequence.h"
#include <algorithm>

namespace {
constexpr int channel_events = 64;                    // tokens that a reader may lag behind before its sequence pauses
constexpr size_t channel_logits_bytes = size_t{64} << 20;  // bound of the same for requests that want whole rows of logits

bool wants_logits(const Generation& g) { return g.want_logits || g.prompt_logits != nullptr; }
// Of one row: ids that may be sampled, or the width of hidden states.
int valid_ids(const Generation& g, int vocab_size) { return g.hidden ? g.n_valid_ids : g.n_valid_ids > 0 ? std::min(g.n_valid_ids, vocab_size) : vocab_size; }
int capacity(const Generation& g, int vocab_size) {
  if (!wants_logits(g)) return channel_events;
  const size_t row_bytes = static_cast<size_t>(valid_ids(g, vocab_size)) * sizeof(float);
  return static_cast<int>(std::clamp<size_t>(channel_logits_bytes / row_bytes, 2, g.prompt_logits ? 512 : 8));
}
}  // namespace

Sequence::Sequence(const Generation& generation, int context_tokens, int page_tokens, int vocab_size)
    : request(&generation),
      n_prompt(static_cast<int>(generation.prompt.size())),
      max_tokens(std::min(generation.max_tokens, context_tokens - n_prompt)),
      n_valid_ids(valid_ids(generation, vocab_size)),
      snapshot_at(generation.snapshot_hints.begin(), generation.snapshot_hints.end()),
      channel(capacity(generation, vocab_size), wants_logits(generation) ? static_cast<size_t>(n_valid_ids) : 0) {
  const size_t longest = generation.prompt.size() + static_cast<size_t>(max_tokens);
  tokens.reserve(longest);
  tokens.assign(generation.prompt.begin(), generation.prompt.end());
  pages.reserve(longest / static_cast<size_t>(page_tokens) + 1);
  std::erase_if(snapshot_at, [&](int32_t at) { return at <= 0 || at >= n_prompt; });
  surprise = 2 * generation.sampling.mirostat_tau;
  snapshot_at.push_back(n_prompt - 1);  // one before the end, so that repeating a prompt leaves a token to compute logits from
  std::sort(snapshot_at.begin(), snapshot_at.end());
}

int Sequence::places(int rows) const {
  // Positions that a preempted sequence computes a second time were reported already.
  const int reports = request->prompt_logits ? std::max(0, std::min(n_past + rows, n_prompt) - std::max(n_past, prompt_reported)) : 0;
  return reports + (n_past + rows == static_cast<int>(tokens.size()) ? 1 : 0);
}

int Sequence::room_rows(int wanted) const {
  const int room = channel.room();
  if (room == 0) return 0;
  while (wanted > 0 && places(wanted) > room) --wanted;
  return wanted;
}

bool Sequence::wants_end(EngineClock::time_point now) {
  if (request->deadline && now >= *request->deadline) expired = true;
  return abandoned || expired;
}

bool Sequence::is_stop(TokenId id) const { return std::ranges::find(request->stop_ids, id) != request->stop_ids.end(); }

bool Sequence::ended_by_itself() const {
  return n_generated() > 0 && (is_stop(tokens.back()) || (request->constraint && request->constraint->ended()));
}

bool Sequence::finished() const {
  if (n_generated() >= max_tokens) return n_past >= n_prompt || n_generated() > 0;
  return ended_by_itself();
}
