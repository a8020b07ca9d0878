// library: finds models, plans their memory, loads them.
#include "app/library.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <filesystem>
#include <limits>
#include "app/console.h"
#include "app/memory_plan.h"
#include "app/open.h"
#include "core/json_writer.h"
#include "core/memory.h"

namespace {

namespace fs = std::filesystem;

constexpr auto kFresh = std::chrono::seconds(10);  // how old a list of what is there may be

std::string size(size_t bytes) { return human_bytes(static_cast<double>(bytes)); }

// Promises made to loaded models that they have not used up yet: state is touched only when sequences need it.
class Promises {
 public:
  size_t available() {
    const MemorySize memory = memory_size();
    if (memory.total_bytes == 0) return std::numeric_limits<size_t>::max() / 4;
    const size_t resident = resident_memory_bytes(), margin = memory.total_bytes / 50;
    const std::lock_guard lock(mutex_);
    const size_t used = resident - std::min(resident, base_);
    const size_t taken = margin + promised_ - std::min(promised_, used);
    return memory.available_bytes - std::min(memory.available_bytes, taken);
  }
  void add(size_t bytes) { change(bytes, true); }
  void drop(size_t bytes) { change(bytes, false); }

 private:
  void change(size_t bytes, bool up) {
    const std::lock_guard lock(mutex_);
    promised_ = up ? promised_ + bytes : promised_ - bytes;
  }
  std::mutex mutex_;
  const size_t base_ = resident_memory_bytes();
  size_t promised_ = 0;
};

class Resident final : public ResidentModel {
 public:
  Resident(OpenedModel model, const Options& options, std::string memory, size_t bytes, std::shared_ptr<Promises> promises)
      : model_(std::move(model)), options_(options), memory_(std::move(memory)), bytes_(bytes), promises_(std::move(promises)) {
    if (memory_.empty()) promises_->add(bytes_);  // a device with memory of its own takes all at once and knows what is left
  }
  ~Resident() override {
    if (memory_.empty()) promises_->drop(bytes_);
  }
  std::string memory() const override { return memory_; }
  Completer& completer() override { return *model_.completer; }
  size_t bytes() const override { return bytes_; }
  void fill_in(ChatRequest& request) const override {
    fill_in_sampling(options_, request);
    if (!request.reasoning_budget_tokens) request.reasoning_budget_tokens = options_.reasoning_budget;
    if (options_.template_kwargs.empty() && !options_.think) return;
    Json kwargs = options_.template_kwargs.empty() ? Json::object() : Json::parse(options_.template_kwargs);
    if (options_.think) kwargs["enable_thinking"] = *options_.think;
    const Json asked = Json::parse(request.template_kwargs_json, nullptr, false);
    if (asked.is_object()) kwargs.update(asked);
    request.template_kwargs_json = kwargs.dump();
  }

 private:
  OpenedModel model_;
  const Options options_;
  const std::string memory_;
  const size_t bytes_;
  const std::shared_ptr<Promises> promises_;
};

class Prepared final : public PreparedModel {
 public:
  Prepared(std::string name, OpenedModel model, MemoryPlanner planner, const Options& options, std::shared_ptr<Promises> promises)
      : name_(std::move(name)), model_(std::move(model)), planner_(std::move(planner)), options_(options), promises_(std::move(promises)) {}
  std::string memory() const override { return planner_.own_memory() ? options_.device : ""; }
  size_t least_bytes() const override { return planner_.least_bytes(); }
  std::string advice(size_t available) const override {
    const int context = planner_.fitting_context(available);
    return context > 0 && context < options_.context ? fmt::format("a context of {} tokens would fit (--ctx-size {})", context, context) : "";
  }
  Result<std::unique_ptr<ResidentModel>> load(size_t available) override {
    auto plan = planner_.plan(available);
    if (!plan) return Error{plan.error().code, "cannot load " + name_ + ": " + plan.error().message};
    fmt::print(stderr, "calla: memory for {}: {}\n", name_, describe(*plan, available));
    const size_t before = resident_memory_bytes();
    TRY_STATUS(load_parts(model_, options_, OpenTuning{plan->engine, false, true}));
    if (!model_.completer) return Error{Code::unsupported, model_.tokenizer_error};
    const size_t after = resident_memory_bytes();
    fmt::print(stderr, "calla: {} is loaded on {}: {:.1f} s, {} more in memory\n", name_, model_.device_name, model_.load_s, size(after - std::min(before, after)));
    return std::unique_ptr<ResidentModel>(std::make_unique<Resident>(std::move(model_), options_, memory(), plan->total_bytes(), promises_));
  }

