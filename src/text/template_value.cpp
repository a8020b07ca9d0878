// template value: Python's truth, equality, order and hashing over values, and the heap that owns them.
#include "text/template_value.h"

#include <cmath>
#include <functional>
#include "text/template_text.h"

namespace tmpl {

void fail(std::string message, Code code) { throw Failure{code, std::move(message), 0, 0}; }

Text::Text(std::string t, bool is_safe, int64_t* counter) : bytes(std::move(t)), length(text::count(bytes)), safe(is_safe), live(counter) {
  if (live) *live += static_cast<int64_t>(sizeof(Text) + bytes.capacity());
}
Text::~Text() {
  if (live) *live -= static_cast<int64_t>(sizeof(Text) + bytes.capacity());
}

Value Value::constant(std::string text) {
  Value v(Kind::string);
  v.text = std::make_shared<const Text>(std::move(text), false, nullptr);
  return v;
}

void Heap::charge(int64_t bytes) {
  step(1 + bytes / 512);
  if ((live_bytes += bytes) > max_live_bytes) fail("more than 256 MB of values", Code::too_large);
}

Value Heap::string(std::string text, bool safe) {
  step(1 + static_cast<int64_t>(text.size()) / 512);
  if (static_cast<int64_t>(text.size()) > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
  Value v = Value::object(Kind::string, nullptr);
  v.text = std::make_shared<const Text>(std::move(text), safe, &live_bytes);
  if (live_bytes > max_live_bytes) fail("more than 256 MB of values", Code::too_large);
  return v;
}

Value Heap::list(std::vector<Value> items, Kind kind) {
  ListObject* list = make<ListObject>();
  charge(static_cast<int64_t>(items.size() * sizeof(Value)));
  list->items = std::move(items);
  return Value::object(kind, list);
}

Value Heap::undefined(std::string reason) {
  Value v;
  v.text = std::make_shared<const Text>(std::move(reason), false, &live_bytes);
  return v;
}

Value Heap::range(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) fail("range() arg 3 must not be zero");
  const __int128 span = step > 0 ? static_cast<__int128>(stop) - start : static_cast<__int128>(start) - stop;
  const __int128 width = step > 0 ? static_cast<__int128>(step) : -static_cast<__int128>(step);
  const __int128 n = span <= 0 ? 0 : (span + width - 1) / width;
  if (n > max_range_items) fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).", Code::too_large);
  std::vector<Value> items;
  for (int64_t k = 0; k < static_cast<int64_t>(n); k++) items.push_back(Value::integer(start + k * step));
  Value v = list(std::move(items), Kind::range);
  list_of(v).bounds = {start, stop, step};
  return v;
}

bool truthy(const Value& v) {
  switch (v.kind) {
    case Kind::undefined: case Kind::none: return false;
    case Kind::boolean: return v.b;
    case Kind::integer: return v.i != 0;
    case Kind::real: return v.d != 0;
    case Kind::string: return !v.str().empty();
    case Kind::dict: return !dict_of(v).entries.empty();
    case Kind::iterator: return true;
    default: return !v.is_sequence_object() || !list_of(v).items.empty();
  }
}

static void check_depth(int depth) {
  if (depth > max_eval_depth) fail("a value nested too deeply", Code::too_large);
}

static bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) return a.as_int() == b.as_int();
  return a.as_real() == b.as_real();
}

static bool equal_dicts(const DictObject& a, const DictObject& b, int depth) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.find(key);
    if (!other || !equal(value, *other, depth + 1)) return false;
  }
  return true;
}

bool equal(const Value& a, const Value& b, int depth) {
  check_depth(depth);
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.kind != b.kind) return false;
  if (a.is_string()) return a.str() == b.str();
  if (a.is(Kind::undefined) || a.is(Kind::none)) return true;
  if (a.o == b.o) return true;
  if (a.is(Kind::dict)) return equal_dicts(dict_of(a), dict_of(b), depth);
  if (!a.is_sequence_object() || a.is(Kind::iterator) || a.is(Kind::values)) return false;
  const auto &x = list_of(a).items, &y = list_of(b).items;
  if (x.size() != y.size()) return false;
  for (size_t k = 0; k < x.size(); k++) {
    if (!equal(x[k], y[k], depth + 1)) return false;
  }
  return true;
}

