// options: the rows of serve, and the names of llama-server that are taken although they change nothing here.
#include <algorithm>
#include <limits>
#include "app/options_rows.h"
#include "app/values.h"
#include "core/mapped_file.h"

namespace {

constexpr int kBig = std::numeric_limits<int>::max();
constexpr uint32_t kOne = kServed;  // one model's
constexpr const char* kSize = "a size such as 32M or 1.5G";
constexpr const char* kDuration = "a duration such as 90s, 5m or 1h; -1 for ever";

bool number(std::string_view v, int low, int high, int& out) { return parse_number(v, low, high, out); }
bool text(std::string& out, std::string_view v) { return !v.empty() && (out = v, true); }

// "127.0.0.1:8080", "[::1]:8080", ":8080", "unix:/run/calla.sock"; a URL's http:// in front is skipped.
bool set_listen(Options& o, std::string_view v) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (v.starts_with(scheme)) v.remove_prefix(scheme.size());
  while (v.ends_with('/') && !v.starts_with("unix:")) v.remove_suffix(1);
  if (v.starts_with("unix:")) return v.size() > 5 && text(o.host, v);
  const size_t colon = v.rfind(':');
  if (colon == std::string_view::npos || (v.starts_with('[') ? v[colon - 1] != ']' : v.find(':') != colon)) return false;
  if (!parse_number(v.substr(colon + 1), 0, 65535, o.port)) return false;
  if (colon > 0) o.host = v.substr(0, colon);
  return true;
}
bool set_host(Options& o, std::string_view v) {
  if (v.ends_with(".sock") && !v.starts_with("unix:")) return o.host = "unix:" + std::string(v), true;
  return text(o.host, v);
}

// NAME=MODEL; without "=" names under which the served model is known, the first being what it is listed as.
bool add_alias(Options& o, std::string_view v) {
  const size_t equals = v.find('=');
  if (equals == 0 || v.empty() || equals + 1 == v.size()) return false;
  if (equals != std::string_view::npos) return o.aliases.emplace_back(v.substr(0, equals), v.substr(equals + 1)), true;
  for (size_t at = 0; at <= v.size();) {
    const size_t end = std::min(v.find(',', at), v.size());
    if (end == at) return false;
    if (at == 0) o.served_name = v.substr(0, end);
    else o.aliases.emplace_back(v.substr(at, end - at), o.served_name);
    at = end + 1;
  }
  return true;
}

bool add_origins(Options& o, std::string_view v) {
  for (size_t at = 0; at <= v.size();) {
    const size_t end = std::min(v.find(',', at), v.size());
    if (end == at) return false;
    o.cors_origins.emplace_back(v.substr(at, end - at));
    at = end + 1;
  }
  return true;
}

bool set_template_file(Options& o, std::string_view v) {
  const auto read = read_file(std::string(v), size_t{1} << 20);
  return read && !read->empty() && (o.chat_template = *read, true);
}

// Merges an object into the defaults of the template's variables.
bool add_kwargs(Options& o, std::string_view v) {
  const Json more = Json::parse(v, nullptr, false);
  if (!more.is_object()) return false;
  Json all = o.template_kwargs.empty() ? Json::object() : Json::parse(o.template_kwargs);
  all.update(more);
  o.template_kwargs = all.dump();
  return true;
}

bool set_reasoning(Options& o, std::string_view v) {
  if (v == "on") o.think = true;
  else if (v == "off") o.think = false;
  else if (v == "auto") o.think.reset();
  else return false;
  return true;
}

bool set_cache_type(Options& o, std::string_view v) {
  if (v != "f16" && v != "q8_0" && v != "half" && v != "int8") return false;
  o.kv = v == "q8_0" || v == "int8" ? KvType::int8 : KvType::half;
  return true;
}

bool set_cache_ram(Options& o, std::string_view v) {
  int mib = 0;
  if (!parse_number(v, -1, kBig, mib)) return false;
  o.state_bytes = mib > 0 ? static_cast<size_t>(mib) << 20 : 0;
  o.prefix_cache = mib != 0;
  return true;
}

bool set_seconds(std::string_view v, int& out) {
  std::chrono::seconds duration{};
  if (!parse_duration(v, duration) || duration.count() < 0 || duration.count() > 86400 * 365) return false;
  out = static_cast<int>(duration.count());
  return true;
}

bool set_keep_alive(Options& o, std::string_view v) {
  std::chrono::seconds duration{};
  return parse_duration(v, duration) && (o.keep_alive = duration, true);
}