 private:
  const std::string name_;
  OpenedModel model_;
  MemoryPlanner planner_;
  const Options options_;
  const std::shared_ptr<Promises> promises_;
};

StoreOptions store_options(const Options& options) {
  StoreOptions store = store_options_from_environment();
  store.offline = store.offline || options.offline;
  return store;
}

// The command line's model, then those of the configuration.
std::vector<Options> named_models(const Options& options) {
  std::vector<Options> named;
  if (!options.model.empty()) named.push_back(options), named.front().locals.clear();
  named.insert(named.end(), options.locals.begin(), options.locals.end());
  return named;
}

class LocalLibrary final : public Library {
 public:
  explicit LocalLibrary(const Options& options)
      : base_(options), store_(store_options(options)), copies_(options.state_dir.empty() ? "" : options.state_dir + "/models.json"), named_(named_models(options)) {
    base_.locals.clear();
    base_.model.clear(), base_.served_name.clear();
  }

  std::vector<ShelfModel> list() override {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (listed_.empty() || now - listed_at_ > kFresh) listed_ = look(), listed_at_ = now;
    return listed_;
  }
  size_t available_bytes(const std::string& memory) override {
    const auto own = memory.empty() ? std::nullopt : device_memory(memory);
    return own ? own->available_bytes() : promises_->available();
  }

  Result<std::unique_ptr<PreparedModel>> prepare(const ShelfModel& model) override {
    Options options = options_of(model);
    if (options.fetch && !store_.offline && !resolve_model(options.model, store_)) TRY_STATUS(fetch(options.model));
    TRY(OpenedModel opened, open_parts(options));
    if (!opened.tokenizer) return Error{Code::unsupported, opened.tokenizer_error};
    TRY(MemoryPlanner planner, plan(model.place(), *opened.file.weights, options));
    return std::unique_ptr<PreparedModel>(std::make_unique<Prepared>(model.place(), std::move(opened), std::move(planner), options, promises_));
  }

  Status pull(const std::string& name, const Completer::PullProgress& progress, std::stop_token stop) override {
    std::stop_source ours;
    const std::stop_callback theirs(std::move(stop), [&] { ours.request_stop(); });
    const auto tell = [&](const Progress& p) {
      if (progress && !progress("pulling " + p.file, p.done_bytes, p.total_bytes)) ours.request_stop();
    };
    std::string wanted = name.ends_with(":latest") ? name.substr(0, name.size() - 7) : name;
    for (const std::string_view host : {"hf.co/", "huggingface.co/"})
      if (wanted.starts_with(host)) wanted.erase(0, host.size());
    TRY(const Pulled pulled, pull_model(wanted, store_, tell, ours.get_token()));
    return forget();
  }

  Status remove(const ShelfModel& model) override {
    if (!model.copy_of.empty()) {
      TRY_STATUS(copies_.remove(model.info.name));
      return forget();
    }
    const std::string stored = stored_name(model.path);
    if (stored.empty()) return Error{Code::denied, "cannot remove " + model.info.name + ": it was named by its path; only models of the store are removed"};
    TRY(const size_t freed, remove_model(stored, store_));
    static_cast<void>(freed);
    return forget();
  }

