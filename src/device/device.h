// device: the hardware boundary. Models speak Encoder; kernels and memory live behind it.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "core/core.h"
#include "device/fault.h"
#include "format/format.h"

// ---- what a step works on ----------------------------------------------------------------------------------------------

// Consecutive rows of one step that belong to one sequence.
struct SequenceRows {
  int32_t first_row = 0, n_rows = 0;
  int32_t past = 0;                  // tokens of this sequence already in its state; row r has index past + r
  const int32_t* pages = nullptr;    // page table: page i holds indices [i * page_tokens, (i + 1) * page_tokens)
  int32_t slot = 0;                  // recurrent slot
};

// The rows of one step. All spans stay valid until Device::finish or submit returns.
struct Batch {
  std::span<const TokenId> ids;                 // [rows]
  std::span<const int32_t> positions;           // [rows] rotary positions
  std::span<const SequenceRows> sequences;      // cover all rows in order
  std::span<const int32_t> logit_rows;          // rows whose logits are wanted, ascending
  bool hidden = false;                          // of these rows the final hidden states are wanted instead, behind the last norm
};

// What one layer remembers about a sequence. Layers that share another layer's state have none of their own.
struct StateSpec {
  enum class Kind : uint8_t { none, paged_kv, recurrent } kind = Kind::none;
  int32_t n_kv_heads = 0, key_dim = 0, value_dim = 0;          // paged_kv: per token n_kv_heads * (key_dim + value_dim)
  int32_t window = 0;                                          // paged_kv: how far back is read; 0: all of it
  int32_t conv_channels = 0, conv_kernel = 0;                  // recurrent: the last conv_kernel - 1 pre-convolution rows
  int32_t n_heads = 0, head_key_dim = 0, head_value_dim = 0;   // recurrent: per value head float32, [head_key_dim, head_value_dim] numbers
};
struct StateRef { int32_t layer = 0; };  // names one layer's state

// How the id behind one row of logits is drawn on the device: what engine/sampler.h does with temperature, top-k, top-p and min-p.
struct SampleSpec {
  int32_t row = 0, n_valid_ids = 0;             // of the logits; only ids below n_valid_ids
  int32_t top_k = 0;                            // 0: no limit
  float temperature = 0, top_p = 1, min_p = 0;  // temperature 0: the largest logit
  double uniform = 0;                           // the random number in [0, 1)
};
// In Batch::ids: what the i-th spec of the step before drew, whether or not the host has seen it.
constexpr TokenId sampled_before(int32_t spec) { return -1 - spec; }

class Weight { public: virtual ~Weight() = default; };  // an uploaded matrix or vector, in the device's own layout

// An activation in the device's arena: float32, rows contiguous, valid until the next begin().
struct Tensor {
  float* data = nullptr;
  Shape shape;
};
struct Routes {  // which experts each row takes, best first, and with what weight
  int32_t* experts = nullptr;  // [rows, top_k]
  float* weights = nullptr;    // [rows, top_k]
  int32_t rows = 0, top_k = 0;
};

// Where a matrix comes from: rows of `parts`, concatenated in order (all of one format and column count), then picked by row_order.
struct MatrixSource {
  std::vector<StoredMatrix> parts;
  std::vector<int32_t> row_order;  // empty: all rows in order
  int32_t n_experts = 1;           // rows are n_experts equal stacks
  bool precise = false;            // small and sensitive (routers, decay gates): activations are never quantised for it
  bool mapped = false;           // parts lie in a file's mapping: their pages may be dropped as soon as they are read
  std::string name{};            // what the model calls it
};
enum class Activation : uint8_t { silu, gelu_tanh };
enum class RopePairs : uint8_t { halves, adjacent };     // dims (i, i + rotary_dim/2), or (2i, 2i + 1)
struct Rope {                                            // owned by the model, outlives every step
  std::vector<float> inverse_frequencies;                // [rotary_dim / 2]; 0 leaves a pair unrotated
  float magnitude = 1;                                   // YaRN's factor on cos and sin
  RopePairs pairs = RopePairs::halves;
};
struct AttentionOptions {
  float scale = 1;
  int32_t window = 0;        // 0: all; w: only keys with index > query index - w
  bool causal = true;
};
struct DeltaDims {
  int32_t n_key_heads = 0, n_value_heads = 0, key_dim = 0, value_dim = 0;
  bool tiled = false;        // value head h reads key head h % n_key_heads (GGUF) instead of h / (n_value_heads / n_key_heads)
};
struct DeltaWeights {  // neg_exp_a = -exp(A_log)
  const Weight *taps, *neg_exp_a, *dt_bias, *norm;  // [kernel, channels], [Hv], [Hv], [Dv]
  float eps = 0;                                    // of the norm
};

// ---- the language of models ---------------------------------------------------------------------------------------------

