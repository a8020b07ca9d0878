// cpu: the CPU as a Device: picks the ISA, owns the team, uploads by repacking, replays steps.
#include <cstdio>
#include "device/cpu/encoder.h"
#include "device/cpu/features.h"
#include "device/cpu/packed_file.h"
#include "device/cpu/slabs.h"
#include "device/device.h"
#include "device/plan.h"

namespace cpu {
namespace {

class CpuDevice final : public Device {
 public:
  CpuDevice(const DeviceOptions& options, const IsaEntry& isa, int threads, bool dry)
      : options_(options), dry_(dry), isa_name_(isa.name), kernels_(*isa.kernels), team_(threads, options.pin), encoder_(options.precision == Precision::exact, state_, threads) {
    if (!options.packed_path.empty() && !dry) packed_ = PackedCache(options.packed_path, options.packed_key);
    scratch_.resize(static_cast<size_t>(threads));
    resize_scratch(kExpertScratchFloats);
    encoder_.step.profile = options.profile;
  }
  ~CpuDevice() override {
    if (options_.profile) say_profile();
  }

  std::string name() const override { return "cpu " + isa_name_ + ", " + std::to_string(team_.size()) + (team_.size() == 1 ? " thread" : " threads"); }
  Precision precision() const override { return options_.precision; }

  Result<std::unique_ptr<Weight>> upload(const MatrixSource& source) override {
    if (source.parts.size() == 1 && source.parts.front().shape.rows() == 1 && source.n_experts == 1) return upload_row(source.parts.front());
    auto packed = std::make_unique<PackedMatrix>(plan_matrix(source));
    if (!dry_ && !packed_.find(source, *packed)) {
      TRY(packed, pack(source, team_, slabs_));
      packed_.keep(source, *packed);
    }
    packed->fine = is_small(source);
    packed->wide = kernels_.wide && !packed->fine;
    weight_bytes_ += packed->bytes;
    if (options_.trace_dispatch) say_kernel(*packed);
    return std::unique_ptr<Weight>(std::move(packed));
  }
  Result<std::unique_ptr<Weight>> upload_lookup(const StoredMatrix& table) override {
    auto weight = std::make_unique<LookupWeight>();
    weight->table = table;
    return std::unique_ptr<Weight>(std::move(weight));
  }
  Result<std::unique_ptr<Weight>> upload_vector(std::span<const float> values) override {
    auto weight = std::make_unique<VectorWeight>();
    weight->values.assign(values.begin(), values.end());
    weight_bytes_ += values.size_bytes();
    return std::unique_ptr<Weight>(std::move(weight));
  }
  size_t weight_bytes() const override { return weight_bytes_; }
  bool has_packed() const override { return dry_ || packed_.ready(); }
  Status end_uploads(std::vector<std::string>& notes) override {
    for (std::string& note : packed_.finish()) notes.push_back(std::move(note));
    return ok_status();
  }

  Status allocate_state(std::span<const StateSpec> layers, StatePlan plan) override {
    resize_scratch(state_scratch_floats(layers));
    return state_.allocate(layers, plan, cache_type());
  }
  size_t page_bytes(std::span<const StateSpec> layers, int page_tokens) const override { return State::page_bytes(layers, page_tokens, cache_type()); }
  size_t slot_bytes(std::span<const StateSpec> layers) const override { return State::slot_bytes(layers); }
  void copy_page(int32_t from, int32_t to) override { state_.copy_page(from, to); }
  void copy_slot(int32_t from, int32_t to) override { state_.copy_slot(from, to); }
  void clear_slot(int32_t slot) override { state_.clear_slot(slot); }
  void read_page(int32_t page, std::span<std::byte> out) const override { state_.read_page(page, out); }
  void write_page(int32_t page, std::span<const std::byte> in) override { state_.write_page(page, in); }
  void read_slot(int32_t slot, std::span<std::byte> out) const override { state_.read_slot(slot, out); }
  void write_slot(int32_t slot, std::span<const std::byte> in) override { state_.write_slot(slot, in); }

  Encoder& begin() override {
    encoder_.reset();
    return encoder_;
  }
  Status finish() override {
    CHECK(!dry_);
    if (++steps_; options_.fault.step > 0) TRY_STATUS(injected_fault());
    encoder_.step.replay(team_, kernels_, scratch_);
    return ok_status();
  }
  const Error* dead() const override { return dead_ ? &*dead_ : nullptr; }
  size_t scratch_bytes() const {
    size_t bytes = encoder_.step.arena.bytes() + encoder_.step.lasting.bytes();
    for (const auto& s : scratch_) bytes += s.size() * sizeof(float);
    return bytes;
  }
  std::span<const float> host(const Tensor& t) override { return {t.data, static_cast<size_t>(t.shape.elements())}; }

