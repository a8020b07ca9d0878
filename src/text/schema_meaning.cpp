// schema meaning: from applicators to alternatives, as they stand and negated.
#include "text/schema_meaning.h"

#include <algorithm>

static constexpr size_t kMostAlternatives = 256;
static constexpr size_t kMostWork = 20'000;  // merged alternatives in all
static constexpr size_t kMostNested = 64;    // applicators and references within each other

using simdjson::dom::array;
using simdjson::dom::object;

static void append(SchemaAlternatives& to, const SchemaAlternatives& from) { to.insert(to.end(), from.begin(), from.end()); }

static std::string quoted(std::string_view keyword) { return "\"" + std::string(keyword) + "\""; }

Result<SchemaAlternatives> SchemaMeaning::cross(const SchemaAlternatives& a, const SchemaAlternatives& b, int place) {
  SchemaAlternatives out;
  for (const SchemaLimits& first : a)
    for (const SchemaLimits& second : b) {
      SchemaLimits both = first;
      both.merge(second);
      if (both.types != 0) out.push_back(std::move(both));
      if (out.size() > kMostAlternatives || ++work_ > kMostWork) return places_.refuse(place, "more alternatives than a grammar should have");
    }
  return out;
}

Result<const SchemaAlternatives*> SchemaMeaning::alternatives(const SchemaTerms& terms) {
  if (const auto known = known_.find(terms); known != known_.end()) return known->second.get();
  SchemaAlternatives all{{}};
  if (!terms.empty()) all[0].place = terms[0].place;
  for (const SchemaTerm& term : terms) {
    TRY(const auto one, of_term(term));
    TRY(all, cross(all, one, term.place));
  }
  return (known_[terms] = std::make_unique<SchemaAlternatives>(std::move(all))).get();
}

Result<SchemaAlternatives> SchemaMeaning::of_term(SchemaTerm term) {
  if (const auto known = known_terms_.find(term); known != known_terms_.end()) return known->second;
  if (std::ranges::find(active_, term) != active_.end()) return places_.invalid(term.place, "refers to itself without end");
  if (active_.size() > kMostNested || ++work_ > kMostWork) return places_.refuse(term.place, "more nested references and alternatives than a grammar should have");
  active_.push_back(term);
  auto out = term.negated ? negative(term.place) : positive(term.place);
  active_.pop_back();
  if (out) known_terms_[term] = *out;
  return out;
}

Result<SchemaAlternatives> SchemaMeaning::positive(int place) {
  const JsonView schema = places_[place].schema;
  if (schema.is_bool()) return bool(schema) ? SchemaAlternatives{{}} : SchemaAlternatives{};
  object members;
  if (schema.get(members) != simdjson::SUCCESS) return places_.invalid(place, "is neither an object nor a boolean");
  TRY(SchemaLimits own, own_limits(places_, place));
  SchemaAlternatives all;
  if (own.types != 0) all.push_back(std::move(own));
  for (const auto& [keyword, value] : members) {
    if (!is_applicator(keyword)) continue;
    TRY(const auto more, applied(place, keyword, value));
    if (more.size() == 1 && more[0].is_any()) continue;
    TRY(all, cross(all, more, place));
  }
  TRY_STATUS(close_unevaluated(place, all));
  return all;
}

Result<SchemaAlternatives> SchemaMeaning::applied(int place, std::string_view keyword, JsonView value) {
  if (keyword == "$ref") {
    std::string_view reference;
    if (value.get(reference) != simdjson::SUCCESS) return places_.invalid(place, "has a \"$ref\" that is not a string");
    TRY(const int target, places_.resolve(place, reference));
    return of_term({target, false});
  }
  if (keyword == "allOf") return all_of(place, keyword, value, false);
  if (keyword == "anyOf") return any_of(place, keyword, value, false);
  if (keyword == "oneOf") return one_of(place, value);
  if (keyword == "not") return of_term({places_.child(place, keyword, value), true});
  if (keyword == "if") return conditional(place);
  if (keyword.starts_with("depend")) return dependent(place, keyword, value);
  return SchemaAlternatives{{}};  // belongs to another keyword
}

