// template filters over sequences: selecting, sorting, grouping, joining.
#include <algorithm>
#include "text/template_machine.h"
#include "text/template_sort.h"
#include "text/template_text.h"

namespace tmpl {

namespace {

Value iterator(Machine& m, std::vector<Value> items) { return m.heap.list(std::move(items), Kind::iterator); }

Value ignore_case(Machine& m, Value v) { return v.is_string() ? m.heap.string(text::lower(v.str())) : v; }

// The attribute (or the item itself), lower-cased unless case counts, with a default for undefined ones.
Value key_of(Machine& m, const Value& item, const Value* attribute, bool case_sensitive, const Value* otherwise = nullptr) {
  Value v = attribute && !attribute->is(Kind::none) ? m.attribute_path(item, *attribute) : item;
  if (otherwise && !otherwise->is(Kind::none) && v.is(Kind::undefined)) v = *otherwise;
  return case_sensitive ? v : ignore_case(m, std::move(v));
}

Value sort_key(Machine& m, const Value& item, const Value* attribute, bool case_sensitive) {
  if (!attribute || !attribute->is_string() || attribute->str().find(',') == std::string::npos) return key_of(m, item, attribute, case_sensitive);
  std::vector<Value> keys;
  for (std::string_view part : text::split(attribute->str(), ",", -1, false)) {
    const Value name = m.heap.string(std::string(part));
    keys.push_back(key_of(m, item, &name, case_sensitive));
  }
  return m.heap.list(std::move(keys));
}

std::vector<Value> sorted(Machine& m, std::vector<std::pair<Value, Value>> keyed, bool reverse) {
  m.heap.charge(static_cast<int64_t>(keyed.size()) * 64);
  stable_sort(keyed, [&](const auto& a, const auto& b) {
    m.heap.step();
    return reverse ? less(b.first, a.first) : less(a.first, b.first);
  });
  std::vector<Value> out;
  for (auto& pair : keyed) out.push_back(std::move(pair.second));
  return out;
}

Value sort(Machine& m, const Value& v, const Args& args) {
  const Bound bound("sort", args, {"reverse", "case_sensitive", "attribute"});
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : iterate(m.heap, v)) keyed.emplace_back(sort_key(m, item, bound[2], bound.flag(1, false)), item);
  return m.heap.list(sorted(m, std::move(keyed), bound.flag(0, false)));
}

Value dictsort(Machine& m, const Value& v, const Args& args) {
  const Bound bound("dictsort", args, {"case_sensitive", "by", "reverse"});
  const std::string by = bound.text(1, "key");
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  need_defined(v);
  if (!v.is(Kind::dict)) fail(std::string("'") + type_name(v) + "' object has no attribute 'items'");
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, value] : dict_of(v).entries) {
    keyed.emplace_back(key_of(m, by == "key" ? key : value, nullptr, bound.flag(0, false)), m.heap.list({key, value}, Kind::tuple));
  }
  return m.heap.list(sorted(m, std::move(keyed), bound.flag(2, false)));
}

Value groupby(Machine& m, const Value& v, const Args& args) {
  const Bound bound("groupby", args, {"attribute", "default", "case_sensitive"}, 1);
  const bool exact = bound.flag(2, false);
  const auto key = [&](const Value& item) { return key_of(m, item, bound[0], exact, bound[1]); };
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : iterate(m.heap, v)) keyed.emplace_back(key(item), item);
  std::vector<Value> groups;
  std::optional<Value> current;
  for (const Value& item : sorted(m, std::move(keyed), false)) {
    const Value own = key(item);
    if (!current || !equal(*current, own)) {
      groups.push_back(m.heap.list({key_of(m, item, bound[0], true, bound[1]), m.heap.list({})}, Kind::tuple));
      list_of(groups.back()).group = true;
      current = own;
    }
    list_of(list_of(groups.back()).items[1]).items.push_back(item);
  }
  return m.heap.list(std::move(groups));
}

Value unique(Machine& m, const Value& v, const Args& args) {
  const Bound bound("unique", args, {"case_sensitive", "attribute"});
  DictObject seen;
  std::vector<Value> out;
  for (const Value& item : iterate(m.heap, v)) {
    const Value key = key_of(m, item, bound[1], bound.flag(0, false));
    if (seen.find(key)) continue;
    seen.set(key, Value::none());
    out.push_back(item);
  }
  return iterator(m, std::move(out));
}

template <bool smallest> Value extreme(Machine& m, const Value& v, const Args& args) {
  const Bound bound("min", args, {"case_sensitive", "attribute"});
  std::optional<Value> best, best_key;
  for (const Value& item : iterate(m.heap, v)) {
    const Value key = key_of(m, item, bound[1], bound.flag(0, false));
    if (best && !(smallest ? less(key, *best_key) : less(*best_key, key, ">"))) continue;
    best = item;
    best_key = key;
  }
  return best ? *best : m.heap.undefined("No aggregated item, sequence was empty.");
}

Value sum(Machine& m, const Value& v, const Args& args) {
  const Bound bound("sum", args, {"attribute", "start"});
  Value total = bound[1] ? *bound[1] : Value::integer(0);
  if (total.is_string()) fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : iterate(m.heap, v)) total = binary(m.heap, Op::add, total, key_of(m, item, bound[0], true));
  return total;
}

Value join(Machine& m, const Value& v, const Args& args) {
  const Bound bound("join", args, {"d", "attribute"});
  const std::string between = bound.text(0);
  std::string out;
  bool first = true;
  for (const Value& item : iterate(m.heap, v)) {
    if (!first) out += between;
    first = false;
    out += to_str(key_of(m, item, bound[1], true));
    if (static_cast<int64_t>(out.size()) > max_output_bytes) fail("a string longer than 16 MB", Code::too_large);
  }
  return m.heap.string(std::move(out));
}