// Records one step, in order; Device::finish runs it. Inputs are [rows, n] unless said otherwise; results are new tensors.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual Tensor embed(const Weight& table, std::span<const TokenId> ids, float scale = 1) = 0;        // [rows, hidden]; ids out of range give row 0
  virtual Tensor linear(const Tensor& x, const Weight& w, const Weight* bias = nullptr) = 0;           // [rows, in] -> [rows, out]
  virtual void linears(const Tensor& x, std::span<const Weight* const> w, std::span<Tensor> out) = 0;  // several that share an input
  virtual Tensor rms_norm(const Tensor& x, const Weight* gain, float eps) = 0;                         // over the last extent; y = x / rms * gain
  virtual void rope(Tensor& heads, const Batch& b, const Rope& rope) = 0;                              // in place on [rows, n_heads, head_dim]; dims beyond the table pass
  virtual void append(StateRef s, const Tensor& k, const Tensor& v, const Batch& b) = 0;               // writes this step's keys and values
  virtual Tensor attention(const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) = 0;  // [rows, n_heads, key_dim] -> [rows, n_heads, value_dim]
  virtual Tensor append_attention(const Tensor& k, const Tensor& v, const Tensor& q, StateRef s, const Batch& b, const AttentionOptions& o) {  // both of the above
    append(s, k, v, b);
    return attention(q, s, b, o);
  }
  virtual Tensor gate(const Tensor& g, const Tensor& u, Activation a) = 0;                             // act(g) * u
  virtual Tensor sigmoid_gate(const Tensor& x, const Tensor& g) = 0;                                   // x * sigmoid(g)
  virtual Tensor add(const Tensor& a, const Tensor& b) = 0;
  virtual Tensor add_gated(const Tensor& a, const Tensor& b, const Tensor& g) = 0;                     // a + b * sigmoid(g), g: [rows, 1]
  virtual Tensor scale(const Tensor& x, float factor) = 0;
  virtual Tensor softcap(const Tensor& x, float cap) = 0;                                              // cap * tanh(x / cap)
  virtual Tensor columns(const Tensor& x, int64_t first, int64_t count) = 0;                           // x[:, first : first + count]
  virtual Tensor rows(const Tensor& x, std::span<const int32_t> which) = 0;                            // x[which, :]
  virtual Tensor reshape(const Tensor& x, Shape shape) { return {x.data, shape}; }                     // same elements, same memory
  // Ends a layer: of all tensors recorded since the first call, only the one returned (x, moved) may be read again, so that a step needs
  // memory for one layer and not for all of them. Tensors from before the first call stay.
  virtual Tensor carry(const Tensor& x) { return x; }
  virtual Routes route(const Tensor& scores, int top_k, bool renormalise) = 0;                         // softmax over all experts, then top-k; ties: lower index first
  // sum over the chosen experts of weight * down(act(gate x) * up x)
  virtual Tensor experts(const Tensor& x, const Routes& r, const Weight& gate, const Weight& up, const Weight& down, Activation a) = 0;
  // Gated delta rule (spec 1.5 steps 2-8): qkv [rows, 2*Hk*Dk + Hv*Dv] goes through a causal depthwise convolution and SiLU, then the
  // recurrence with decay from a and strength from b [rows, Hv]; its result is normed per head, gated by silu(z) -> [rows, Hv*Dv]. Updates the state.
  virtual Tensor gated_delta(const Tensor& qkv, const Tensor& z, const Tensor& a, const Tensor& b, const DeltaWeights& w, const DeltaDims& d, StateRef s, const Batch& batch) = 0;
  // Draws one id a spec, the last thing in a step. Only where Device::samples().
  virtual void sample(const Tensor& logits, std::span<const SampleSpec> specs) { (void)logits, (void)specs; }
};

// ---- a device -----------------------------------------------------------------------------------------------------------

