// options: everything the command line, the environment and a configuration file can say, read once into plain values; one table also writes --help.
#pragma once
#include <functional>
#include <optional>
#include "chat/chat.h"
#include "core/nearest.h"
#include "device/device.h"

struct Options {
  std::vector<std::string> arguments;  // positional ones, the model's name taken out
  bool help = false, json = false, verbose = false, offline = false;

  std::string model;                   // as the user named it
  int context = 0, threads = 0;        // 0: the model's own; physical cores
  Precision precision = Precision::fast;
  std::string device = "cpu", isa;
  InjectedFault fault;
  KvType kv = KvType::half;
  bool pin = false, batch_invariant = false, trace_dispatch = false, profile = false, packed = false;

  std::optional<float> temperature, top_p, min_p, typical_p, top_n_sigma, xtc_probability, xtc_threshold;
  std::optional<float> repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<float> dry_multiplier, dry_base, mirostat_tau, mirostat_eta;
  std::optional<int> top_k, repeat_last_n, dry_allowed_length, dry_penalty_last_n, mirostat, max_tokens;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  std::string system;                  // system message, "" for none
  std::optional<std::string> prompt;
  std::optional<bool> think;           // unset: as the template does by itself

  std::string host = "127.0.0.1";      // or "unix:/path"
  int port = 8080, max_connections = 512, max_running = 128;
  std::vector<std::string> api_keys, cors_origins;
  std::string api_key_file, config_file, tls_cert_file, tls_key_file, log_file, responses_db;  // "": none; log_file "-": standard output
  std::string reasoning_field = "reasoning_content";
  bool insecure = false, keep_volatile_prefix = false;
  bool gated = false;                  // config_file sets up a privacy gate
  std::vector<std::pair<std::string, std::string>> aliases;  // asked for -> served
  size_t max_body_bytes = size_t{32} << 20;
  int write_timeout_s = 300, ping_interval_s = 10, drain_timeout_s = 30;
  int max_loaded = 0;                  // models in memory; 0: as memory allows
  std::string models_dir;              // further models lie here

  // Of one served model. `locals` holds one Options for each [local] of the configuration file.
  std::string served_name, chat_template, template_kwargs;  // "": its own; the checkpoint's; none
  std::optional<int> reasoning_budget;
  std::optional<std::chrono::seconds> keep_alive;           // negative: for ever
  std::optional<bool> pinned;
  bool fetch = false;                  // pull it when it is not here
  int parallel = 16, batch = 0, micro_batch = 0, max_waiting = 1024;
  size_t state_bytes = 0;              // most memory for sequences; 0: half of what is free
  bool prefix_cache = true;
  std::string cache_dir;               // of state on disk; "": in the cache folder
  size_t cache_disk_bytes = 0;         // 0: none is kept there
  std::vector<Options> locals;

  std::vector<std::string> notes;      // what was taken but has no effect, and what the environment decided

  std::vector<int> prompt_sizes{512}, generate_sizes{128}, depths{0}, streams{1};
  int repetitions = 3;

  std::vector<TokenId> ids;
  std::string logits_file;             // eval: where whole rows go, "" for nowhere
  bool all_positions = false, plain = false, bos = false, skip_special = false, tensors = false, verify = false;

  struct { std::string jsonl, policy, tiers, model, key_env, pub, head, since, until, out; std::vector<std::string> headers; bool csv = false; } privacy;  // of scan, gate, policy and audit

  std::string state_dir;               // where history lies; "" when no home is known
  std::string state_cache_dir;         // where computed state lies unless --cache-dir says otherwise; the same
  bool color = true;                   // NO_COLOR unset and TERM not dumb
};

// Groups of options; a command names those it takes.
enum Group : uint32_t {
  kGeneral = 1, kModel = 2, kContext = 4, kDevice = 8, kSampling = 16, kConversation = 32, kServe = 64, kBench = 128, kEval = 256, kTokenize = 512,
  kDetokenize = 1024, kInspect = 2048, kHub = 4096, kPrompt = 8192, kPacked = 16384, kPack = 32768,
  kServed = 1 << 16,    // what one served model may have of its own
  kConfig = 1 << 18,    // a configuration file for commands that do not serve
  kScan = 1 << 19, kGateView = 1 << 20, kPolicy = 1 << 21, kAudit = 1 << 22,
  kHidden = 1 << 23,    // of tests: taken, and not in any help
  kFamiliar = 1 << 17,  // taken because fingers know it; `help` says why it has no effect
};

// One row of the table.
struct OptionSpec {
  uint32_t groups;
  const char* names;        // "-t, --threads", aliases after a comma
  const char* value;        // "N"; "" for a switch; "[WORD]" when on, off or auto may follow
  const char* expected;     // what a value has to be, in words
  const char* help;
  const char* environment;  // variables read when the option is not given, best first, or ""
  bool (*set)(Options&, std::string_view value);  // false: the value is not what is expected
};
std::span<const OptionSpec> option_table();
std::vector<std::string> split_names(std::string_view list);               // at ", "
std::vector<std::string> option_names(const OptionSpec& spec);
std::vector<std::string> configuration_keys(const OptionSpec& spec);       // "--max-body" is max_body
inline constexpr uint32_t kLocalKeys = kModel | kContext | kDevice | kPacked | kSampling | kServed;  // what [local] takes
inline constexpr uint32_t kConfigurable = kLocalKeys | kGeneral | kServe;                            // what [server] takes

struct Command {
  const char* name;
  const char* arguments;    // "MODEL [PROMPT]"
  const char* summary;      // one line
  const char* details;      // a paragraph, may be ""
  uint32_t groups;          // beside kGeneral
  int min_arguments, max_arguments;  // positional ones, the model included
  std::vector<const char*> examples;
  int (*run)(const Options&);
};

// What of a command line, the environment and the file was given: the first two stand against the file.
using GivenOptions = std::vector<const OptionSpec*>;
// Reads `path` into what is not in `given`. Errors are "FILE:LINE: KEY: message".
Status read_configuration(const std::string& path, const GivenOptions& given, Options& options);

using GetEnvironment = std::function<const char*(const char* name)>;

// Reads the words after the command's name. Errors are one line that names option, value and what is expected.
Result<Options> parse_options(const Command& command, std::span<const std::string_view> words, const GetEnvironment& environment);
// Sets one option of `groups` by any of its names ("temp", "top_k", "--top-p"): what /set does.
Status set_option(Options& options, uint32_t groups, std::string_view name, std::string_view value);

// Sampling that the request leaves open.
void fill_in_sampling(const Options& options, ChatRequest& request);

std::string help_text(std::span<const Command> commands);
std::string help_text(const Command& command);
std::string options_reference();  // Markdown tables of all options, for docs/commands.md
