// template operators: Python's arithmetic, comparison, membership, indexing and slicing.
#include <cmath>
#include "text/template_machine.h"
#include "text/template_text.h"

namespace tmpl {

void need_defined(const Value& v) {
  if (v.is(Kind::undefined)) fail(v.text ? v.text->bytes : "undefined value");
}

[[noreturn]] static void unsupported_operands(const char* op, const Value& a, const Value& b) {
  fail(std::string("unsupported operand type(s) for ") + op + ": '" + type_name(a) + "' and '" + type_name(b) + "'");
}

// By reference: the operation that sets `value` is the other argument.
static int64_t checked(bool overflow, const int64_t& value) {
  if (overflow) fail("an integer beyond 64 bits");
  return value;
}

Value escape(Heap& heap, const Value& v) {
  if (v.safe()) return v;
  std::string out;
  for (char c : to_str(v)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '\'': out += "&#39;"; break;
      case '"': out += "&#34;"; break;
      default: out += c;
    }
  }
  return heap.string(std::move(out), true);
}

Value unary(Op op, const Value& v) {
  need_defined(v);
  const bool minus = op == Op::minus;
  if (v.is(Kind::real)) return Value::real(minus ? -v.d : v.d);
  if (!v.is_int()) fail(std::string("bad operand type for unary ") + (minus ? "-" : "+") + ": '" + type_name(v) + "'");
  int64_t r = v.as_int();
  return minus ? Value::integer(checked(__builtin_sub_overflow(int64_t{0}, r, &r), r)) : Value::integer(r);
}

static Value add(Heap& heap, const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) {
    int64_t r = 0;
    return Value::integer(checked(__builtin_add_overflow(a.as_int(), b.as_int(), &r), r));
  }
  if (a.is_number() && b.is_number()) return Value::real(a.as_real() + b.as_real());
  if (a.is_string() && b.is_string()) {
    if (a.safe() || b.safe()) return heap.string(escape(heap, a).str() + escape(heap, b).str(), true);
    return heap.string(a.str() + b.str());
  }
  if (a.kind == b.kind && (a.is(Kind::list) || a.is(Kind::tuple))) {
    std::vector<Value> items = list_of(a).items;
    items.insert(items.end(), list_of(b).items.begin(), list_of(b).items.end());
    return heap.list(std::move(items), a.kind);
  }
  if (a.is_string()) fail(std::string("can only concatenate str (not \"") + type_name(b) + "\") to str");
  unsupported_operands("+", a, b);
}

static Value repeat(Heap& heap, const Value& v, int64_t n) {
  if (v.is_string()) {
    const auto size = static_cast<int64_t>(v.str().size());
    if (n > 0 && size > 0 && n > max_output_bytes / size) fail("a string longer than 16 MB", Code::too_large);
    std::string out;
    for (int64_t k = 0; k < n && size > 0; k++) out += v.str();
    return heap.string(std::move(out), v.safe());
  }
  const auto& items = list_of(v).items;
  const auto size = static_cast<int64_t>(items.size());
  if (n > 0 && size > 0 && n > 1'000'000 / size) fail("a list of more than 1000000 items", Code::too_large);
  std::vector<Value> out;
  for (int64_t k = 0; k < n && size > 0; k++) out.insert(out.end(), items.begin(), items.end());
  return heap.list(std::move(out), v.kind);
}

static Value multiply(Heap& heap, const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) {
    int64_t r = 0;
    return Value::integer(checked(__builtin_mul_overflow(a.as_int(), b.as_int(), &r), r));
  }
  if (a.is_number() && b.is_number()) return Value::real(a.as_real() * b.as_real());
  const auto repeatable = [](const Value& v) { return v.is_string() || v.is(Kind::list) || v.is(Kind::tuple); };
  if (repeatable(a) && b.is_int()) return repeat(heap, a, b.as_int());
  if (repeatable(b) && a.is_int()) return repeat(heap, b, a.as_int());
  unsupported_operands("*", a, b);
}

static double floor_modulo(double a, double b) {
  double r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r == 0 ? std::copysign(0.0, b) : r;
}

