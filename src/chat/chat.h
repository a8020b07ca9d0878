// chat: the neutral vocabulary between API dialects, the privacy gateway and engines.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>
#include "core/core.h"

// How a token is chosen. Formulas and order: engine/sampler.h.
struct Sampling {
  float temperature = 1, top_p = 1, min_p = 0, typical_p = 1;
  int top_k = 0;                              // 0: no limit
  float top_n_sigma = 0;                      // 0: off
  float xtc_probability = 0, xtc_threshold = 0.1f;
  float repetition_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  int repeat_last_n = 64;                     // window of repetition_penalty; -1: everything
  float dry_multiplier = 0, dry_base = 1.75f;
  int dry_allowed_length = 2, dry_penalty_last_n = -1;
  std::vector<TokenId> dry_breakers{};        // tokens that no repeated sequence reaches over
  int mirostat = 0;                           // 0: off, 2
  float mirostat_tau = 5, mirostat_eta = 0.1f;
  std::vector<std::pair<TokenId, float>> logit_bias{};  // minus infinity: never
  int min_tokens = 0;                         // no stop token before so many
  uint64_t seed = 0;
  bool operator==(const Sampling&) const = default;
};

// What the answer must look like. It binds what is said, not what is thought before.
struct Constraint {
  enum class Kind : uint8_t { none, json_object, json_schema, regex, choice, gbnf, lark } kind = Kind::none;
  std::string text;                           // the schema, expression or grammar; of choice: a JSON list of strings
  bool operator==(const Constraint&) const = default;
};
struct ToolChoice {
  enum class Kind : uint8_t { automatic, none, required, named } kind = Kind::automatic;
  std::string name;
  bool parallel = true;                       // more than one call in an answer
  bool operator==(const ToolChoice&) const = default;
};

// What a privacy gate says about a request: once, before the first delta of its answer and before an error of it.
struct RouteReport {
  std::string route;                          // local, cloud, cloud-masked, refused or ask
  std::string model;                          // what answers, "cloud/big-1"; "" when nothing does
  std::string policy, audit_id;               // ID@FIRST12HEX
  std::vector<std::pair<std::string, int>> classes{};  // what was found and masked, by class in order of names
  std::vector<std::string> dropped_fields{};  // of the request, without effect on this route
  // Of a request that the gate or its upstream failed; "" otherwise: privacy_refused, consent_required, consent_invalid, unsupported_for_cloud,
  // invalid_privacy_header, upstream_failed, upstream_timeout. The Error that complete returns has the message.
  std::string code{};
  std::string param{};                        // the field that is to blame, or ""
  std::string privacy_json{};                 // the member "privacy" of the error object, or ""
  int upstream_status = 0;
};
// What only a privacy gate reads of a request, as its dialect and client say it.
struct GateNotes {
  std::string endpoint;                       // "/v1/chat/completions"
  std::string key;                            // id of the API key, never the key
  std::string conversation;                   // X-Calla-Conversation, or ""
  std::string stricter;                       // X-Calla-Privacy as it is, or ""
  std::string consent;                        // X-Calla-Consent or X-Consent as it is, or ""
  std::string body_sha256;                    // of the body's canonical JSON (sorted keys, no spaces), hexadecimal; "" where there is no body
  size_t body_bytes = 0;
  std::vector<std::string> unknown_fields{};  // paths of what Calla does not know in the request
  std::function<void(const RouteReport&)> routed{};  // on the calling thread; again, with its `code`, when what was announced fails
};

// One request in neutral words. Fields left unset take the model's defaults.
struct ChatRequest {
  std::string model;
  std::string messages_json;                  // array of messages as the template reads them; "" when `prompt` is used
  std::string tools_json;                     // array of {"type":"function","function":{…}}, or ""
  std::string template_kwargs_json;           // object, or ""
  std::optional<std::string> prompt;          // raw completion: text encoded as it is, nothing rendered
  std::optional<std::string> suffix;          // with prompt: what is written comes between the two
  std::vector<TokenId> prompt_ids;            // raw completion by ids; used when not empty
  bool continue_final_message = false;        // the last message is the beginning of the answer
  ToolChoice tool_choice;
  Constraint constraint;

