// template tests: the names after `is`.
#include <cmath>
#include "text/template_machine.h"
#include "text/template_text.h"

namespace tmpl {

namespace {

Value yes(bool b) { return Value::boolean(b); }

Value remainder_is(Machine& m, const Value& v, const Value& divisor, int64_t wanted) {
  return yes(equal(binary(m.heap, Op::mod, v, divisor), Value::integer(wanted)));
}

bool is_iterable(const Value& v) { return v.is(Kind::undefined) || v.is_string() || v.is(Kind::dict) || v.is(Kind::loop) || v.is_sequence_object(); }
bool is_sequence(const Value& v) {
  return v.is(Kind::undefined) || v.is_string() || v.is(Kind::dict) || v.is(Kind::list) || v.is(Kind::tuple) || v.is(Kind::range);
}

bool cased(const Value& v, bool upper) {
  const std::string s = to_str(v);
  bool any = false;
  for (size_t at = 0; at < s.size();) {
    const char32_t c = text::decode(s, at);
    if (upper ? text::is_lower(c) : text::is_upper(c)) return false;
    any |= upper ? text::is_upper(c) : text::is_lower(c);
  }
  return any;
}

bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  if (a.kind <= Kind::string) return equal(a, b);
  return a.o == b.o;
}

const Value& one(const Args& args) {
  if (args.pos.size() != 1) fail("a test that takes one argument got " + std::to_string(args.pos.size()));
  return args.pos[0];
}

template <Op op> Value compared(Machine& m, const Value& v, const Args& args) { return yes(compare(m.heap, op, v, one(args))); }
template <Kind kind> Value of_kind(Machine&, const Value& v, const Args&) { return yes(v.is(kind)); }

bool exists(const Value& name, bool filter) {
  return name.is_string() && (filter ? find_filter(name.str()) || find_sequence_filter(name.str()) : find_test(name.str()) != nullptr);
}

}  // namespace

Function find_test(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> table = {
      {"defined", [](Machine&, const Value& v, const Args&) { return yes(!v.is(Kind::undefined)); }},
      {"undefined", of_kind<Kind::undefined>},
      {"none", of_kind<Kind::none>},
      {"boolean", of_kind<Kind::boolean>},
      {"integer", of_kind<Kind::integer>},
      {"float", of_kind<Kind::real>},
      {"string", of_kind<Kind::string>},
      {"mapping", of_kind<Kind::dict>},
      {"true", [](Machine&, const Value& v, const Args&) { return yes(v.is(Kind::boolean) && v.b); }},
      {"false", [](Machine&, const Value& v, const Args&) { return yes(v.is(Kind::boolean) && !v.b); }},
      {"number", [](Machine&, const Value& v, const Args&) { return yes(v.is_number()); }},
      {"iterable", [](Machine&, const Value& v, const Args&) { return yes(is_iterable(v)); }},
      {"sequence", [](Machine&, const Value& v, const Args&) { return yes(is_sequence(v)); }},
      {"callable", [](Machine&, const Value& v, const Args&) {
         return yes(v.is(Kind::undefined) || v.is(Kind::function) || v.is(Kind::macro) || v.is(Kind::loop) || v.is(Kind::joiner));
       }},
      {"odd", [](Machine& m, const Value& v, const Args&) { return remainder_is(m, v, Value::integer(2), 1); }},
      {"even", [](Machine& m, const Value& v, const Args&) { return remainder_is(m, v, Value::integer(2), 0); }},
      {"divisibleby", [](Machine& m, const Value& v, const Args& args) { return remainder_is(m, v, *Bound("divisibleby", args, {"num"}, 1)[0], 0); }},
      {"lower", [](Machine&, const Value& v, const Args&) { return yes(cased(v, false)); }},
      {"upper", [](Machine&, const Value& v, const Args&) { return yes(cased(v, true)); }},
      {"sameas", [](Machine&, const Value& v, const Args& args) { return yes(same(v, one(args))); }},
      {"escaped", [](Machine&, const Value& v, const Args&) { return yes(v.safe()); }},
      {"filter", [](Machine&, const Value& v, const Args&) { return yes(exists(v, true)); }},
      {"test", [](Machine&, const Value& v, const Args&) { return yes(exists(v, false)); }},
      {"in", compared<Op::in>},
      {"==", compared<Op::eq>}, {"eq", compared<Op::eq>}, {"equalto", compared<Op::eq>},
      {"!=", compared<Op::ne>}, {"ne", compared<Op::ne>},
      {">", compared<Op::gt>}, {"gt", compared<Op::gt>}, {"greaterthan", compared<Op::gt>},
      {">=", compared<Op::ge>}, {"ge", compared<Op::ge>},
      {"<", compared<Op::lt>}, {"lt", compared<Op::lt>}, {"lessthan", compared<Op::lt>},
      {"<=", compared<Op::le>}, {"le", compared<Op::le>},
  };
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace tmpl
