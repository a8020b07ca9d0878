// text: bytes <-> tokens. Tokenizers, streaming detokenisation, chat templates. Knows no model and no device.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"

// What a GGUF's metadata says about its vocabulary (keys tokenizer.ggml.*), filled by file/ and passed on by app/.
// Views point into the mapping.
struct VocabularyTable {
  std::string model, pre;                    // "gpt2", "llama", "gemma4"; "qwen35", "llama-bpe", "smollm", …
  std::vector<std::string_view> tokens;      // by id
  std::vector<std::string_view> merges;      // "left right", best first; empty for score-based vocabularies
  std::vector<float> scores;                 // by id, may be empty
  std::vector<int32_t> types;                // by id, may be empty: 1 normal 2 unknown 3 control 4 user-defined 5 unused 6 byte
  std::optional<TokenId> bos, eos, eot, unknown, padding;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
};

struct EncodeOptions {
  bool special = true;   // text of added tokens becomes their id; false treats it as plain text
  bool bos_eos = false;  // add what the tokenizer's post-processor asks for (the command line's --bos)
};

// Immutable after construction and safe to share between threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Any byte string; invalid UTF-8 is replaced by U+FFFD first, as Hugging Face's callers do.
  virtual std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const = 0;
  // The bytes this token stands for in running text; "" for control tokens when skip_special (tokens with special:false are kept).
  // Out-of-range ids give "". Not necessarily whole UTF-8 characters.
  virtual std::string_view bytes(TokenId id, bool skip_special = true) const = 0;
  // The same for the first token of a text: some tokenizers put a space there that decoding takes away again.
  virtual std::string_view bytes_at_start(TokenId id, bool skip_special = true) const { return bytes(id, skip_special); }
  virtual bool is_special(TokenId id) const = 0;
  virtual std::optional<TokenId> find(std::string_view token) const = 0;  // the id of an exact vocabulary or added-token text
  virtual int size() const = 0;                                           // ids are 0 … size()-1; the model's rows may be more
  virtual std::optional<TokenId> bos() const = 0;
  virtual std::optional<TokenId> eos() const = 0;
  // The whole decoded text, with U+FFFD for what is not UTF-8; equals what a Detokenizer emits over the same ids.
  std::string decode(std::span<const TokenId> ids, bool skip_special = true) const;
};

// From a Hugging Face folder's tokenizer.json (+ tokenizer_config.json text, may be empty) or from GGUF metadata.
Result<std::shared_ptr<const Tokenizer>> tokenizer_from_json(std::string_view tokenizer_json, std::string_view tokenizer_config_json);
Result<std::shared_ptr<const Tokenizer>> tokenizer_from_table(const VocabularyTable& table);

// Streaming detokenisation: never emits half a character, holds back at most 3 bytes. One per sequence.
class Detokenizer {
 public:
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special = true);
  void push(TokenId id, std::string& out);  // appends what became complete
  void flush(std::string& out);             // appends U+FFFD for a cut character at the end

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  std::string pending_;
  bool at_start_ = true;
};

// Watches a stream of text for stop strings that may straddle token borders.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  // Appends to `out` the text that can no longer belong to a stop string. True: a stop was found, `out` ends before it.
  bool push(std::string_view text, std::string& out);
  void flush(std::string& out);  // no more text will come

 private:
  std::vector<std::string> stops_;
  std::string held_;
};

// What a template sees beside the messages. All JSON texts are parsed by render.
struct TemplateInput {
  std::string messages_json;                 // an array of {"role","content",…}; tool-call arguments given as JSON strings are parsed first
  std::string tools_json;                    // an array, or "" for none
  bool add_generation_prompt = true;
  std::string kwargs_json;                   // an object of extra variables (enable_thinking, …), or ""
  std::string bos_token, eos_token;
};

// A compiled Jinja template. Bounded in steps, depth and output; safe to share between threads.
class ChatTemplate {
 public:
  // Errors name line and construct. `source` is the checkpoint's own template.
  static Result<std::shared_ptr<const ChatTemplate>> compile(std::string_view source);
  virtual ~ChatTemplate() = default;
  // invalid_request when the template itself raised an exception; unsupported or too_large otherwise.
  virtual Result<std::string> render(const TemplateInput& input) const = 0;
  virtual std::string_view source() const { return {}; }
};