  std::optional<float> temperature, top_p, min_p, typical_p, top_n_sigma, xtc_probability, xtc_threshold;
  std::optional<float> repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<float> dry_multiplier, dry_base, mirostat_tau, mirostat_eta;
  std::optional<int> top_k, repeat_last_n, dry_allowed_length, dry_penalty_last_n, mirostat;
  std::optional<std::vector<std::string>> dry_breakers;
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::vector<std::pair<std::string, float>> text_bias;  // the same for every token of a text
  std::optional<uint64_t> seed;
  std::optional<int> max_tokens;
  int min_tokens = 0;
  std::vector<std::string> stop;
  std::vector<TokenId> stop_ids;              // beside the model's own
  bool ignore_eos = false;
  int top_logprobs = -1;                      // -1: none; n: logprob of each token and of the n best
  std::optional<int> reasoning_budget_tokens; // thinking ends after so many tokens; 0: at once

  bool use_cache = true, explain_cache = false, report_progress = false;
  std::string cache_salt;                     // prompts share cached state only under one salt and one tenant
  std::string tenant;                         // who asks, as the API key says; "" without keys
  int priority = 0;                           // higher goes first
  std::optional<std::chrono::steady_clock::time_point> deadline;
  GateNotes gate;
};

struct TokenLogprob { TokenId id = 0; std::string bytes; float logprob = 0; std::vector<std::pair<std::string, float>> top; };
struct Delta {
  enum class Kind : uint8_t { text, reasoning, tool_call, progress } kind = Kind::text;
  std::string text;                           // complete UTF-8; of a tool call the next piece of its arguments, a JSON text
  std::vector<TokenLogprob> logprobs{};       // of the tokens this text came from, when asked for
  int tool_index = 0;                         // tool_call: which one, from 0
  std::string tool_id{}, tool_name{};         // set in the first delta of a call
  int prompt_done = 0, prompt_total = 0;      // progress of the prompt, cached tokens among the done ones
  int answer_tokens = 0;                      // written so far, this delta's among them; 0: not counted
};

// Where a prompt left what was cached, and what that cost.
struct CacheReport {
  int prompt_tokens = 0, cached_tokens = 0, diverged_at = 0;  // diverged_at: first token that no cached prompt has
  std::string was, now, source;               // text around the divergence, cached and asked for; "messages[0]"
  double recomputed_s = 0;
};
struct Finish {
  enum class Reason : uint8_t { stop, length, tool_call, cancelled } reason = Reason::stop;
  int prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0, reasoning_tokens = 0;
  double prefill_s = 0, decode_s = 0;
  std::string stop_text{};                    // the stop string that ended it
  std::vector<std::string> warnings{};        // what the client should know: a malformed call kept as text, thinking cut, …
  std::optional<CacheReport> cache{};         // when asked for
};
using Sink = std::function<bool(const Delta&)>;  // false: the reader has gone away
// Deltas and ends of several answers, one at a time; false: the reader has gone away.
struct ChoiceSink {
  std::function<bool(size_t choice, const Delta&)> delta;
  std::function<bool(size_t choice, const Finish&)> end;
};

// The error of a prompt that does not fit. API dialects report both numbers, so they are read back from the one wording.
inline constexpr char prompt_too_long_wording[] = "cannot answer: the prompt has %d tokens, the context holds %d";
inline Error prompt_too_long(int prompt_tokens, int context_tokens) {
  char text[sizeof prompt_too_long_wording + 24];
  std::snprintf(text, sizeof text, prompt_too_long_wording, prompt_tokens, context_tokens);
  return {Code::too_large, text};
}
// {prompt_tokens, context_tokens}; nullopt for any other error.
inline std::optional<std::pair<int, int>> read_prompt_too_long(const Error& error) {
  std::pair<int, int> numbers;
  if (error.code != Code::too_large || std::sscanf(error.message.c_str(), prompt_too_long_wording, &numbers.first, &numbers.second) != 2) return std::nullopt;
  return numbers;
}