  Status copy(const ShelfModel& from, const std::string& to) override {
    const std::string name = to.ends_with(":latest") ? to.substr(0, to.size() - 7) : to;
    const bool printable_name = !name.empty() && name.size() <= 200 && std::ranges::all_of(name, [](unsigned char c) { return c > 32 && c < 127; });
    if (!printable_name) return Error{Code::invalid_request, "cannot name a model anew: at most 200 visible ASCII characters expected"};
    for (const ShelfModel& model : list())
      if (model.info.name == name && model.copy_of.empty()) return Error{Code::invalid_request, "cannot name a model anew: another model has this name"};
    TRY_STATUS(copies_.add(name, from.place()));
    return forget();
  }

 private:
  // Settles which device it will be.
  static Result<MemoryPlanner> plan(const std::string& name, const WeightFile& file, Options& options) {
    const std::string asked = options.device;
    TRY(DeviceOptions device, device_options(options, file));
    TRY(DeviceChoice choice, choose_device(device));
    device.device = choice.device;
    const auto memory = device_memory(device.device);
    TRY(MemoryPlanner planner, MemoryPlanner::open(file, device, engine_options(options), memory ? memory->total_bytes - std::min(memory->total_bytes, memory->kept_bytes) : SIZE_MAX));
    if (asked == "auto" && planner.never_fits()) {
      choice = {"cpu", fmt::format("cpu: {} takes at least {} of GPU memory", name, size(planner.least_bytes()))};
      device.device = choice.device;
      TRY(planner, MemoryPlanner::open(file, device, engine_options(options)));
    }
    options.device = choice.device;
    if (asked != "cpu") fmt::print(stderr, "calla: device of {}: {}\n", name, choice.why);
    return planner;
  }

  struct Seen { int64_t modified = 0; std::optional<ModelInfo> info; };  // no info: it cannot be used

  Status forget() {
    const std::lock_guard lock(mutex_);
    listed_.clear();
    return ok_status();
  }

  // Everything below is called with the mutex held, or by the thread that prepares.
  std::vector<ShelfModel> look() {
    std::vector<ShelfModel> all;
    for (size_t i = 0; i < named_.size(); i++) add_named(named_[i], named_[i].pinned.value_or(i == 0 && !named_[i].keep_alive), all);
    if (const auto stored = list_models(store_))
      for (const LocalModel& m : *stored) add(all, short_name(m), m.path, {m.name});
    std::error_code error;
    if (!base_.models_dir.empty())
      for (const auto& entry : fs::directory_iterator(base_.models_dir, error))
        if (entry.path().extension() == ".gguf" || fs::exists(entry.path() / "config.json", error)) add(all, shown_name(entry.path().string(), entry.path().string()), entry.path().string(), {});
    add_copies(all);
    return all;
  }

  // A file's own name and its stem, and owner/repo of owner/repo:QUANT.
  static void add_spellings(std::string name, const std::string& path, std::vector<std::string>& names) {  // `name` may lie in `names`
    const fs::path file(path);
    names.insert(names.end(), {path, file.filename().string(), file.stem().string()});
    if (const size_t colon = name.find(':'); colon != std::string::npos) names.push_back(name.substr(0, colon));
  }

  // Those that were named are listed whatever they are: asking for them says what is wrong.
  void add_named(const Options& options, bool pinned, std::vector<ShelfModel>& all) {
    const auto path = resolve_model(options.model, store_);
    ShelfModel model;
    if (path)
      if (const ModelInfo* info = info_of(*path)) model.info = *info;
    model.path = path ? *path : options.model;
    model.info.name = options.served_name.empty() ? shown_name(options.model, model.path) : options.served_name;
    model.info.loaded = false;
    if (options.context > 0) model.info.context_tokens = options.context;
    model.other_names = {options.model};
    add_spellings(options.model, model.path, model.other_names);
    model.pinned = pinned;
    model.keep_alive = options.keep_alive;
    all.push_back(std::move(model));
  }

