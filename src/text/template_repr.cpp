// template repr: str() and repr() of values, and the numbers in text, exactly as Python writes and reads them.
#include <charconv>
#include <cmath>
#include <limits>
#include "text/template_text.h"
#include "text/template_value.h"

namespace tmpl {

const char* type_name(const Value& v) {
  switch (v.kind) {
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer: return "int";
    case Kind::real: return "float";
    case Kind::string: return v.safe() ? "Markup" : "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::keys: return "dict_keys";
    case Kind::values: return "dict_values";
    case Kind::items: return "dict_items";
    case Kind::range: return "range";
    case Kind::iterator: return "generator";
    case Kind::dict: return "dict";
    case Kind::space: return "Namespace";
    case Kind::function: return "function";
    case Kind::macro: return "Macro";
    case Kind::loop: return "LoopContext";
    case Kind::cycler: return "Cycler";
    case Kind::joiner: return "Joiner";
  }
  return "object";
}

std::string object_name(const Value& v) {
  if (v.is(Kind::none)) return "None";
  const bool outside = v.kind >= Kind::space && !v.is(Kind::function);
  return std::string(outside ? "jinja2." : "") + type_name(v) + " object";
}

// Digits and exponent of the shortest decimal that reads back, laid out as float.__repr__ does.
std::string repr_of_real(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
  const std::string all(buffer, end);
  const size_t e = all.find('e');
  const int exponent = std::stoi(all.substr(e + 1));
  std::string sign = all[0] == '-' ? "-" : "", digits;
  for (char c : all.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const int n = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    const std::string fraction = n > 1 ? "." + digits.substr(1) : "";
    const std::string size = std::to_string(std::abs(exponent));
    return sign + digits[0] + fraction + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (n <= exponent + 1) return sign + digits + std::string(static_cast<size_t>(exponent + 1 - n), '0') + ".0";
  return sign + digits.substr(0, static_cast<size_t>(exponent + 1)) + "." + digits.substr(static_cast<size_t>(exponent + 1));
}

static void append_escape(std::string& out, char32_t c) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", static_cast<unsigned>(c));
  out += buffer;
}

std::string repr_of_string(std::string_view s) {
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < s.size();) {
    const char32_t c = text::decode(s, at);
    if (c == static_cast<unsigned char>(quote) || c == '\\') (out += '\\') += static_cast<char>(c);
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (!text::is_printable(c)) append_escape(out, c);
    else text::append(out, c);
  }
  return out + quote;
}

static void repr_into(std::string& out, const Value& v, int depth);

static void repr_items(std::string& out, const std::vector<Value>& items, int depth) {
  bool first = true;
  for (const Value& item : items) {
    if (!first) out += ", ";
    first = false;
    repr_into(out, item, depth + 1);
  }
}

static void repr_list(std::string& out, const Value& v, int depth) {
  const ListObject& list = list_of(v);
  if (v.is(Kind::range)) {
    out += "range(" + std::to_string(list.bounds[0]) + ", " + std::to_string(list.bounds[1]);
    out += list.bounds[2] == 1 ? ")" : ", " + std::to_string(list.bounds[2]) + ")";
  } else if (v.is(Kind::iterator)) {
    out += "<generator object>";
  } else if (v.is(Kind::list) || v.is(Kind::tuple)) {
    out += v.is(Kind::list) ? "[" : "(";
    repr_items(out, list.items, depth);
    out += v.is(Kind::list) ? "]" : list.items.size() == 1 ? ",)" : ")";
  } else {
    out += type_name(v);
    out += "([";
    repr_items(out, list.items, depth);
    out += "])";
  }
}

static void repr_dict(std::string& out, const DictObject& dict, int depth) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!first) out += ", ";
    first = false;
    repr_into(out, key, depth + 1);
    out += ": ";
    repr_into(out, value, depth + 1);
  }
  out += '}';
}

static void repr_into(std::string& out, const Value& v, int depth) {
  if (depth > max_eval_depth) fail("a value nested too deeply", Code::too_large);
  if (static_cast<int64_t>(out.size()) > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
  switch (v.kind) {
    case Kind::undefined: out += "Undefined"; break;
    case Kind::none: out += "None"; break;
    case Kind::boolean: out += v.b ? "True" : "False"; break;
    case Kind::integer: out += std::to_string(v.i); break;
    case Kind::real: out += repr_of_real(v.d); break;
    case Kind::string: out += v.safe() ? "Markup(" + repr_of_string(v.str()) + ")" : repr_of_string(v.str()); break;
    case Kind::dict: repr_dict(out, dict_of(v), depth); break;
    case Kind::space:
      out += "<Namespace ";
      repr_dict(out, dict_of(v), depth);
      out += '>';
      break;
    default:
      if (v.is_sequence_object()) repr_list(out, v, depth);
      else out += std::string("<") + type_name(v) + ">";
  }
}

std::string repr(const Value& v) {
  std::string out;
  repr_into(out, v, 0);
  return out;
}

std::string to_str(const Value& v) {
  if (v.is_string()) return v.str();
  if (v.is(Kind::undefined)) return "";
  return repr(v);
}

// Underscores may stand between digits only.
static bool drop_underscores(std::string& s) {
  const auto digit = [&](size_t i) { return i < s.size() && std::isxdigit(static_cast<unsigned char>(s[i])); };
  for (size_t i = 0; i < s.size(); i++) {
    if (s[i] == '_' && (i == 0 || !digit(i - 1) || !digit(i + 1))) return false;
  }
  std::erase(s, '_');
  return true;
}

std::optional<int64_t> parse_int(std::string_view raw, int base) {
  std::string s(text::strip(raw, nullptr, true, true));
  bool negative = false;
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) {
    negative = s[0] == '-';
    s.erase(0, 1);
  }
  if (s.size() > 2 && s[0] == '0') {
    const char k = static_cast<char>(s[1] | 32);
    const int named = k == 'x' ? 16 : k == 'o' ? 8 : k == 'b' ? 2 : 0;
    if (named && (base == named || base == 0)) {
      s.erase(0, s[2] == '_' ? 3 : 2);
      base = named;
    }
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || s.empty() || !drop_underscores(s) || s[0] == '-' || s[0] == '+') return std::nullopt;
  if (negative) s.insert(s.begin(), '-');
  int64_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  if (end != s.data() + s.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) fail("an integer beyond 64 bits");
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view raw) {
  std::string s(text::strip(raw, nullptr, true, true));
  bool negative = false;
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) {
    negative = s[0] == '-';
    s.erase(0, 1);
  }
  const std::string word = text::lower(s);
  double value = 0;
  if (word == "inf" || word == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (word == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (s.empty() || !(std::isdigit(static_cast<unsigned char>(s[0])) || s[0] == '.') || !drop_underscores(s)) return std::nullopt;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (end != s.data() + s.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range) value = std::strtod(s.c_str(), nullptr);
  }
  return negative ? -value : value;
}

}  // namespace tmpl