// What one model is and can do.
struct ModelInfo {
  std::string name;
  int context_tokens = 0;
  std::string architecture;
  std::string tool_syntax{};                  // "qwen_xml", "hermes", …; "": tools cannot be called
  bool thinks = false, fills_in = false;      // has a thinking switch; has tokens for a suffix
  bool loaded = true;
  size_t bytes = 0;                           // of weights
  std::string device{};                       // of a loaded model: "cuda NVIDIA H200"
  std::string parameters{}, quantization{}, format{}, digest{}, chat_template{};  // "34.7B", "Q4_0", "gguf", sha256 when known
  int64_t modified_unix_s = 0;
  std::optional<int64_t> expires_unix_s{};    // when an idle model is unloaded
};

struct EmbedRequest { std::string model; std::vector<std::vector<TokenId>> ids; std::vector<std::string> texts; enum class Pooling : uint8_t { mean, last } pooling = Pooling::mean; GateNotes gate{}; };
struct Embeddings { std::vector<std::vector<float>> vectors; int prompt_tokens = 0; };  // of length 1

// How one earlier prompt met the cache: figures only.
struct CachedPrompt { int prompt_tokens = 0, cached_tokens = 0, disk_tokens = 0, diverged_at = 0; };

// A request that was answered without a completer: a body that cannot be read, a wrong field, an unknown model.
struct TurnedAway { std::string endpoint, requested, key, code; int status = 0; size_t body_bytes = 0; };

// Counters of one model, for /metrics, /slots and /v1/cache.
struct ModelStats {
  std::string model;
  int running = 0, waiting = 0, max_sequences = 0;
  uint64_t prefill_tokens = 0, decode_tokens = 0, cached_tokens = 0, steps = 0, preemptions = 0;
  size_t weight_bytes = 0, state_bytes = 0, cache_bytes = 0, cache_disk_bytes = 0, snapshots = 0, pages_total = 0, pages_free = 0;
  std::string fault{};                         // why it will not answer until the process starts anew; "": it answers
  std::vector<CachedPrompt> recent_prompts{};  // the last ones, oldest first
};

class Completer {  // whatever can answer: the local engine, a cloud upstream, or the privacy gateway in front of both
 public:
  virtual ~Completer() = default;
  // Blocks until the answer has ended; deltas arrive on the caller's thread. Safe to call from many threads at once.
  virtual Result<Finish> complete(const ChatRequest& request, const Sink& out, std::stop_token stop) = 0;
  // Several answers made at once, of requests that differ in prompt and seed alone. One finish for each; the first failure stops the
  // others and is returned. By default a thread for each.
  virtual Result<std::vector<Finish>> complete_all(std::span<const ChatRequest> requests, const ChoiceSink& out, std::stop_token stop);
  virtual std::vector<ModelInfo> models() const = 0;
  // Told of what never got as far as complete; what a privacy gate has to say about it.
  virtual std::optional<RouteReport> turned_away(const TurnedAway&) { return std::nullopt; }
  virtual std::string metrics() const { return {}; }  // lines in Prometheus' text format, beside those that the server writes

  // What else a model's text and weights are good for. All refuse with unsupported unless overridden; `model` is a name of models().
  virtual Result<std::string> render(const ChatRequest& request);                        // the prompt that complete would read
  virtual Result<std::vector<TokenId>> tokenize(const std::string& model, std::string_view text, bool special, bool add_bos);
  virtual Result<std::string> detokenize(const std::string& model, std::span<const TokenId> ids);
  virtual Result<Embeddings> embed(const EmbedRequest& request, std::stop_token stop);
  virtual std::vector<ModelStats> stats() const { return {}; }
  // Models come and go where there are several: keep_alive is how long an idle one stays, negative for ever, 0 not at all.
  virtual Status load(const std::string& model, std::optional<std::chrono::seconds> keep_alive);
  virtual Status unload(const std::string& model);
  // Fetches a model from the hub; progress as (status line, done bytes, total bytes), false to stop. remove deletes its files.
  using PullProgress = std::function<bool(const std::string& status, size_t done, size_t total)>;
  virtual Status pull(const std::string& model, const PullProgress& progress, std::stop_token stop);
  virtual Status remove(const std::string& model);
  virtual Status copy(const std::string& from, const std::string& to);                   // another name for the same files
};
