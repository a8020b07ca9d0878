// open: wires the rooms, with a progress line on a terminal.
#include "app/open.h"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include "app/console.h"
#include "app/memory_plan.h"
#include "app/text_parts.h"
#include "core/hash.h"
#include "store/store.h"

namespace {

Status open_text(OpenedModel& model, const Options& options) {
  auto tokenizer = open_tokenizer(*model.file.weights);
  if (!tokenizer) {
    model.tokenizer_error = tokenizer.error().message;
    return ok_status();
  }
  model.tokenizer = std::move(*tokenizer);
  if (!options.chat_template.empty()) {
    TRY(model.chat_template, ChatTemplate::compile(options.chat_template));
  } else if (auto chat_template = open_chat_template(*model.file.weights)) {
    model.chat_template = std::move(*chat_template);
  } else {
    model.template_failed = true;
    model.notes.push_back(chat_template.error().message + "; messages are laid out plainly instead");
  }
  if (!model.chat_template && !model.template_failed) {
    TRY(auto built_in, built_in_chat_template(*model.tokenizer));
    model.chat_template = std::move(built_in.compiled);
    model.built_in_template = std::move(built_in.token);
  }
  add_stop_ids(*model.tokenizer, model.defaults);
  return ok_status();
}

StateTraffic state_traffic(const Device& device, std::span<const StateSpec> states) {
  constexpr int kPage = 32;
  StateTraffic traffic;
  for (const StateSpec& s : states)
    if (s.kind == StateSpec::Kind::paged_kv) traffic.layers.push_back({static_cast<double>(device.page_bytes({&s, 1}, kPage)) / kPage, s.window});
  traffic.recurrent_bytes = static_cast<double>(device.slot_bytes(states));
  return traffic;
}

void add_completer(OpenedModel& model, const Options& options) {
  if (!model.tokenizer) return;
  const std::string shown = options.served_name.empty() ? shown_name(model.file.name, model.file.path) : options.served_name;
  ModelInfo info;
  info.device = model.device_name;
  model.completer = make_completer(*model.engine, {shown, model.tokenizer, model.chat_template, model.defaults, std::move(info)});
}

// Where the device has memory of its own: sizes that fit it, and what to say about them.
Result<std::string> plan_memory(const OpenedModel& model, const DeviceOptions& device, EngineOptions& engine) {
  const auto memory = device_memory(device.device);
  if (!memory) return std::string();
  TRY(const MemoryPlanner planner, MemoryPlanner::open(*model.file.weights, device, engine, memory->available_bytes()));
  const auto plan = planner.plan(memory->available_bytes());
  if (!plan) return Error{plan.error().code, "cannot load " + model.file.name + ": " + plan.error().message};
  engine = plan->engine;
  return fmt::format("calla: memory for {}: {}\n", model.file.name, describe(*plan, memory->available_bytes()));
}

// Makes `device` name just one, and `engine` fit it, before anything is taken; says so.
Status settle_device(const OpenedModel& model, bool quiet, DeviceOptions& device, EngineOptions& engine) {
  const std::string asked = device.device;
  TRY(DeviceChoice choice, choose_device(device));
  device.device = choice.device;
  auto memory = plan_memory(model, device, engine);
  if (!memory && asked == "auto" && choice.device != "cpu") {  // no room there
    choice = {"cpu", "cpu: " + memory.error().message};
    device.device = choice.device;
    memory = std::string();
  }
  if (!memory) return std::move(memory.error());
  if (!quiet && asked != "cpu") fmt::print(stderr, "calla: device: {}\n{}", choice.why, *memory);
  return ok_status();
}

// All that computed state depends on beside tokens: the model's bytes, its template, and how the device computes.
Result<std::string> cache_key(const OpenedModel& model, const Options& options) {
  TRY(const PackedPlace place, packed_place(*model.file.weights, store_options_from_environment()));
  std::string source = options.chat_template;
  if (source.empty()) {
    TRY(source, chat_template_source(*model.file.weights));
  }
  const std::string device = model.device_name.substr(0, model.device_name.find(','));  // results do not depend on the number of threads
  return fmt::format("1 {} {:016x} {} {} {}", place.key, xxh64(std::as_bytes(std::span(source))), device, options.precision == Precision::exact ? "exact" : "fast", options.kv == KvType::int8 ? "int8" : "half");
}

void say(const OpenedModel& model, const Options& options, bool quiet) {
  if (quiet) return;
  for (const std::string& text : model.notes) note(text);
  if (options.verbose && !model.built_in_template.empty())
    note("no chat template in this checkpoint; its vocabulary has " + model.built_in_template + ", and the built-in template for that is used");
  if (options.verbose)
    note(fmt::format("{} on {}: {} of weights loaded in {:.1f} s, context {} tokens", model.file.path, model.device_name, human_bytes(static_cast<double>(model.weight_bytes)),
                     model.load_s, model.engine->context_tokens()));
}

}  // namespace

