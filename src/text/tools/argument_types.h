// argument types: what a tool's schema says about the values of its parameters, and text cast accordingly.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include "core/json.h"
#include "text/tools.h"

using TypeSet = uint8_t;  // of JSON's types; a number that must be whole has `integer` alone
inline constexpr TypeSet type_string = 1, type_integer = 2, type_fraction = 4, type_boolean = 8, type_null = 16, type_object = 32, type_array = 64;
inline constexpr TypeSet type_number = type_integer | type_fraction, type_any = 127;

// Types a value of `schema` may have, from type, enum, const, $ref, anyOf, oneOf and allOf; what is not understood allows any.
TypeSet types_of(JsonView schema, JsonView root, int depth = 0);

struct ToolTypes {
  std::map<std::string, TypeSet, std::less<>> parameters;
  TypeSet of(std::string_view parameter) const;  // any for one that is not declared
};
class ToolTable {
 public:
  explicit ToolTable(std::span<const ToolSpec> tools);
  const ToolTypes* find(std::string_view name) const;

 private:
  std::map<std::string, ToolTypes, std::less<>> tools_;
};

// The JSON text of a value that was written without JSON's types. Any type: JSON if it is one, else a string. Text that fits none
// of the types becomes a string: the client sees what the model wrote.
std::string cast_value(std::string_view text, TypeSet types);
