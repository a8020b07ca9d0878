// template exec: runs statements: output, branches, loops, assignments, macros and blocks.
#include <algorithm>
#include "text/template_machine.h"

namespace tmpl {

std::string Machine::run(const Program& program, const ScopePtr& globals) {
  top_ = inner(globals);
  std::string text;
  out_ = &text;
  exec(program.body, top_);
  return text;
}

void Machine::emit(std::string_view text) {
  heap.charge(static_cast<int64_t>(text.size()));
  if (static_cast<int64_t>(out_->size() + text.size()) > max_output_bytes) fail("more than 16 MB of output", Code::too_large);
  out_->append(text);
}

Machine::Flow Machine::exec(const std::vector<Stmt*>& body, const ScopePtr& scope) {
  const Deeper deeper(*this);
  for (const Stmt* s : body) {
    heap.step();
    const Flow flow = exec_one(*s, scope);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Machine::Flow Machine::exec_one(const Stmt& s, const ScopePtr& scope) {
  line_ = s.line, column_ = s.column;
  switch (s.kind) {
    case StmtKind::text: emit(s.text); break;
    case StmtKind::print:
      for (const Expr* e : s.values) {
        const Value v = eval(*e, scope);
        emit(v.is_string() ? std::string_view(v.str()) : std::string_view(to_str(v)));
      }
      break;
    case StmtKind::branch: return exec_branch(s, scope);
    case StmtKind::loop: exec_loop(s, eval(*s.expr, scope), scope, 1); break;
    case StmtKind::assign: assign(*s.target, eval(*s.expr, scope), scope); break;
    case StmtKind::assign_block: exec_assign_block(s, scope); break;
    case StmtKind::macro: scope->set(s.text, make_macro(s, scope)); break;
    case StmtKind::call_block: exec_call_block(s, scope); break;
    case StmtKind::filter_block: return exec_filter_block(s, scope);
    case StmtKind::with: return exec_with(s, scope);
    case StmtKind::block: exec(s.bodies[0], inner(s.scoped ? scope : top_)); break;
    case StmtKind::scope: exec(s.bodies[0], inner(scope)); break;
    case StmtKind::break_loop: return Flow::stop;
    case StmtKind::continue_loop: return Flow::again;
    case StmtKind::unsupported: fail("{% " + s.text + " %} is not supported: there is one template only");
  }
  return Flow::next;
}

Machine::Flow Machine::exec_branch(const Stmt& s, const ScopePtr& scope) {
  for (size_t i = 0; i < s.tests.size(); i++) {
    if (truthy(eval(*s.tests[i], scope))) return exec(s.bodies[i], scope);
  }
  return exec(s.otherwise, scope);
}

std::vector<Value> Machine::loop_items(const Stmt& s, const Value& iterable, const ScopePtr& scope) {
  std::vector<Value> items = iterate(heap, iterable);
  if (!s.test) return items;
  std::erase_if(items, [&](const Value& item) {
    const ScopePtr test_scope = inner(scope);
    assign(*s.target, item, test_scope);
    return !truthy(eval(*s.test, test_scope));
  });
  return items;
}

void Machine::exec_loop(const Stmt& s, const Value& iterable, const ScopePtr& scope, int depth) {
  const Deeper deeper(*this);
  auto* loop = heap.make<LoopObject>();
  loop->items = loop_items(s, iterable, scope);
  loop->depth = depth;
  loop->source = &s;
  loop->scope = scope;
  const Value handle = Value::object(Kind::loop, loop);
  for (loop->index = 0; loop->index < loop->items.size(); loop->index++) {
    heap.step();
    const ScopePtr own = inner(scope);
    own->vars.reserve(4);
    own->set("loop", handle);
    line_ = s.line, column_ = s.column;
    assign(*s.target, loop->items[loop->index], own);
    if (exec(s.bodies[0], own) == Flow::stop) break;
  }
  if (loop->items.empty()) exec(s.otherwise, inner(scope));
  loop->items.shrink_to_fit();
}

Value Machine::loop_attribute(const Value& v, std::string_view name) {
  const auto& loop = *static_cast<LoopObject*>(v.o);
  const auto n = static_cast<int64_t>(loop.items.size()), i = static_cast<int64_t>(loop.index);
  if (name == "index") return Value::integer(i + 1);
  if (name == "index0") return Value::integer(i);
  if (name == "revindex") return Value::integer(n - i);
  if (name == "revindex0") return Value::integer(n - i - 1);
  if (name == "first") return Value::boolean(i == 0);
  if (name == "last") return Value::boolean(i + 1 >= n);
  if (name == "length") return Value::integer(n);
  if (name == "depth") return Value::integer(loop.depth);
  if (name == "depth0") return Value::integer(loop.depth - 1);
  if (name == "previtem") return i > 0 && i <= n ? loop.items[loop.index - 1] : heap.undefined("there is no previous item");
  if (name == "nextitem") return i + 1 < n ? loop.items[loop.index + 1] : heap.undefined("there is no next item");
  return heap.undefined("'jinja2.runtime.LoopContext object' has no attribute '" + std::string(name) + "'");
}

void Machine::assign(const Expr& target, Value value, const ScopePtr& scope) {
  if (target.kind == ExprKind::name) return scope->set(target.name, std::move(value));
  if (target.kind == ExprKind::space_target) {
    const Value* space = scope->find(target.name);
    if (!space || !space->is(Kind::space)) fail("cannot assign attribute on non-namespace object");
    heap.charge(96);
    dict_of(*space).set(heap.string(target.field), std::move(value));
    return;
  }
  const size_t wanted = target.args.size();
  std::vector<Value> items = iterate(heap, value);
  if (items.size() > wanted) fail("too many values to unpack (expected " + std::to_string(wanted) + ")");
  if (items.size() < wanted) fail("not enough values to unpack (expected " + std::to_string(wanted) + ", got " + std::to_string(items.size()) + ")");
  for (size_t i = 0; i < wanted; i++) assign(*target.args[i], std::move(items[i]), scope);
}

Machine::Flow Machine::exec_with(const Stmt& s, const ScopePtr& scope) {
  const ScopePtr own = inner(scope);
  for (size_t i = 0; i < s.targets.size(); i++) assign(*s.targets[i], eval(*s.values[i], scope), own);
  return exec(s.bodies[0], own);
}

Machine::Flow Machine::exec_filter_block(const Stmt& s, const ScopePtr& scope) {
  Flow flow = Flow::next;
  std::string text = capture([&] { flow = exec(s.bodies[0], inner(scope)); });
  if (flow != Flow::next) return flow;
  const Value input = heap.string(std::move(text));
  emit(to_str(eval_filter(*s.expr, scope, &input)));
  return flow;
}

void Machine::exec_assign_block(const Stmt& s, const ScopePtr& scope) {
  const Value text = heap.string(capture([&] { exec(s.bodies[0], inner(scope)); }));
  assign(*s.target, s.expr ? eval_filter(*s.expr, scope, &text) : text, scope);
}

Value Machine::make_macro(const Stmt& s, const ScopePtr& scope) {
  auto* macro = heap.make<MacroObject>();
  macro->source = &s;
  macro->scope = scope;
  return Value::object(Kind::macro, macro);
}

void Machine::exec_call_block(const Stmt& s, const ScopePtr& scope) {
  const Value caller = make_macro(s, scope);
  emit(to_str(eval_call(*s.expr, scope, &caller)));
}

// Parameters, then caller, kwargs and varargs where the body reads them; defaults see the earlier parameters.
Value Machine::call_macro(const MacroObject& macro, const Args& args) {
  const Stmt& s = *macro.source;
  const size_t n = s.targets.size(), first_default = n - s.values.size();
  const ScopePtr own = inner(macro.scope);
  std::vector<bool> used(args.named.size(), false);
  const auto named = [&](std::string_view name) -> const Value* {
    for (size_t k = 0; k < args.named.size(); k++) {
      if (!used[k] && args.named[k].first == name) {
        used[k] = true;
        return &args.named[k].second;
      }
    }
    return nullptr;
  };
  bool explicit_caller = false;
  for (size_t i = 0; i < n; i++) {
    const std::string& name = s.targets[i]->name;
    explicit_caller |= name == "caller";
    const Value* given = i < args.pos.size() ? &args.pos[i] : named(name);
    if (given) own->set(name, *given);
    else if (i >= first_default) own->set(name, eval(*s.values[i - first_default], own));
    else own->set(name, heap.undefined("parameter '" + name + "' was not provided"));
  }
  if (s.uses_caller && !explicit_caller) {
    const Value* caller = named("caller");
    own->set("caller", caller ? *caller : heap.undefined("No caller defined"));
  }
  Value rest = heap.dict();
  for (size_t k = 0; k < used.size(); k++) {
    if (used[k]) continue;
    if (!s.uses_kwargs) fail("macro '" + s.text + "' takes no keyword argument '" + args.named[k].first + "'");
    dict_of(rest).set(heap.string(args.named[k].first), args.named[k].second);
  }
  if (s.uses_kwargs) own->set("kwargs", rest);
  std::vector<Value> more(args.pos.begin() + static_cast<ptrdiff_t>(std::min(n, args.pos.size())), args.pos.end());
  if (!more.empty() && !s.uses_varargs) fail("macro '" + s.text + "' takes not more than " + std::to_string(n) + " argument(s)");
  if (s.uses_varargs) own->set("varargs", heap.list(std::move(more), Kind::tuple));
  return heap.string(capture([&] { exec(s.bodies[0], own); }));
}

}  // namespace tmpl
