// weights: matching requests with stored tensors, and the upload.
#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include "core/mapped_file.h"
#include "model/keys.h"
#include "model/read_ahead.h"

namespace {

constexpr size_t most_problems = 1000;  // that are named; a file may be wrong in millions of ways

const char* part_of(std::string_view name) {
  if (name.starts_with("lm_head") || name.starts_with("score.")) return "head";
  if (name.starts_with("embed_tokens")) return "embedding";
  if (name.find(".experts.") != name.npos) return "experts";
  if (name.find(".shared_expert") != name.npos) return "shared expert";
  if (name.find(".self_attn.") != name.npos) return "attention";
  if (name.find(".linear_attn.") != name.npos) return "delta rule";
  if (name.ends_with(".mlp.gate.weight")) return "router";
  if (name.find(".mlp.") != name.npos) return "ffn";
  return "other";
}

std::vector<int32_t> picked_rows(int64_t rows, const RowPick& pick) {
  std::vector<int32_t> order;
  if (pick.stride <= 0) return order;
  for (int64_t block = 0; block < rows; block += pick.stride)
    for (int64_t i = 0; i < pick.count; i++) order.push_back(static_cast<int32_t>(block + pick.first + i));
  return order;
}

// "1 x 64" for a wanted [1, 64] that is stored as [64].
bool same_extents(const Shape& a, const Shape& b) {
  if (a == b) return true;
  return a.elements() == b.elements() && a.back() == b.back() && a.rows() == 1;
}

std::vector<float> transposed(const std::vector<float>& values, int64_t cols) {
  const size_t n = static_cast<size_t>(cols), rows = values.size() / n;
  std::vector<float> out(values.size());
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < n; c++) out[c * rows + r] = values[r * n + c];
  return out;
}

int64_t elements(const MatrixSource& m) {
  if (!m.row_order.empty()) return static_cast<int64_t>(m.row_order.size()) * m.parts[0].shape.back();
  int64_t sum = 0;
  for (const StoredMatrix& part : m.parts) sum += part.shape.elements();
  return sum;
}

