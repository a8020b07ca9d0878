// template methods of strings: Python's str methods, over code points.
#include <algorithm>
#include "text/template_machine.h"
#include "text/template_text.h"

namespace tmpl {

namespace {

Value make(Machine& m, const Value& self, std::string text) { return m.heap.string(std::move(text), self.safe()); }

const std::string& text_argument(const Value& v) {
  need_defined(v);
  if (!v.is_string()) fail(std::string("must be str, not ") + type_name(v));
  return v.str();
}

template <bool left, bool right> Value strip(Machine& m, const Value& self, const Args& args) {
  const Bound bound("strip", args, {"chars"});
  if (!bound[0] || bound[0]->is(Kind::none)) return make(m, self, std::string(text::strip(self.str(), nullptr, left, right)));
  const std::string_view chars = text_argument(*bound[0]);
  m.heap.step(static_cast<int64_t>(self.str().size() * (chars.size() + 1) / 4096));
  return make(m, self, std::string(text::strip(self.str(), &chars, left, right)));
}

template <std::string (*change)(std::string_view)> Value changed(Machine& m, const Value& self, const Args&) {
  m.heap.step(static_cast<int64_t>(self.str().size() / 128));
  return make(m, self, change(self.str()));
}

Value pieces(Machine& m, const Value& self, const std::vector<std::string_view>& parts, Kind kind = Kind::list) {
  std::vector<Value> out;
  for (std::string_view part : parts) out.push_back(make(m, self, std::string(part)));
  return m.heap.list(std::move(out), kind);
}

template <bool from_right> Value split(Machine& m, const Value& self, const Args& args) {
  const Bound bound("split", args, {"sep", "maxsplit"});
  const int64_t limit = bound.integer(1, -1);
  if (!bound[0] || bound[0]->is(Kind::none)) return pieces(m, self, text::split_space(self.str(), limit, from_right));
  const std::string& separator = text_argument(*bound[0]);
  if (separator.empty()) fail("empty separator");
  return pieces(m, self, text::split(self.str(), separator, limit, from_right));
}

template <bool from_right> Value partition(Machine& m, const Value& self, const Args& args) {
  const Bound bound("partition", args, {"sep"}, 1);
  const std::string& separator = text_argument(*bound[0]);
  if (separator.empty()) fail("empty separator");
  const std::string_view s = self.str();
  const size_t at = from_right ? s.rfind(separator) : s.find(separator);
  if (at == s.npos) return pieces(m, self, from_right ? std::vector<std::string_view>{"", "", s} : std::vector<std::string_view>{s, "", ""}, Kind::tuple);
  return pieces(m, self, {s.substr(0, at), separator, s.substr(at + separator.size())}, Kind::tuple);
}

// The part of the string between two optional positions in code points, with the byte where it starts.
std::string_view window(const Value& self, const Bound& bound, size_t first, int64_t& start) {
  const int64_t n = self.text->length;
  const auto position = [&](size_t i, int64_t fallback) {
    const int64_t p = bound[i] && !bound[i]->is(Kind::none) ? bound.integer(i, fallback) : fallback;
    return p < 0 ? std::max<int64_t>(p + n, 0) : p;
  };
  start = position(first, 0);
  const int64_t end = std::min(position(first + 1, n), n);
  if (start > end) return {};
  const std::string_view s = self.str();
  const size_t from = text::offset(s, start);
  return s.substr(from, text::offset(s.substr(from), end - start));
}

template <bool at_start> Value affix(Machine&, const Value& self, const Args& args) {
  const Bound bound(at_start ? "startswith" : "endswith", args, {"affix", "start", "end"}, 1);
  int64_t start = 0;
  const std::string_view s = window(self, bound, 1, start);
  const auto fits = [&](const Value& v) {
    const std::string& part = text_argument(v);
    return start <= self.text->length && (at_start ? s.starts_with(part) : s.ends_with(part));
  };
  if (!bound[0]->is(Kind::tuple)) return Value::boolean(fits(*bound[0]));
  const auto& options = list_of(*bound[0]).items;
  return Value::boolean(std::any_of(options.begin(), options.end(), fits));
}

template <bool from_right, bool must> Value find(Machine& m, const Value& self, const Args& args) {
  const Bound bound("find", args, {"sub", "start", "end"}, 1);
  m.heap.step(static_cast<int64_t>(self.str().size() / 512));
  int64_t start = 0;
  const std::string_view s = window(self, bound, 1, start);
  const std::string& part = text_argument(*bound[0]);
  const size_t at = from_right ? s.rfind(part) : s.find(part);
  const bool found = at != s.npos && start <= self.text->length;
  if (!found && must) fail("substring not found");
  return Value::integer(found ? start + text::count(s.substr(0, at)) : -1);
}

Value count(Machine&, const Value& self, const Args& args) {
  const Bound bound("count", args, {"sub", "start", "end"}, 1);
  int64_t start = 0;
  return Value::integer(text::occurrences(window(self, bound, 1, start), text_argument(*bound[0])));
}

Value replace(Machine& m, const Value& self, const Args& args) {
  const Bound bound("replace", args, {"old", "new", "count"}, 2);
  const std::string &from = text_argument(*bound[0]), &to = text_argument(*bound[1]);
  const int64_t n = text::occurrences(self.str(), from);
  if (!to.empty() && n > max_output_bytes / static_cast<int64_t>(to.size())) fail("a string longer than 16 MB", Code::too_large);
  return make(m, self, text::replace(self.str(), from, to, bound.integer(2, -1)));
}

Value join(Machine& m, const Value& self, const Args& args) {
  const Bound bound("join", args, {"iterable"}, 1);
  std::string out;
  bool first = true;
  for (const Value& item : iterate(m.heap, *bound[0])) {
    if (!item.is_string()) fail(std::string("sequence item: expected str instance, ") + type_name(item) + " found");
    if (!first) out += self.str();
    first = false;
    out += self.safe() ? escape(m.heap, item).str() : item.str();
    if (static_cast<int64_t>(out.size()) > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
  }
  return make(m, self, std::move(out));
}

// Padding to a width in code points; -1 left, 0 both sides, 1 right, as the text is placed.
template <int place> Value justify(Machine& m, const Value& self, const Args& args) {
  const Bound bound("ljust", args, {"width", "fillchar"}, 1);
  const std::string fill = bound.text(1, " ");
  if (text::count(fill) != 1) fail("The fill character must be exactly one character long");
  const int64_t width = bound.integer(0, 0), missing = std::max<int64_t>(width - self.text->length, 0);
  if (missing > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
  const int64_t left = place < 0 ? 0 : place > 0 ? missing : missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t k = 0; k < left; k++) out += fill;
  out += self.str();
  for (int64_t k = left; k < missing; k++) out += fill;
  return make(m, self, std::move(out));
}

Value zfill(Machine& m, const Value& self, const Args& args) {
  const int64_t missing = Bound("zfill", args, {"width"}, 1).integer(0, 0) - self.text->length;
  if (missing > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
  std::string out = self.str();
  if (missing > 0) out.insert(!out.empty() && (out[0] == '+' || out[0] == '-') ? 1 : 0, static_cast<size_t>(missing), '0');
  return make(m, self, std::move(out));
}

Value splitlines(Machine& m, const Value& self, const Args& args) {
  return pieces(m, self, text::split_lines(self.str(), Bound("splitlines", args, {"keepends"}).flag(0, false)));
}

template <bool prefix> Value remove_affix(Machine& m, const Value& self, const Args& args) {
  const Bound bound("removeprefix", args, {"affix"}, 1);
  std::string_view s = self.str();
  const std::string& part = text_argument(*bound[0]);
  if (prefix && s.starts_with(part)) s.remove_prefix(part.size());
  if (!prefix && s.ends_with(part)) s.remove_suffix(part.size());
  return make(m, self, std::string(s));
}

template <bool (*accepts)(char32_t)> Value all_of(Machine&, const Value& self, const Args&) {
  const std::string_view s = self.str();
  for (size_t at = 0; at < s.size();) {
    if (!accepts(text::decode(s, at))) return Value::boolean(false);
  }
  return Value::boolean(!s.empty());
}

bool alphanumeric(char32_t c) { return text::is_alpha(c) || text::is_digit(c); }

template <bool upper> Value cased(Machine& m, const Value& self, const Args& args) { return find_test(upper ? "upper" : "lower")(m, self, args); }

Value format(Machine& m, const Value& self, const Args& args) { return make(m, self, format_braces(m, self.str(), args)); }

}  // namespace

Function find_string_method(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> table = {
      {"strip", strip<true, true>}, {"lstrip", strip<true, false>}, {"rstrip", strip<false, true>},
      {"split", split<false>}, {"rsplit", split<true>}, {"splitlines", splitlines},
      {"partition", partition<false>}, {"rpartition", partition<true>},
      {"startswith", affix<true>}, {"endswith", affix<false>},
      {"find", find<false, false>}, {"rfind", find<true, false>}, {"index", find<false, true>}, {"rindex", find<true, true>},
      {"count", count}, {"replace", replace}, {"join", join}, {"format", format},
      {"upper", changed<text::upper>}, {"lower", changed<text::lower>}, {"casefold", changed<text::lower>},
      {"title", changed<text::title>}, {"capitalize", changed<text::capitalize>}, {"swapcase", changed<text::swapcase>},
      {"ljust", justify<-1>}, {"center", justify<0>}, {"rjust", justify<1>}, {"zfill", zfill},
      {"removeprefix", remove_affix<true>}, {"removesuffix", remove_affix<false>},
      {"isalpha", all_of<text::is_alpha>}, {"isdigit", all_of<text::is_digit>}, {"isnumeric", all_of<text::is_digit>},
      {"isdecimal", all_of<text::is_digit>}, {"isalnum", all_of<alphanumeric>}, {"isspace", all_of<text::is_space>},
      {"isupper", cased<true>}, {"islower", cased<false>},
  };
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace tmpl
