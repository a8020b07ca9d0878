// schema limits: what one alternative of a schema asks of a value, after all its keywords were brought together.
#pragma once
#include <compare>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include "text/number_grammar.h"

// A subschema that must hold, or must not.
struct SchemaTerm {
  int place = 0;
  bool negated = false;
  auto operator<=>(const SchemaTerm&) const = default;
};
using SchemaTerms = std::vector<SchemaTerm>;  // all of them hold; sorted, each once
SchemaTerms sorted_terms(SchemaTerms terms);

// Integers are bits apart from other numbers.
enum JsonType : uint8_t { null_type = 1, boolean_type = 2, object_type = 4, array_type = 8, string_type = 16, integer_type = 32, fraction_type = 64, any_type = 127 };
inline constexpr uint8_t number_type = integer_type | fraction_type;

// What one subschema says about members of an object.
struct ObjectRule {
  std::vector<std::pair<std::string, SchemaTerm>> properties{}, patterns{};
  std::optional<SchemaTerm> rest{};  // for members that neither names
  bool evaluates = true;           // its members count as evaluated, and are offered; not so for what a "not" says
};

struct ArrayRule {
  std::vector<SchemaTerm> prefix{};
  std::optional<SchemaTerm> rest{};
  bool evaluates = true;
};

struct ContainsRule {
  SchemaTerm item;
  int64_t least = 1, most = -1;
};

struct TextPattern {
  std::string pattern;
  bool negated = false;
  int place = 0;
};

struct SchemaLimits {
  int place = 0;  // for messages
  uint8_t types = any_type;
  std::optional<std::vector<JsonView>> values;  // one of these
  std::vector<JsonView> excluded;               // none of these
  NumberLimits numbers;                         // of `numbers` only the bounds and multiples count
  int64_t min_length = 0, max_length = -1;      // < 0: no limit
  std::vector<TextPattern> patterns;
  std::vector<std::string> formats;
  std::vector<ObjectRule> objects;
  SchemaTerms names;
  std::vector<std::string> required;
  std::set<std::string> forbidden;
  int64_t min_properties = 0, max_properties = -1;
  std::vector<ArrayRule> arrays;
  int64_t min_items = 0, max_items = -1;
  bool unique = false;
  std::vector<ContainsRule> contains;

  bool is_any() const;  // nothing is asked
  void require(std::string_view name);
  void merge(const SchemaLimits& other);  // both hold
  void settle();                          // types whose limits contradict each other go
};
uint8_t type_of(JsonView value);
bool equal_json(JsonView a, JsonView b);  // 1 equals 1.0, members in any order
