// schema keywords: the table of keywords that state a limit by themselves.
#include <algorithm>

#include "text/schema_meaning.h"

namespace {

struct Context {
  SchemaPlaces& places;
  int place;
  std::string_view keyword;
  JsonView value;
  SchemaLimits& limits;

  Error invalid(std::string_view expected) const { return places.invalid(place, "has a \"" + std::string(keyword) + "\" that is not " + std::string(expected)); }
  Error refuse() const { return places.refuse(place, "\"" + std::string(keyword) + "\""); }
};

uint8_t named_type(std::string_view name) {
  static constexpr std::pair<std::string_view, uint8_t> kTypes[] = {{"null", null_type},     {"boolean", boolean_type}, {"object", object_type}, {"array", array_type},
                                                                    {"string", string_type}, {"integer", integer_type}, {"number", number_type}};
  for (const auto& [known, type] : kTypes)
    if (known == name) return type;
  return 0;
}

Status read_type(Context& context) {
  uint8_t types = 0;
  if (std::string_view name; context.value.get(name) == simdjson::SUCCESS) types = named_type(name);
  if (simdjson::dom::array list; context.value.get(list) == simdjson::SUCCESS)
    for (const JsonView item : list) {
      std::string_view name;
      const uint8_t type = item.get(name) == simdjson::SUCCESS ? named_type(name) : 0;
      if (type == 0) return context.invalid("a list of type names");
      types |= type;
    }
  if (types == 0) return context.invalid("a type");
  context.limits.types &= types;
  return ok_status();
}

Status read_values(Context& context) {
  SchemaLimits values;
  values.values.emplace();
  if (context.keyword == "const") {
    values.values->push_back(context.value);
  } else {
    simdjson::dom::array list;
    if (context.value.get(list) != simdjson::SUCCESS) return context.invalid("a list");
    for (const JsonView item : list) values.values->push_back(item);
  }
  context.limits.merge(values);
  return ok_status();
}

// Draft 4 writes "exclusiveMinimum": true beside "minimum".
Status read_bound(Context& context) {
  const bool lower = context.keyword.ends_with("inimum");
  bool open = context.keyword.starts_with("exclusive");
  JsonView number = context.value;
  if (open && number.is_bool()) return ok_status();
  if (!open) {
    JsonView flag;
    if (context.places[context.place].schema.at_key(lower ? "exclusiveMinimum" : "exclusiveMaximum").get(flag) == simdjson::SUCCESS && flag.is_bool()) open = bool(flag);
  }
  if (!number.is_number()) return context.invalid("a number");
  if (lower) context.limits.numbers.raise(Decimal::of(number), open);
  else context.limits.numbers.drop(Decimal::of(number), open);
  return ok_status();
}

Status read_multiple(Context& context) {
  if (!context.value.is_number()) return context.invalid("a number");
  const Decimal step = Decimal::of(context.value);
  if (step.is_zero() || step.negative) return context.invalid("above zero");
  context.limits.numbers.multiples.push_back(step);
  return ok_status();
}

template <auto Member> Status read_count(Context& context) {
  double value = 0;
  if (context.value.get(value) != simdjson::SUCCESS || value < 0 || value != static_cast<double>(static_cast<int64_t>(std::min(value, 1e15)))) return context.invalid("a count");
  context.limits.*Member = static_cast<int64_t>(value);
  return ok_status();
}

Status read_pattern(Context& context) {
  std::string_view pattern;
  if (context.value.get(pattern) != simdjson::SUCCESS) return context.invalid("a string");
  context.limits.patterns.push_back({std::string(pattern), false, context.place});
  return ok_status();
}

Status read_format(Context& context) {
  std::string_view name;
  if (context.value.get(name) != simdjson::SUCCESS) return context.invalid("a string");
  const SchemaFormat* format = find_schema_format(name);
  if (!format) return ok_status();
  if (format->pattern.empty()) return context.places.refuse(context.place, "the \"format\" " + std::string(format->name));
  context.limits.formats.emplace_back(name);
  return ok_status();
}

Status read_required(Context& context) {
  simdjson::dom::array list;
  if (context.value.is_bool()) return ok_status();  // draft 3, still found beside properties: says nothing in later drafts
  if (context.value.get(list) != simdjson::SUCCESS) return context.invalid("a list of names");
  for (const JsonView item : list) {
    std::string_view name;
    if (item.get(name) != simdjson::SUCCESS) return context.invalid("a list of names");
    context.limits.require(name);
  }
  return ok_status();
}

// properties, patternProperties and additionalProperties of one schema are one rule, made at the first of them.
Status read_members(Context& context) {
  const JsonView schema = context.places[context.place].schema;
  ObjectRule rule;
  for (const auto& [keyword, list] : {std::pair("properties", &rule.properties), std::pair("patternProperties", &rule.patterns)}) {
    JsonView members;
    if (schema.at_key(keyword).get(members) != simdjson::SUCCESS) continue;
    simdjson::dom::object object;
    if (members.get(object) != simdjson::SUCCESS) return context.invalid("an object");
    for (const auto& [name, member] : object) list->emplace_back(std::string(name), SchemaTerm{context.places.child(context.place, keyword, name, member), false});
  }
  JsonView rest;
  if (schema.at_key("additionalProperties").get(rest) == simdjson::SUCCESS) rule.rest = SchemaTerm{context.places.child(context.place, "additionalProperties", rest), false};
  context.limits.objects = {std::move(rule)};
  return ok_status();
}

// prefixItems with items, or in earlier drafts items as a list with additionalItems.
Status read_items(Context& context) {
  const JsonView schema = context.places[context.place].schema;
  ArrayRule rule;
  JsonView items, prefix;
  const bool has_items = schema.at_key("items").get(items) == simdjson::SUCCESS, has_prefix = schema.at_key("prefixItems").get(prefix) == simdjson::SUCCESS;
  const bool listed = has_items && items.is_array();
  const char* keyword = has_prefix ? "prefixItems" : "items";
  if (listed && has_prefix) return context.invalid("a schema");
  if (listed) prefix = items;
  if (listed || has_prefix) {
    simdjson::dom::array list;
    if (prefix.get(list) != simdjson::SUCCESS) return context.invalid("a list");
    size_t index = 0;
    for (const JsonView item : list) rule.prefix.push_back({context.places.child(context.place, keyword, index, item), false}), ++index;
  }
  if (JsonView more; listed && schema.at_key("additionalItems").get(more) == simdjson::SUCCESS)
    rule.rest = SchemaTerm{context.places.child(context.place, "additionalItems", more), false};
  else if (has_items && !listed)
    rule.rest = SchemaTerm{context.places.child(context.place, "items", items), false};
  context.limits.arrays = {std::move(rule)};
  return ok_status();
}

Status read_unique(Context& context) {
  if (!context.value.is_bool()) return context.invalid("a boolean");
  context.limits.unique = bool(context.value);
  return ok_status();
}

Status read_contains(Context& context) {
  const JsonView schema = context.places[context.place].schema;
  ContainsRule rule{{context.places.child(context.place, "contains", context.value), false}};
  rule.least = find_int(schema, "minContains").value_or(1);
  rule.most = find_int(schema, "maxContains").value_or(-1);
  if (rule.least > 0 || rule.most >= 0) context.limits.contains.push_back(rule);
  return ok_status();
}

Status read_names(Context& context) {
  context.limits.names.push_back({context.places.child(context.place, "propertyNames", context.value), false});
  return ok_status();
}

Status refuse_keyword(Context& context) { return context.refuse(); }

struct Keyword {
  std::string_view name;
  Status (*read)(Context&);
};
constexpr Keyword kKeywords[] = {
    {"type", read_type}, {"enum", read_values}, {"const", read_values}, {"minimum", read_bound}, {"maximum", read_bound}, {"exclusiveMinimum", read_bound},
    {"exclusiveMaximum", read_bound}, {"multipleOf", read_multiple}, {"minLength", read_count<&SchemaLimits::min_length>}, {"maxLength", read_count<&SchemaLimits::max_length>},
    {"pattern", read_pattern}, {"format", read_format}, {"required", read_required}, {"properties", read_members}, {"patternProperties", read_members},
    {"additionalProperties", read_members}, {"propertyNames", read_names}, {"minProperties", read_count<&SchemaLimits::min_properties>},
    {"maxProperties", read_count<&SchemaLimits::max_properties>}, {"items", read_items}, {"prefixItems", read_items}, {"minItems", read_count<&SchemaLimits::min_items>},
    {"maxItems", read_count<&SchemaLimits::max_items>}, {"uniqueItems", read_unique}, {"contains", read_contains},
    // Of the drafts, but not enforced: dynamic scopes, and draft 3.
    {"$dynamicRef", refuse_keyword}, {"$recursiveRef", refuse_keyword}, {"extends", refuse_keyword}, {"disallow", refuse_keyword}, {"divisibleBy", refuse_keyword}};

// In the order in which they are applied. "then" and "else" belong to "if"; minContains and maxContains to "contains", additionalItems to "items".
constexpr std::string_view kApplicators[] = {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentRequired", "dependentSchemas", "dependencies",
                                             "unevaluatedProperties", "unevaluatedItems", "then", "else", "minContains", "maxContains", "additionalItems"};

}  // namespace

bool is_applicator(std::string_view keyword) { return std::ranges::find(kApplicators, keyword) != std::end(kApplicators); }

bool is_annotation(std::string_view keyword) { return !is_applicator(keyword) && std::ranges::find(kKeywords, keyword, &Keyword::name) == std::end(kKeywords); }

Result<SchemaLimits> own_limits(SchemaPlaces& places, int place) {
  SchemaLimits limits;
  limits.place = place;
  for (const auto& [name, value] : simdjson::dom::object(places[place].schema)) {
    const auto keyword = std::ranges::find(kKeywords, name, &Keyword::name);
    if (keyword == std::end(kKeywords)) continue;
    Context context{places, place, name, value, limits};
    TRY_STATUS(keyword->read(context));
  }
  limits.settle();
  return limits;
}