  void add(std::vector<ShelfModel>& all, const std::string& name, const std::string& path, std::vector<std::string> other_names) {
    add_spellings(other_names.empty() ? name : other_names.front(), path, other_names);
    const auto same = std::ranges::find_if(all, [&](const ShelfModel& m) { return m.path == path; });
    if (same != all.end()) return std::ranges::move(other_names, std::back_inserter(same->other_names)), void();
    const ModelInfo* info = info_of(path);
    if (info == nullptr || std::ranges::any_of(all, [&](const ShelfModel& m) { return m.info.name == name; })) return;
    ShelfModel model{.info = *info, .path = path, .keep_alive = base_.keep_alive};
    model.info.name = name;
    model.other_names = std::move(other_names);
    if (base_.context > 0) model.info.context_tokens = base_.context;
    all.push_back(std::move(model));
  }

  void add_copies(std::vector<ShelfModel>& all) {
    const auto copies = copies_.read();
    if (!copies) return note(copies.error().message);
    for (const auto& [name, of] : *copies) {
      const auto original = std::ranges::find_if(all, [&](const ShelfModel& m) { return m.info.name == of; });
      if (original == all.end() || std::ranges::any_of(all, [&](const ShelfModel& m) { return m.info.name == name; })) continue;
      ShelfModel copy = *original;
      copy.copy_of = of;
      copy.info.name = name;
      copy.other_names.clear();
      all.push_back(std::move(copy));
    }
  }

  const ModelInfo* info_of(const std::string& path) {
    struct stat file {};
    const int64_t modified = ::stat(path.c_str(), &file) == 0 ? static_cast<int64_t>(file.st_mtime) : 0;
    const auto [at, fresh] = seen_.try_emplace(path);
    if (fresh || at->second.modified != modified) {
      auto info = inspect_info(path);
      at->second = {modified, info ? std::optional(std::move(*info)) : std::nullopt};
    }
    return at->second.info ? &*at->second.info : nullptr;
  }

  // "starter" for what an alias pins, else what `calla list` says.
  std::string short_name(const LocalModel& m) const {
    for (const Alias& alias : aliases())
      if (*alias.file != 0 && m.path.ends_with(std::string("/") + alias.file) && m.name.starts_with(alias.repo)) return alias.name;
    return m.name;
  }

  std::string stored_name(const std::string& path) const {
    if (const auto stored = list_models(store_))
      for (const LocalModel& m : *stored)
        if (m.path == path) return m.name;
    return "";
  }

  Options options_of(const ShelfModel& model) const {
    for (const Options& options : named_) {
      const auto path = resolve_model(options.model, store_);
      if ((path ? *path : options.model) == model.path && (options.served_name.empty() || options.served_name == model.place())) return options;
    }
    Options options = base_;
    options.model = model.path;
    options.served_name = model.place();
    return options;
  }

  Status fetch(const std::string& name) const {
    ProgressLine line;
    TRY(const Pulled pulled, pull_model(name, store_, [&](const Progress& p) { line.show(fmt::format("{}: {} of {}", p.file, size(p.done_bytes), size(p.total_bytes))); }, {}));
    line.clear();
    note(fmt::format("fetched {}", pulled.path));
    return ok_status();
  }

  Options base_;                 // of models that nobody named
  StoreOptions store_;
  const CopyList copies_;
  const std::vector<Options> named_;
  const std::shared_ptr<Promises> promises_ = std::make_shared<Promises>();
  std::mutex mutex_;
  std::vector<ShelfModel> listed_;
  std::chrono::steady_clock::time_point listed_at_;
  std::map<std::string, Seen> seen_;  // by path
};

}  // namespace

std::unique_ptr<Library> make_library(const Options& options) { return std::make_unique<LocalLibrary>(options); }

Status check_named(const Options& options) {
  const StoreOptions store = store_options(options);
  for (const Options& named : named_models(options)) {
    if (named.fetch && !store.offline) continue;
    TRY(const std::string path, resolve_model(named.model, store));
    static_cast<void>(path);
  }
  return ok_status();
}
