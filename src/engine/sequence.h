// sequence: one request's timeline on the engine: its tokens, how much of them is in its state, and where that state lies.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>
#include "engine/cache_id.h"
#include "engine/engine.h"
#include "engine/tenants.h"
#include "engine/token_channel.h"

struct Restore;

using EngineClock = std::chrono::steady_clock;

// Shared between the engine thread and the thread that waits in generate(). Until `channel` is closed the engine thread owns
// everything but `abandoned`; afterwards the waiting thread may read. `request` lives on the waiting thread's stack and must not be
// touched after the close.
struct Sequence {
  Sequence(const Generation& generation, int context_tokens, int page_tokens, int vocab_size);

  const Generation* request;
  const int n_prompt;
  const int max_tokens;             // request's, cut to what the context holds
  const int n_valid_ids;
  std::vector<TokenId> tokens;      // prompt and generated; reserved in full
  std::vector<int32_t> snapshot_at; // ascending prompt lengths at which a recurrent snapshot is wanted besides the regular ones
  TokenChannel channel;
  std::atomic<bool> abandoned{false};  // the waiting thread wants no more

  uint64_t age = 0;                 // order of arrival
  std::shared_ptr<Tenant> tenant;   // set on arrival
  EngineClock::time_point arrived;
  int32_t n_past = 0;               // tokens in the state
  std::vector<int32_t> pages;       // reserved in full: batches point into it
  int32_t slot = -1;
  int32_t prompt_reported = 0;      // prompt positions whose logits went out
  int32_t n_cached = 0;             // tokens that the first start found in the prefix cache
  bool was_started = false, completed = false;  // completed: ended by itself
  bool expired = false;             // ended by its deadline
  std::vector<CacheId> chain;       // names of the whole pages of tokens, as far as they were needed
  int32_t n_saved = 0;              // whole pages that are on disk or on their way
  int32_t snapshot_saved = -1;      // position of the last snapshot that is
  std::shared_ptr<Restore> restore; // what is being read from disk; until then no rows are computed
  Divergence divergence;            // where the prompt left what was cached when it was first started
  EngineClock::time_point started, first_token, last_token, paused_since;
  bool paused = false;
  float surprise = 0;               // mirostat's mu
  int32_t under_way = 0;            // steps under way that have rows of it
  bool over = false;                // it has ended, and leaves when no step under way has a row of it any more
  std::optional<Error> failure;     // how it has ended, when over

  int n_generated() const { return static_cast<int>(tokens.size()) - n_prompt; }
  int n_pending() const { return static_cast<int>(tokens.size()) - n_past; }
  bool decoding() const { return n_generated() > 0 && n_pending() == 1; }
  int places(int rows) const;       // in the channel, that the events of the next `rows` rows take
  int room_rows(int wanted) const;  // how many of `wanted` rows the next step may take without overfilling the channel
  bool wants_end(EngineClock::time_point now);  // its reader wants no more, or its deadline has passed
  bool is_stop(TokenId id) const;
  bool ended_by_itself() const;     // by its last token, or because its constraint lets nothing follow
  bool finished() const;            // that, or by length
};