std::string shown_name(const std::string& name, const std::string& path) {
  if (!std::filesystem::exists(name)) return name;
  const std::filesystem::path file = std::filesystem::path(path).lexically_normal();
  if (file.extension() == ".gguf" || file.extension() == ".safetensors") return file.stem().string();
  return file.has_filename() ? file.filename().string() : file.parent_path().filename().string();
}

double StateTraffic::bytes_at(double depth) const {
  double bytes = 2 * recurrent_bytes;
  for (const Layer& l : layers) bytes += l.bytes_per_token * (l.window > 0 ? std::min<double>(depth, l.window) : depth);
  return bytes;
}

Result<OpenedFile> open_file(const Options& options) {
  StoreOptions store = store_options_from_environment();
  store.offline = store.offline || options.offline;
  OpenedFile opened;
  opened.name = options.model.empty() ? "starter" : options.model;
  TRY(opened.path, resolve_model(opened.name, store));
  TRY(opened.weights, open_weights(opened.path));
  return opened;
}

DeviceOptions device_options(const Options& options) {
  DeviceOptions device;
  device.precision = options.precision;
  device.device = options.device;
  device.threads = options.threads;
  device.isa = options.isa;
  device.kv = options.kv;
  device.pin = options.pin, device.batch_invariant = options.batch_invariant;
  device.trace_dispatch = options.trace_dispatch;
  device.profile = options.profile;
  device.fault = options.fault;
  return device;
}

Result<DeviceOptions> device_options(const Options& options, const WeightFile& file) {
  DeviceOptions device = device_options(options);
  if (!options.packed) return device;
  TRY(PackedPlace place, packed_place(file, store_options_from_environment()));
  device.packed_path = std::move(place.path);
  device.packed_key = std::move(place.key);
  return device;
}

Result<LoadedModel> load_with_progress(const WeightFile& file, Device& device, bool quiet) {
  LoadOptions load;
  ProgressLine line;
  if (!quiet)
    load.progress = [&line](const LoadProgress& p) { line.show(fmt::format("loading {} of {}", human_bytes(static_cast<double>(p.done_bytes)), human_bytes(static_cast<double>(p.total_bytes)))); };
  return load_model(file, device, load);
}

EngineOptions engine_options(const Options& options) {
  EngineOptions engine;
  engine.max_sequences = options.parallel;
  engine.context_tokens = options.context;
  engine.max_batch_tokens = options.batch;
  engine.prefill_chunk = options.batch > 0 ? std::min(options.micro_batch, options.batch) : options.micro_batch;
  engine.max_waiting = options.max_waiting;
  engine.prefix_cache = options.prefix_cache;
  engine.state_bytes = options.state_bytes;
  engine.cache_disk_bytes = options.cache_disk_bytes;
  if (options.cache_disk_bytes > 0) engine.cache_dir = options.cache_dir.empty() ? options.state_cache_dir : options.cache_dir;
  return engine;
}

Result<OpenedModel> open_parts(const Options& options) {
  OpenedModel model;
  TRY(model.file, open_file(options));
  TRY(model.defaults, generation_defaults(*model.file.weights));
  TRY_STATUS(open_text(model, options));
  return model;
}

Status load_parts(OpenedModel& model, const Options& options, const OpenTuning& tuning) {
  const double begin = seconds_now();
  TRY(DeviceOptions wanted, device_options(options, *model.file.weights));
  EngineOptions engine = tuning.engine;
  if (!tuning.planned) TRY_STATUS(settle_device(model, tuning.quiet, wanted, engine));
  TRY(auto device, make_device(wanted));
  TRY(auto loaded, load_with_progress(*model.file.weights, *device, tuning.quiet));
  model.parts = std::move(loaded.parts);
  std::ranges::move(loaded.notes, std::back_inserter(model.notes));
  model.device_name = device->name();
  model.weight_bytes = device->weight_bytes();
  model.state = state_traffic(*device, loaded.model->states());
  if (engine.cache_disk_bytes > 0) {
    TRY(engine.cache_key, cache_key(model, options));
  }
  TRY(model.engine, make_engine(std::move(device), std::move(loaded.model), engine));
  std::ranges::move(model.engine->notes(), std::back_inserter(model.notes));
  model.load_s = seconds_now() - begin;
  add_completer(model, options);
  say(model, options, tuning.quiet);
  return ok_status();
}

Result<OpenedModel> open_model(const Options& options, const OpenTuning& tuning) {
  TRY(OpenedModel model, open_parts(options));
  TRY_STATUS(load_parts(model, options, tuning));
  return model;
}

Result<OpenedModel> open_model(const Options& options) { return open_model(options, OpenTuning{engine_options(options), false}); }

Result<OpenedModel> open_chat_model(const Options& options, const OpenTuning& tuning) {
  TRY(auto model, open_model(options, tuning));
  if (!model.completer) return Error{Code::unsupported, model.tokenizer_error};
  if (!model.chat_template && !tuning.quiet && !model.template_failed) note("no chat template in this checkpoint; messages are laid out plainly as role: content");
  return model;
}