size_t fraction(size_t bytes, size_t part, size_t whole) {
  return whole == 0 ? 0 : static_cast<size_t>(static_cast<double>(bytes) * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

size_t stored_bytes(const StoredMatrix& m) { return m.codes.size() + m.scale.size() + m.bias.size(); }

Weights::Weights(const WeightFile& file, std::string_view architecture, int n_layers)
    : file_(file), architecture_(architecture), n_layers_(n_layers) {
  for (const StoredTensor& tensor : file.tensors()) collect(tensor);
}

void Weights::collect(const StoredTensor& tensor) {
  TensorName name = canonical_name(tensor.name, file_.container(), architecture_);
  using Part = TensorName::Part;
  const int layer = layer_of(name.canonical);
  const int64_t extra =
      gguf() ? meta_int(file_, std::string(meta_string(file_, "general.architecture").value_or("")) + ".nextn_predict_layers").value_or(0) : 0;
  if (layer >= n_layers_ && layer < n_layers_ + extra) name = {Part::skipped, "", "multi-token prediction head"};
  if (name.part == Part::skipped) {
    skipped_[name.skipped]++;
    return;
  }
  if (prefix_.empty() && layer >= 0) prefix_ = tensor.name.substr(0, tensor.name.find("layers."));
  Entry& entry = entries_[name.canonical];
  const StoredTensor*& place = name.part == Part::scales         ? entry.scales
                               : name.part == Part::biases       ? entry.biases
                               : name.part == Part::block_scales ? entry.block_scales
                               : name.part == Part::global_scale ? entry.global_scale
                                                                 : entry.main;
  if (place) problem("tensors " + cut(place->name) + " and " + cut(tensor.name) + " have the same meaning");
  place = &tensor;
}

std::string Weights::shown(const std::string& canonical) const {
  const auto at = entries_.find(canonical);
  return at != entries_.end() && at->second.main ? at->second.main->name
                                                 : stored_name(canonical, file_.container(), architecture_, prefix_.empty() ? "model." : prefix_);
}

void Weights::problem(std::string what) {
  if (problems_.size() < most_problems) problems_.push_back(cut(std::move(what), 800));
  else unlisted_++;
}

void Weights::problem(const std::string& name, const std::string& what) {
  if (problems_.size() < most_problems) problem("tensor " + cut(shown(name)) + ": " + what);
  else unlisted_++;
}

const Shape* Weights::shape_of(const std::string& name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() || !at->second.main ? nullptr : &at->second.main->shape;
}

Weights::Entry* Weights::take(const std::string& name) {
  const auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.main) {
    problem(name, "missing");
    if (at != entries_.end()) at->second.uses++;
    return nullptr;
  }
  at->second.uses++;
  return &at->second;
}

bool Weights::add_part(Request& request, const std::string& name, const Shape& shape) {
  Entry* entry = take(name);
  if (!entry) return false;
  StoredMatrix matrix;
  if (!describe(*entry, shape, matrix)) return false;
  if (!request.source.parts.empty() && request.source.parts[0].format != matrix.format) {
    problem(name, std::string(request.source.parts[0].format->name) + " as in the experts before it expected, " + matrix.format->name + " found");
    return false;
  }
  request.bytes += stored_bytes(matrix);
  request.source.parts.push_back(matrix);
  request.entries.push_back(entry);
  return true;
}

void Weights::add(Request request) {
  request.source.mapped = true;
  request.source.name = request.name;
  requests_.push_back(std::move(request));
}

void Weights::matrix(Slot& to, const std::string& name, int64_t rows, int64_t cols, RowPick pick) {
  Request request{.kind = Kind::matrix, .to = &to, .name = name, .source = {}, .entries = {}};
  if (!add_part(request, name, {rows, cols})) return;
  request.source.row_order = picked_rows(rows, pick);
  if (pick.stride > 0) request.bytes = fraction(request.bytes, request.source.row_order.size(), static_cast<size_t>(rows));
  add(std::move(request));
}

void Weights::sensitive(Slot& to, const std::string& name, int64_t rows, int64_t cols) {
  const size_t before = requests_.size();
  matrix(to, name, rows, cols);
  if (requests_.size() > before) requests_.back().source.precise = true;
}

void Weights::lookup(Slot& to, const std::string& name, int64_t rows, int64_t cols) {
  Request request{.kind = Kind::lookup, .to = &to, .name = name, .source = {}, .entries = {}};
  if (!add_part(request, name, {rows, cols})) return;
  request.per_token = 1.0 / static_cast<double>(rows);
  add(std::move(request));
}

void Weights::vector(Slot& to, const std::string& name, Shape shape, Repair repair) {
  Request request{.kind = Kind::vector, .to = &to, .name = name, .source = {}, .repair = repair, .entries = {}};
  if (!add_part(request, name, shape)) return;
  request.source.parts[0].shape = {shape.elements()};
  add(std::move(request));
}

// [channels, 1, kernel] in Hugging Face's files, [channels, kernel, 1] in MLX's, [channels, kernel] in GGUF: the same numbers in the same order.
void Weights::taps(Slot& to, const std::string& name, int64_t channels, int64_t kernel) {
  const Shape *stored = shape_of(name), hf = {channels, 1, kernel}, mlx = {channels, kernel, 1}, plain = {channels, kernel};
  const size_t before = requests_.size();
  vector(to, name, !stored ? plain : *stored == hf ? hf : *stored == mlx ? mlx : plain);
  if (requests_.size() > before) requests_.back().kernel = kernel;
}

void Weights::optional_vector(Slot& to, const std::string& name, Shape shape) {
  if (has(name)) vector(to, name, shape);
}

std::vector<float> Weights::numbers(const std::string& name, Shape shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  Request request{.kind = Kind::vector, .to = nullptr, .name = name, .source = {}, .entries = {}};
  if (!add_part(request, name, shape)) return values;
  request.source.parts[0].shape = {shape.elements()};
  decode_row(request.source.parts[0], 0, values.data());
  if (std::ranges::any_of(values, [](float v) { return !std::isfinite(v); })) problem(name, "finite numbers expected, NaN or infinity found");
  return values;
}

void Weights::stack(Slot& to, const std::string& base, const std::string& word, const Shape& shape, double per_token) {
  Request request{.kind = Kind::matrix, .to = &to, .name = base + word, .source = {}, .entries = {}, .per_token = per_token};
  request.source.n_experts = static_cast<int32_t>(shape[0]);
  const bool split = !has(base + word) && has(base + "0." + word + ".weight");
  bool good = true;
  if (!split) good = add_part(request, base + word, shape);
  for (int64_t i = 0; split && i < shape[0] && unlisted_ == 0; i++)
    good = add_part(request, base + std::to_string(i) + "." + word + ".weight", {shape[1], shape[2]}) && good;
  if (good && unlisted_ == 0) add(std::move(request));
}

void Weights::fused(Slot& to, const std::string& name, bool second, int64_t n, int64_t ffn_dim, int64_t hidden_dim, double per_token) {
  Request request{.kind = Kind::matrix, .to = &to, .name = name, .source = {}, .entries = {}, .per_token = per_token};
  if (!add_part(request, name, {n, 2 * ffn_dim, hidden_dim})) return;
  request.source.n_experts = static_cast<int32_t>(n);
  request.source.row_order = picked_rows(n * 2 * ffn_dim, {2 * ffn_dim, second ? ffn_dim : 0, ffn_dim});
  request.bytes /= 2;
  add(std::move(request));
}

void Weights::experts(Slot& gate, Slot& up, Slot& down, const std::string& base, int64_t n, int64_t top_k, int64_t ffn_dim, int64_t hidden_dim) {
  const double per_token = static_cast<double>(top_k) / static_cast<double>(n);
  if (has(base + "gate_up_proj")) {
    fused(gate, base + "gate_up_proj", false, n, ffn_dim, hidden_dim, per_token);
    fused(up, base + "gate_up_proj", true, n, ffn_dim, hidden_dim, per_token);
  } else {
    stack(gate, base, "gate_proj", {n, ffn_dim, hidden_dim}, per_token);
    stack(up, base, "up_proj", {n, ffn_dim, hidden_dim}, per_token);
  }
  stack(down, base, "down_proj", {n, hidden_dim, ffn_dim}, per_token);
}

void Weights::ignore(const std::string& name, const char* why) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return;
  at->second.uses++;
  skipped_[why]++;
}

