// gpu: inputs enter as rows of a float32 lookup table, so that no word beyond Device and Encoder is needed.
#include "cuda/gpu.h"

#include <cstdlib>
#include <limits>
#include <numeric>

namespace {

constexpr int64_t kPoisonRows = 64, kPoisonCols = 4096, kPoisonTimes = 384;  // 1 MiB each: also the odd ends of the arena's pieces

StoredMatrix floats(std::span<const float> x, int64_t cols) {
  StoredMatrix m;
  m.format = find_format("F32");
  m.shape = {std::ssize(x) / cols, cols};
  m.codes = std::as_bytes(x);
  return m;
}

template <class T> T taken(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);  // ends the test that asked
  return std::move(*result);
}
void must(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

}  // namespace

const char* test_device() {
  const char* other = std::getenv("CALLA_TEST_DEVICE");
  return other ? other : "cuda";
}

Gpu::Gpu(DeviceOptions options) {
  options.device = test_device();
  device_ = taken(make_device(options));
  const std::vector<float> ones(kPoisonCols, 1.0f);
  one_row_ = taken(device_->upload_lookup(floats(ones, kPoisonCols)));
}

Gpu& Gpu::of(Precision precision) {
  static Gpu exact([] { DeviceOptions o; o.precision = Precision::exact; return o; }()), fast([] { DeviceOptions o; o.batch_invariant = true; return o; }());
  return precision == Precision::exact ? exact : fast;
}

std::unique_ptr<Weight> Gpu::upload(const MatrixSource& source) { return taken(device_->upload(source)); }
std::unique_ptr<Weight> Gpu::upload(const StoredMatrix& matrix, bool precise, int32_t n_experts) {
  MatrixSource source;
  source.parts = {matrix};
  source.precise = precise, source.n_experts = n_experts;
  return upload(source);
}
std::unique_ptr<Weight> Gpu::vector(std::span<const float> values) { return taken(device_->upload_vector(values)); }

void Gpu::allocate_state(std::span<const StateSpec> layers, StatePlan plan) {
  must(device_->allocate_state(layers, plan));
  const std::vector<std::byte> page(device_->page_bytes(layers, plan.page_tokens), std::byte{0xff});  // NaN as halves and as floats
  for (int32_t i = 0; i < plan.n_pages && !page.empty(); i++) device_->write_page(i, page);
  const std::vector<std::byte> slot(device_->slot_bytes(layers), std::byte{0xff});
  for (int32_t i = 0; i < plan.n_slots && !slot.empty(); i++) {
    device_->write_slot(i, slot);
    device_->clear_slot(i);
  }
}

void Gpu::poison() {
  const std::vector<TokenId> ids(kPoisonRows);
  Encoder& e = device_->begin();
  for (int64_t i = 0; i < kPoisonTimes; i++) e.embed(*one_row_, ids, std::numeric_limits<float>::quiet_NaN());
  must(device_->finish());
}

void Gpu::run(const std::function<void(Encoder&)>& record) {
  poison();
  inputs_.clear();
  record(device_->begin());
  must(device_->finish());
}

Tensor Gpu::input(Encoder& e, std::span<const float> x, Shape shape) {
  const int64_t rows = shape[0], cols = shape.elements() / rows;
  inputs_.push_back(taken(device_->upload_lookup(floats(x, cols))));
  ids_.resize(static_cast<size_t>(rows));
  std::iota(ids_.begin(), ids_.end(), 0);
  return e.reshape(e.embed(*inputs_.back(), ids_), shape);
}

std::vector<float> Gpu::read(const Tensor& t) {
  const auto values = device_->host(t);
  return {values.begin(), values.end()};
}

std::vector<int32_t> scattered_pages(int n_pages) {
  std::vector<int32_t> pages(static_cast<size_t>(n_pages));
  int step = 7;
  while (std::gcd(step, n_pages) != 1) step += 2;
  for (int i = 0; i < n_pages; i++) pages[static_cast<size_t>(i)] = (i * step + 3) % n_pages;
  return pages;
}

Step::Step(std::span<const Part> parts, std::span<const int32_t> pages, int pages_each, std::span<const int32_t> logit_rows) {
  int32_t row = 0;
  for (const Part& p : parts) {
    sequences_.push_back({row, p.rows, p.past, pages.empty() ? nullptr : pages.data() + p.sequence * pages_each, p.sequence});
    for (int32_t i = 0; i < p.rows; i++) positions_.push_back(p.past + i);
    row += p.rows;
  }
  ids_.resize(static_cast<size_t>(row));
  batch_ = {ids_, positions_, sequences_, logit_rows};
}
