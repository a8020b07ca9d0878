// template json: Python's json.dumps over values, and JSON documents as values.
#include <cmath>
#include "core/json.h"
#include "text/template_machine.h"
#include "text/template_sort.h"
#include "text/template_text.h"

namespace tmpl {

namespace {

class Writer {
 public:
  explicit Writer(const JsonStyle& style) : style_(style) {}
  void write(const Value& v, int depth);
  std::string out;

 private:
  const JsonStyle& style_;
  void text(std::string_view s);
  void key(const Value& v);
  void line(int depth) {
    if (!style_.indent) return;
    out += '\n';
    for (int k = 0; k < depth; k++) out += *style_.indent;
  }
  void list(const std::vector<Value>& items, int depth);
  void dict(const DictObject& dict, int depth);
};

void append_unit(std::string& out, unsigned unit) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "\\u%04x", unit);
  out += buffer;
}

void Writer::text(std::string_view s) {
  out += '"';
  for (size_t at = 0; at < s.size();) {
    const char32_t c = text::decode(s, at);
    if (c == '"' || c == '\\') (out += '\\') += static_cast<char>(c);
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (c == '\b') out += "\\b";
    else if (c == '\f') out += "\\f";
    else if (c < 0x20 || (style_.ascii && c >= 0x7f && c < 0x10000)) append_unit(out, c);
    else if (style_.ascii && c >= 0x10000) append_unit(out, 0xd800 + ((c - 0x10000) >> 10)), append_unit(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
    else text::append(out, c);
  }
  out += '"';
}

std::string json_real(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
  return repr_of_real(d);
}

void Writer::key(const Value& v) {
  switch (v.kind) {
    case Kind::string: return text(v.str());
    case Kind::none: out += "\"null\""; return;
    case Kind::boolean: out += v.b ? "\"true\"" : "\"false\""; return;
    case Kind::integer: out += '"' + std::to_string(v.i) + '"'; return;
    case Kind::real: out += '"' + json_real(v.d) + '"'; return;
    default: fail(std::string("keys must be str, int, float, bool or None, not ") + type_name(v));
  }
}

void Writer::list(const std::vector<Value>& items, int depth) {
  if (items.empty()) {
    out += "[]";
    return;
  }
  out += '[';
  for (size_t i = 0; i < items.size(); i++) {
    if (i > 0) out += style_.item_separator;
    line(depth + 1);
    write(items[i], depth + 1);
  }
  line(depth);
  out += ']';
}

void Writer::dict(const DictObject& dict, int depth) {
  if (dict.entries.empty()) {
    out += "{}";
    return;
  }
  std::vector<const std::pair<Value, Value>*> entries;
  for (const auto& entry : dict.entries) entries.push_back(&entry);
  if (style_.sorted) stable_sort(entries, [](const auto* a, const auto* b) { return less(a->first, b->first); });
  out += '{';
  for (size_t i = 0; i < entries.size(); i++) {
    if (i > 0) out += style_.item_separator;
    line(depth + 1);
    key(entries[i]->first);
    out += style_.key_separator;
    write(entries[i]->second, depth + 1);
  }
  line(depth);
  out += '}';
}

void Writer::write(const Value& v, int depth) {
  if (depth > max_eval_depth) fail("a value nested too deeply", Code::too_large);
  if (static_cast<int64_t>(out.size()) > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
  switch (v.kind) {
    case Kind::none: out += "null"; break;
    case Kind::boolean: out += v.b ? "true" : "false"; break;
    case Kind::integer: out += std::to_string(v.i); break;
    case Kind::real: out += json_real(v.d); break;
    case Kind::string: text(v.str()); break;
    case Kind::list: case Kind::tuple: list(list_of(v).items, depth); break;
    case Kind::dict: dict(dict_of(v), depth); break;
    default: fail(std::string("Object of type ") + type_name(v) + " is not JSON serializable");
  }
}

Value convert(Heap& heap, JsonView view, int depth) {
  if (depth > max_eval_depth) fail("JSON nested too deeply", Code::too_large);
  heap.charge(0);
  switch (view.type()) {
    case simdjson::dom::element_type::ARRAY: {
      std::vector<Value> items;
      for (JsonView item : simdjson::dom::array(view)) items.push_back(convert(heap, item, depth + 1));
      return heap.list(std::move(items));
    }
    case simdjson::dom::element_type::OBJECT: {
      Value dict = heap.dict();
      for (const auto [key, value] : simdjson::dom::object(view)) dict_of(dict).set(heap.string(std::string(key)), convert(heap, value, depth + 1));
      return dict;
    }
    case simdjson::dom::element_type::STRING: return heap.string(std::string(std::string_view(view)));
    case simdjson::dom::element_type::INT64: return Value::integer(int64_t(view));
    case simdjson::dom::element_type::UINT64: return Value::real(static_cast<double>(uint64_t(view)));
    case simdjson::dom::element_type::DOUBLE: return Value::real(double(view));
    case simdjson::dom::element_type::BOOL: return Value::boolean(bool(view));
    default: return Value::none();
  }
}

}  // namespace

std::string to_json(const Value& v, const JsonStyle& style) {
  Writer writer(style);
  writer.write(v, 0);
  return std::move(writer.out);
}

Value from_json(Heap& heap, std::string_view what, std::string_view text) {
  auto document = JsonDocument::parse(what, text);
  if (!document) fail(document.error().message, Code::invalid_request);
  return convert(heap, document->root(), 0);
}

}  // namespace tmpl