Value first(Machine& m, const Value& v, const Args&) {
  if (v.is(Kind::iterator) && list_of(v).next < list_of(v).items.size()) return list_of(v).items[list_of(v).next++];
  const auto items = iterate(m.heap, v);
  return items.empty() ? m.heap.undefined("No first item, sequence was empty.") : items[0];
}

Value last(Machine& m, const Value& v, const Args&) {
  if (v.is(Kind::iterator)) fail("'generator' object is not reversible");
  const auto items = iterate(m.heap, v);
  return items.empty() ? m.heap.undefined("No last item, sequence was empty.") : items.back();
}

Value reverse(Machine& m, const Value& v, const Args&) {
  auto items = iterate(m.heap, v);
  std::reverse(items.begin(), items.end());
  if (v.is(Kind::iterator)) return m.heap.list(std::move(items));
  if (!v.is_string()) return iterator(m, std::move(items));
  std::string out;
  for (const Value& c : items) out += c.str();
  return m.heap.string(std::move(out), v.safe());
}

Value batch(Machine& m, const Value& v, const Args& args) {
  const Bound bound("batch", args, {"linecount", "fill_with"}, 1);
  const int64_t size = bound.integer(0, 1);
  std::vector<Value> out, row;
  for (const Value& item : iterate(m.heap, v)) {
    if (static_cast<int64_t>(row.size()) == size) out.push_back(m.heap.list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (row.empty()) return iterator(m, std::move(out));
  if (size > 100'000) fail("a batch of more than 100000 items", Code::too_large);
  if (bound[1] && !bound[1]->is(Kind::none) && static_cast<int64_t>(row.size()) < size) row.resize(static_cast<size_t>(size), *bound[1]);
  out.push_back(m.heap.list(std::move(row)));
  return iterator(m, std::move(out));
}

Value slices(Machine& m, const Value& v, const Args& args) {
  const Bound bound("slice", args, {"slices", "fill_with"}, 1);
  const auto items = iterate(m.heap, v);
  const int64_t n = bound.integer(0, 1), length = static_cast<int64_t>(items.size());
  if (n == 0) fail("integer division or modulo by zero");
  if (n > 100'000) fail("more than 100000 slices", Code::too_large);
  std::vector<Value> out;
  for (int64_t k = 0, at = 0; k < n; k++) {
    const int64_t size = length / n + (k < length % n ? 1 : 0);
    std::vector<Value> part(items.begin() + at, items.begin() + at + size);
    if (bound[1] && !bound[1]->is(Kind::none) && k >= length % n) part.push_back(*bound[1]);
    at += size;
    out.push_back(m.heap.list(std::move(part)));
  }
  return iterator(m, std::move(out));
}

Value items(Machine& m, const Value& v, const Args&) {
  if (v.is(Kind::undefined)) return iterator(m, {});
  if (!v.is(Kind::dict)) fail("Can only get item pairs from a mapping.");
  std::vector<Value> out;
  for (const auto& [key, value] : dict_of(v).entries) out.push_back(m.heap.list({key, value}, Kind::tuple));
  return iterator(m, std::move(out));
}

Value map(Machine& m, const Value& v, const Args& args) {
  std::vector<Value> out;
  if (!truthy(v)) return iterator(m, {});
  if (args.pos.empty()) {
    const Bound bound("map", args, {"attribute", "default"}, 1);
    for (const Value& item : iterate(m.heap, v)) out.push_back(key_of(m, item, bound[0], true, bound[1]));
    return iterator(m, std::move(out));
  }
  Args rest = args;
  const std::string name = to_str(rest.pos[0]);
  rest.pos.erase(rest.pos.begin());
  for (const Value& item : iterate(m.heap, v)) out.push_back(m.apply_filter(name, item, rest));
  return iterator(m, std::move(out));
}

template <bool wanted, bool by_attribute> Value select(Machine& m, const Value& v, const Args& args) {
  if (!truthy(v)) return iterator(m, {});
  Args rest = args;
  std::optional<Value> attribute;
  std::optional<std::string> test;
  const auto shift = [&] {
    Value front = rest.pos[0];
    rest.pos.erase(rest.pos.begin());
    return front;
  };
  if (by_attribute && rest.pos.empty()) fail("Missing parameter for attribute name");
  if (by_attribute) attribute = shift();
  if (!rest.pos.empty()) test = to_str(shift());
  std::vector<Value> out;
  for (const Value& item : iterate(m.heap, v)) {
    const Value subject = attribute ? m.attribute_path(item, *attribute) : item;
    if ((test ? m.apply_test(*test, subject, rest) : truthy(subject)) == wanted) out.push_back(item);
  }
  return iterator(m, std::move(out));
}

Value length(Machine&, const Value& v, const Args&) { return Value::integer(length_of(v)); }

}  // namespace

Function find_sequence_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> table = {
      {"length", length}, {"count", length},
      {"list", [](Machine& m, const Value& v, const Args&) { return m.heap.list(iterate(m.heap, v)); }},
      {"sort", sort}, {"dictsort", dictsort}, {"groupby", groupby}, {"unique", unique},
      {"min", extreme<true>}, {"max", extreme<false>}, {"sum", sum}, {"join", join},
      {"first", first}, {"last", last}, {"reverse", reverse}, {"batch", batch}, {"slice", slices}, {"items", items}, {"map", map},
      {"select", select<true, false>}, {"reject", select<false, false>}, {"selectattr", select<true, true>}, {"rejectattr", select<false, true>},
  };
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace tmpl