static double floor_quotient(double a, double b) {
  const double r = floor_modulo(a, b), q = (a - r) / b;
  if (q == 0) return std::copysign(0.0, a / b);
  const double f = std::floor(q);
  return q - f > 0.5 ? f + 1 : f;
}

static Value divide(Op op, const Value& a, const Value& b, const char* symbol) {
  if (!a.is_number() || !b.is_number()) unsupported_operands(symbol, a, b);
  if (b.as_real() == 0) fail(op == Op::div ? "division by zero" : "integer division or modulo by zero");
  if (op == Op::div) return Value::real(a.as_real() / b.as_real());
  if (!a.is_int() || !b.is_int()) {
    return Value::real(op == Op::mod ? floor_modulo(a.as_real(), b.as_real()) : floor_quotient(a.as_real(), b.as_real()));
  }
  const int64_t x = a.as_int(), y = b.as_int();
  if (y == -1) return op == Op::mod ? Value::integer(0) : unary(Op::minus, a);
  const int64_t r = x % y;
  const bool shift = r != 0 && (r < 0) != (y < 0);
  return Value::integer(op == Op::mod ? (shift ? r + y : r) : (shift ? x / y - 1 : x / y));
}

static Value power(const Value& a, const Value& b) {
  if (!a.is_number() || !b.is_number()) unsupported_operands("** or pow()", a, b);
  if (!a.is_int() || !b.is_int() || b.as_int() < 0) {
    if (a.as_real() == 0 && b.as_real() < 0) fail("0.0 cannot be raised to a negative power");
    if (a.as_real() < 0 && b.as_real() != std::floor(b.as_real())) fail("a complex number");
    const double r = std::pow(a.as_real(), b.as_real());
    if (std::isinf(r) && std::isfinite(a.as_real()) && std::isfinite(b.as_real())) fail("Numerical result out of range");
    return Value::real(r);
  }
  int64_t r = 1, base = a.as_int();
  for (int64_t n = b.as_int(); n > 0; n >>= 1) {
    if (n & 1) r = checked(__builtin_mul_overflow(r, base, &r), r);
    if (n > 1) base = checked(__builtin_mul_overflow(base, base, &base), base);
  }
  return Value::integer(r);
}

Value binary(Heap& heap, Op op, const Value& a, const Value& b) {
  need_defined(a);
  if (op == Op::mod && a.is_string()) return heap.string(format_percent(a.str(), b), a.safe());
  need_defined(b);
  switch (op) {
    case Op::add: return add(heap, a, b);
    case Op::mul: return multiply(heap, a, b);
    case Op::div: return divide(op, a, b, "/");
    case Op::floor_div: return divide(op, a, b, "//");
    case Op::mod: return divide(op, a, b, "%");
    case Op::pow: return power(a, b);
    default: break;
  }
  if (!a.is_number() || !b.is_number()) unsupported_operands("-", a, b);
  if (!a.is_int() || !b.is_int()) return Value::real(a.as_real() - b.as_real());
  int64_t r = 0;
  return Value::integer(checked(__builtin_sub_overflow(a.as_int(), b.as_int(), &r), r));
}

static bool contains(Heap& heap, const Value& container, const Value& v) {
  if (container.is_string()) {
    if (!v.is_string()) fail(std::string("'in <string>' requires string as left operand, not ") + type_name(v));
    heap.step(static_cast<int64_t>(container.str().size()) / 512);
    return container.str().find(v.str()) != std::string::npos;
  }
  if (container.is(Kind::dict)) return dict_of(container).find(v) != nullptr;
  if (!container.is(Kind::undefined) && !container.is_sequence_object()) fail(std::string("argument of type '") + type_name(container) + "' is not iterable");
  for (const Value& item : iterate(heap, container)) {
    if (equal(item, v)) return true;
  }
  return false;
}

static bool not_a_number(const Value& a, const Value& b) { return (a.is(Kind::real) && std::isnan(a.d)) || (b.is(Kind::real) && std::isnan(b.d)); }

