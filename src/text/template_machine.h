// template machine: runs a Program over variables; expressions, statements, calls, and the tables of filters, tests and methods.
#pragma once
#include <initializer_list>
#include "text/template_ast.h"

namespace tmpl {

struct Args {
  std::vector<Value> pos;
  std::vector<std::pair<std::string, Value>> named;
};

// Variables of one block; a read falls through to the parents, a write never does. Names point into the Program or to literals.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string_view, Value>> vars;
  void set(std::string_view name, Value value);
  const Value* find(std::string_view name) const;
};
using ScopePtr = std::shared_ptr<Scope>;
ScopePtr inner(const ScopePtr& parent);

class Machine;
using Function = Value (*)(Machine&, const Value& self, const Args&);

struct FunctionObject : Object {
  Function function = nullptr;
  Value self;
};
struct MacroObject : Object {
  const Stmt* source = nullptr;  // a macro or a call block
  ScopePtr scope;                // where it was written
};
struct LoopObject : Object {
  std::vector<Value> items;
  size_t index = 0;
  int depth = 1;
  const Stmt* source = nullptr;
  ScopePtr scope;
  std::optional<std::vector<Value>> last_changed;
};
struct CyclerObject : Object {
  std::vector<Value> items;
  size_t at = 0;
};
struct JoinerObject : Object {
  Value separator;
  bool used = false;
};

// Arguments by parameter; null where none was given. Fails like Python on too many, unknown or missing ones.
class Bound {
 public:
  Bound(const char* function, const Args& args, std::initializer_list<const char*> names, size_t required = 0);
  const Value* operator[](size_t i) const { return values_[i]; }
  int64_t integer(size_t i, int64_t fallback) const;
  bool flag(size_t i, bool fallback) const { return values_[i] ? truthy(*values_[i]) : fallback; }
  std::string text(size_t i, std::string_view fallback = "") const { return values_[i] ? to_str(*values_[i]) : std::string(fallback); }

 private:
  std::vector<const Value*> values_;
};

class Machine {
 public:
  Heap heap;
  std::string run(const Program& program, const ScopePtr& globals);
  int line() const { return line_; }
  int column() const { return column_; }

  Value call(const Value& function, const Args& args);
  Value get_attribute(const Value& object, std::string_view name);
  Value get_item(const Value& object, const Value& key);
  Value apply_filter(std::string_view name, const Value& value, const Args& args);
  bool apply_test(std::string_view name, const Value& value, const Args& args);
  Value attribute_path(const Value& object, const Value& path);  // "a.b.0" or an integer, as in map(attribute=…)
  Value bind(Function function, Value self);

 private:
  enum class Flow : uint8_t { next, stop, again };
  struct Deeper {
    Machine& machine;
    explicit Deeper(Machine& m) : machine(m) {
      if (++m.depth_ > max_eval_depth) fail("nested more than 400 deep", Code::too_large);
    }
    ~Deeper() { machine.depth_--; }
  };
  std::string* out_ = nullptr;
  ScopePtr top_;
  int depth_ = 0, line_ = 1, column_ = 1;

  // template_machine.cpp: expressions
  void at(const Expr& e) { line_ = e.line, column_ = e.column; }
  Value eval(const Expr& e, const ScopePtr& scope);
  Value eval_name(const Expr& e, const ScopePtr& scope);
  Value eval_items(const Expr& e, const ScopePtr& scope);
  Value eval_dict(const Expr& e, const ScopePtr& scope);
  Value eval_binary(const Expr& e, const ScopePtr& scope);
  Value eval_compare(const Expr& e, const ScopePtr& scope);
  Value eval_concat(const Expr& e, const ScopePtr& scope);
  Value eval_conditional(const Expr& e, const ScopePtr& scope);
  Value eval_slice(const Expr& e, const ScopePtr& scope);
  Value eval_item(const Expr& e, const ScopePtr& scope);
  Value eval_call(const Expr& e, const ScopePtr& scope, const Value* caller);
  Value eval_filter(const Expr& e, const ScopePtr& scope, const Value* input);
  Value eval_test(const Expr& e, const ScopePtr& scope);
  Args eval_args(const Expr& e, const ScopePtr& scope);

  // template_exec.cpp: statements
  void emit(std::string_view text);
  template <class F> std::string capture(F&& body) {  // what `body` emits
    std::string text;
    std::string* outer = std::exchange(out_, &text);
    body();
    out_ = outer;
    heap.live_bytes -= static_cast<int64_t>(text.size());
    return text;
  }
  Flow exec(const std::vector<Stmt*>& body, const ScopePtr& scope);
  Flow exec_one(const Stmt& s, const ScopePtr& scope);
  Flow exec_branch(const Stmt& s, const ScopePtr& scope);
  void exec_loop(const Stmt& s, const Value& iterable, const ScopePtr& scope, int depth);
  std::vector<Value> loop_items(const Stmt& s, const Value& iterable, const ScopePtr& scope);
  Flow exec_with(const Stmt& s, const ScopePtr& scope);
  Flow exec_filter_block(const Stmt& s, const ScopePtr& scope);
  void exec_assign_block(const Stmt& s, const ScopePtr& scope);
  void exec_call_block(const Stmt& s, const ScopePtr& scope);
  Value make_macro(const Stmt& s, const ScopePtr& scope);
  void assign(const Expr& target, Value value, const ScopePtr& scope);
  Value call_macro(const MacroObject& macro, const Args& args);
  Value loop_attribute(const Value& v, std::string_view name);
};

// template_operators.cpp
Value unary(Op op, const Value& v);
Value binary(Heap& heap, Op op, const Value& a, const Value& b);
bool compare(Heap& heap, Op op, const Value& a, const Value& b);
Value slice(Heap& heap, const Value& v, const Value* start, const Value* stop, const Value* step);
Value element(Heap& heap, const Value& v, int64_t index, bool& found);
void need_defined(const Value& v);
Value escape(Heap& heap, const Value& v);  // markupsafe.escape

// Tables; null when there is no such name.
Function find_filter(std::string_view name);           // template_filters.cpp
Function find_sequence_filter(std::string_view name);  // template_filters_sequence.cpp
Function find_test(std::string_view name);             // template_tests.cpp
Function find_method(const Value& self, std::string_view name);  // template_methods.cpp
Function find_string_method(std::string_view name);              // template_methods_string.cpp
ScopePtr builtin_scope(Machine& machine);              // template_globals.cpp

// template_format.cpp
std::string format_percent(const std::string& format, const Value& args);
std::string format_braces(Machine& machine, const std::string& format, const Args& args);
std::string fixed_real(double d, int precision);

// template_json.cpp
struct JsonStyle {
  bool ascii = false, sorted = false;
  std::optional<std::string> indent;
  std::string item_separator = ", ", key_separator = ": ";
};
std::string to_json(const Value& v, const JsonStyle& style);
Value from_json(Heap& heap, std::string_view what, std::string_view text);  // throws Failure

}  // namespace tmpl
