// options: the one table of options: the rows that running a model takes, and all of them together.
#include "app/options_rows.h"

#include <algorithm>
#include <limits>
#include "app/values.h"

namespace {

template <class T>
bool store(std::string_view text, T low, T high, std::optional<T>& out) {
  T value{};
  if (!parse_number(text, low, high, value)) return false;
  out = value;
  return true;
}

bool set_precision(Options& o, std::string_view v) {
  if (v != "exact" && v != "fast") return false;
  o.precision = v == "exact" ? Precision::exact : Precision::fast;
  return true;
}
bool set_device(Options& o, std::string_view v) {
  const bool numbered = v.starts_with("cuda:") && v.size() > 5 && v.size() < 9 && v.find_first_not_of("0123456789", 5) == std::string_view::npos;
  if (v != "cpu" && v != "cuda" && v != "auto" && !numbered) return false;
  return o.device = v, true;
}
#ifdef CALLA_FAULTS
bool set_fault(Options& o, std::string_view v) {
  const auto fault = parse_fault(v);
  if (fault) o.fault = *fault;
  return fault.has_value();
}
#endif
bool set_isa(Options& o, std::string_view v) {
  for (const char* name : {"scalar", "avx2", "avx512", "amx", "neon"})
    if (v == name) return o.isa = v, true;
  return false;
}
bool set_text(std::string& out, std::string_view v) { return out = v, true; }

bool set_max_tokens(Options& o, std::string_view v) {
  int tokens = 0;
  if (!parse_number(v, -1, std::numeric_limits<int>::max(), tokens)) return false;
  o.max_tokens = tokens < 0 ? std::nullopt : std::optional(tokens);
  return true;
}

constexpr const char* kTemperature = "a number from 0 to 10; 0 takes the likeliest token";
constexpr const char* kShare = "a number from 0 to 1";
constexpr int kBig = std::numeric_limits<int>::max();

const OptionSpec kRows[] = {
    {kGeneral, "-h, --help", "", "", "this text", "", [](Options& o, std::string_view) { return o.help = true; }},
    {kGeneral, "--json", "", "", "one JSON value on standard output", "", [](Options& o, std::string_view) { return o.json = true; }},
    {kGeneral, "-v, --verbose", "", "", "speeds, counts and notes on standard error", "", [](Options& o, std::string_view) { return o.verbose = true; }},
    {kModel | kHub, "--offline", "", "", "never reach for the network", "", [](Options& o, std::string_view) { return o.offline = true; }},

    {kModel, "-m, --model", "NAME", "a path, owner/repo or an alias", "the model, instead of the first argument", "CALLA_MODEL",
     [](Options& o, std::string_view v) { return !v.empty() && set_text(o.model, v); }},
    {kContext, "-c, --ctx-size", "N", "a whole number from 0 to 16777216", "longest sequence in tokens; 0: the model's own, as far as memory allows", "CALLA_CTX_SIZE, OLLAMA_CONTEXT_LENGTH",
     [](Options& o, std::string_view v) { return parse_number(v, 0, 1 << 24, o.context); }},
    {kDevice, "-t, --threads", "N", "a whole number from 0 to 1024", "threads; 0: one per physical core", "CALLA_THREADS",
     [](Options& o, std::string_view v) { return parse_number(v, 0, 1024, o.threads); }},
    {kDevice, "--precision", "WORD", "exact or fast", "exact: float32 throughout on the stored weights; fast may quantise activations", "CALLA_PRECISION", set_precision},
    {kDevice, "--device", "WORD", "cpu, cuda, cuda:N or auto", "where the model runs; cuda:N: GPU number N; auto: an NVIDIA GPU where one can be used", "CALLA_DEVICE", set_device},
#ifdef CALLA_FAULTS
    {kDevice | kHidden, "--inject-fault", "WORD", "step:N or memory:N", "", "", set_fault},
#endif
    {kDevice, "--isa", "WORD", "scalar, avx2, avx512, amx or neon", "force one instruction set", "CALLA_ISA", set_isa},
    {kDevice, "--kv", "WORD", "half or int8", "how keys and values are kept; int8 takes half the memory, for long contexts", "CALLA_KV",
     [](Options& o, std::string_view v) { return (v == "half" || v == "int8") && (o.kv = v == "int8" ? KvType::int8 : KvType::half, true); }},
    {kDevice, "--batch-invariant", "", "", "on a GPU: tokens that do not depend on who else is answered, also beyond 16 streams, where it takes longer", "CALLA_BATCH_INVARIANT",
     [](Options& o, std::string_view) { return o.batch_invariant = true; }},
    {kDevice, "--pin", "", "", "bind threads to cores", "", [](Options& o, std::string_view) { return o.pin = true; }},
    {kDevice, "--profile", "", "", "say at the end where the device's time went, by operation", "", [](Options& o, std::string_view) { return o.profile = true; }},
    {kPacked, "--packed", "", "", "keep the weights as the processor reads them in a file of their own, for quick starts", "", [](Options& o, std::string_view) { return o.packed = true; }},
    {kDevice, "--trace", "WORD", "dispatch", "dispatch: say which kernels were chosen and why others refused", "",
     [](Options& o, std::string_view v) { return o.trace_dispatch = v == "dispatch"; }},

    {kSampling, "--temp, --temperature", "X", kTemperature, "temperature; the model's own when not given, like all of these", "",
     [](Options& o, std::string_view v) { return store(v, 0.0f, 10.0f, o.temperature); }},
    {kSampling, "--top-k", "N", "a whole number, 0 for no limit", "only the N likeliest tokens", "",
     [](Options& o, std::string_view v) { return store(v, 0, kBig, o.top_k); }},
    {kSampling, "--top-p", "X", kShare, "only the likeliest tokens that hold X of the probability", "",
     [](Options& o, std::string_view v) { return store(v, 0.0f, 1.0f, o.top_p); }},
    {kSampling, "--min-p", "X", kShare, "only tokens at least X times as likely as the likeliest", "",
     [](Options& o, std::string_view v) { return store(v, 0.0f, 1.0f, o.min_p); }},
    {kSampling, "--typical-p, --typical", "X", kShare, "only tokens about as surprising as the distribution is on average, X of the probability", "",
     [](Options& o, std::string_view v) { return store(v, 0.0f, 1.0f, o.typical_p); }},
    {kSampling, "--top-n-sigma", "X", "a number from 0 to 100; 0 for off", "only tokens within X standard deviations of the best", "",
     [](Options& o, std::string_view v) { return store(v, 0.0f, 100.0f, o.top_n_sigma); }},
    {kSampling, "--xtc-probability", "X", kShare, "how often the likeliest of several good tokens are left out", "",
     [](Options& o, std::string_view v) { return store(v, 0.0f, 1.0f, o.xtc_probability); }},
    {kSampling, "--xtc-threshold", "X", kShare, "from what probability a token is a good one", "", [](Options& o, std::string_view v) { return store(v, 0.0f, 1.0f, o.xtc_threshold); }},
    {kSampling, "--dry-multiplier", "X", "a number from 0 to 100; 0 for off", "lowers what would repeat a sequence", "", [](Options& o, std::string_view v) { return store(v, 0.0f, 100.0f, o.dry_multiplier); }},
    {kSampling, "--dry-base", "X", "a number from 1 to 100", "by how much more for each further token", "", [](Options& o, std::string_view v) { return store(v, 1.0f, 100.0f, o.dry_base); }},
    {kSampling, "--dry-allowed-length", "N", "a whole number, not negative", "sequences up to this long may repeat", "", [](Options& o, std::string_view v) { return store(v, 0, kBig, o.dry_allowed_length); }},
    {kSampling, "--dry-penalty-last-n", "N", "a whole number; -1 for everything", "how far back sequences are looked for", "",
     [](Options& o, std::string_view v) { return store(v, -1, kBig, o.dry_penalty_last_n); }},
    {kSampling, "--mirostat", "N", "0 or 2", "2: keeps the surprise of the text even", "", [](Options& o, std::string_view v) { return v != "1" && store(v, 0, 2, o.mirostat); }},
    {kSampling, "--mirostat-ent, --mirostat-tau", "X", "a number from 0 to 100", "the surprise it keeps", "", [](Options& o, std::string_view v) { return store(v, 0.0f, 100.0f, o.mirostat_tau); }},
    {kSampling, "--mirostat-lr, --mirostat-eta", "X", kShare, "how quickly it does so", "", [](Options& o, std::string_view v) { return store(v, 0.0f, 1.0f, o.mirostat_eta); }},
    {kSampling, "--repeat-last-n", "N", "a whole number; -1 for everything", "how far back the repetition penalty looks", "", [](Options& o, std::string_view v) { return store(v, -1, kBig, o.repeat_last_n); }},
    {kSampling, "--repeat-penalty, --repetition-penalty", "X", "a number from 0.01 to 10; 1 is none", "divides the scores of tokens already there", "",
     [](Options& o, std::string_view v) { return store(v, 0.01f, 10.0f, o.repetition_penalty); }},
    {kSampling, "--presence-penalty", "X", "a number from -10 to 10", "lowers the scores of tokens already there", "",
     [](Options& o, std::string_view v) { return store(v, -10.0f, 10.0f, o.presence_penalty); }},
    {kSampling, "--frequency-penalty", "X", "a number from -10 to 10", "lowers them once per time they are there", "",
     [](Options& o, std::string_view v) { return store(v, -10.0f, 10.0f, o.frequency_penalty); }},
    {kSampling, "-s, --seed", "N", "a whole number, not negative", "same seed, same answer", "",
     [](Options& o, std::string_view v) { return store(v, uint64_t{0}, std::numeric_limits<uint64_t>::max(), o.seed); }},
    {kSampling | kEval, "-n, --max-tokens, --n-predict, --predict", "N", "a whole number, -1 for no limit", "at most N tokens of answer", "", set_max_tokens},
    {kSampling, "--stop", "TEXT", "a text", "end the answer before this text; may be given several times", "",
     [](Options& o, std::string_view v) { return !v.empty() && (o.stop.emplace_back(v), true); }},

    {kConversation, "--system, -sys", "TEXT", "a text", "the system message", "", [](Options& o, std::string_view v) { return set_text(o.system, v); }},
    {kConversation | kServe | kServed, "--think", "", "", "ask a model that can for thinking", "", [](Options& o, std::string_view) { return o.think = true, true; }},
    {kConversation | kServe | kServed, "--no-think", "", "", "ask it to answer at once", "", [](Options& o, std::string_view) { return o.think = false, true; }},
    {kPrompt, "-p, --prompt", "TEXT", "a text", "the prompt, instead of the second argument", "", [](Options& o, std::string_view v) { return o.prompt = v, true; }},

    {kBench, "-p, --n-prompt", "LIST", "whole numbers up to 1048576, with commas between", "prompt lengths to time (512); 0 for none", "",
     [](Options& o, std::string_view v) { return parse_list(v, 0, 1 << 20, o.prompt_sizes); }},
    {kBench, "-n, --n-gen", "LIST", "0, or whole numbers from 2 to 1048576, with commas between", "numbers of tokens to generate (128); 0 for none", "",
     [](Options& o, std::string_view v) { return parse_list(v, 0, 1 << 20, o.generate_sizes) && std::ranges::count(o.generate_sizes, 1) == 0; }},
    {kBench, "-d, --depths, --n-depth", "LIST", "whole numbers up to 1048576, with commas between", "tokens of context to generate behind (0)", "",
     [](Options& o, std::string_view v) { return parse_list(v, 0, 1 << 20, o.depths); }},
    {kBench, "--batch", "LIST", "whole numbers from 1 to 256, with commas between", "sequences that generate at the same time (1)", "",
     [](Options& o, std::string_view v) { return parse_list(v, 1, 256, o.streams) && !o.streams.empty(); }},
    {kBench, "-r, --repetitions", "N", "a whole number from 1 to 1000", "repetitions, interleaved; the median counts (3)", "",
     [](Options& o, std::string_view v) { return parse_number(v, 1, 1000, o.repetitions); }},

    {kEval, "--ids", "LIST", "token ids with commas between", "the prompt", "",
     [](Options& o, std::string_view v) { return parse_list<TokenId>(v, 0, std::numeric_limits<TokenId>::max(), o.ids); }},
    {kEval, "--all-positions", "", "", "the best logits of every prompt position, not only of the last", "",
     [](Options& o, std::string_view) { return o.all_positions = true; }},
    {kEval, "--logits", "FILE", "a path", "also write these rows whole, as float32, to FILE", "", [](Options& o, std::string_view v) { return !v.empty() && set_text(o.logits_file, v); }},
    {kTokenize, "--plain", "", "", "text of special tokens is text", "", [](Options& o, std::string_view) { return o.plain = true; }},
    {kTokenize, "--bos", "", "", "add the tokens that the model asks for around a text", "", [](Options& o, std::string_view) { return o.bos = true; }},
    {kDetokenize, "--skip-special", "", "", "leave out special tokens", "", [](Options& o, std::string_view) { return o.skip_special = true; }},
    {kPack, "--verify", "", "", "read the packed file that is there and compare it with its checksums", "", [](Options& o, std::string_view) { return o.verify = true; }},
    {kInspect, "--tensors", "", "", "list every tensor", "", [](Options& o, std::string_view) { return o.tensors = true; }},
};

}  // namespace

std::span<const OptionSpec> option_table() {
  static const std::vector<OptionSpec> all = [] {
    std::vector<OptionSpec> rows(std::begin(kRows), std::end(kRows));
    for (const auto more : {serve_option_rows(), familiar_option_rows(), privacy_option_rows()}) rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  }();
  return all;
}
