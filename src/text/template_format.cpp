// template format: Python's two ways to format: "%s" % args and "{}".format(args).
#include <algorithm>
#include <cmath>
#include "text/template_machine.h"
#include "text/template_text.h"

namespace tmpl {

namespace {

constexpr int64_t max_width = 100'000;

struct Spec {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0, group = 0;
  bool alternate = false, zero = false;
  int64_t width = 0;
  int precision = -1;
};

int64_t read_number(std::string_view s, size_t& at) {
  int64_t n = 0;
  for (; at < s.size() && s[at] >= '0' && s[at] <= '9'; at++) {
    if ((n = n * 10 + (s[at] - '0')) > max_width) fail("a format wider than 100000", Code::too_large);
  }
  return n;
}

std::string pad(std::string body, const Spec& spec, char usual) {
  const int64_t missing = spec.width - text::count(body);
  if (missing <= 0) return body;
  const char align = spec.align ? spec.align : usual;
  std::string left, right;
  const int64_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  for (int64_t k = 0; k < before; k++) left += spec.fill;
  for (int64_t k = before; k < missing; k++) right += spec.fill;
  if (align != '=') return left + body + right;
  const size_t sign = !body.empty() && (body[0] == '-' || body[0] == '+' || body[0] == ' ') ? 1 : 0;
  return body.substr(0, sign) + left + body.substr(sign);
}

std::string printed(char type, int precision, double d, bool alternate) {
  if (precision > 1000) fail("a precision above 1000", Code::too_large);
  const std::string format = std::string(alternate ? "%#.*" : "%.*") + type;
  std::string out(static_cast<size_t>(std::snprintf(nullptr, 0, format.c_str(), precision, d)), '\0');
  std::snprintf(out.data(), out.size() + 1, format.c_str(), precision, d);
  return out;
}

void group_digits(std::string& s, char separator) {
  const size_t start = !s.empty() && s[0] == '-' ? 1 : 0;
  size_t end = start;
  while (end < s.size() && s[end] >= '0' && s[end] <= '9') end++;
  for (size_t k = 3; start + k < end; k += 3) s.insert(end - k, 1, separator);
}

std::string based(int64_t v, unsigned base, bool upper) {
  uint64_t n = v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  std::string out;
  do out.insert(out.begin(), (upper ? "0123456789ABCDEF" : "0123456789abcdef")[n % base]);
  while ((n /= base) > 0);
  return out;
}

void put_sign(std::string& s, bool negative, char sign) {
  if (negative) s.insert(s.begin(), '-');
  else if (sign != '-') s.insert(s.begin(), sign);
}

std::string number_text(const Value& v, const Spec& spec) {
  std::string out;
  bool negative = false;
  const bool as_real = v.is(Kind::real) || (spec.type && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos);
  if (as_real) {
    double d = v.as_real();
    negative = std::signbit(d);
    d = std::fabs(d);
    if (spec.type == 0 && spec.precision < 0) out = repr_of_real(d);
    else if (spec.type == '%') out = printed('f', spec.precision < 0 ? 6 : spec.precision, d * 100, false) + "%";
    else out = printed(spec.type ? spec.type : 'g', spec.precision < 0 ? 6 : spec.precision, d, spec.alternate);
  } else {
    const int64_t n = v.as_int();
    negative = n < 0;
    switch (spec.type) {
      case 0: case 'd': case 'n': case 'i': case 'u': out = based(n, 10, false); break;
      case 'x': case 'X': out = (spec.alternate ? (spec.type == 'x' ? "0x" : "0X") : "") + based(n, 16, spec.type == 'X'); break;
      case 'o': out = (spec.alternate ? "0o" : "") + based(n, 8, false); break;
      case 'b': out = (spec.alternate ? "0b" : "") + based(n, 2, false); break;
      case 'c': text::append(out, static_cast<char32_t>(n)); return out;
      default: fail(std::string("Unknown format code '") + spec.type + "' for object of type 'int'");
    }
    if (spec.precision > static_cast<int>(out.size())) out.insert(0, static_cast<size_t>(spec.precision) - out.size(), '0');
  }
  if (spec.group) group_digits(out, spec.group);
  put_sign(out, negative, spec.sign);
  return out;
}

std::string cut(std::string s, int precision) { return precision < 0 ? s : s.substr(0, text::offset(s, precision)); }

// ---- percent ----

Spec percent_spec(std::string_view s, size_t& at) {
  Spec spec;
  for (; at < s.size() && std::string_view("-+ #0").find(s[at]) != std::string_view::npos; at++) {
    if (s[at] == '-') spec.align = '<';
    if (s[at] == '+' || (s[at] == ' ' && spec.sign != '+')) spec.sign = s[at];
    spec.alternate |= s[at] == '#';
    spec.zero |= s[at] == '0';
  }
  spec.width = read_number(s, at);
  if (at < s.size() && s[at] == '.') spec.precision = static_cast<int>(read_number(s, ++at));
  while (at < s.size() && (s[at] == 'l' || s[at] == 'h' || s[at] == 'L')) at++;
  return spec;
}

std::string percent_one(Spec spec, char type, const Value& v) {
  if (type == 's' || type == 'r' || type == 'a') return pad(cut(type == 's' ? to_str(v) : repr(v), spec.precision), spec, '>');
  if (type == 'c' && v.is_string()) return pad(v.str(), spec, '>');
  if (std::string_view("diuxXoeEfFgGc").find(type) == std::string_view::npos) fail(std::string("unsupported format character '") + type + "'");
  need_defined(v);
  if (!v.is_number()) fail(std::string("%") + type + " format: a real number is required, not " + type_name(v));
  const bool whole = std::string_view("diu").find(type) != std::string_view::npos;
  if (!whole && v.is(Kind::real) && std::string_view("xXoc").find(type) != std::string_view::npos) fail(std::string("%") + type + " format: an integer is required, not float");
  if (whole && v.is(Kind::real) && !(std::fabs(v.d) < 9e18)) fail("cannot convert float to integer");
  spec.type = whole ? 'd' : type;
  if (spec.zero && !spec.align) spec.fill = "0", spec.align = '=';
  return pad(number_text(whole && v.is(Kind::real) ? Value::integer(static_cast<int64_t>(v.d)) : v, spec), spec, '>');
}

// ---- braces ----

Spec brace_spec(std::string_view s) {
  Spec spec;
  size_t at = 0;
  const auto is_align = [&](size_t i) { return i < s.size() && std::string_view("<>=^").find(s[i]) != std::string_view::npos; };
  size_t after_fill = 0;
  if (!s.empty()) text::decode(s, after_fill);
  if (after_fill > 0 && is_align(after_fill)) {
    spec.fill = s.substr(0, after_fill);
    spec.align = s[after_fill];
    at = after_fill + 1;
  } else if (is_align(0)) {
    spec.align = s[at++];
  }
  if (at < s.size() && (s[at] == '+' || s[at] == '-' || s[at] == ' ')) spec.sign = s[at++];
  if (at < s.size() && s[at] == '#') spec.alternate = true, at++;
  if (at < s.size() && s[at] == '0') {
    if (!spec.align) spec.fill = "0", spec.align = '=';
    spec.zero = true;
    at++;
  }
  spec.width = read_number(s, at);
  if (at < s.size() && (s[at] == ',' || s[at] == '_')) spec.group = s[at++];
  if (at < s.size() && s[at] == '.') spec.precision = static_cast<int>(read_number(s, ++at));
  if (at < s.size()) spec.type = s[at++];
  if (at < s.size()) fail("Invalid format specifier");
  return spec;
}

std::string brace_one(const Value& v, std::string_view spec_text) {
  if (spec_text.empty()) return to_str(v);
  Spec spec = brace_spec(spec_text);
  if (v.is_number() && !(v.is(Kind::boolean) && spec.type == 0)) return pad(number_text(v, spec), spec, '>');
  if (!v.is_string() && !v.is(Kind::boolean)) fail(std::string("unsupported format string passed to ") + type_name(v) + ".__format__");
  if (spec.type && spec.type != 's') fail(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
  if (spec.align == '=') {
    if (!spec.zero) fail("'=' alignment not allowed in string format specifier");
    spec.align = '<';
  }
  return pad(cut(to_str(v), spec.precision), spec, '<');
}

class Braces {
 public:
  Braces(Machine& machine, const Args& args) : machine_(machine), args_(args) {}
  std::string run(std::string_view s, int depth);

 private:
  Machine& machine_;
  const Args& args_;
  size_t next_ = 0;
  Value field(std::string_view name);
  Value first(std::string_view name);
};

Value Braces::first(std::string_view name) {
  if (name.empty() || name.find_first_not_of("0123456789") == name.npos) {
    const auto i = name.empty() ? static_cast<int64_t>(next_++) : parse_int(name).value_or(0);
    if (i >= static_cast<int64_t>(args_.pos.size())) fail("Replacement index " + std::to_string(i) + " out of range for positional args tuple");
    return args_.pos[static_cast<size_t>(i)];
  }
  for (const auto& [key, value] : args_.named) {
    if (key == name) return value;
  }
  fail("format() got no argument '" + std::string(name) + "'");
}

Value Braces::field(std::string_view name) {
  const size_t end = std::min(name.find_first_of(".["), name.size());
  Value v = first(name.substr(0, end));
  for (size_t at = end; at < name.size();) {
    if (name[at] == '.') {
      const size_t stop = std::min(name.find_first_of(".[", at + 1), name.size());
      v = machine_.get_attribute(v, name.substr(at + 1, stop - at - 1));
      at = stop;
    } else {
      const size_t stop = name.find(']', at);
      if (name[at] != '[' || stop == name.npos) fail("expected '}' before end of string");
      const std::string key(name.substr(at + 1, stop - at - 1));
      const bool digits = !key.empty() && key.find_first_not_of("0123456789") == key.npos;
      v = machine_.get_item(v, digits ? Value::integer(parse_int(key).value_or(0)) : machine_.heap.string(key));
      at = stop + 1;
    }
  }
  return v;
}

std::string Braces::run(std::string_view s, int depth) {
  if (depth > 2) fail("Max string recursion exceeded");
  std::string out;
  for (size_t at = 0; at < s.size(); at++) {
    if (static_cast<int64_t>(out.size()) > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
    if ((s[at] == '{' || s[at] == '}') && at + 1 < s.size() && s[at + 1] == s[at]) {
      out += s[at++];
      continue;
    }
    if (s[at] == '}') fail("Single '}' encountered in format string");
    if (s[at] != '{') {
      out += s[at];
      continue;
    }
    machine_.heap.step();
    size_t end = at + 1;
    for (int open = 1; end < s.size(); end++) {
      open += s[end] == '{' ? 1 : s[end] == '}' ? -1 : 0;
      if (open == 0) break;
    }
    if (end >= s.size()) fail("Single '{' encountered in format string");
    const std::string_view body = s.substr(at + 1, end - at - 1);
    const size_t name_end = std::min(body.find_first_of("!:"), body.size());
    Value v = field(body.substr(0, name_end));
    std::string_view rest = body.substr(name_end);
    if (rest.starts_with("!")) {
      if (rest.size() < 2 || (rest[1] != 's' && rest[1] != 'r' && rest[1] != 'a')) fail("Unknown conversion specifier");
      v = machine_.heap.string(rest[1] == 's' ? to_str(v) : repr(v));
      rest.remove_prefix(2);
    }
    if (rest.starts_with(":")) rest.remove_prefix(1);
    out += brace_one(v, rest.find('{') == rest.npos ? std::string(rest) : run(rest, depth + 1));
    at = end;
  }
  return out;
}

}  // namespace

std::string format_percent(const std::string& s, const Value& args) {
  const bool tuple = args.is(Kind::tuple);
  const size_t n = tuple ? list_of(args).items.size() : 1;
  std::string out;
  size_t used = 0;
  bool by_name = false;
  for (size_t at = 0; at < s.size();) {
    if (s[at] != '%') {
      out += s[at++];
      continue;
    }
    if (static_cast<int64_t>(out.size()) > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
    const Value* named = nullptr;
    if (++at < s.size() && s[at] == '(') {
      const size_t end = s.find(')', at);
      if (end == s.npos) fail("incomplete format key");
      if (!args.is(Kind::dict)) fail("format requires a mapping");
      named = dict_of(args).find(std::string_view(s).substr(at + 1, end - at - 1));
      if (!named) fail("the format's key is not in the mapping");
      by_name = true;
      at = end + 1;
    }
    const Spec spec = percent_spec(s, at);
    if (at >= s.size()) fail("incomplete format");
    const char type = s[at++];
    if (type == '%') {
      out += '%';
      continue;
    }
    if (!named && used >= n) fail("not enough arguments for format string");
    out += percent_one(spec, type, named ? *named : tuple ? list_of(args).items[used] : args);
    used += named ? 0 : 1;
  }
  if (used < n && !by_name && !args.is(Kind::dict) && !(args.is(Kind::list) && used == 0)) fail("not all arguments converted during string formatting");
  return out;
}

std::string format_braces(Machine& machine, const std::string& format, const Args& args) { return Braces(machine, args).run(format, 0); }

std::string fixed_real(double d, int precision) { return printed('f', precision, d, false); }

}  // namespace tmpl