 private:
  Status injected_fault() {
    if (options_.fault.strikes(InjectedFault::Kind::memory, steps_)) return Error{Code::device, "cannot run a step on the CPU: no memory (an injected fault)"};
    if (options_.fault.strikes(InjectedFault::Kind::step, steps_)) dead_ = Error{Code::device, "cannot run a step on the CPU: it has failed (an injected fault)"};
    if (dead_) return *dead_;
    return ok_status();
  }
  Result<std::unique_ptr<Weight>> upload_row(const StoredMatrix& matrix) {
    TRY_STATUS(check_scales(matrix));
    auto weight = std::make_unique<RowWeight>();
    weight->values.resize(static_cast<size_t>(matrix.shape.back()));
    decode_row(matrix, 0, weight->values.data());
    weight_bytes_ += weight->values.size() * sizeof(float);
    return std::unique_ptr<Weight>(std::move(weight));
  }
  CacheType cache_type() const {
    return options_.precision == Precision::exact ? CacheType::f32 : options_.kv == KvType::int8 ? CacheType::int8 : CacheType::half;
  }
  // int8 activations pay in wide matrices, where prefill is bound by arithmetic and rounding averages out. In the matrices of small
  // models they changed the best token in 3 % of positions (SmolLM2-135M): those get 16 bits.
  static bool is_small(const MatrixSource& source) {
    if (source.n_experts > 1) return false;
    constexpr int64_t kNarrow = 1536, kFewWeights = int64_t{4} << 20;
    int64_t weights = 0;
    for (const StoredMatrix& part : source.parts) weights += part.shape.elements();
    return source.parts.front().shape.back() < kNarrow || weights < kFewWeights;
  }
  void resize_scratch(int64_t floats) {
    for (auto& s : scratch_)
      if (static_cast<int64_t>(s.size()) < floats) s.resize(static_cast<size_t>(floats));
  }
  void say_profile() const {
    double total = 0;
    for (const Step::OpTime& t : encoder_.step.times) total += t.seconds + t.waited;
    std::fprintf(stderr, "profile: the last step had %d barriers\n", encoder_.step.barriers());
    std::fprintf(stderr, "profile: %-12s %9s %10s %7s %10s %7s\n", "operation", "calls", "ms", "%", "waiting ms", "%");
    for (const Step::OpTime& t : encoder_.step.times)
      std::fprintf(stderr, "profile: %-12s %9lld %10.1f %7.1f %10.1f %7.1f\n", t.name, static_cast<long long>(t.calls), t.seconds * 1e3, 100 * t.seconds / total, t.waited * 1e3, 100 * t.waited / total);
  }
  // Once for each kind of matrix: which kernel serves it and why not a faster one.
  void say_kernel(const PackedMatrix& m) {
    const size_t bit = static_cast<size_t>(m.kernel) * 4 + 2 * m.fine + m.precise;
    if (said_.size() <= bit) said_.resize(4 * kLinearKindCount);
    if (said_[bit]) return;
    said_[bit] = true;
    const bool exact = wants_exact(m, options_.precision == Precision::exact);
    const char* reason = options_.precision == Precision::exact ? "exact precision asked for" : m.precise ? "sensitive matrix" : is_float(m.layout.codes) ? "float weights" : "small matrix";
    std::fprintf(stderr, "dispatch: linear %s, first seen %lld x %lld: %s %s%s%s\n", m.format_name, static_cast<long long>(m.rows), static_cast<long long>(m.cols), isa_name_.c_str(),
                 exact ? "float32 activations" : m.fine ? "int16 activations" : "int8 activations", exact || m.fine ? ": " : "", exact || m.fine ? reason : "");
  }

  DeviceOptions options_;
  int steps_ = 0;
  std::optional<Error> dead_;
  const bool dry_;  // takes no memory for weights and runs nothing
  std::string isa_name_;
  const Kernels& kernels_;
  Team team_;
  Slabs slabs_;
  PackedCache packed_;
  State state_;
  CpuEncoder encoder_;
  std::vector<std::vector<float>> scratch_;
  std::vector<bool> said_;
  size_t weight_bytes_ = 0;
};

Result<std::unique_ptr<CpuDevice>> make_device(const DeviceOptions& options, bool dry) {
  const int threads = options.threads > 0 ? options.threads : features().physical_cores;
  if (threads > 1024) return Error{Code::invalid_request, "cannot start the CPU device: at most 1024 threads expected, " + std::to_string(threads) + " asked for"};
  std::string known;
  for (const IsaEntry& isa : isa_list()) {
    known += (known.empty() ? "" : ", ") + std::string(isa.name);
    const bool wanted = options.isa.empty() || options.isa == isa.name;
    const std::string& refusal = isa.why_not;
    if (options.trace_dispatch) {
      const char* verdict = !wanted ? "not the one asked for" : refusal.empty() ? "chosen" : refusal.c_str();
      std::fprintf(stderr, "dispatch: isa %s: %s\n", isa.name, verdict);
    }
    if (!wanted) continue;
    if (refusal.empty()) return std::make_unique<CpuDevice>(options, isa, threads, dry);
    if (!options.isa.empty()) return Error{Code::unsupported, "cannot use instruction set " + options.isa + ": " + refusal};
  }
  return Error{Code::invalid_request, "cannot use instruction set " + options.isa + ": one of " + known + " expected"};
}

}  // namespace
}  // namespace cpu

Result<std::unique_ptr<Device>> make_cpu_device(const DeviceOptions& options) {
  TRY(auto device, cpu::make_device(options, false));
  return std::unique_ptr<Device>(std::move(device));
}

Result<DryDevice> make_dry_cpu_device(const DeviceOptions& options) {
  DeviceOptions quiet = options;
  quiet.profile = quiet.trace_dispatch = false;
  TRY(auto device, cpu::make_device(quiet, true));
  std::function<size_t()> scratch_bytes = [raw = device.get()] { return raw->scratch_bytes(); };
  return DryDevice{std::move(device), std::move(scratch_bytes)};
}
