// engine: turns requests into steps. One thread owns the device, the sequences and their state.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>
#include "chat/chat.h"
#include "core/core.h"
#include "device/device.h"
#include "model/model.h"
#include "text/text.h"

struct EngineOptions {
  int max_batch_tokens = 0;      // rows of one step; 0: what the device likes; raised to max_sequences + 1, so that neither decode nor prefill can starve
  int prefill_chunk = 0;         // most rows of one prompt in one step, 0: what the device likes: the more, the more rows share what is read of each expert; about 1 GB of activations for 2048 of 35B-A3B
  int prefill_step_ms = 2000;    // how long a step should take at most, by the speed of those before: cancellation is checked between steps
  int mixed_chunk = 512;         // prompt rows beside sequences that are decoding
  int max_sequences = 16;        // running at once; others wait
  int page_tokens = 32;
  int context_tokens = 0;        // longest sequence; 0: the model's own, as far as state_bytes allows
  size_t state_bytes = 0;        // budget for pages, slots and snapshots; 0: decided from free memory
  size_t scratch_bytes = 0;      // taken for steps at the start, where the device has memory of its own
  bool prefix_cache = true;
  int snapshot_every_tokens = -1;  // distance of recurrent snapshots inside a prompt; 0: none, -1: as prefill_chunk
  int max_waiting = 1024;        // requests beyond this are refused with `overloaded`
  std::string cache_dir{};       // where cached state outlives the engine; "": nowhere
  size_t cache_disk_bytes = 0;   // bound of everything in cache_dir; 0: nothing is kept there
  std::string cache_key{};       // what state depends on beside tokens: model, template, precision, kv type, instruction set, format of the build
};

// One token as it is sampled. `logits` is the row (before penalties and sampling; n_valid_ids long) when the request asked for it;
// valid during the call.
struct TokenEvent { TokenId id = 0; int index = 0; std::span<const float> logits; };
using TokenSink = std::function<bool(const TokenEvent&)>;  // false: stop

// Narrows what may be sampled, token by token. Used on the engine's thread only while its request runs.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  virtual std::span<const uint64_t> mask() = 0;                 // bit i of word i / 64: token i may come next; empty: any may
  virtual std::optional<TokenId> forced() { return std::nullopt; }  // the next token, whatever the logits say
  virtual void accept(TokenId id) = 0;                          // what was sampled
  // Tokens that must follow whatever is sampled: appended without sampling. Not asked for when the request wants logits.
  virtual void jump(std::vector<TokenId>& out) { out.clear(); }
  virtual bool ended() const { return false; }                  // nothing may follow: the answer ends with reason stop
};

// Where a prompt left what was cached, and what that cost.
struct Divergence {
  int prompt_tokens = 0, cached_tokens = 0;  // cached_tokens: whose state was reused; of them disk_tokens came from the disk
  int disk_tokens = 0;
  int at = 0;                                // the first token that no cached prompt of this space has; behind cached_tokens where no state was kept closer
  int from = 0;                              // position of the first id of `was` and `now`
  std::vector<TokenId> was{}, now{};         // what the most similar cached prompt has around `at`, and this one; empty in Engine::recent_prompts
  double recomputed_s = 0;                   // from the start to the first token
};

// The token-level request: what the completer, eval, bench and selftest are made of.
struct Generation {
  std::vector<TokenId> prompt;
  Sampling sampling;                    // temperature 0: greedy
  int max_tokens = 16;
  std::vector<TokenId> stop_ids;        // ends the sequence; the stop token itself is delivered last
  bool want_logits = false;             // rows in TokenEvent
  TokenConstraint* constraint = nullptr;  // borrowed for the call
  bool use_cache = true;
  bool keep_end = true;                 // false: later prompts find what was cached before and its snapshot_hints, not where it ended
  uint64_t cache_space = 0;             // state is shared only between requests of one space: a hash of salt and tenant
  int priority = 0;                     // higher starts first
  std::string tenant;                   // running places are shared out evenly between tenants
  std::optional<std::chrono::steady_clock::time_point> deadline;  // the answer ends here with reason length
  int n_valid_ids = 0;                  // only ids below this may be sampled (the tokenizer's size); 0: every row of the model's vocabulary
  std::vector<int> snapshot_hints;      // prompt lengths at which later prompts are likely to branch off: recurrent snapshots are taken there too
  bool hidden = false;                  // rows are the final hidden states, hidden_dim long, instead of logits: with max_tokens 0 and prompt_logits
  // When set, called with the logits of every prompt position (in order, chunk by chunk) before the first token.
  std::function<void(int position, std::span<const float> logits)> prompt_logits;
  std::function<void(int done_tokens, int total_tokens)> progress;  // prefill progress
  std::function<void(const Divergence&)> explain;  // called once, behind the last token
};

struct EngineStats {
  int running = 0, waiting = 0, max_sequences = 0;
  size_t state_bytes = 0;  // of all pages and slots
  size_t pages_total = 0, pages_free = 0, snapshots = 0;  // pages_free: held by no sequence; what lies cached in them can be evicted
  uint64_t steps = 0, prefill_tokens = 0, decode_tokens = 0, cached_tokens = 0, preemptions = 0;
  size_t cache_bytes = 0, cache_disk_bytes = 0;    // what the prefix cache keeps in memory (pages and snapshots) and on disk
  uint64_t disk_hits = 0, disk_hit_tokens = 0;     // prompts that went on from state on the disk, and how many tokens they did not compute
  std::string fault{};     // why the device will not work again; "": it works
  uint64_t disk_writes = 0, disk_dropped = 0, disk_corrupted = 0;  // pages and snapshots: written; deleted for room; deleted because their bytes were wrong
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Blocks; callable from many threads. Sinks run on the caller's thread, a slow one pauses only its own sequence.
  // A sink that returns false ends the request with reason stop; a stop token that fires, with reason cancelled.
  virtual Result<Finish> generate(const Generation& request, const TokenSink& out, std::stop_token stop = {}) = 0;
  virtual int context_tokens() const = 0;
  virtual const ModelConfig& config() const = 0;
  virtual bool uses_snapshot_hints() const { return true; }              // false: a prompt can branch off anywhere
  virtual EngineStats stats() const = 0;
  virtual std::vector<Divergence> recent_prompts() const { return {}; }  // the last 64, oldest first, without token ids
  virtual std::vector<std::string> notes() const { return {}; }          // what the user should know: why nothing is kept on disk, say
};
// The engine borrows nothing: it owns device and model until it is destroyed.
Result<std::unique_ptr<Engine>> make_engine(std::unique_ptr<Device> device, std::unique_ptr<Model> model, const EngineOptions& options);

// Text around an engine: template, tokenizer, stop strings, reasoning split, defaults.
struct CompleterParts {
  std::string model_name;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;  // null: a plain "role: content" layout, said in the notes
  GenerationDefaults defaults;
  ModelInfo info{};                     // what only the opener knows: sizes, format, quantisation
};
std::unique_ptr<Completer> make_completer(Engine& engine, CompleterParts parts);