namespace {

DType element_type(const Format& format) {
  if (format.codes == Codes::f32) return DType::f32;
  if (format.codes == Codes::f16) return DType::f16;
  if (format.codes == Codes::bf16) return DType::bf16;
  return format.block_bytes == 1 ? DType::u8 : DType::i32;
}

const Format* planar_format(Codes codes, Scales scales, int group) {
  for (const Format* f : formats())
    if (f->decode_planar && f->codes == codes && f->scales == scales && f->group == group) return f;
  return nullptr;
}

// MLX modules without biases: the width of codes and groups tells mxfp4, mxfp8 and nvfp4 apart.
const Format* small_float_format(int64_t bits, int64_t group) {
  if (bits == 4 && group == 32) return planar_format(Codes::e2m1, Scales::e8m0, 32);
  if (bits == 8 && group == 32) return planar_format(Codes::e4m3, Scales::e8m0, 32);
  if (bits == 4 && group == 16) return planar_format(Codes::e2m1, Scales::e4m3, 16);
  return nullptr;
}

// Extents but the last must agree; a lone row may be stored without its extent.
bool same_rows(const Shape& stored, const Shape& wanted) {
  return stored.rank >= 1 && stored.rows() == wanted.rows() && (stored.rank == wanted.rank || wanted.rows() == 1);
}

bool holds_weights(const Format* format) {
  if (!format || !format->decode) return false;
  const Codes c = format->codes;
  return format->scales != Scales::none || c == Codes::f32 || c == Codes::f16 || c == Codes::bf16 || c == Codes::f64;
}

}  // namespace

