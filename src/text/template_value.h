// template value: the values a chat template computes with, as Python sees them, and the memory and budget they live in.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#include "core/core.h"

namespace tmpl {

constexpr int64_t max_template_bytes = int64_t{1} << 20, max_output_bytes = int64_t{16} << 20, max_live_bytes = int64_t{256} << 20;
constexpr int64_t max_steps = 5'000'000, max_range_items = 100'000;  // the latter is jinja2's MAX_RANGE
constexpr int max_parse_depth = 100, max_eval_depth = 400;

// Thrown inside the engine only; compile() and render() turn it into an Error.
struct Failure {
  Code code = Code::unsupported;
  std::string message;
  int line = 0, column = 0;  // 0: not known yet
};
[[noreturn]] void fail(std::string message, Code code = Code::unsupported);

// Text is always whole UTF-8. `safe` is markupsafe's Markup.
struct Text {
  std::string bytes;
  int64_t length = 0;  // code points
  bool safe = false;
  int64_t* live = nullptr;  // the render's count of live bytes, or null for constants of the template
  Text(std::string text, bool is_safe, int64_t* counter);
  ~Text();
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  bool ascii() const { return length == static_cast<int64_t>(bytes.size()); }
};

enum class Kind : uint8_t {
  undefined, none, boolean, integer, real, string,
  list, tuple, keys, values, items, range, iterator,  // ListObject
  dict, space, function, macro, loop, cycler, joiner
};

struct Object {
  virtual ~Object() = default;
};

// A Python object by value for scalars, by shared text for strings, by pointer into the Heap for the rest.
struct Value {
  Kind kind = Kind::undefined;
  union {
    bool b;
    int64_t i = 0;
    double d;
    Object* o;
  };
  std::shared_ptr<const Text> text;  // of a string; of an undefined value the reason
  Value() {}
  static Value none() { return Value(Kind::none); }
  static Value boolean(bool v) { Value r(Kind::boolean); r.b = v; return r; }
  static Value integer(int64_t v) { Value r(Kind::integer); r.i = v; return r; }
  static Value real(double v) { Value r(Kind::real); r.d = v; return r; }
  static Value object(Kind kind, Object* o) { Value r(kind); r.o = o; return r; }
  static Value constant(std::string text);  // a string that belongs to no render
  bool is(Kind k) const { return kind == k; }
  bool is_string() const { return kind == Kind::string; }
  bool is_int() const { return kind == Kind::integer || kind == Kind::boolean; }  // Python: bool is an int
  bool is_number() const { return is_int() || kind == Kind::real; }
  bool is_sequence_object() const { return kind >= Kind::list && kind <= Kind::iterator; }
  int64_t as_int() const { return kind == Kind::boolean ? b : i; }
  double as_real() const { return kind == Kind::real ? d : static_cast<double>(as_int()); }
  const std::string& str() const { return text->bytes; }
  bool safe() const { return kind == Kind::string && text->safe; }

 private:
  explicit Value(Kind k) : kind(k) {}
};

struct ListObject : Object {
  std::vector<Value> items;
  size_t next = 0;                    // of an iterator: the first item not yet taken
  std::array<int64_t, 3> bounds{};    // of a range
  bool group = false;                 // a tuple of groupby, with the names grouper and list
};

// Insertion-ordered; keys compare as in Python (1 == 1.0 == true).
struct DictObject : Object {
  std::vector<std::pair<Value, Value>> entries;
  const Value* find(const Value& key) const;  // null when absent; fails on an unhashable key
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);

 private:
  std::unordered_multimap<uint64_t, size_t> index_;
};

inline ListObject& list_of(const Value& v) { return *static_cast<ListObject*>(v.o); }
inline DictObject& dict_of(const Value& v) { return *static_cast<DictObject*>(v.o); }

// Owns every container of one render, so that cycles and deep nesting are freed without recursion; counts steps and live bytes.
class Heap {
 public:
  int64_t live_bytes = 0, steps = 0;
  void step(int64_t n = 1) { if ((steps += n) > max_steps) fail("more than 5000000 steps", Code::too_large); }
  void charge(int64_t bytes);  // work and memory of a new object
  template <class T> T* make() {
    charge(static_cast<int64_t>(sizeof(T)));
    objects_.push_back(std::make_unique<T>());
    return static_cast<T*>(objects_.back().get());
  }
  Value string(std::string text, bool safe = false);
  Value list(std::vector<Value> items, Kind kind = Kind::list);
  Value dict() { return Value::object(Kind::dict, make<DictObject>()); }
  Value undefined(std::string reason);
  Value range(int64_t start, int64_t stop, int64_t step);

 private:
  std::vector<std::unique_ptr<Object>> objects_;
};

// Python's view of values.
bool truthy(const Value& v);
bool equal(const Value& a, const Value& b, int depth = 0);
bool less(const Value& a, const Value& b, const char* op = "<", int depth = 0);  // fails like Python on kinds without an order
uint64_t hash_of(const Value& v);
const char* type_name(const Value& v);         // "str", "list", …
std::string object_name(const Value& v);       // "dict object", "None": as jinja2's messages say
std::string to_str(const Value& v);            // str(v)
std::string repr(const Value& v);              // repr(v)
std::string repr_of_real(double d);
std::string repr_of_string(std::string_view s);
std::vector<Value> iterate(Heap& heap, const Value& v);  // what a for loop sees; an iterator is used up
int64_t length_of(const Value& v);                       // len(v)
std::optional<int64_t> parse_int(std::string_view text, int base = 10);  // int("…", base)
std::optional<double> parse_real(std::string_view text);                 // float("…")

}  // namespace tmpl
