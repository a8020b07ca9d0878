// load: from an opened file to a model on a device, or to a report about it.
#include "model/list.h"

namespace {

// A model whose weights are all accounted for, none uploaded yet.
struct Prepared {
  std::unique_ptr<Model> model;
  std::unique_ptr<Weights> weights;
};

Error unknown(const WeightFile& file, std::string_view type) {
  std::string known;
  for (const Architecture& a : architectures()) known += (known.empty() ? "" : ", ") + std::string(a.name);
  return {Code::unsupported, "cannot load " + file.path() + ": architecture " + std::string(type.substr(0, 100)) + ": one of " + known + " expected"};
}

Result<Prepared> prepare(const WeightFile& file, bool exact) {
  TRY(const std::unique_ptr<Keys> keys, Keys::open(file));
  const Architecture* architecture = find_architecture(keys->model_type(), file.container());
  if (!architecture) return unknown(file, keys->model_type());
  const ModelConfig config = read_config(*keys, architecture->name, architecture->defaults);
  TRY_STATUS(keys->status());
  Prepared p;
  p.weights = std::make_unique<Weights>(file, architecture->name, config.n_layers);
  p.model = architecture->make(*keys, *p.weights, config, exact);
  TRY_STATUS(keys->status());
  TRY_STATUS(p.weights->check());
  return p;
}

}  // namespace

Result<LoadedModel> load_model(const WeightFile& file, Device& device, const LoadOptions& options) {
  TRY(Prepared p, prepare(file, device.precision() == Precision::exact));
  TRY_STATUS(p.weights->upload(device, options.progress));
  std::vector<std::string> notes = p.weights->notes();
  TRY_STATUS(device.end_uploads(notes));
  return LoadedModel{std::move(p.model), std::move(notes), p.weights->parts()};
}

Result<ModelReport> inspect_model(const WeightFile& file) {
  TRY(const Prepared p, prepare(file, true));
  const auto states = p.model->states();
  return ModelReport{p.model->config(), p.weights->parts(), p.weights->notes(), {states.begin(), states.end()}};
}
