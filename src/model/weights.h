// weights: what an architecture asks for, matched against what a file holds, checked as a whole, then uploaded one by one.
#pragma once
#include <map>
#include "device/device.h"
#include "model/model.h"
#include "model/names.h"

using Slot = std::unique_ptr<Weight>;  // empty until upload

// Loading repairs: files keep norm gains as w or 1 + w, and the decay as log(A) or -exp(log A).
enum class Repair : uint8_t { none, plus_one, negative_exp };

// Which rows of a stored matrix are wanted: `count` from every `stride`, starting at `first`. Default: all of them.
struct RowPick {
  int64_t stride = 0, first = 0, count = 0;
};

// Requests never fail at once; check() names every missing, extra and mis-shaped tensor. Slots must stay where they are until upload.
class Weights {
 public:
  Weights(const WeightFile& file, std::string_view architecture, int n_layers);

  bool gguf() const { return file_.container() == Container::gguf; }
  bool has(const std::string& name) const { return entries_.contains(name); }
  const Shape* shape_of(const std::string& name) const;  // of the stored tensor; null when absent

  void matrix(Slot& to, const std::string& name, int64_t rows, int64_t cols, RowPick pick = {});  // rows: as stored
  void sensitive(Slot& to, const std::string& name, int64_t rows, int64_t cols);                  // a matrix whose activations are never quantised
  void lookup(Slot& to, const std::string& name, int64_t rows, int64_t cols);                     // only ever read by embed
  void vector(Slot& to, const std::string& name, Shape shape, Repair repair = Repair::none);
  void taps(Slot& to, const std::string& name, int64_t channels, int64_t kernel);  // uploaded as [kernel, channels]
  void optional_vector(Slot& to, const std::string& name, Shape shape);            // stays empty when absent
  std::vector<float> numbers(const std::string& name, Shape shape);                // read at once; zeros after a problem
  // Three stacks of n matrices, stored as stacks, as gate and up fused, or as one tensor per expert. base: "layers.3.mlp.experts."
  void experts(Slot& gate, Slot& up, Slot& down, const std::string& base, int64_t n, int64_t top_k, int64_t ffn_dim, int64_t hidden_dim);
  void ignore(const std::string& name, const char* why);  // present but without use

  Status check();  // before anything is uploaded
  Status upload(Device& device, const std::function<void(const LoadProgress&)>& progress);
  std::vector<PartBytes> parts() const;
  std::vector<std::string> notes() const;

 private:
  struct Entry {
    const StoredTensor *main = nullptr, *scales = nullptr, *biases = nullptr, *block_scales = nullptr, *global_scale = nullptr;
    int uses = 0;
  };
  enum class Kind : uint8_t { matrix, lookup, vector };
  struct Request {
    Kind kind;
    Slot* to;
    std::string name;
    MatrixSource source;  // vectors: one part of a single row
    Repair repair = Repair::none;
    int64_t kernel = 0;           // vectors of taps: columns of the stored [channels, kernel]
    std::vector<Entry*> entries;  // what to check and drop afterwards
    size_t bytes = 0;             // of the file, the picked rows only
    double per_token = 1;         // fraction read for one decoded token
  };
  void collect(const StoredTensor& tensor);
  Entry* take(const std::string& name);
  bool describe(const Entry& entry, const Shape& shape, StoredMatrix& out);
  bool add_part(Request& request, const std::string& name, const Shape& shape);
  void add(Request request);
  void stack(Slot& to, const std::string& base, const std::string& word, const Shape& shape, double per_token);
  void fused(Slot& to, const std::string& name, bool second, int64_t n, int64_t ffn_dim, int64_t hidden_dim, double per_token);
  void problem(std::string what);
  void problem(const std::string& name, const std::string& what);
  void find_extras();
  Status upload(Request& request, Device& device);
  std::string shown(const std::string& canonical) const;

  const WeightFile& file_;
  std::string architecture_, prefix_;
  int n_layers_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<Request> requests_;
  std::vector<std::string> problems_;
  size_t unlisted_ = 0;  // problems beyond those that are named
  std::map<std::string, int> skipped_;  // what, how many tensors
};

size_t stored_bytes(const StoredMatrix& matrix);
