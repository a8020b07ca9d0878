// chat: the neutral vocabulary between API dialects, the privacy gateway and engines.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>
#include "core/core.h"

struct Sampling {
  float temperature = 1, top_p = 1, min_p = 0;
  int top_k = 0;                              // 0: no limit
  float repetition_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  int repeat_last_n = 64;                     // window of repetition_penalty; -1: everything
  uint64_t seed = 0;
  bool operator==(const Sampling&) const = default;
};

// One request in neutral words. Fields left unset take the model's defaults.
struct ChatRequest {
  std::string model;
  std::string messages_json;                  // array of messages as the template reads them; "" when `prompt` is used
  std::string tools_json;                     // array, or ""
  std::string template_kwargs_json;           // object, or ""
  std::optional<std::string> prompt;          // raw completion: text encoded as it is, nothing rendered
  std::vector<TokenId> prompt_ids;            // raw completion by ids; used when not empty
  std::optional<float> temperature, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<int> top_k;
  std::optional<uint64_t> seed;
  std::optional<int> max_tokens;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  int top_logprobs = -1;                      // -1: none; n: logprob of each token and of the n best
};

struct TokenLogprob { TokenId id = 0; std::string bytes; float logprob = 0; std::vector<std::pair<std::string, float>> top; };
struct Delta {
  enum class Kind : uint8_t { text, reasoning, tool_call } kind = Kind::text;
  std::string text;                           // complete UTF-8
  std::vector<TokenLogprob> logprobs;         // of the tokens this text came from, when asked for
};
struct Finish {
  enum class Reason : uint8_t { stop, length, tool_call, cancelled } reason = Reason::stop;
  int prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
  double prefill_s = 0, decode_s = 0;
};
using Sink = std::function<bool(const Delta&)>;  // false: the reader has gone away

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

// What one model can do, for /v1/models and error messages.
struct ModelInfo { std::string name; int context_tokens = 0; std::string architecture; };

class Completer {  // whatever can answer: the local engine, a cloud upstream, or the privacy gateway in front of both
 public:
  virtual ~Completer() = default;
  // Blocks until the answer has ended; deltas arrive on the caller's thread. Safe to call from many threads at once.
  virtual Result<Finish> complete(const ChatRequest& request, const Sink& out, std::stop_token stop) = 0;
  virtual std::vector<ModelInfo> models() const = 0;
};
