// schema meaning: what a schema's keywords amount to: alternatives of limits, and whether a value keeps them.
#pragma once
#include <map>
#include <memory>
#include "text/language.h"
#include "text/schema_limits.h"
#include "text/schema_places.h"

using SchemaAlternatives = std::vector<SchemaLimits>;  // one of them holds; none: nothing does

// References, allOf, anyOf, oneOf, not, if, dependentRequired and dependentSchemas are brought to alternatives here, so that whoever makes
// grammars sees limits alone. What cannot be brought to that is refused by name.
class SchemaMeaning {
 public:
  SchemaMeaning(SchemaPlaces& places, GrammarBuilder& builder) : places_(places), builder_(builder) {}

  Result<const SchemaAlternatives*> alternatives(const SchemaTerms& terms);  // valid as long as this lives
  // What the member `name` must satisfy besides being there.
  Result<SchemaTerms> member_terms(const SchemaLimits& limits, std::string_view name);
  SchemaTerms item_terms(const SchemaLimits& limits, size_t index) const;
  Result<bool> satisfies(JsonView value, const SchemaTerms& terms);
  Result<bool> satisfies(JsonView value, const SchemaLimits& limits);
  Result<bool> name_satisfies(std::string_view name, const SchemaTerms& terms);
  // The strings that are allowed: all limits on text, and the values.
  Result<Language> texts(const SchemaLimits& limits);
  Result<Language> texts(const SchemaTerms& terms);
  Result<const Language*> pattern(int place, const std::string& pattern);
  Result<const Language*> format(int place, const std::string& name);
  // Automata made for one schema share a budget, so that no schema takes seconds; `made` is one of them, or why there is none.
  Result<Language> spend(int place, Result<Language> made);
  // Plainly no value satisfies them. False when that is not plain.
  Result<bool> impossible(SchemaLimits limits, int depth = 0);

 private:
  Result<SchemaAlternatives> of_term(SchemaTerm term);
  Result<SchemaAlternatives> positive(int place);
  Result<SchemaAlternatives> negative(int place);
  Result<SchemaAlternatives> negated_keyword(int place, std::string_view keyword, JsonView value);
  Result<SchemaAlternatives> negated_bound(int place, std::string_view keyword, JsonView value);
  Result<SchemaAlternatives> negated_members(int place, std::string_view keyword, JsonView value);
  Result<SchemaAlternatives> cross(const SchemaAlternatives& a, const SchemaAlternatives& b, int place);
  Result<SchemaAlternatives> all_of(int place, std::string_view keyword, JsonView list, bool negated);
  Result<SchemaAlternatives> any_of(int place, std::string_view keyword, JsonView list, bool negated);
  Result<SchemaAlternatives> one_of(int place, JsonView list);
  Result<SchemaAlternatives> conditional(int place);
  Result<SchemaAlternatives> dependent(int place, std::string_view keyword, JsonView object);
  Result<SchemaAlternatives> applied(int place, std::string_view keyword, JsonView value);
  Status close_unevaluated(int place, SchemaAlternatives& alternatives);
  Result<std::vector<int>> list_places(int place, std::string_view keyword, JsonView list);
  Result<bool> object_satisfies(simdjson::dom::object object, const SchemaLimits& limits);
  Result<bool> array_satisfies(simdjson::dom::array items, const SchemaLimits& limits);
  Result<bool> text_satisfies(std::string_view text, const SchemaLimits& limits);
  Result<bool> number_satisfies(const Decimal& number, const SchemaLimits& limits);

  SchemaPlaces& places_;
  GrammarBuilder& builder_;
  std::map<SchemaTerms, std::unique_ptr<SchemaAlternatives>> known_;
  std::map<SchemaTerm, SchemaAlternatives> known_terms_;
  std::vector<SchemaTerm> active_;  // being brought to alternatives
  std::map<std::string, Language, std::less<>> languages_;  // by pattern
  size_t work_ = 0;                 // merged alternatives so far
  size_t states_ = 0;               // of automata so far
};

// The limits that the keywords of one subschema state by themselves, those of schema_meaning aside.
Result<SchemaLimits> own_limits(SchemaPlaces& places, int place);
bool is_applicator(std::string_view keyword);   // brought to alternatives by SchemaMeaning
bool is_annotation(std::string_view keyword);   // says nothing about the value; words that no draft knows are annotations too

struct SchemaFormat {
  std::string_view name;
  std::string_view pattern;  // "": known, but not enforced here
};
const SchemaFormat* find_schema_format(std::string_view name);  // null: a format that no draft knows, which is an annotation
