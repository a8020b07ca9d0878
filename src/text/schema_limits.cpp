// schema limits: bringing two sets of limits together.
#include "text/schema_limits.h"

#include <algorithm>

SchemaTerms sorted_terms(SchemaTerms terms) {
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  return terms;
}

bool SchemaLimits::is_any() const {
  return types == any_type && !values && excluded.empty() && !numbers.bounded() && min_length <= 0 && max_length < 0 && patterns.empty() && formats.empty() &&
         objects.empty() && names.empty() && required.empty() && forbidden.empty() && min_properties <= 0 && max_properties < 0 && arrays.empty() && min_items <= 0 &&
         max_items < 0 && !unique && contains.empty();
}

void SchemaLimits::require(std::string_view name) {
  if (std::find(required.begin(), required.end(), name) == required.end()) required.emplace_back(name);
}

static int64_t smaller_limit(int64_t a, int64_t b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); }

template <class T> static void append(std::vector<T>& to, const std::vector<T>& from) { to.insert(to.end(), from.begin(), from.end()); }

void SchemaLimits::merge(const SchemaLimits& other) {
  types &= other.types;
  if (values && other.values)
    std::erase_if(*values, [&](JsonView value) { return std::ranges::none_of(*other.values, [&](JsonView kept) { return equal_json(value, kept); }); });
  else if (other.values)
    values = other.values;
  append(excluded, other.excluded);
  if (other.numbers.lower) numbers.raise(*other.numbers.lower, other.numbers.lower_open);
  if (other.numbers.upper) numbers.drop(*other.numbers.upper, other.numbers.upper_open);
  append(numbers.multiples, other.numbers.multiples);
  min_length = std::max(min_length, other.min_length), max_length = smaller_limit(max_length, other.max_length);
  append(patterns, other.patterns), append(formats, other.formats), append(objects, other.objects), append(arrays, other.arrays), append(contains, other.contains);
  append(names, other.names);
  for (const std::string& name : other.required) require(name);
  forbidden.insert(other.forbidden.begin(), other.forbidden.end());
  min_properties = std::max(min_properties, other.min_properties), max_properties = smaller_limit(max_properties, other.max_properties);
  min_items = std::max(min_items, other.min_items), max_items = smaller_limit(max_items, other.max_items);
  unique = unique || other.unique;
  settle();
}

void SchemaLimits::settle() {
  const auto crossed = [](int64_t least, int64_t most) { return most >= 0 && least > most; };
  if (crossed(min_length, max_length)) types &= static_cast<uint8_t>(~string_type);
  if (crossed(min_items, max_items)) types &= static_cast<uint8_t>(~array_type);
  if (crossed(min_properties, max_properties) || std::ranges::any_of(required, [&](const std::string& name) { return forbidden.contains(name); }))
    types &= static_cast<uint8_t>(~object_type);
  if (numbers.lower && numbers.upper && (*numbers.lower > *numbers.upper || (*numbers.lower == *numbers.upper && (numbers.lower_open || numbers.upper_open))))
    types &= static_cast<uint8_t>(~number_type);
  if (values) {
    std::erase_if(*values, [&](JsonView value) {
      return (type_of(value) & types) == 0 || std::ranges::any_of(excluded, [&](JsonView other) { return equal_json(value, other); });
    });
    uint8_t left = 0;
    for (const JsonView value : *values) left |= type_of(value);
    types &= left;
  }
}

uint8_t type_of(JsonView value) {
  switch (value.type()) {
    case simdjson::dom::element_type::NULL_VALUE: return null_type;
    case simdjson::dom::element_type::BOOL: return boolean_type;
    case simdjson::dom::element_type::OBJECT: return object_type;
    case simdjson::dom::element_type::ARRAY: return array_type;
    case simdjson::dom::element_type::STRING: return string_type;
    case simdjson::dom::element_type::DOUBLE: return Decimal::of(value).is_integer() ? integer_type : fraction_type;
    default: return integer_type;
  }
}

static bool equal_objects(simdjson::dom::object a, simdjson::dom::object b) {
  if (a.size() != b.size()) return false;
  return std::ranges::all_of(a, [&](const auto& member) {
    JsonView other;
    return b.at_key(member.key).get(other) == simdjson::SUCCESS && equal_json(member.value, other);
  });
}

bool equal_json(JsonView a, JsonView b) {
  const uint8_t type = type_of(a);
  if (type != type_of(b)) return false;
  switch (type) {
    case null_type: return true;
    case boolean_type: return bool(a) == bool(b);
    case string_type: return std::string_view(a) == std::string_view(b);
    case object_type: return equal_objects(simdjson::dom::object(a), simdjson::dom::object(b));
    case array_type: {
      const simdjson::dom::array left(a), right(b);
      if (left.size() != right.size()) return false;
      auto other = right.begin();
      for (const JsonView item : left)
        if (!equal_json(item, *other)) return false;
        else ++other;
      return true;
    }
    default: return Decimal::of(a) == Decimal::of(b);
  }
}
