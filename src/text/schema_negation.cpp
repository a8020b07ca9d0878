// schema negation: what the opposite of a keyword asks of a value.
#include <algorithm>

#include "text/schema_meaning.h"

using simdjson::dom::array;
using simdjson::dom::object;

// A value fails a schema when it fails one of its keywords.
Result<SchemaAlternatives> SchemaMeaning::negative(int place) {
  const JsonView schema = places_[place].schema;
  if (schema.is_bool()) return bool(schema) ? SchemaAlternatives{} : SchemaAlternatives{{}};
  object members;
  if (schema.get(members) != simdjson::SUCCESS) return places_.invalid(place, "is neither an object nor a boolean");
  SchemaAlternatives all;
  for (const auto& [keyword, value] : members) {
    if (is_annotation(keyword)) continue;
    TRY(auto more, negated_keyword(place, keyword, value));
    for (SchemaLimits& limits : more) {
      limits.settle();
      if (limits.types != 0) all.push_back(std::move(limits));
    }
  }
  return all;
}

static SchemaLimits limits_of(int place, uint8_t types) {
  SchemaLimits limits;
  limits.place = place, limits.types = types;
  return limits;
}

Result<SchemaAlternatives> SchemaMeaning::negated_keyword(int place, std::string_view keyword, JsonView value) {
  if (keyword == "$ref") {
    std::string_view reference;
    if (value.get(reference) != simdjson::SUCCESS) return places_.invalid(place, "has a \"$ref\" that is not a string");
    TRY(const int target, places_.resolve(place, reference));
    return of_term({target, true});
  }
  if (keyword == "allOf") return any_of(place, keyword, value, true);
  if (keyword == "anyOf") return all_of(place, keyword, value, true);
  if (keyword == "not") return of_term({places_.child(place, keyword, value), false});
  if (keyword == "then" || keyword == "else" || keyword == "minContains" || keyword == "maxContains" || keyword == "additionalItems") return SchemaAlternatives{};
  if (keyword == "type" || keyword == "enum" || keyword == "const") {
    TRY(const SchemaLimits own, own_limits(places_, place));
    if (keyword == "type") return SchemaAlternatives{limits_of(place, static_cast<uint8_t>(any_type & ~own.types))};
    SchemaLimits other = limits_of(place, any_type);
    array list;
    if (keyword == "const") other.excluded.push_back(value);
    else if (value.get(list) == simdjson::SUCCESS) other.excluded.assign(list.begin(), list.end());
    return SchemaAlternatives{other};
  }
  if (keyword == "pattern") {
    std::string_view expression;
    if (value.get(expression) != simdjson::SUCCESS) return places_.invalid(place, "has a \"pattern\" that is not a string");
    SchemaLimits other = limits_of(place, string_type);
    other.patterns.push_back({std::string(expression), true, place});
    return SchemaAlternatives{other};
  }
  if (keyword == "required" || keyword == "properties") return negated_members(place, keyword, value);
  return negated_bound(place, keyword, value);
}

Result<SchemaAlternatives> SchemaMeaning::negated_members(int place, std::string_view keyword, JsonView value) {
  SchemaAlternatives out;
  if (array names; value.get(names) == simdjson::SUCCESS)
    for (const JsonView item : names) {
      std::string_view name;
      if (item.get(name) != simdjson::SUCCESS) return places_.invalid(place, "has a \"required\" that does not list names");
      out.push_back(limits_of(place, object_type));
      out.back().forbidden.insert(std::string(name));
    }
  if (object members; keyword == "properties" && value.get(members) == simdjson::SUCCESS)
    for (const auto& [name, schema] : members) {
      out.push_back(limits_of(place, object_type));
      out.back().require(name);
      ObjectRule rule{.evaluates = false};
      rule.properties.emplace_back(std::string(name), SchemaTerm{places_.child(place, keyword, name, schema), true});
      out.back().objects.push_back(std::move(rule));
    }
  return out;
}

Result<SchemaAlternatives> SchemaMeaning::negated_bound(int place, std::string_view keyword, JsonView value) {
  const JsonView schema = places_[place].schema;
  const auto refuse = [&] { return places_.refuse(place, "\"" + std::string(keyword) + "\" below a \"not\", \"if\" or overlapping \"oneOf\""); };
  if (keyword == "uniqueItems" && value.is_bool() && !bool(value)) return SchemaAlternatives{};
  if (keyword == "format" && !find_schema_format(find_string(schema, "format").value_or(""))) return SchemaAlternatives{};
  if (keyword == "contains" || keyword == "items") {
    if (schema.at_key("minContains").error() == simdjson::SUCCESS || schema.at_key("maxContains").error() == simdjson::SUCCESS ||
        schema.at_key("prefixItems").error() == simdjson::SUCCESS || value.is_array())
      return refuse();
    const SchemaTerm opposite{places_.child(place, keyword, value), true};
    SchemaLimits other = limits_of(place, array_type);
    if (keyword == "items") other.contains.push_back({opposite});
    else other.arrays.push_back({.rest = opposite, .evaluates = false});
    return SchemaAlternatives{other};
  }
  TRY(const SchemaLimits own, own_limits(places_, place));
  SchemaLimits other = limits_of(place, any_type);
  // `count` beyond a least or a most is the other side's limit.
  const auto swapped = [&](uint8_t type, int64_t least, int64_t most, int64_t SchemaLimits::*low, int64_t SchemaLimits::*high) {
    other.types = type;
    if (keyword.starts_with("min") && least == 0) other.types = 0;
    else if (keyword.starts_with("min")) other.*high = least - 1;
    else other.*low = most + 1;
    return SchemaAlternatives{other};
  };
  if (keyword.ends_with("Length")) return swapped(string_type, own.min_length, own.max_length, &SchemaLimits::min_length, &SchemaLimits::max_length);
  if (keyword == "minItems" || keyword == "maxItems") return swapped(array_type, own.min_items, own.max_items, &SchemaLimits::min_items, &SchemaLimits::max_items);
  if (keyword.ends_with("Properties") && keyword.starts_with("m"))
    return swapped(object_type, own.min_properties, own.max_properties, &SchemaLimits::min_properties, &SchemaLimits::max_properties);
  if (keyword.ends_with("inimum") || keyword.ends_with("aximum")) {
    other.types = number_type;
    if (!value.is_number()) return SchemaAlternatives{};
    const auto& bound = keyword.ends_with("inimum") ? own.numbers.lower : own.numbers.upper;
    const bool open = keyword.ends_with("inimum") ? own.numbers.lower_open : own.numbers.upper_open;
    if (!bound) return SchemaAlternatives{};
    if (keyword.ends_with("inimum")) other.numbers.drop(*bound, !open);
    else other.numbers.raise(*bound, !open);
    return SchemaAlternatives{other};
  }
  return refuse();
}