enum class KvType : uint8_t { half, int8 };       // keys and values of fast precision; int8: a scale per token and kv head
enum class Precision : uint8_t { fast, exact };  // exact: stored weights, float32 activations and caches, end to end
struct DeviceOptions {
  Precision precision = Precision::fast;
  KvType kv = KvType::half;
  std::string device = "cpu";  // "cpu", "cuda", "cuda:1" for the second GPU, or "auto": the best one that is here
  int threads = 0;          // 0: physical cores
  std::string isa;          // "", "scalar", "avx2", "avx512", "amx", "neon"
  bool pin = false;
  bool batch_invariant = false;  // a row has the bits that it has alone in any step that decodes, where that takes more time as well; CPUs always do so
  bool profile = false;         // say on standard error at the end where the time went
  std::string packed_path, packed_key;  // keep packed matrices in this file, for the state of the model that these 64 characters name; "": do not
  bool trace_dispatch = false;  // say on standard error which candidates refused and why
  InjectedFault fault;          // of tests
};
struct StatePlan { int32_t n_pages = 0, page_tokens = 32, n_slots = 0; size_t scratch_bytes = 0; };  // scratch_bytes: taken for steps at once where a device has memory of its own

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;                     // "cpu avx512, 2 threads"
  virtual Precision precision() const = 0;
  // Matrices for linear and experts, repacked into the device's layout; the source pages may be dropped afterwards. Scales that are NaN or
  // infinite are refused.
  virtual Result<std::unique_ptr<Weight>> upload(const MatrixSource& source) = 0;
  // A matrix only ever read by embed: may borrow the mapping instead of copying it.
  virtual Result<std::unique_ptr<Weight>> upload_lookup(const StoredMatrix& table) = 0;
  virtual Result<std::unique_ptr<Weight>> upload_vector(std::span<const float> values) = 0;
  virtual size_t weight_bytes() const = 0;                  // resident bytes of everything uploaded
  // Matrices of this very model lie in a packed file: upload does not read its source, which was checked when that file was written.
  virtual bool has_packed() const { return false; }
  // After the last upload, before the first step: waits for what is under way; a packed file being written gets its name. Notes are for the user.
  virtual Status end_uploads(std::vector<std::string>& notes) { return static_cast<void>(notes), ok_status(); }

  // Replaces all sequence state. Pages hold page_tokens keys and values of every paged layer; slots hold every recurrent layer.
  virtual Status allocate_state(std::span<const StateSpec> layers, StatePlan plan) = 0;
  virtual size_t page_bytes(std::span<const StateSpec> layers, int page_tokens) const = 0;
  virtual size_t slot_bytes(std::span<const StateSpec> layers) const = 0;
  virtual void copy_page(int32_t from, int32_t to) = 0;
  virtual void copy_slot(int32_t from, int32_t to) = 0;
  virtual void clear_slot(int32_t slot) = 0;
  // What a page or slot holds, in the device's own layout: page_bytes or slot_bytes long. Good for this layout only: see EngineOptions::cache_key.
  virtual void read_page(int32_t page, std::span<std::byte> out) const = 0;
  virtual void write_page(int32_t page, std::span<const std::byte> in) = 0;
  virtual void read_slot(int32_t slot, std::span<std::byte> out) const = 0;
  virtual void write_slot(int32_t slot, std::span<const std::byte> in) = 0;

  virtual Encoder& begin() = 0;                             // resets the arena and the recording
  virtual Status finish() = 0;                              // runs what was recorded; tensors may be read on the host afterwards
  virtual std::span<const float> host(const Tensor& t) = 0; // valid until the next begin()

  // Devices that run behind the host: they draw ids (Encoder::sample), Batch::ids may say sampled_before, and a step may be submitted while
  // the one before it is under way. Everything else asked of the device in between happens behind what was submitted.
  virtual bool samples() const { return false; }
  // Steps of one shape are the same but for ids, positions and pages. After begin, the model's words and sample, and before submit, a device may be told what
  // the step was for and what the words gave; later it may know how to record a step of that shape without them: in the place of begin, words and sample.
  virtual void remember(const Batch&, std::span<const SampleSpec>, const Tensor& /*result*/) {}
  virtual std::optional<Tensor> repeat(const Batch&, std::span<const SampleSpec>) { return std::nullopt; }
  virtual Status submit() { return finish(); }              // starts what was recorded; two steps at most may be under way
  virtual Result<std::span<const TokenId>> await() { return std::span<const TokenId>(); }  // ends the oldest step: its ids, by spec, -1: none could be drawn; valid until the next await
  virtual int prompt_rows() const { return 2048; }          // rows of a prompt in one step that it likes
  // Why every step fails from now on, and what was computed cannot be read any more; null while the device works.
  virtual const Error* dead() const { return nullptr; }
};
Result<std::unique_ptr<Device>> make_device(const DeviceOptions& options);  // the one that `device` names
Result<std::unique_ptr<Device>> make_cpu_device(const DeviceOptions& options);
Result<std::unique_ptr<Device>> make_cuda_device(const DeviceOptions& options);  // unsupported, and why, where there is none
// Reads everything in a packed file and compares it with its checksums; the number of bytes.
Result<size_t> verify_packed(const std::string& path);

// What this machine can do at best, measured when asked: what speeds are held against.
struct Ceilings { double read_bytes_per_s = 0, macs_per_s = 0; };
class Calibration {
 public:
  virtual ~Calibration() = default;
  virtual Ceilings measure() = 0;            // half a second at most, all threads at once
  std::string unit;                          // what is multiplied: "int8" on CPUs, "half" on GPUs
  std::string isa, best_isa;                 // which one the options give, and the best one here
  int threads = 1, physical_cores = 1;       // of a GPU: its multiprocessors
};
Result<std::unique_ptr<Calibration>> make_calibration(const DeviceOptions& options);  // of the device that make_device gives
Result<std::unique_ptr<Calibration>> make_cpu_calibration(const DeviceOptions& options);
Result<std::unique_ptr<Calibration>> make_cuda_calibration(const DeviceOptions& options);
