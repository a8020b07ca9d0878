// template machine: evaluates expressions.
#include "text/template_machine.h"

namespace tmpl {

void Scope::set(std::string_view name, Value value) {
  for (auto& var : vars) {
    if (var.first == name) {
      var.second = std::move(value);
      return;
    }
  }
  vars.emplace_back(name, std::move(value));
}

const Value* Scope::find(std::string_view name) const {
  for (const Scope* s = this; s; s = s->parent.get()) {
    for (const auto& var : s->vars) {
      if (var.first == name) return &var.second;
    }
  }
  return nullptr;
}

ScopePtr inner(const ScopePtr& parent) {
  auto scope = std::make_shared<Scope>();
  scope->parent = parent;
  return scope;
}

Bound::Bound(const char* function, const Args& args, std::initializer_list<const char*> names, size_t required) : values_(names.size(), nullptr) {
  const std::string who = std::string(function) + "()";
  if (args.pos.size() > names.size()) fail(who + " takes at most " + std::to_string(names.size()) + " arguments (" + std::to_string(args.pos.size()) + " given)");
  for (size_t i = 0; i < args.pos.size(); i++) values_[i] = &args.pos[i];
  for (const auto& [name, value] : args.named) {
    size_t i = 0;
    while (i < names.size() && name != names.begin()[i]) i++;
    if (i == names.size()) fail(who + " got an unexpected keyword argument '" + name + "'");
    if (values_[i]) fail(who + " got multiple values for argument '" + name + "'");
    values_[i] = &value;
  }
  for (size_t i = 0; i < required; i++) {
    if (!values_[i]) fail(who + " missing required argument: '" + names.begin()[i] + "'");
  }
}

int64_t Bound::integer(size_t i, int64_t fallback) const {
  if (!values_[i]) return fallback;
  need_defined(*values_[i]);
  if (!values_[i]->is_int()) fail(std::string("'") + type_name(*values_[i]) + "' object cannot be interpreted as an integer");
  return values_[i]->as_int();
}

Value Machine::eval(const Expr& e, const ScopePtr& scope) {
  heap.step();
  const Deeper deeper(*this);
  at(e);
  switch (e.kind) {
    case ExprKind::constant: return e.value;
    case ExprKind::name: return eval_name(e, scope);
    case ExprKind::list: case ExprKind::tuple: return eval_items(e, scope);
    case ExprKind::dict: return eval_dict(e, scope);
    case ExprKind::unary: return unary(e.op, eval(*e.a, scope));
    case ExprKind::binary: return eval_binary(e, scope);
    case ExprKind::compare: return eval_compare(e, scope);
    case ExprKind::both: {
      Value a = eval(*e.a, scope);
      return truthy(a) ? eval(*e.b, scope) : a;
    }
    case ExprKind::either: {
      Value a = eval(*e.a, scope);
      return truthy(a) ? a : eval(*e.b, scope);
    }
    case ExprKind::negate: return Value::boolean(!truthy(eval(*e.a, scope)));
    case ExprKind::concat: return eval_concat(e, scope);
    case ExprKind::conditional: return eval_conditional(e, scope);
    case ExprKind::attribute: {
      const Value object = eval(*e.a, scope);
      at(e);
      return get_attribute(object, e.name);
    }
    case ExprKind::item: return eval_item(e, scope);
    case ExprKind::slice: return eval_slice(e, scope);
    case ExprKind::call: return eval_call(e, scope, nullptr);
    case ExprKind::filter: return eval_filter(e, scope, nullptr);
    case ExprKind::test: return eval_test(e, scope);
    case ExprKind::space_target: break;
  }
  fail("an expression that cannot be evaluated");
}

Value Machine::eval_name(const Expr& e, const ScopePtr& scope) {
  if (const Value* found = scope->find(e.name)) return *found;
  return heap.undefined("'" + e.name + "' is undefined");
}

Value Machine::eval_items(const Expr& e, const ScopePtr& scope) {
  std::vector<Value> items;
  items.reserve(e.args.size());
  for (const Expr* item : e.args) items.push_back(eval(*item, scope));
  return heap.list(std::move(items), e.kind == ExprKind::list ? Kind::list : Kind::tuple);
}

Value Machine::eval_dict(const Expr& e, const ScopePtr& scope) {
  Value dict = heap.dict();
  for (size_t i = 0; i + 1 < e.args.size(); i += 2) {
    Value key = eval(*e.args[i], scope);
    heap.charge(96);
    dict_of(dict).set(std::move(key), eval(*e.args[i + 1], scope));
  }
  return dict;
}

Value Machine::eval_binary(const Expr& e, const ScopePtr& scope) {
  const Value a = eval(*e.a, scope), b = eval(*e.b, scope);
  at(e);
  return binary(heap, e.op, a, b);
}

Value Machine::eval_compare(const Expr& e, const ScopePtr& scope) {
  Value left = eval(*e.a, scope);
  for (size_t i = 0; i < e.ops.size(); i++) {
    Value right = eval(*e.args[i], scope);
    at(e);
    if (!compare(heap, e.ops[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Machine::eval_concat(const Expr& e, const ScopePtr& scope) {
  std::string out;
  for (const Expr* part : e.args) {
    const Value v = eval(*part, scope);
    out += v.is_string() ? v.str() : to_str(v);
    if (static_cast<int64_t>(out.size()) > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
  }
  return heap.string(std::move(out));
}

Value Machine::eval_conditional(const Expr& e, const ScopePtr& scope) {
  if (truthy(eval(*e.b, scope))) return eval(*e.a, scope);
  if (e.c) return eval(*e.c, scope);
  return heap.undefined("the inline if-expression on line " + std::to_string(e.line) + " evaluated to false and no else section was defined.");
}

Value Machine::eval_item(const Expr& e, const ScopePtr& scope) {
  const Value object = eval(*e.a, scope), key = eval(*e.b, scope);
  at(e);
  return get_item(object, key);
}

Value Machine::eval_slice(const Expr& e, const ScopePtr& scope) {
  const Value object = eval(*e.a, scope);
  Value bounds[3];
  const Expr* parts[3] = {e.b, e.c, e.d};
  for (int i = 0; i < 3; i++) bounds[i] = parts[i] ? eval(*parts[i], scope) : Value::none();
  at(e);
  return slice(heap, object, &bounds[0], &bounds[1], &bounds[2]);
}

Args Machine::eval_args(const Expr& e, const ScopePtr& scope) {
  Args args;
  for (const Expr* arg : e.args) args.pos.push_back(eval(*arg, scope));
  for (const auto& [name, value] : e.named) args.named.emplace_back(name, eval(*value, scope));
  if (e.rest) {
    for (Value& v : iterate(heap, eval(*e.rest, scope))) args.pos.push_back(std::move(v));
  }
  if (e.named_rest) {
    const Value rest = eval(*e.named_rest, scope);
    if (!rest.is(Kind::dict)) fail("argument after ** must be a mapping");
    for (const auto& [key, value] : dict_of(rest).entries) {
      if (!key.is_string()) fail("keywords must be strings");
      for (const auto& other : args.named) {
        if (other.first == key.str()) fail("got multiple values for keyword argument '" + key.str() + "'");
      }
      args.named.emplace_back(key.str(), value);
    }
  }
  return args;
}

Value Machine::eval_call(const Expr& e, const ScopePtr& scope, const Value* caller) {
  const Expr& f = *e.a;
  Value object, function;
  Function method = nullptr;
  if (f.kind == ExprKind::attribute) {
    object = eval(*f.a, scope);
    at(f);
    method = find_method(object, f.name);
    if (!method) function = get_attribute(object, f.name);
  } else {
    function = eval(f, scope);
  }
  Args args = eval_args(e, scope);
  if (caller) args.named.emplace_back("caller", *caller);
  at(f.kind == ExprKind::attribute ? f : e);
  const int line = line_, column = column_;
  Value result = method ? method(*this, object, args) : call(function, args);
  line_ = line, column_ = column;
  return result;
}

// `input` is the body of a filter block; it goes to the innermost filter.
Value Machine::eval_filter(const Expr& e, const ScopePtr& scope, const Value* input) {
  const Deeper deeper(*this);
  const Value value = e.a ? (input && e.a->kind == ExprKind::filter ? eval_filter(*e.a, scope, input) : eval(*e.a, scope)) : *input;
  const Args args = eval_args(e, scope);
  at(e);
  return apply_filter(e.name, value, args);
}

Value Machine::eval_test(const Expr& e, const ScopePtr& scope) {
  const Value value = eval(*e.a, scope);
  const Args args = eval_args(e, scope);
  at(e);
  return Value::boolean(apply_test(e.name, value, args));
}

Value Machine::apply_filter(std::string_view name, const Value& value, const Args& args) {
  Function f = find_filter(name);
  if (!f) f = find_sequence_filter(name);
  if (!f) fail("No filter named '" + std::string(name) + "' found.");
  return f(*this, value, args);
}

bool Machine::apply_test(std::string_view name, const Value& value, const Args& args) {
  const Function f = find_test(name);
  if (!f) fail("No test named '" + std::string(name) + "' found.");
  return truthy(f(*this, value, args));
}

Value Machine::bind(Function function, Value self) {
  auto* object = heap.make<FunctionObject>();
  object->function = function;
  object->self = std::move(self);
  return Value::object(Kind::function, object);
}

Value Machine::get_attribute(const Value& object, std::string_view name) {
  need_defined(object);
  if (const Function method = find_method(object, name)) return bind(method, object);
  if (object.is(Kind::loop)) return loop_attribute(object, name);
  if (object.is(Kind::dict)) {
    for (const char* unsafe : {"clear", "pop", "popitem", "setdefault", "update"}) {
      if (name == unsafe) return heap.undefined("access to attribute '" + std::string(name) + "' of 'dict' object is unsafe.");
    }
  }
  if (object.is(Kind::dict) || object.is(Kind::space)) {
    if (const Value* found = dict_of(object).find(name)) return *found;
  }
  if (object.is(Kind::tuple) && list_of(object).group && (name == "grouper" || name == "list")) return list_of(object).items[name == "list"];
  if (object.is(Kind::macro) && name == "name") return heap.string(static_cast<MacroObject*>(object.o)->source->text);
  if (object.is(Kind::cycler) && name == "current") {
    const auto& cycler = *static_cast<CyclerObject*>(object.o);
    return cycler.items[cycler.at];
  }
  return heap.undefined("'" + object_name(object) + "' has no attribute '" + std::string(name) + "'");
}

Value Machine::get_item(const Value& object, const Value& key) {
  need_defined(object);
  bool found = false;
  if (object.is(Kind::dict)) {
    const bool hashable = !key.is(Kind::list) && !key.is(Kind::dict);
    if (const Value* value = hashable ? dict_of(object).find(key) : nullptr) return *value;
  } else if (key.is_int()) {
    Value value = element(heap, object, key.as_int(), found);
    if (found) return value;
  }
  if (key.is_string()) return get_attribute(object, key.str());
  return heap.undefined(object_name(object) + " has no element " + repr(key));
}

// Dots separate names; digits are indices.
Value Machine::attribute_path(const Value& object, const Value& path) {
  if (!path.is_string()) return get_item(object, path);
  Value value = object;
  std::string_view rest = path.str();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    value = get_item(value, digits ? Value::integer(parse_int(part).value_or(0)) : heap.string(part));
    if (dot == rest.npos) return value;
    rest.remove_prefix(dot + 1);
  }
}

Value Machine::call(const Value& function, const Args& args) {
  const Deeper deeper(*this);
  heap.step();
  need_defined(function);
  if (function.is(Kind::function)) {
    const auto& f = *static_cast<FunctionObject*>(function.o);
    return f.function(*this, f.self, args);
  }
  if (function.is(Kind::macro)) return call_macro(*static_cast<MacroObject*>(function.o), args);
  if (function.is(Kind::loop)) {
    const auto& loop = *static_cast<LoopObject*>(function.o);
    if (!loop.source->recursive) fail("The loop must have the 'recursive' marker to be called recursively.");
    const Bound bound("loop", args, {"iterable"}, 1);
    return heap.string(capture([&] { exec_loop(*loop.source, *bound[0], loop.scope, loop.depth + 1); }));
  }
  if (function.is(Kind::joiner)) {
    auto& joiner = *static_cast<JoinerObject*>(function.o);
    return std::exchange(joiner.used, true) ? joiner.separator : heap.string("");
  }
  fail(std::string("'") + type_name(function) + "' object is not callable");
}

}  // namespace tmpl
