// template globals: the functions every template may call: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
#include <ctime>
#include "text/template_machine.h"

namespace tmpl {

static Value global_range(Machine& m, const Value&, const Args& args) {
  const Bound bound("range", args, {"start", "stop", "step"}, 1);
  if (!bound[1]) return m.heap.range(0, bound.integer(0, 0), 1);
  return m.heap.range(bound.integer(0, 0), bound.integer(1, 0), bound.integer(2, 1));
}

static void fill(Machine& m, DictObject& dict, const Args& args) {
  if (args.pos.size() > 1) fail("expected at most 1 argument, got " + std::to_string(args.pos.size()));
  if (!args.pos.empty() && args.pos[0].is(Kind::dict)) {
    for (const auto& [key, value] : dict_of(args.pos[0]).entries) {
      m.heap.charge(96);
      dict.set(key, value);
    }
  } else if (!args.pos.empty()) {
    for (const Value& pair : iterate(m.heap, args.pos[0])) {
      const auto two = iterate(m.heap, pair);
      if (two.size() != 2) fail("dictionary update sequence element has length " + std::to_string(two.size()) + "; 2 is required");
      m.heap.charge(96);
      dict.set(two[0], two[1]);
    }
  }
  for (const auto& [name, value] : args.named) dict.set(m.heap.string(name), value);
}

static Value global_dict(Machine& m, const Value&, const Args& args) {
  Value dict = m.heap.dict();
  fill(m, dict_of(dict), args);
  return dict;
}

static Value global_namespace(Machine& m, const Value&, const Args& args) {
  auto* space = m.heap.make<DictObject>();
  fill(m, *space, args);
  return Value::object(Kind::space, space);
}

static Value global_cycler(Machine& m, const Value&, const Args& args) {
  if (args.pos.empty()) fail("at least one item has to be provided");
  auto* cycler = m.heap.make<CyclerObject>();
  cycler->items = args.pos;
  return Value::object(Kind::cycler, cycler);
}

static Value global_joiner(Machine& m, const Value&, const Args& args) {
  const Bound bound("joiner", args, {"sep"});
  auto* joiner = m.heap.make<JoinerObject>();
  joiner->separator = bound[0] ? *bound[0] : m.heap.string(", ");
  return Value::object(Kind::joiner, joiner);
}

static Value global_raise(Machine&, const Value&, const Args& args) {
  const Bound bound("raise_exception", args, {"message"}, 1);
  fail(bound.text(0), Code::invalid_request);
}

static Value global_now(Machine& m, const Value&, const Args& args) {
  const Bound bound("strftime_now", args, {"format"}, 1);
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  const std::string format = bound.text(0) + " ";  // never an empty result, which strftime cannot tell from a full buffer
  std::string out(256 + format.size() * 32, '\0');
  if (format.size() > 1000) fail("a time format longer than 1000 bytes", Code::too_large);
  const size_t n = std::strftime(out.data(), out.size(), format.c_str(), &parts);
  out.resize(n > 0 ? n - 1 : 0);
  return m.heap.string(std::move(out));
}

ScopePtr builtin_scope(Machine& m) {
  auto scope = std::make_shared<Scope>();
  scope->set("range", m.bind(global_range, {}));
  scope->set("dict", m.bind(global_dict, {}));
  scope->set("namespace", m.bind(global_namespace, {}));
  scope->set("cycler", m.bind(global_cycler, {}));
  scope->set("joiner", m.bind(global_joiner, {}));
  scope->set("raise_exception", m.bind(global_raise, {}));
  scope->set("strftime_now", m.bind(global_now, {}));
  return scope;
}

}  // namespace tmpl
