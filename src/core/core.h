// core: the words every room uses. Depends on nothing. C++20-clean, so that CUDA sources may include it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// What went wrong, coarsely: one table in wire/ maps a Code to an HTTP status, one in app/ to an exit code.
enum class Code : uint8_t { invalid_request, not_found, too_large, overloaded, cancelled, denied, unsupported, corrupt_file, device, io, internal };

// A failure caused by input, files, the network, memory or a device. `message` says what was attempted, on what, and what was
// seen instead, in one line; it never carries a user's text.
struct Error {
  Code code = Code::internal;
  std::string message;
};

// A value or an Error. Same member names as std::expected, which nvcc 13 and clang 14 do not have.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  template <class U>
    requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, T> && !std::is_same_v<std::remove_cvref_t<U>, Error> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  explicit operator bool() const { return state_.index() == 0; }
  bool has_value() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};
using Status = Result<std::monostate>;
inline Status ok_status() { return std::monostate{}; }

// TRY(auto x, f());   declares x, or returns the error of f() from this function.
// TRY_STATUS(f());    the same for a Status.
#define TRY_CONCAT_(a, b) a##b
#define TRY_NAME_(line) TRY_CONCAT_(try_, line)
#define TRY(decl, ...)                                                       \
  auto TRY_NAME_(__LINE__) = (__VA_ARGS__);                                  \
  if (!TRY_NAME_(__LINE__)) return std::move(TRY_NAME_(__LINE__).error());   \
  decl = std::move(*TRY_NAME_(__LINE__))
#define TRY_STATUS(...)                                                      \
  if (auto try_status_ = (__VA_ARGS__); !try_status_) return std::move(try_status_.error())

// A broken invariant of our own: never reachable from bytes that come from outside.
#define CHECK(condition) ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))
[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "calla: internal error at %s:%d: %s\n", file, line, condition);
  std::abort();
}

using TokenId = int32_t;

// Kinds of elements in a tensor or activation.
enum class DType : uint8_t { f32, f16, bf16, i32, u8 };

// Extents outermost first, row-major. At most four; unused ones are 1.
struct Shape {
  std::array<int64_t, 4> dim{1, 1, 1, 1};
  int rank = 0;
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) {
    for (int64_t e : extents) dim[static_cast<size_t>(rank++)] = e;
  }
  int64_t operator[](int i) const { return dim[static_cast<size_t>(i)]; }
  int64_t back() const { return rank == 0 ? 1 : dim[static_cast<size_t>(rank - 1)]; }
  int64_t elements() const { return dim[0] * dim[1] * dim[2] * dim[3]; }
  int64_t rows() const { return back() == 0 ? 0 : elements() / back(); }  // all extents but the last
  bool operator==(const Shape& o) const { return rank == o.rank && dim == o.dim; }
};
std::string to_string(const Shape& shape);  // "256 x 2048 x 512"
