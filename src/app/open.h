// open: the one place that wires rooms together: name -> path -> weights -> device -> model -> tokenizer, template, defaults -> engine -> completer.
#pragma once
#include "app/options.h"
#include "engine/engine.h"
#include "file/file.h"
#include "model/model.h"
#include "text/text.h"

// A model's files, mapped and validated; nothing uploaded.
struct OpenedFile {
  std::string name, path;  // as the user said it; what that is here
  std::unique_ptr<WeightFile> weights;
};
Result<OpenedFile> open_file(const Options& options);
// What a model is called that was named by `name` and lies at `path`: a file's name without its ending, anything but a path as it is.
std::string shown_name(const std::string& name, const std::string& path);

// What one decoded token reads of its sequence's state, and writes back of what is recurrent, in the device's own sizes.
struct StateTraffic {
  struct Layer { double bytes_per_token = 0; int window = 0; };
  std::vector<Layer> layers;   // those with keys and values
  double recurrent_bytes = 0;  // read, and as many written
  double bytes_at(double depth) const;
};

// A model that can answer. Members are destroyed in reverse order: the engine may borrow the mapping.
struct OpenedModel {
  OpenedFile file;
  std::shared_ptr<const Tokenizer> tokenizer;          // null when the checkpoint has none; then completer is null too
  std::string tokenizer_error;                         // why it is null
  std::shared_ptr<const ChatTemplate> chat_template;   // null when the checkpoint has none and no built-in one fits, or one that cannot be read
  std::string built_in_template;                       // the token by which a built-in template was chosen; "" for the checkpoint's own
  bool template_failed = false;                        // one that cannot be read; a note says why
  GenerationDefaults defaults;                         // stop ids from every place they live
  std::vector<PartBytes> parts;
  StateTraffic state;
  std::vector<std::string> notes;
  std::string device_name;
  size_t weight_bytes = 0;                             // resident, as the device counts
  double load_s = 0;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Completer> completer;
};
// What open_model varies for the commands that compare.
struct OpenTuning {
  EngineOptions engine;
  bool quiet = false;    // no progress, no notes
  bool planned = false;  // device and memory are settled, and said
};
EngineOptions engine_options(const Options& options);
DeviceOptions device_options(const Options& options);
// The same for one model, with the place of its packed file when that was asked for.
Result<DeviceOptions> device_options(const Options& options, const WeightFile& file);
// With a progress line on a terminal unless quiet.
Result<LoadedModel> load_with_progress(const WeightFile& file, Device& device, bool quiet);
// The two halves of open_model: files and text; then weights and engine, which take memory.
Result<OpenedModel> open_parts(const Options& options);
Status load_parts(OpenedModel& model, const Options& options, const OpenTuning& tuning);
Result<OpenedModel> open_model(const Options& options, const OpenTuning& tuning);
Result<OpenedModel> open_model(const Options& options);
// The same, failing when the checkpoint has no tokenizer that can be read.
Result<OpenedModel> open_chat_model(const Options& options, const OpenTuning& tuning);