const OptionSpec kServeRows[] = {
    {kServe, "--config", "FILE", "a path", "a TOML file with these options (docs/serving.md); what is said here goes before it", "CALLA_CONFIG",
     [](Options& o, std::string_view v) { return text(o.config_file, v); }},
    {kConfig, "--config", "CONFIG", "a path", "a TOML file with [local], [upstream.*] and [privacy]: ask through its privacy gate (docs/serving.md)", "",
     [](Options& o, std::string_view v) { return text(o.config_file, v); }},
    {kServe, "--listen", "WHERE", "HOST:PORT or unix:/path", "where to listen, in one word", "OLLAMA_HOST", set_listen},
    {kServe, "--host", "ADDRESS", "an address of this machine, or a path that ends in .sock", "where to listen", "CALLA_HOST", set_host},
    {kServe, "--port", "N", "a whole number from 0 to 65535", "port; 0: any free one", "CALLA_PORT", [](Options& o, std::string_view v) { return number(v, 0, 65535, o.port); }},
    {kServe, "--max-connections, --threads-http", "N", "a whole number from 1 to 65535", "open connections", "", [](Options& o, std::string_view v) { return number(v, 1, 65535, o.max_connections); }},
    {kServe, "--api-key", "KEY", "a text", "ask clients for this key; may be given several times", "CALLA_API_KEY",
     [](Options& o, std::string_view v) { return !v.empty() && (o.api_keys.emplace_back(v), true); }},
    {kServe, "--api-key-file", "FILE", "a path", "a file of keys, one a line", "", [](Options& o, std::string_view v) { return text(o.api_key_file, v); }},
    {kServe, "--cors-origin, --cors-origins", "URL", "origins such as https://example.org, or *, with commas between", "web sites that may call; may be given several times", "OLLAMA_ORIGINS", add_origins},
    {kServe, "-a, --alias", "ASKED=MODEL", "NAME=MODEL, * for any name; or the model's own NAME", "another name under which clients may ask; may be given several times", "", add_alias},
    {kServe, "--max-body", "BYTES", kSize, "largest body of a request (32M)", "", [](Options& o, std::string_view v) { return parse_bytes(v, o.max_body_bytes) && o.max_body_bytes > 0; }},
    {kServe, "--timeout", "TIME", kDuration, "how long a reader may take nothing (300s)", "", [](Options& o, std::string_view v) { return set_seconds(v, o.write_timeout_s) && o.write_timeout_s > 0; }},
    {kServe, "--sse-ping-interval", "TIME", kDuration, "comments into streams that wait (10s)", "", [](Options& o, std::string_view v) { return set_seconds(v, o.ping_interval_s) && o.ping_interval_s > 0; }},
    {kServe, "--drain-timeout", "TIME", kDuration, "how long running answers may take after the first signal (30s)", "", [](Options& o, std::string_view v) { return set_seconds(v, o.drain_timeout_s); }},
    {kServe, "--max-running", "N", "a whole number from 1 to 65536", "requests answered or waiting at once; further ones are refused with 429 (128)", "", [](Options& o, std::string_view v) { return number(v, 1, 65536, o.max_running); }},
    {kServe, "--tls-cert, --ssl-cert-file", "FILE", "a path", "PEM chain of the server: HTTPS; with --tls-key", "", [](Options& o, std::string_view v) { return text(o.tls_cert_file, v); }},
    {kServe, "--tls-key, --ssl-key-file", "FILE", "a path", "PEM key of the server", "", [](Options& o, std::string_view v) { return text(o.tls_key_file, v); }},
    {kServe, "--insecure", "", "", "let an address that others can reach be used without a key", "", [](Options& o, std::string_view) { return o.insecure = true; }},
    {kServe, "--log, --log-file", "FILE", "a path, or - for standard output", "one line of JSON for each answered request, without texts and keys", "", [](Options& o, std::string_view v) { return text(o.log_file, v); }},
    {kServe, "--reasoning-field", "WORD", "reasoning_content, reasoning or both", "where chat completions put thinking (reasoning_content)", "",
     [](Options& o, std::string_view v) { return (v == "reasoning_content" || v == "reasoning" || v == "both") && text(o.reasoning_field, v); }},
    {kServe, "--responses-db", "FILE", "a path", "a file of stored Responses; without it they end with the server", "", [](Options& o, std::string_view v) { return text(o.responses_db, v); }},
    {kServe, "--keep-volatile-prefix", "", "", "leave in prompts what Claude Code changes in them with every call", "", [](Options& o, std::string_view) { return o.keep_volatile_prefix = true; }},
    {kServe, "--models-dir", "DIR", "a path", "further models: the .gguf files and model folders in it", "", [](Options& o, std::string_view v) { return text(o.models_dir, v); }},
    {kServe, "--models-max", "N", "a whole number, 0 for no limit", "models in memory at once", "OLLAMA_MAX_LOADED_MODELS", [](Options& o, std::string_view v) { return number(v, 0, kBig, o.max_loaded); }},

    {kServe | kOne, "--name", "NAME", "a text", "what the model is listed as; its file's name otherwise", "", [](Options& o, std::string_view v) { return text(o.served_name, v); }},
    {kServe | kOne, "-hf, --hf-repo", "REPO", "owner/repo[:QUANT]", "the model, fetched when it is not here", "", [](Options& o, std::string_view v) { return text(o.model, v) && (o.fetch = true); }},
    {kServe | kOne, "--keep-alive, --sleep-idle-seconds", "TIME", kDuration, "how long an idle model stays in memory (5m; the one named here: for ever)", "OLLAMA_KEEP_ALIVE", set_keep_alive},
    {kServe | kOne, "--pinned", "", "", "load the model at the start and never make room of it", "", [](Options& o, std::string_view) { return o.pinned = true, true; }},
    {kServe | kOne, "--no-pinned", "", "", "load the model when it is asked for", "", [](Options& o, std::string_view) { return o.pinned = false, true; }},
    {kServe | kOne, "-np, --parallel", "N", "a whole number from 1 to 1024", "sequences that run at once; others wait", "OLLAMA_NUM_PARALLEL", [](Options& o, std::string_view v) { return number(v, 1, 1024, o.parallel); }},
    {kServe | kOne, "--max-queue", "N", "a whole number, not negative", "requests that may wait; further ones are refused with 429", "OLLAMA_MAX_QUEUE", [](Options& o, std::string_view v) { return number(v, 0, kBig, o.max_waiting); }},
    {kServe | kOne, "-b, --batch-size", "N", "a whole number from 1 to 65536", "most rows of one step", "", [](Options& o, std::string_view v) { return number(v, 1, 65536, o.batch); }},
    {kServe | kOne, "-ub, --ubatch-size", "N", "a whole number from 1 to 65536", "most rows of one prompt in one step", "", [](Options& o, std::string_view v) { return number(v, 1, 65536, o.micro_batch); }},
    {kServe | kOne, "-cram, --cache-ram", "MIB", "MiB; 0 for no prefix cache, -1 for what is free", "memory for sequences, running and remembered (half of what is free)", "", set_cache_ram},
    {kServe | kOne, "--cache-disk", "BYTES", "a size such as 32G; 0 for none", "keep what is computed of prompts on disk too, up to this size, for the next start (0)", "",
     [](Options& o, std::string_view v) { return parse_bytes(v, o.cache_disk_bytes); }},
    {kServe | kOne, "--cache-dir", "DIR", "a path", "where, with --cache-disk", "", [](Options& o, std::string_view v) { return text(o.cache_dir, v); }},
    {kServe | kOne, "--no-prefix-cache, --no-cache-prompt", "", "", "compute every prompt afresh", "", [](Options& o, std::string_view) { return o.prefix_cache = false, true; }},
    {kServe | kOne, "-ctk, --cache-type-k, -ctv, --cache-type-v", "TYPE", "f16 or q8_0", "how keys and values are kept, both alike: --kv in llama-server's words", "OLLAMA_KV_CACHE_TYPE", set_cache_type},
    {kServe | kOne, "--chat-template", "TEXT", "a Jinja template", "instead of the checkpoint's own", "", [](Options& o, std::string_view v) { return v.find('{') != v.npos && text(o.chat_template, v); }},
    {kServe | kOne, "--chat-template-file", "FILE", "a file with a Jinja template", "the same from a file", "", set_template_file},
    {kServe | kOne, "--chat-template-kwargs, --chat-template-args", "JSON", "a JSON object", "variables of the template, where a request says nothing else", "", add_kwargs},
    {kServe | kOne, "-rea, --reasoning", "WORD", "on, off or auto", "thinking, where a request says nothing else", "", set_reasoning},
    {kServe | kOne, "--reasoning-effort", "WORD", "a word that the template knows", "the same as a variable of the template", "",
     [](Options& o, std::string_view v) { return !v.empty() && add_kwargs(o, Json{{"reasoning_effort", v}}.dump()); }},
    {kServe | kOne, "--reasoning-budget", "N", "a whole number; -1 for no limit", "tokens of thinking, where a request says nothing else", "",
     [](Options& o, std::string_view v) {
       int budget = 0;
       if (!parse_number(v, -1, kBig, budget)) return false;
       o.reasoning_budget = budget < 0 ? std::nullopt : std::optional(budget);
       return true;
     }},
};

