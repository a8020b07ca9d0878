// table: request bodies as tables of rows: one walk that checks and stores the fields, and the schema of the same rows.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>
#include "core/json.h"
#include "core/json_writer.h"
#include "wire/exchange.h"

using Fault = std::optional<ApiError>;       // what is wrong with a request, or nothing
Fault fault(std::string param, std::string message, std::string code = "invalid_value");
Fault wrong_type(const std::string& param, std::string_view expected, JsonView seen);  // "stop must be a string, not null"
Json copy(JsonView value);
const char* kind_name(JsonView value);       // "a string", "null", … for messages

inline constexpr double int_max = 2147483647, no_limit = 1e19;

// What every reader of a table needs to know of one field. null counts as absent.
struct Field {
  enum class Kind : uint8_t { boolean, integer, number, text, word, text_list, object, array, any };
  const char* name;
  Kind kind;
  double low = 0, high = no_limit;           // of a number; of a text, how many bytes; of a list, how many entries
  const char* summary = "";                  // one phrase, for /openapi.json
  const char* words = nullptr;               // of a word: those allowed, separated by spaces
  Json (*inner)() = nullptr;                 // schema of an object, list or any
  bool refused = false;                      // only its neutral value is accepted
};

// A value of the field's kind, inside its range.
struct FieldValue {
  std::string name;                          // with the names of the objects around it: "options.top_k"
  JsonView json;
  bool flag = false;
  int64_t integer = 0;
  double number = 0;
  std::string text;                          // of a text or word
  std::vector<std::string> list;             // of a text_list
  float real() const { return static_cast<float>(number); }
  int small() const { return static_cast<int>(integer); }
};

template <class T> struct Row {
  Field field;
  Fault (*store)(T& out, const FieldValue& value);
};

// One JSON object being read by rows, one table after another.
class FieldReader {
 public:
  explicit FieldReader(JsonView object, std::string prefix = "") : object_(object), prefix_(std::move(prefix)) {}
  // In the order of the rows; the first fault ends it. `out` may derive from what the rows store into.
  template <class Rows, class T> Fault read(const Rows& rows, T& out) {
    for (const auto& row : rows) {
      known_.insert(row.field.name);
      const auto json = find(object_, row.field.name);
      if (!json) continue;
      FieldValue value;
      if (auto wrong = check(row.field, *json, value)) return wrong;
      if (auto wrong = row.store(out, value)) return wrong;
    }
    return std::nullopt;
  }
  // What no row reads, in the order given; `unknown`: what nothing here knows by that name either.
  void list_unknown(std::vector<std::string>& ignored, std::vector<std::string>& unknown) const;

 private:
  Fault check(const Field& field, JsonView json, FieldValue& value) const;
  JsonView object_;
  std::string prefix_;
  std::unordered_set<std::string_view> known_;
};

// An object without a repeated key at any depth, or a 400.
Fault parse_body(std::string_view bytes, JsonDocument& out);
// With `strict`: the first ignored name that promised something about the answer.
Fault refuse_ignored(const std::vector<std::string>& ignored);
bool is_tolerated(std::string_view name);    // user, metadata, …: they promise nothing about the text, and are never refused nor passed on
std::span<const std::string_view> tolerated_fields();

// ---- the same rows, described ----
Json schema_of(const Field& field);
template <class Rows> void add_schemas(const Rows& rows, Json& properties) {
  for (const auto& row : rows) properties[row.field.name] = schema_of(row.field);
}
template <class Rows> Json object_schema(const Rows& rows) {
  Json properties = Json::object();
  add_schemas(rows, properties);
  return {{"type", "object"}, {"properties", std::move(properties)}};
}
template <class Rows> void add_effects(const Rows& rows, Json& fields) {  // {FIELD: "honoured" | "refused"}
  for (const auto& row : rows) fields[row.field.name] = row.field.refused ? "refused" : "honoured";
}