// Fills `out` with the tensor's planes, or notes what is wrong with it. The planes' sizes follow from the stored shapes, whatever
// config.json says about bits and groups: those are the only ones that can be read.
bool Weights::describe(const Entry& entry, const Shape& shape, StoredMatrix& out) {
  const StoredTensor& t = *entry.main;
  const auto wrong = [&](const std::string& what) { return problem("tensor " + cut(t.name) + ": " + what), false; };
  const auto mismatch = [&](const Shape& found) {
    return wrong(to_string(shape) + " expected from the configuration, " + to_string(found) + " found");
  };
  out.shape = shape;
  out.format = t.format;
  out.codes = t.bytes;
  if (entry.scales) {
    const StoredTensor& s = *entry.scales;
    if (!t.format || t.format->codes != Codes::i32)
      return wrong("U32 codes beside scales expected, " + std::string(t.format ? t.format->name : "?") + " found");
    const int64_t packed = t.shape.back(), groups = s.shape.back(), cols = shape.back();
    if (!same_rows(t.shape, shape) || !same_rows(s.shape, shape) || packed <= 0 || groups <= 0) return mismatch(t.shape);
    if (packed * 32 % cols != 0 || cols % groups != 0 || packed > cols)
      return wrong(std::to_string(cols) + " columns expected from the configuration, " + std::to_string(packed) + " words and " +
                   std::to_string(groups) + " groups found");
    const int64_t bits = packed * 32 / cols, group = cols / groups;
    out.format = entry.biases ? find_affine_format(static_cast<int>(bits), static_cast<int>(group)) : small_float_format(bits, group);
    if (!out.format)
      return wrong("no format of " + std::to_string(bits) + " bits in groups of " + std::to_string(group) +
                   (entry.biases ? " with biases" : " without biases"));
    out.scale = s.bytes;
    out.scale_type = element_type(*s.format);
    if (entry.biases) {
      if (element_type(*entry.biases->format) != out.scale_type || !(entry.biases->shape == s.shape))
        return wrong("biases of the kind and shape of its scales expected");
      out.bias = entry.biases->bytes;
    }
  } else if (entry.block_scales) {
    if (!t.format || t.format->codes != Codes::e4m3)
      return wrong("FP8 codes beside weight_scale_inv expected, " + std::string(t.format ? t.format->name : "?") + " found");
    if (!same_extents(t.shape, shape)) return mismatch(t.shape);
    out.format = planar_format(Codes::e4m3, Scales::block, 128);
    out.scale = entry.block_scales->bytes;
    out.scale_type = element_type(*entry.block_scales->format);
  } else {
    if (!holds_weights(t.format))
      return wrong(std::string("weights expected, elements of kind ") + (t.format ? t.format->name : "unknown") + " found");
    if (!same_extents(t.shape, shape)) return mismatch(t.shape);
  }
  if (entry.global_scale && entry.global_scale->bytes.size() == 4) {
    float factor = 0;
    StoredMatrix one{entry.global_scale->format, {1}, entry.global_scale->bytes, {}, {}};
    if (holds_weights(one.format)) decode_row(one, 0, &factor), out.global_scale = factor / (448 * 6);
  }
  const Status fits = check_matrix(out);
  return fits ? true : wrong(fits.error().message);
}

void Weights::find_extras() {
  for (const auto& [name, entry] : entries_) {
    if (entry.uses > 0) continue;
    const StoredTensor* any = entry.main           ? entry.main
                              : entry.scales       ? entry.scales
                              : entry.biases       ? entry.biases
                              : entry.block_scales ? entry.block_scales
                                                   : entry.global_scale;
    problem("tensor " + cut(any->name) + ": not part of " + architecture_);
  }
}