bool taken(Options&, std::string_view) { return true; }

constexpr const char* kNoGpu = "--device says where a model runs";
constexpr const char* kAlways = "always so";
constexpr const char* kThere = "its endpoint is always there";
constexpr const char* kSnapshots = "snapshots are placed by use";
constexpr const char* kOwnWay = "decided by the engine";

const OptionSpec kFamiliarRows[] = {
    {kFamiliar, "-ngl, --gpu-layers, --n-gpu-layers", "N", "a value", kNoGpu, "", taken},
    {kFamiliar, "-sm, --split-mode", "WORD", "a value", kNoGpu, "", taken},
    {kFamiliar, "-ts, --tensor-split", "LIST", "a value", kNoGpu, "", taken},
    {kFamiliar, "-mg, --main-gpu", "N", "a value", kNoGpu, "", taken},
    {kFamiliar, "-dev", "LIST", "a value", kNoGpu, "", taken},
    {kFamiliar, "-ot, --override-tensor", "TEXT", "a value", kNoGpu, "", taken},
    {kFamiliar, "-cmoe, --cpu-moe", "", "", kNoGpu, "", taken},
    {kFamiliar, "-ncmoe, --n-cpu-moe", "N", "a value", kNoGpu, "", taken},
    {kFamiliar, "-fit, --fit", "[WORD]", "on or off", "memory is always planned before loading", "", taken},
    {kFamiliar, "-fa, --flash-attn", "[WORD]", "on, off or auto", kAlways, "OLLAMA_FLASH_ATTENTION", taken},
    {kFamiliar, "--mlock", "", "", "weights lie in memory of their own", "", taken},
    {kFamiliar, "--mmap", "", "", "--packed maps the weights", "", taken},
    {kFamiliar, "--no-mmap", "", "", "weights lie in memory of their own unless --packed", "", taken},
    {kFamiliar, "--numa", "WORD", "a value", "--pin binds threads to cores", "", taken},
    {kFamiliar, "-tb, --threads-batch", "N", "a value", "--threads counts for prompts too", "", taken},
    {kFamiliar, "--prio", "N", "a value", "the system's nice does that", "", taken},
    {kFamiliar, "--poll", "N", "a value", kOwnWay, "", taken},
    {kFamiliar, "-cb, --cont-batching", "", "", kAlways, "", taken},
    {kFamiliar, "--warmup", "", "", kOwnWay, "", taken},
    {kFamiliar, "--no-warmup", "", "", kAlways, "", taken},
    {kFamiliar, "--no-context-shift", "", "", kAlways, "", taken},
    {kFamiliar, "-kvu, --kv-unified", "", "", kAlways, "", taken},
    {kFamiliar, "--swa-full", "", "", "windows are kept whole", "", taken},
    {kFamiliar, "--jinja", "", "", kAlways, "", taken},
    {kFamiliar, "--reasoning-format", "WORD", "a value", "thoughts go into a field of their own, whose name the API's dialect says", "", taken},
    {kFamiliar, "--metrics", "", "", kThere, "", taken},
    {kFamiliar, "--slots", "", "", kThere, "", taken},
    {kFamiliar, "--no-slots", "", "", kThere, "", taken},
    {kFamiliar, "--props", "", "", kThere, "", taken},
    {kFamiliar, "--embedding, --embeddings", "", "", kThere, "", taken},
    {kFamiliar, "--webui", "", "", "there is no page here", "", taken},
    {kFamiliar, "--no-webui, --no-ui", "", "", kAlways, "", taken},
    {kFamiliar, "-ctxcp, --ctx-checkpoints, --swa-checkpoints", "N", "a value", kSnapshots, "", taken},
    {kFamiliar, "-cms, --checkpoint-min-step", "N", "a value", kSnapshots, "", taken},
    {kFamiliar, "--cache-reuse", "N", "a value", "whatever prefix is there is reused", "", taken},
    {kFamiliar, "--cache-prompt", "", "", kAlways, "", taken},
    {kFamiliar, "--slot-save-path", "DIR", "a path", "what is computed is kept by content and not by slot", "", taken},
    {kFamiliar, "-md, --model-draft", "FILE", "a path", "every token comes from the model itself; the text is the same", "", taken},
    {kFamiliar, "--log-disable", "", "", "nothing but notes is said", "", taken},
    {kFamiliar, "--no-perf", "", "", "--verbose says speeds", "", taken},
};

}  // namespace

std::span<const OptionSpec> serve_option_rows() { return kServeRows; }
std::span<const OptionSpec> familiar_option_rows() { return kFamiliarRows; }