bool less(const Value& a, const Value& b, const char* op, int depth) {
  check_depth(depth);
  if (a.is_int() && b.is_int()) return a.as_int() < b.as_int();
  if (a.is_number() && b.is_number()) return a.as_real() < b.as_real();
  if (a.is_string() && b.is_string()) return a.str() < b.str();  // UTF-8 keeps the order of code points
  for (const Value* v : {&a, &b}) {
    if (v->is(Kind::undefined)) fail(v->text ? v->text->bytes : "undefined value");
  }
  if (a.kind != b.kind || (!a.is(Kind::list) && !a.is(Kind::tuple))) {
    fail(std::string("'") + op + "' not supported between instances of '" + type_name(a) + "' and '" + type_name(b) + "'");
  }
  const auto &x = list_of(a).items, &y = list_of(b).items;
  for (size_t k = 0; k < x.size() && k < y.size(); k++) {
    if (!equal(x[k], y[k], depth + 1)) return less(x[k], y[k], op, depth + 1);
  }
  return x.size() < y.size();
}

static uint64_t hash_at(const Value& v, int depth) {
  check_depth(depth);
  if (v.is_string()) return std::hash<std::string>{}(v.str());
  if (v.is_number()) return std::hash<double>{}(v.as_real() == 0 ? 0.0 : v.as_real());
  if (v.is(Kind::none) || v.is(Kind::undefined)) return static_cast<uint64_t>(v.kind);
  if (v.is(Kind::tuple)) {
    uint64_t h = 7;
    for (const Value& item : list_of(v).items) h = h * 1000003 + hash_at(item, depth + 1);
    return h;
  }
  if (v.is(Kind::list) || v.is(Kind::dict)) fail(std::string("unhashable type: '") + type_name(v) + "'");
  return std::hash<Object*>{}(v.o);
}
uint64_t hash_of(const Value& v) { return hash_at(v, 0); }

const Value* DictObject::find(const Value& key) const {
  if (key.is_string()) return find(std::string_view(key.str()));
  const uint64_t hash = hash_of(key);
  for (auto [it, end] = index_.equal_range(hash); it != end; ++it) {
    if (equal(entries[it->second].first, key)) return &entries[it->second].second;
  }
  return nullptr;
}

const Value* DictObject::find(std::string_view key) const {
  for (auto [it, end] = index_.equal_range(std::hash<std::string_view>{}(key)); it != end; ++it) {
    const Value& own = entries[it->second].first;
    if (own.is_string() && own.str() == key) return &entries[it->second].second;
  }
  return nullptr;
}

void DictObject::set(Value key, Value value) {
  if (const Value* old = find(key)) {
    const_cast<Value&>(*old) = std::move(value);
    return;
  }
  index_.emplace(hash_of(key), entries.size());
  entries.emplace_back(std::move(key), std::move(value));
}

static std::vector<Value> iterate_string(Heap& heap, std::string_view s) {
  std::vector<Value> out;
  for (std::string_view c : text::characters(s)) out.push_back(heap.string(std::string(c)));
  return out;
}

std::vector<Value> iterate(Heap& heap, const Value& v) {
  if (v.is(Kind::undefined)) return {};
  if (v.is_string()) return iterate_string(heap, v.str());
  std::vector<Value> out;
  if (v.is(Kind::dict)) {
    for (const auto& entry : dict_of(v).entries) out.push_back(entry.first);
  } else if (v.is_sequence_object()) {
    ListObject& list = list_of(v);
    out.assign(list.items.begin() + static_cast<ptrdiff_t>(list.next), list.items.end());
    if (v.is(Kind::iterator)) list.next = list.items.size();
  } else {
    fail(std::string("'") + type_name(v) + "' object is not iterable");
  }
  heap.step(1 + static_cast<int64_t>(out.size()) / 4);
  return out;
}

int64_t length_of(const Value& v) {
  if (v.is(Kind::undefined)) return 0;
  if (v.is_string()) return v.text->length;
  if (v.is(Kind::dict)) return static_cast<int64_t>(dict_of(v).entries.size());
  if (!v.is_sequence_object() || v.is(Kind::iterator)) fail(std::string("object of type '") + type_name(v) + "' has no len()");
  return static_cast<int64_t>(list_of(v).items.size());
}

}  // namespace tmpl
