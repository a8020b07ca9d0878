// schema check: whether a value keeps limits, and which texts do; for enumerations, property names and contradictions.
#include <algorithm>

#include "text/schema_meaning.h"

using simdjson::dom::array;
using simdjson::dom::object;

static constexpr int kMostDepth = 4;                 // of required members looked into for a contradiction
static constexpr size_t kMostStatesInAll = 150'000;  // of the automata of one schema
static constexpr size_t kStatesOfAny = 30;           // what the making of a small one counts at least

static int64_t characters_in(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

Result<Language> SchemaMeaning::spend(int place, Result<Language> made) {
  states_ += made ? made->size() + kStatesOfAny : Language::kMostStates;
  if (states_ > kMostStatesInAll) return places_.refuse(place, "more patterns, formats and names than a grammar should have");
  if (!made && !made.error().message.starts_with("cannot")) return places_.refuse(place, "limits on a text that need " + made.error().message);
  return made;
}

Result<const Language*> SchemaMeaning::pattern(int place, const std::string& pattern) {
  if (const auto known = languages_.find(pattern); known != languages_.end()) return &known->second;
  const auto unsupported = [&](const Error& error) { return places_.refuse(place, "a \"pattern\" that is not supported (" + error.message + ")"); };
  const auto node = builder_.regex(pattern, false);
  if (!node) return node.error().code == Code::invalid_request ? places_.invalid(place, "has a \"pattern\" that is none (" + node.error().message + ")") : unsupported(node.error());
  TRY(Language language, spend(place, Language::of(builder_, *node)));
  return &(languages_[pattern] = std::move(language));
}

Result<const Language*> SchemaMeaning::format(int place, const std::string& name) {
  const SchemaFormat* format = find_schema_format(name);
  CHECK(format);
  return pattern(place, std::string(format->pattern));
}

Result<Language> SchemaMeaning::texts(const SchemaLimits& limits) {
  Language out = Language::text();
  if ((limits.types & string_type) == 0) return Language();
  for (const TextPattern& rule : limits.patterns) {
    TRY(const Language* matching, pattern(rule.place, rule.pattern));
    TRY(out, spend(rule.place, Language::combine(out, *matching, rule.negated ? Language::Keep::first_only : Language::Keep::both)));
  }
  for (const std::string& name : limits.formats) {
    TRY(const Language* matching, format(limits.place, name));
    TRY(out, spend(limits.place, Language::combine(out, *matching, Language::Keep::both)));
  }
  if (limits.min_length > 0 || limits.max_length >= 0) {
    TRY(out, spend(limits.place, out.of_length(limits.min_length, limits.max_length)));
  }
  std::vector<std::string> words;
  for (const JsonView value : limits.excluded)
    if (value.is_string()) words.emplace_back(std::string_view(value));
  if (!words.empty()) {
    TRY(out, spend(limits.place, Language::combine(out, Language::words(words), Language::Keep::first_only)));
  }
  if (!limits.values) return out;
  words.clear();
  for (const JsonView value : *limits.values)
    if (value.is_string()) words.emplace_back(std::string_view(value));
  return spend(limits.place, Language::combine(out, Language::words(words), Language::Keep::both));
}

Result<Language> SchemaMeaning::texts(const SchemaTerms& terms) {
  TRY(const auto* all, alternatives(terms));
  Language out;
  for (const SchemaLimits& limits : *all) {
    TRY(const Language one, texts(limits));
    TRY(out, spend(limits.place, Language::combine(out, one, Language::Keep::either)));
  }
  return out;
}

Result<bool> SchemaMeaning::text_satisfies(std::string_view text, const SchemaLimits& limits) {
  const int64_t length = characters_in(text);
  if (length < limits.min_length || (limits.max_length >= 0 && length > limits.max_length)) return false;
  for (const TextPattern& rule : limits.patterns) {
    TRY(const Language* matching, pattern(rule.place, rule.pattern));
    if (matching->contains(text) == rule.negated) return false;
  }
  for (const std::string& name : limits.formats) {
    TRY(const Language* matching, format(limits.place, name));
    if (!matching->contains(text)) return false;
  }
  return true;
}

Result<bool> SchemaMeaning::number_satisfies(const Decimal& number, const SchemaLimits& limits) {
  const NumberLimits& numbers = limits.numbers;
  if (numbers.lower && (number < *numbers.lower || (numbers.lower_open && number == *numbers.lower))) return false;
  if (numbers.upper && (number > *numbers.upper || (numbers.upper_open && number == *numbers.upper))) return false;
  for (const Decimal& step : numbers.multiples) {
    const auto whole = is_multiple(number, step);
    if (!whole) return places_.refuse(limits.place, "a \"multipleOf\" with too many digits");
    if (!*whole) return false;
  }
  return true;
}

Result<bool> SchemaMeaning::object_satisfies(object members, const SchemaLimits& limits) {
  const auto count = static_cast<int64_t>(members.size());
  if (count < limits.min_properties || (limits.max_properties >= 0 && count > limits.max_properties)) return false;
  for (const std::string& name : limits.required)
    if (members.at_key(name).error() != simdjson::SUCCESS) return false;
  for (const auto& [name, value] : members) {
    if (limits.forbidden.contains(std::string(name))) return false;
    TRY(const bool named, name_satisfies(name, sorted_terms(limits.names)));
    if (!named) return false;
    TRY(const SchemaTerms terms, member_terms(limits, name));
    TRY(const bool kept, satisfies(value, terms));
    if (!kept) return false;
  }
  return true;
}

Result<bool> SchemaMeaning::array_satisfies(array items, const SchemaLimits& limits) {
  const std::vector<JsonView> list(items.begin(), items.end());
  const auto count = static_cast<int64_t>(list.size());
  if (count < limits.min_items || (limits.max_items >= 0 && count > limits.max_items)) return false;
  for (size_t i = 0; i < list.size(); ++i) {
    TRY(const bool kept, satisfies(list[i], item_terms(limits, i)));
    if (!kept) return false;
    for (size_t j = 0; limits.unique && j < i; ++j)
      if (equal_json(list[i], list[j])) return false;
  }
  for (const ContainsRule& rule : limits.contains) {
    int64_t found = 0;
    for (const JsonView item : list) {
      TRY(const bool one, satisfies(item, SchemaTerms{rule.item}));
      found += one;
    }
    if (found < rule.least || (rule.most >= 0 && found > rule.most)) return false;
  }
  return true;
}

Result<bool> SchemaMeaning::name_satisfies(std::string_view name, const SchemaTerms& terms) {
  TRY(const auto* all, alternatives(terms));
  for (const SchemaLimits& limits : *all) {
    if ((limits.types & string_type) == 0) continue;
    const auto is_name = [&](JsonView value) { return value.is_string() && std::string_view(value) == name; };
    if ((limits.values && std::ranges::none_of(*limits.values, is_name)) || std::ranges::any_of(limits.excluded, is_name)) continue;
    TRY(const bool kept, text_satisfies(name, limits));
    if (kept) return true;
  }
  return false;
}

Result<bool> SchemaMeaning::satisfies(JsonView value, const SchemaTerms& terms) {
  TRY(const auto* all, alternatives(terms));
  for (const SchemaLimits& limits : *all) {
    TRY(const bool kept, satisfies(value, limits));
    if (kept) return true;
  }
  return false;
}

Result<bool> SchemaMeaning::satisfies(JsonView value, const SchemaLimits& limits) {
  const uint8_t type = type_of(value);
  const auto equals = [&](JsonView other) { return equal_json(value, other); };
  if ((type & limits.types) == 0) return false;
  if ((limits.values && std::ranges::none_of(*limits.values, equals)) || std::ranges::any_of(limits.excluded, equals)) return false;
  if (type == string_type) return text_satisfies(std::string_view(value), limits);
  if (type == object_type) return object_satisfies(object(value), limits);
  if (type == array_type) return array_satisfies(array(value), limits);
  if ((type & number_type) != 0) return number_satisfies(Decimal::of(value), limits);
  return true;
}

Result<bool> SchemaMeaning::impossible(SchemaLimits limits, int depth) {
  if (limits.types == 0) return true;
  if (limits.values) {
    for (const JsonView value : *limits.values) {
      const auto kept = satisfies(value, limits);
      if (!kept || *kept) return false;
    }
    return true;
  }
  if (limits.types == string_type && limits.patterns.size() + limits.formats.size() > 1) {
    const auto left = texts(limits);
    return left && left->empty();
  }
  if (limits.types != object_type || depth >= kMostDepth) return false;
  for (const std::string& name : limits.required) {
    const auto terms = member_terms(limits, name);
    const auto all = terms ? alternatives(*terms) : Result<const SchemaAlternatives*>(terms.error());
    if (!all) return false;  // it is still being brought to alternatives, or it will be refused where it is used
    bool possible = false;
    for (const SchemaLimits& member : **all) {
      TRY(const bool none, impossible(member, depth + 1));
      possible = possible || !none;
    }
    if (!possible) return true;
  }
  return false;
}