Result<std::vector<int>> SchemaMeaning::list_places(int place, std::string_view keyword, JsonView list) {
  array items;
  if (list.get(items) != simdjson::SUCCESS || items.begin() == items.end()) return places_.invalid(place, "has a " + quoted(keyword) + " that is not a list of schemas");
  std::vector<int> out;
  for (const JsonView item : items) out.push_back(places_.child(place, keyword, out.size(), item));
  return out;
}

Result<SchemaAlternatives> SchemaMeaning::all_of(int place, std::string_view keyword, JsonView list, bool negated) {
  TRY(const auto branches, list_places(place, keyword, list));
  SchemaAlternatives all{{}};
  all[0].place = place;
  for (const int branch : branches) {
    TRY(const auto one, of_term({branch, negated}));
    TRY(all, cross(all, one, place));
  }
  return all;
}

Result<SchemaAlternatives> SchemaMeaning::any_of(int place, std::string_view keyword, JsonView list, bool negated) {
  TRY(const auto branches, list_places(place, keyword, list));
  SchemaAlternatives all;
  for (const int branch : branches) {
    TRY(const auto one, of_term({branch, negated}));
    append(all, one);
  }
  if (all.size() > kMostAlternatives) return places_.refuse(place, "more alternatives than a grammar should have");
  return all;
}

// Exactly one: each branch without those it may share values with.
Result<SchemaAlternatives> SchemaMeaning::one_of(int place, JsonView list) {
  TRY(const auto branches, list_places(place, "oneOf", list));
  std::vector<SchemaAlternatives> each;
  for (const int branch : branches) {
    TRY(auto one, of_term({branch, false}));
    each.push_back(std::move(one));
  }
  const auto overlap = [&](size_t i, size_t j) -> Result<bool> {
    TRY(const auto both, cross(each[i], each[j], place));
    for (const SchemaLimits& limits : both) {
      TRY(const bool none, impossible(limits));
      if (!none) return true;
    }
    return false;
  };
  SchemaAlternatives all;
  std::vector<SchemaAlternatives> alone = each;
  for (size_t i = 0; i < branches.size(); ++i)
    for (size_t j = i + 1; j < branches.size(); ++j) {
      TRY(const bool shared, overlap(i, j));
      if (!shared) continue;
      const auto not_second = of_term({branches[j], true}), not_first = of_term({branches[i], true});
      if (!not_first || !not_second) return places_.refuse(place, "\"oneOf\" with alternatives that one value may satisfy together");
      TRY(alone[i], cross(alone[i], *not_second, place));
      TRY(alone[j], cross(alone[j], *not_first, place));
    }
  for (const auto& branch : alone) append(all, branch);
  if (all.size() > kMostAlternatives) return places_.refuse(place, "more alternatives than a grammar should have");
  return all;
}

Result<SchemaAlternatives> SchemaMeaning::conditional(int place) {
  const JsonView schema = places_[place].schema;
  JsonView condition, then_schema, else_schema;
  if (schema.at_key("if").get(condition) != simdjson::SUCCESS) return SchemaAlternatives{{}};
  const bool has_then = schema.at_key("then").get(then_schema) == simdjson::SUCCESS, has_else = schema.at_key("else").get(else_schema) == simdjson::SUCCESS;
  if (!has_then && !has_else) return SchemaAlternatives{{}};
  const int test = places_.child(place, "if", condition);
  TRY(auto holds, of_term({test, false}));
  auto fails = of_term({test, true});
  if (!fails) return places_.refuse(place, "an \"if\" whose opposite cannot be told");
  if (has_then) {
    TRY(const auto then_holds, of_term({places_.child(place, "then", then_schema), false}));
    TRY(holds, cross(holds, then_holds, place));
  }
  if (has_else) {
    TRY(const auto else_holds, of_term({places_.child(place, "else", else_schema), false}));
    TRY(*fails, cross(*fails, else_holds, place));
  }
  append(holds, *fails);
  return holds;
}