Status Weights::check() {
  find_extras();
  if (problems_.empty()) return ok_status();
  return Error{Code::corrupt_file, "cannot load " + file_.path() + ": " + bounded_list(problems_, unlisted_, most_problems)};
}

Status Weights::upload(Request& r, Device& device) {
  const StoredMatrix& first = r.source.parts[0];
  const auto refused = [&](const Error& why) { return Error{why.code, "cannot load " + file_.path() + ": tensor " + shown(r.name) + ": " + why.message}; };
  if (r.kind == Kind::vector) {
    std::vector<float> values(static_cast<size_t>(first.shape.elements()));
    decode_row(first, 0, values.data());
    if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) return refused({Code::corrupt_file, "finite numbers expected, NaN or infinity found"});
    if (r.repair == Repair::plus_one) std::ranges::for_each(values, [](float& v) { v += 1; });
    if (r.repair == Repair::negative_exp) std::ranges::for_each(values, [](float& v) { v = -std::exp(v); });
    if (r.kernel > 0) values = transposed(values, r.kernel);
    TRY(*r.to, device.upload_vector(values));
    return ok_status();
  }
  if (r.kind == Kind::lookup && !device.has_packed())
    if (const Status good = check_scales(first); !good) return refused(good.error());
  auto uploaded = r.kind == Kind::lookup ? device.upload_lookup(first) : device.upload(r.source);
  if (!uploaded) return refused(uploaded.error());
  *r.to = std::move(*uploaded);
  return ok_status();
}

Status Weights::upload(Device& device, const std::function<void(const LoadProgress&)>& progress) {
  LoadProgress done;
  std::vector<std::span<const std::byte>> ranges;
  for (const Request& r : requests_) {
    done.total_bytes += r.bytes;
    if (r.kind == Kind::matrix && !device.has_packed())
      for (const StoredMatrix& part : r.source.parts) ranges.insert(ranges.end(), {part.codes, part.scale, part.bias});
  }
  ReadAhead read_ahead(std::move(ranges));
  for (Request& r : requests_) {
    TRY_STATUS(upload(r, device));
    if (r.kind == Kind::matrix)
      for (const StoredMatrix& part : r.source.parts) read_ahead.used(stored_bytes(part));
    for (size_t i = 0; i < r.entries.size(); i++) {
      const bool last = --r.entries[i]->uses == 0;  // fused tensors are read twice
      if (!last || r.kind == Kind::lookup) continue;
      for (const auto plane : {r.source.parts[i].codes, r.source.parts[i].scale, r.source.parts[i].bias}) MappedFile::drop(plane);
    }
    done.done_bytes += r.bytes;
    if (progress) progress(done);
  }
  return ok_status();
}

std::vector<PartBytes> Weights::parts() const {
  std::vector<PartBytes> parts;
  for (const Request& r : requests_) {
    const bool tied = r.kind == Kind::matrix && r.name.starts_with("embed_tokens.");
    const std::string name = tied ? "embedding and head" : part_of(r.name);
    auto at = std::ranges::find(parts, name, &PartBytes::part);
    if (at == parts.end()) at = parts.insert(parts.end(), {name, 0, 0, "", 0, tied || name == "head"});
    at->total_bytes += r.bytes;
    at->per_token_bytes += static_cast<size_t>(static_cast<double>(r.bytes) * r.per_token);
    if (r.kind == Kind::matrix) at->macs += static_cast<uint64_t>(static_cast<double>(elements(r.source)) * r.per_token);
    const std::string format = r.source.parts[0].format->name;
    if (r.kind == Kind::vector || (", " + at->formats + ",").find(", " + format + ",") != std::string::npos) continue;
    at->formats += (at->formats.empty() ? "" : ", ") + format;
  }
  return parts;
}

std::vector<std::string> Weights::notes() const {
  std::vector<std::string> notes;
  for (const auto& [what, count] : skipped_) notes.push_back(what + " skipped (" + std::to_string(count) + (count == 1 ? " tensor)" : " tensors)"));
  return notes;
}