bool compare(Heap& heap, Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::eq: return equal(a, b);
    case Op::ne: return !equal(a, b);
    case Op::lt: return less(a, b, "<");
    case Op::gt: return less(b, a, ">");
    case Op::le: return !less(b, a, "<=") && !not_a_number(a, b);
    case Op::ge: return !less(a, b, ">=") && !not_a_number(a, b);
    case Op::in: return contains(heap, b, a);
    default: return !contains(heap, b, a);
  }
}

Value element(Heap& heap, const Value& v, int64_t index, bool& found) {
  const bool indexable = v.is_string() || v.is(Kind::list) || v.is(Kind::tuple) || v.is(Kind::range);
  const int64_t n = indexable ? length_of(v) : 0;
  if (index < 0) index += n;
  found = indexable && index >= 0 && index < n;
  if (!found) return Value();
  if (!v.is_string()) return list_of(v).items[static_cast<size_t>(index)];
  const std::string& s = v.str();
  if (v.text->ascii()) return heap.string(std::string(1, s[static_cast<size_t>(index)]), v.safe());
  heap.step(index / 128);
  const size_t start = text::offset(s, index);
  size_t end = start;
  text::decode(s, end);
  return heap.string(s.substr(start, end - start), v.safe());
}

static int64_t bound_of(const Value& v, int64_t fallback) {
  return v.is(Kind::none) ? fallback : v.as_int();
}

// Code points of `s` by position, in steps.
static std::string slice_text(const Value& v, int64_t start, int64_t step, int64_t n) {
  const std::string& s = v.str();
  if (step == 1) {
    const size_t from = v.text->ascii() ? static_cast<size_t>(start) : text::offset(s, start);
    const std::string_view tail = std::string_view(s).substr(from);
    return std::string(tail.substr(0, v.text->ascii() ? static_cast<size_t>(n) : text::offset(tail, n)));
  }
  const auto all = text::characters(s);
  std::string out;
  for (int64_t k = 0; k < n; k++) out += all[static_cast<size_t>(start + k * step)];
  return out;
}

Value slice(Heap& heap, const Value& v, const Value* from, const Value* to, const Value* by) {
  need_defined(v);
  const bool sliceable = v.is_string() || v.is(Kind::list) || v.is(Kind::tuple) || v.is(Kind::range);
  bool whole = true;
  for (const Value* bound : {from, to, by}) whole &= bound->is(Kind::none) || bound->is_int();
  if (!sliceable || !whole) return heap.undefined(object_name(v) + " has no element slice");
  const int64_t step = bound_of(*by, 1);
  if (step == 0) fail("slice step cannot be zero");
  const int64_t n = length_of(v), low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto clamp = [&](int64_t i) { return i < 0 ? std::max(i + n, low) : std::min(i, high); };
  const int64_t start = from->is(Kind::none) ? (step > 0 ? 0 : n - 1) : clamp(bound_of(*from, 0));
  const int64_t stop = to->is(Kind::none) ? (step > 0 ? n : -1) : clamp(bound_of(*to, 0));
  const uint64_t width = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const int64_t span = step > 0 ? stop - start : start - stop;
  const int64_t count = span <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(span) + width - 1) / width);
  if (v.is_string()) return heap.string(count == 0 ? "" : slice_text(v, start, step, count), v.safe());
  std::vector<Value> items;
  for (int64_t k = 0; k < count; k++) items.push_back(list_of(v).items[static_cast<size_t>(start + k * step)]);
  if (!v.is(Kind::range)) return heap.list(std::move(items), v.kind);
  const auto& bounds = list_of(v).bounds;
  Value range = heap.list(std::move(items), Kind::range);
  const auto scaled = [&](int64_t k) { return static_cast<int64_t>(static_cast<uint64_t>(k) * static_cast<uint64_t>(bounds[2])); };
  const auto moved = [&](int64_t k) { return static_cast<int64_t>(static_cast<uint64_t>(bounds[0]) + static_cast<uint64_t>(scaled(k))); };
  list_of(range).bounds = {moved(start), moved(stop), scaled(step)};
  return range;
}

}  // namespace tmpl
