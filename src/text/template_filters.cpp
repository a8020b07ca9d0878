// template filters: filters over one value: text, numbers, JSON.
#include <algorithm>
#include <cmath>
#include "text/template_machine.h"
#include "text/template_text.h"

namespace tmpl {

namespace {

Value same_kind(Machine& m, const Value& v, std::string text) { return m.heap.string(std::move(text), v.safe()); }

Value as_text(Machine& m, const Value& v) { return v.is_string() ? v : m.heap.string(to_str(v)); }

template <std::string (*change)(std::string_view)> Value changed(Machine& m, const Value& v, const Args& args) {
  const Bound bound("filter", args, {});
  const Value s = as_text(m, v);
  m.heap.step(static_cast<int64_t>(s.str().size() / 128));
  return same_kind(m, s, change(s.str()));
}

// jinja2's own idea of a word: what follows white space, a hyphen or an opening bracket.
std::string title(std::string_view s) {
  std::string out;
  for (size_t at = 0; at < s.size();) {
    size_t end = at;
    bool gap = false;
    for (size_t next = at; next < s.size(); end = next) {
      const char32_t c = text::decode(s, next);
      const bool is_gap = text::is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
      if (end == at) gap = is_gap;
      else if (is_gap != gap) break;
    }
    const std::string_view part = s.substr(at, end - at);
    const size_t first = text::offset(part, 1);
    out += text::upper(part.substr(0, first)) + text::lower(part.substr(first));
    at = end;
  }
  return out;
}

Value trim(Machine& m, const Value& v, const Args& args) {
  const Bound bound("trim", args, {"chars"});
  const Value s = as_text(m, v);
  Args strip;
  if (bound[0]) strip.pos.push_back(*bound[0]);
  return find_string_method("strip")(m, s, strip);
}

Value replace(Machine& m, const Value& v, const Args& args) {
  const Bound bound("replace", args, {"old", "new", "count"}, 2);
  Args plain;
  plain.pos = {m.heap.string(bound.text(0)), m.heap.string(bound.text(1))};
  if (bound[2] && !bound[2]->is(Kind::none)) plain.pos.push_back(*bound[2]);
  return find_string_method("replace")(m, m.heap.string(to_str(v)), plain);
}

Value center(Machine& m, const Value& v, const Args& args) {
  Args plain;
  plain.pos = {Value::integer(Bound("center", args, {"width"}).integer(0, 80))};
  return find_string_method("center")(m, as_text(m, v), plain);
}

Value indent(Machine& m, const Value& v, const Args& args) {
  const Bound bound("indent", args, {"width", "first", "blank"});
  need_defined(v);
  if (!v.is_string()) fail(std::string("unsupported operand type(s) for +=: '") + type_name(v) + "' and 'str'");
  const bool by_text = bound[0] && bound[0]->is_string();
  const int64_t width = by_text ? 0 : bound.integer(0, 4);
  if (width > 10'000) fail("an indent wider than 10000", Code::too_large);
  const std::string margin = by_text ? bound[0]->str() : std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  const std::string source = v.str() + "\n";
  std::string out = bound.flag(1, false) ? margin : "";
  bool first = true;
  for (std::string_view line : text::split_lines(source, false)) {
    if (!first) out += '\n';
    if (!first && (bound.flag(2, false) || !line.empty())) out += margin;
    first = false;
    out += line;
    if (static_cast<int64_t>(out.size()) > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
  }
  return same_kind(m, v, std::move(out));
}

Value truncate(Machine& m, const Value& v, const Args& args) {
  const Bound bound("truncate", args, {"length", "killwords", "end", "leeway"});
  const std::string end = bound.text(2, "...");
  const int64_t length = bound.integer(0, 255), leeway = bound[3] && !bound[3]->is(Kind::none) ? bound.integer(3, 5) : 5, tail = text::count(end);
  if (length < tail) fail("expected length >= " + std::to_string(tail) + ", got " + std::to_string(length));
  if (leeway < 0) fail("expected leeway >= 0");
  if (length_of(v) <= length + leeway) return v;
  if (!v.is_string()) fail("truncate expects a string");
  const std::string_view head = std::string_view(v.str()).substr(0, text::offset(v.str(), length - tail));
  const size_t space = bound.flag(1, false) ? head.npos : head.rfind(' ');
  return same_kind(m, v, std::string(head.substr(0, space)) + end);
}

Value word_count(Machine& m, const Value& v, const Args&) {
  const Value s = as_text(m, v);
  int64_t n = 0;
  bool inside = false;
  for (size_t at = 0; at < s.str().size();) {
    const char32_t c = text::decode(s.str(), at);
    const bool word = c == '_' || text::is_alpha(c) || text::is_digit(c);
    n += word && !inside;
    inside = word;
  }
  return Value::integer(n);
}

std::string quote(std::string_view s, bool query) {
  std::string out;
  for (char c : s) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_.-~").find(c) != std::string_view::npos || (c == '/' && !query);
    char buffer[4];
    if (plain) out += c;
    else if (c == ' ' && query) out += '+';
    else std::snprintf(buffer, sizeof buffer, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c))), out += buffer;
  }
  return out;
}

Value urlencode(Machine& m, const Value& v, const Args&) {
  const bool pairs = v.is(Kind::dict) || (v.is_sequence_object());
  if (!pairs) return m.heap.string(quote(to_str(v), false));
  std::string out;
  const Value items = v.is(Kind::dict) ? find_method(v, "items")(m, v, {}) : v;
  for (const Value& pair : iterate(m.heap, items)) {
    const auto two = iterate(m.heap, pair);
    if (two.size() != 2) fail("pairs expected");
    out += (out.empty() ? "" : "&") + quote(to_str(two[0]), true) + "=" + quote(to_str(two[1]), true);
  }
  return m.heap.string(std::move(out));
}

Value absolute(Machine&, const Value& v, const Args&) {
  need_defined(v);
  if (v.is(Kind::real)) return Value::real(std::fabs(v.d));
  if (!v.is_int()) fail(std::string("bad operand type for abs(): '") + type_name(v) + "'");
  return v.as_int() < 0 ? unary(Op::minus, v) : Value::integer(v.as_int());
}

Value whole(double d) {
  if (std::isnan(d) || !(std::fabs(d) < 9.2e18)) fail("an integer beyond 64 bits");
  return Value::integer(static_cast<int64_t>(d));
}

Value to_int(Machine&, const Value& v, const Args& args) {
  const Bound bound("int", args, {"default", "base"});
  const Value fallback = bound[0] ? *bound[0] : Value::integer(0);
  need_defined(v);
  if (v.is_int()) return Value::integer(v.as_int());
  if (v.is(Kind::real)) return std::isnan(v.d) ? fallback : whole(v.d);
  if (!v.is_string()) return fallback;
  if (const auto n = parse_int(v.str(), static_cast<int>(bound.integer(1, 10)))) return Value::integer(*n);
  const auto d = parse_real(v.str());
  return d && std::isfinite(*d) ? whole(*d) : fallback;
}

Value to_real(Machine&, const Value& v, const Args& args) {
  const Bound bound("float", args, {"default"});
  need_defined(v);
  if (v.is_number()) return Value::real(v.as_real());
  const auto d = v.is_string() ? parse_real(v.str()) : std::nullopt;
  return d ? Value::real(*d) : bound[0] ? *bound[0] : Value::real(0);
}

// To the even neighbour at ties of the exact binary value, as printf rounds.
double round_half_even(double d, int64_t precision) {
  if (!std::isfinite(d) || precision > 300) return d;
  if (precision >= 0) return std::strtod(fixed_real(d, static_cast<int>(precision)).c_str(), nullptr);
  if (precision < -308) return std::copysign(0.0, d);
  const double scale = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(d / scale) * scale;
}

Value round_int(int64_t v, int64_t precision) {
  if (precision >= 0) return Value::integer(v);
  if (precision < -18) return Value::integer(0);
  int64_t scale = 1;
  for (int64_t k = precision; k < 0; k++) scale *= 10;
  int64_t low = v / scale, rest = v % scale;
  if (rest < 0) low--, rest += scale;
  if (rest > scale - rest || (rest == scale - rest && low % 2 != 0)) low++;
  int64_t out = 0;
  if (__builtin_mul_overflow(low, scale, &out)) fail("an integer beyond 64 bits");
  return Value::integer(out);
}

Value round_to(Machine&, const Value& v, const Args& args) {
  const Bound bound("round", args, {"precision", "method"});
  const std::string method = bound.text(1, "common");
  const int64_t precision = bound.integer(0, 0);
  if (method != "common" && method != "ceil" && method != "floor") fail("method must be common, ceil or floor");
  need_defined(v);
  if (!v.is_number()) fail(std::string("type ") + type_name(v) + " doesn't define __round__ method");
  if (method == "common") return v.is_int() ? round_int(v.as_int(), precision) : Value::real(round_half_even(v.d, precision));
  const double scale = std::pow(10.0, static_cast<double>(precision)), scaled = v.as_real() * scale;
  if (!std::isfinite(scaled)) fail("cannot convert float infinity to integer");
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Value fallback(Machine& m, const Value& v, const Args& args) {
  const Bound bound("default", args, {"default_value", "boolean"});
  if (!v.is(Kind::undefined) && !(bound.flag(1, false) && !truthy(v))) return v;
  return bound[0] ? *bound[0] : m.heap.string("");
}

Value format(Machine& m, const Value& v, const Args& args) {
  if (!args.pos.empty() && !args.named.empty()) fail("can't handle positional and keyword arguments at the same time");
  Value operand = m.heap.list(args.pos, Kind::tuple);
  if (!args.named.empty()) {
    operand = m.heap.dict();
    for (const auto& [name, value] : args.named) dict_of(operand).set(m.heap.string(name), value);
  }
  return m.heap.string(format_percent(to_str(v), operand));
}

Value tojson(Machine& m, const Value& v, const Args& args) {
  const Bound bound("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = bound.flag(0, false);
  style.sorted = bound.flag(3, false);
  if (bound[1] && bound[1]->is_string()) style.indent = bound[1]->str();
  else if (bound[1] && !bound[1]->is(Kind::none)) style.indent = std::string(static_cast<size_t>(std::clamp<int64_t>(bound.integer(1, 0), 0, 1000)), ' ');
  if (style.indent) style.item_separator = ",";
  if (bound[2] && !bound[2]->is(Kind::none)) {
    const auto two = iterate(m.heap, *bound[2]);
    if (two.size() != 2 || !two[0].is_string() || !two[1].is_string()) fail("separators of tojson must be two strings");
    style.item_separator = two[0].str();
    style.key_separator = two[1].str();
  }
  return m.heap.string(to_json(v, style));
}

Value fromjson(Machine& m, const Value& v, const Args&) {
  if (!v.is_string()) fail(std::string("the JSON object must be str, not ") + type_name(v));
  return from_json(m.heap, "a string of the template", v.str());
}

Value safe(Machine& m, const Value& v, const Args&) { return v.safe() ? v : m.heap.string(to_str(v), true); }

}  // namespace

Function find_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> table = {
      {"upper", changed<text::upper>}, {"lower", changed<text::lower>}, {"capitalize", changed<text::capitalize>}, {"title", changed<title>},
      {"trim", trim}, {"replace", replace}, {"center", center}, {"indent", indent}, {"truncate", truncate},
      {"wordcount", word_count}, {"urlencode", urlencode}, {"format", format},
      {"string", [](Machine& m, const Value& v, const Args&) { return as_text(m, v); }},
      {"safe", safe},
      {"escape", [](Machine& m, const Value& v, const Args&) { return escape(m.heap, v); }},
      {"e", [](Machine& m, const Value& v, const Args&) { return escape(m.heap, v); }},
      {"forceescape", [](Machine& m, const Value& v, const Args&) { return escape(m.heap, m.heap.string(to_str(v))); }},
      {"abs", absolute}, {"int", to_int}, {"float", to_real}, {"round", round_to},
      {"default", fallback}, {"d", fallback},
      {"tojson", tojson}, {"from_json", fromjson}, {"fromjson", fromjson},
      {"attr", [](Machine& m, const Value& v, const Args& args) {
         const Bound bound("attr", args, {"name"}, 1);
         if (v.is(Kind::dict) && !find_method(v, bound.text(0))) return m.heap.undefined("'dict object' has no attribute");
         return m.get_attribute(v, bound.text(0));
       }},
  };
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace tmpl
