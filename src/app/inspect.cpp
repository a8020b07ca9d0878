// inspect: a model's configuration, tensors and sizes, and whether it fits; loads no weights.
#include <fmt/format.h>
#include <algorithm>
#include "app/commands.h"
#include "app/console.h"
#include "app/open.h"
#include "core/memory.h"

namespace {

constexpr size_t kOverheadBytes = size_t{256} << 20;  // arena, tokenizer, program: a rough figure, said as an estimate

struct Estimate {
  size_t weight_bytes = 0, per_token_bytes = 0;
  size_t bytes_per_1k_tokens = 0, slot_bytes = 0;  // of one sequence
  int context = 0;
  size_t state_bytes = 0, resident_bytes = 0;
  MemorySize memory;
  bool fits() const { return memory.available_bytes == 0 || resident_bytes <= memory.available_bytes; }
};

Result<Estimate> estimate(const Options& options, const ModelReport& report) {
  DeviceOptions probe = device_options(options);
  probe.threads = 1;
  TRY(const auto device, make_cpu_device(probe));
  Estimate e;
  for (const PartBytes& part : report.parts) e.weight_bytes += part.total_bytes, e.per_token_bytes += part.per_token_bytes;
  e.bytes_per_1k_tokens = device->page_bytes(report.states, 32) * 32;
  e.slot_bytes = device->slot_bytes(report.states);
  e.context = options.context > 0 ? options.context : std::min(4096, std::max(1, report.config.max_positions));
  e.state_bytes = e.bytes_per_1k_tokens * ((static_cast<size_t>(e.context) + 1023) / 1024) + e.slot_bytes;
  e.resident_bytes = e.weight_bytes + e.state_bytes + kOverheadBytes;
  e.memory = memory_size();
  return e;
}

Json tensors_json(const WeightFile& file) {
  Json all = Json::array();
  for (const StoredTensor& t : file.tensors()) {
    Json shape = Json::array();
    for (int i = 0; i < t.shape.rank; i++) shape.push_back(t.shape[i]);
    all.push_back({{"name", t.name}, {"format", t.format->name}, {"shape", shape}, {"bytes", t.bytes.size()}});
  }
  return all;
}

Json config_json(const ModelConfig& c) {
  Json out = {{"architecture", c.architecture}, {"n_layers", c.n_layers}, {"hidden_dim", c.hidden_dim}, {"n_heads", c.n_heads}, {"n_kv_heads", c.n_kv_heads}, {"head_dim", c.head_dim},
              {"ffn_dim", c.ffn_dim}, {"vocab_size", c.vocab_size}, {"max_positions", c.max_positions}};
  if (c.n_experts > 0) out["n_experts"] = c.n_experts, out["top_k"] = c.top_k;
  return out;
}

Json as_json(const OpenedFile& file, const ModelReport& report, const Estimate& e, bool tensors) {
  Json parts = Json::array();
  for (const PartBytes& p : report.parts) parts.push_back({{"part", p.part}, {"formats", p.formats}, {"bytes", p.total_bytes}, {"bytes_per_token", p.per_token_bytes}});
  Json out = {{"name", file.name}, {"path", file.path}, {"container", file.weights->container() == Container::gguf ? "gguf" : "safetensors"}, {"file_bytes", file.weights->weight_bytes()},
              {"n_tensors", file.weights->tensors().size()}, {"config", config_json(report.config)}, {"parts", parts},
              {"weight_bytes", e.weight_bytes}, {"bytes_per_token", e.per_token_bytes}, {"state_bytes_per_1k_tokens", e.bytes_per_1k_tokens}, {"state_bytes_per_sequence", e.slot_bytes},
              {"context_tokens", e.context}, {"resident_bytes", e.resident_bytes}, {"memory_bytes", e.memory.total_bytes}, {"available_bytes", e.memory.available_bytes},
              {"fits", e.fits()}, {"notes", report.notes}};
  if (tensors) out["tensors"] = tensors_json(*file.weights);
  return out;
}

std::string size(size_t bytes) { return human_bytes(static_cast<double>(bytes)); }

void print_config(const OpenedFile& file, const ModelConfig& c) {
  fmt::print("{}\n  {}, {} tensors, {}\n\n", file.path, file.weights->container() == Container::gguf ? "GGUF" : "safetensors", file.weights->tensors().size(), size(file.weights->weight_bytes()));
  fmt::print("{:15} {}\n{:15} {}\n{:15} {}\n", "architecture", c.architecture, "layers", c.n_layers, "hidden", c.hidden_dim);
  fmt::print("{:15} {} query, {} key/value, {} wide\n", "heads", c.n_heads, c.n_kv_heads, c.head_dim);
  if (c.ffn_dim > 0) fmt::print("{:15} {}\n", "feed-forward", c.ffn_dim);
  if (c.n_experts > 0) fmt::print("{:15} {}, {} a token\n", "experts", c.n_experts, c.top_k);
  fmt::print("{:15} {}\n{:15} {} tokens\n\n", "vocabulary", c.vocab_size, "positions", c.max_positions);
}

void print_sizes(const ModelReport& report, const Estimate& e) {
  size_t width = 4;
  for (const PartBytes& p : report.parts) width = std::max(width, p.part.size());
  fmt::print("{:{}}  {:>10}  {:>10}  {}\n", "part", width, "bytes", "a token", "stored as");
  for (const PartBytes& p : report.parts) fmt::print("{:{}}  {:>10}  {:>10}  {}\n", p.part, width, size(p.total_bytes), size(p.per_token_bytes), p.formats);
  fmt::print("{:{}}  {:>10}  {:>10}\n\n", "all", width, size(e.weight_bytes), size(e.per_token_bytes));
  fmt::print("state: {} per 1024 tokens", size(e.bytes_per_1k_tokens));
  if (e.slot_bytes > 0) fmt::print(", and {} per sequence whatever its length", size(e.slot_bytes));
  fmt::print("\nresident: about {} with one sequence of {} tokens; {} of {} are free: {}\n", size(e.resident_bytes), e.context, size(e.memory.available_bytes), size(e.memory.total_bytes),
             e.fits() ? "it fits" : "it does not fit");
}

void print_tensors(const WeightFile& file) {
  size_t width = 4;
  for (const StoredTensor& t : file.tensors()) width = std::max(width, t.name.size());
  fmt::print("\n{:{}}  {:10} {:>10}  {}\n", "tensor", width, "format", "bytes", "shape");
  for (const StoredTensor& t : file.tensors()) fmt::print("{:{}}  {:10} {:>10}  {}\n", printable(t.name), width, t.format->name, size(t.bytes.size()), to_string(t.shape));
}

Status inspect(const Options& options) {
  TRY(const OpenedFile file, open_file(options));
  TRY(const ModelReport report, inspect_model(*file.weights));
  TRY(const Estimate e, estimate(options, report));
  if (options.json) {
    print_json(as_json(file, report, e, options.tensors));
    return ok_status();
  }
  print_config(file, report.config);
  print_sizes(report, e);
  for (const std::string& text : report.notes) fmt::print("note: {}\n", text);
  if (options.tensors) print_tensors(*file.weights);
  return ok_status();
}

}  // namespace

int inspect_command(const Options& options) {
  const Status done = inspect(options);
  return done ? 0 : fail(done.error());
}