// For each name: it is missing, or it is there and what depends on it holds.
Result<SchemaAlternatives> SchemaMeaning::dependent(int place, std::string_view keyword, JsonView value) {
  object members;
  if (value.get(members) != simdjson::SUCCESS) return places_.invalid(place, "has a " + quoted(keyword) + " that is not an object");
  SchemaAlternatives all{{}};
  for (const auto& [name, what] : members) {
    SchemaLimits missing, there;
    missing.place = there.place = place;
    missing.forbidden.insert(std::string(name));
    there.require(name);
    SchemaAlternatives with{there};
    if (array names; what.get(names) == simdjson::SUCCESS) {
      for (const JsonView other : names) {
        std::string_view required;
        if (other.get(required) != simdjson::SUCCESS) return places_.invalid(place, "has a " + quoted(keyword) + " that does not list names");
        with[0].require(required);
      }
    } else {
      TRY(const auto schema, of_term({places_.child(place, keyword, name, what), false}));
      TRY(with, cross(with, schema, place));
    }
    with.insert(with.begin(), missing);
    TRY(all, cross(all, with, place));
  }
  return all;
}

// What this subschema and its applicators say nothing about falls to unevaluatedProperties and unevaluatedItems.
Status SchemaMeaning::close_unevaluated(int place, SchemaAlternatives& alternatives) {
  const JsonView schema = places_[place].schema;
  if (JsonView rest; schema.at_key("unevaluatedProperties").get(rest) == simdjson::SUCCESS)
    for (SchemaLimits& limits : alternatives) {
      ObjectRule closing{.rest = SchemaTerm{places_.child(place, "unevaluatedProperties", rest), false}};
      bool open = false;
      for (const ObjectRule& rule : limits.objects) {
        if (!rule.evaluates) continue;
        open = open || rule.rest;
        closing.properties.insert(closing.properties.end(), rule.properties.begin(), rule.properties.end());
        closing.patterns.insert(closing.patterns.end(), rule.patterns.begin(), rule.patterns.end());
      }
      if (!open) limits.objects.push_back(std::move(closing));
    }
  if (JsonView rest; schema.at_key("unevaluatedItems").get(rest) == simdjson::SUCCESS)
    for (SchemaLimits& limits : alternatives) {
      ArrayRule closing{.rest = SchemaTerm{places_.child(place, "unevaluatedItems", rest), false}};
      bool open = false;
      for (const ArrayRule& rule : limits.arrays) {
        if (!rule.evaluates) continue;
        open = open || rule.rest;
        if (rule.prefix.size() > closing.prefix.size()) closing.prefix = rule.prefix;
      }
      if (!open && !limits.contains.empty()) return places_.refuse(place, "\"unevaluatedItems\" beside \"contains\"");
      if (!open) limits.arrays.push_back(std::move(closing));
    }
  return ok_status();
}

Result<SchemaTerms> SchemaMeaning::member_terms(const SchemaLimits& limits, std::string_view name) {
  SchemaTerms terms;
  for (const ObjectRule& rule : limits.objects) {
    bool named = false;
    for (const auto& [property, term] : rule.properties)
      if (property == name) terms.push_back(term), named = true;
    for (const auto& [expression, term] : rule.patterns) {
      TRY(const Language* matching, pattern(term.place, expression));
      if (matching->contains(name)) terms.push_back(term), named = true;
    }
    if (!named && rule.rest) terms.push_back(*rule.rest);
  }
  return sorted_terms(std::move(terms));
}

SchemaTerms SchemaMeaning::item_terms(const SchemaLimits& limits, size_t index) const {
  SchemaTerms terms;
  for (const ArrayRule& rule : limits.arrays) {
    if (index < rule.prefix.size()) terms.push_back(rule.prefix[index]);
    else if (rule.rest) terms.push_back(*rule.rest);
  }
  return sorted_terms(std::move(terms));
}
