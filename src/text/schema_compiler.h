// schema compiler: grammars of the JSON texts that a schema allows.
//
// What is written is a subset of what is allowed where that helps a model or keeps grammars small; every text of the grammar validates:
// - members come in the order in which the schema declares them, optional ones may be left out, others come last;
// - members that a schema neither names nor mentions are offered only where it says so (additionalProperties, unevaluatedProperties, patternProperties),
//   where it declares no properties at all, or where minProperties needs them; items beyond prefixItems likewise;
// - names, and strings under patterns, formats or exclusions, have one spelling; integers no point or exponent; see number_grammar.h and json_grammar.h.
#pragma once
#include <map>
#include "text/json_grammar.h"
#include "text/schema_meaning.h"

class SchemaCompiler {
 public:
  using Node = GrammarBuilder::Node;
  using Texts = std::optional<Node>;  // nullopt: no text at all

  SchemaCompiler(GrammarBuilder& builder, SchemaPlaces& places) : builder_(builder), places_(places), meaning_(places, builder), parts_(builder) {}
  Result<Texts> texts(const SchemaTerms& terms);
  int first_empty() const { return first_empty_; }  // a place that allows nothing; -1: none

 private:
  struct State {
    Node rule = -1;
    bool done = false, referred = false;
    Texts texts{};
  };
  struct Member {
    std::string name;
    bool required = false;
    Node node = -1;  // name, colon, value
  };
  struct Extra {
    Node node = -1;
  };
  struct Object;    // schema_object.cpp
  struct Sequence;  // schema_array.cpp

  Result<Texts> alternatives_of(const SchemaTerms& terms);
  Result<Texts> texts(const SchemaLimits& limits);
  Result<Texts> one_type(const SchemaLimits& limits, JsonType type);
  Result<Texts> values(const SchemaLimits& limits);
  Result<Texts> strings(const SchemaLimits& limits);
  Result<Texts> numbers(const SchemaLimits& limits);
  Result<Texts> objects(const SchemaLimits& limits);
  Result<Texts> arrays(const SchemaLimits& limits);
  Result<std::optional<std::vector<Member>>> declared_members(const SchemaLimits& limits);
  Result<std::optional<Node>> extra_members(const SchemaLimits& limits, bool needed);
  Result<Node> extra_names(const SchemaLimits& limits, const Language& base, bool all_texts);
  Result<Texts> distinct_items(const SchemaLimits& limits);
  Result<Texts> containing_items(const SchemaLimits& limits);
  Result<std::optional<std::vector<JsonView>>> finite_values(const SchemaTerms& terms);
  Texts either(const std::vector<Node>& ways) { return ways.empty() ? Texts() : Texts(builder_.choice(ways)); }

  GrammarBuilder& builder_;
  SchemaPlaces& places_;
  SchemaMeaning meaning_;
  JsonParts parts_;
  std::map<SchemaTerms, State> states_;
  int depth_ = 0;
  int first_empty_ = -1;
};
void write_json(JsonView value, std::string& out);  // compact, in the canonical spelling
