// template methods: what dicts, lists, loops and cyclers can be asked. Lists may grow (append, extend, insert, pop), which
// Hugging Face's sandbox refuses but other runtimes allow; dicts may not.
#include <algorithm>
#include "text/template_machine.h"

namespace tmpl {

namespace {

using Table = std::unordered_map<std::string_view, Function>;

Value dict_get(Machine&, const Value& self, const Args& args) {
  const Bound bound("get", args, {"key", "default"}, 1);
  if (const Value* found = dict_of(self).find(*bound[0])) return *found;
  return bound[1] ? *bound[1] : Value::none();
}

template <Kind kind> Value dict_view(Machine& m, const Value& self, const Args&) {
  std::vector<Value> out;
  for (const auto& [key, value] : dict_of(self).entries) {
    if constexpr (kind == Kind::keys) out.push_back(key);
    else if constexpr (kind == Kind::values) out.push_back(value);
    else out.push_back(m.heap.list({key, value}, Kind::tuple));
  }
  return m.heap.list(std::move(out), kind);
}

Value dict_copy(Machine& m, const Value& self, const Args&) {
  Value copy = m.heap.dict();
  m.heap.charge(static_cast<int64_t>(dict_of(self).entries.size()) * 96);
  dict_of(copy) = dict_of(self);
  return copy;
}

Value list_count(Machine&, const Value& self, const Args& args) {
  const Bound bound("count", args, {"value"}, 1);
  const auto& items = list_of(self).items;
  return Value::integer(std::count_if(items.begin(), items.end(), [&](const Value& v) { return equal(v, *bound[0]); }));
}

Value list_index(Machine&, const Value& self, const Args& args) {
  const Bound bound("index", args, {"value"}, 1);
  const auto& items = list_of(self).items;
  const auto it = std::find_if(items.begin(), items.end(), [&](const Value& v) { return equal(v, *bound[0]); });
  if (it == items.end()) fail("the value is not in the list");
  return Value::integer(it - items.begin());
}

Value list_copy(Machine& m, const Value& self, const Args&) { return m.heap.list(list_of(self).items); }

Value list_append(Machine& m, const Value& self, const Args& args) {
  const Bound bound("append", args, {"object"}, 1);
  m.heap.charge(sizeof(Value));
  list_of(self).items.push_back(*bound[0]);
  return Value::none();
}

Value list_extend(Machine& m, const Value& self, const Args& args) {
  const Bound bound("extend", args, {"iterable"}, 1);
  const auto more = iterate(m.heap, *bound[0]);
  m.heap.charge(static_cast<int64_t>(more.size() * sizeof(Value)));
  list_of(self).items.insert(list_of(self).items.end(), more.begin(), more.end());
  return Value::none();
}

Value list_insert(Machine& m, const Value& self, const Args& args) {
  const Bound bound("insert", args, {"index", "object"}, 2);
  auto& items = list_of(self).items;
  const auto n = static_cast<int64_t>(items.size());
  int64_t i = bound.integer(0, 0);
  if (i < 0) i = std::max<int64_t>(i + n, 0);
  m.heap.charge(sizeof(Value) + n / 8);
  items.insert(items.begin() + std::min(i, n), *bound[1]);
  return Value::none();
}

Value list_pop(Machine&, const Value& self, const Args& args) {
  const Bound bound("pop", args, {"index"});
  auto& items = list_of(self).items;
  const auto n = static_cast<int64_t>(items.size());
  int64_t i = bound.integer(0, -1);
  if (i < 0) i += n;
  if (i < 0 || i >= n) fail(n == 0 ? "pop from empty list" : "pop index out of range");
  Value out = items[static_cast<size_t>(i)];
  items.erase(items.begin() + i);
  return out;
}

Value loop_cycle(Machine&, const Value& self, const Args& args) {
  if (args.pos.empty()) fail("no items for cycling given");
  return args.pos[static_cast<LoopObject*>(self.o)->index % args.pos.size()];
}

Value loop_changed(Machine&, const Value& self, const Args& args) {
  auto& last = static_cast<LoopObject*>(self.o)->last_changed;
  const bool same = last && std::equal(last->begin(), last->end(), args.pos.begin(), args.pos.end(), [](const Value& a, const Value& b) { return equal(a, b); });
  if (!same) last = args.pos;
  return Value::boolean(!same);
}

Value cycler_next(Machine&, const Value& self, const Args&) {
  auto& cycler = *static_cast<CyclerObject*>(self.o);
  const size_t at = cycler.at;
  cycler.at = (at + 1) % cycler.items.size();
  return cycler.items[at];
}

Value cycler_reset(Machine&, const Value& self, const Args&) {
  static_cast<CyclerObject*>(self.o)->at = 0;
  return Value::none();
}

Function look_up(const Table& table, std::string_view name) {
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace

Function find_method(const Value& self, std::string_view name) {
  static const Table dict = {{"get", dict_get}, {"keys", dict_view<Kind::keys>}, {"values", dict_view<Kind::values>}, {"items", dict_view<Kind::items>}, {"copy", dict_copy}};
  static const Table tuple = {{"count", list_count}, {"index", list_index}};
  static const Table list = {{"append", list_append}, {"extend", list_extend}, {"insert", list_insert}, {"pop", list_pop}, {"copy", list_copy}};
  static const Table loop = {{"cycle", loop_cycle}, {"changed", loop_changed}};
  static const Table cycler = {{"next", cycler_next}, {"reset", cycler_reset}};
  switch (self.kind) {
    case Kind::string: return find_string_method(name);
    case Kind::dict: return look_up(dict, name);
    case Kind::list:
      if (const Function f = look_up(list, name)) return f;
      return look_up(tuple, name);
    case Kind::tuple: return look_up(tuple, name);
    case Kind::loop: return look_up(loop, name);
    case Kind::cycler: return look_up(cycler, name);
    default: return nullptr;
  }
}

}  // namespace tmpl
