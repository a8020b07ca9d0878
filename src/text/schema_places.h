// schema places: the subschemas of a JSON Schema, by their JSON Pointers, and where references lead.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include "core/json.h"

struct SchemaPlace {
  JsonView schema;
  std::string pointer;   // from the root; unique
  std::string base;      // URI that references here are relative to; "" for none
  std::string resource;  // pointer of the schema that `base` names
};

class SchemaPlaces {
 public:
  explicit SchemaPlaces(JsonDocument document);
  const SchemaPlace& operator[](int place) const { return places_[static_cast<size_t>(place)]; }
  int root() const { return 0; }
  size_t size() const { return places_.size(); }
  // The subschema that a keyword of `place` holds, or holds under `key`.
  int child(int place, std::string_view keyword, JsonView schema) { return add(place, pointer_to(place, keyword), schema); }
  int child(int place, std::string_view keyword, std::string_view key, JsonView schema) { return add(place, pointer_to(place, keyword, key), schema); }
  int child(int place, std::string_view keyword, size_t index, JsonView schema) { return child(place, keyword, std::to_string(index), schema); }
  // What a reference at `place` names. unsupported: another document; invalid_request: nothing.
  Result<int> resolve(int place, std::string_view reference);

  Error refuse(int place, std::string_view construct) const;                     // … uses CONSTRUCT
  Error invalid(int place, std::string_view wrong) const;                        // … WRONG
  std::string shown(int place) const;                                            // its pointer as messages show it

 private:
  std::string pointer_to(int place, std::string_view keyword) const;
  std::string pointer_to(int place, std::string_view keyword, std::string_view key) const;
  int add(int parent, std::string pointer, JsonView schema);
  Result<int> at(int from, std::string_view pointer);
  void find_names(JsonView value, const std::string& pointer, std::string base);

  JsonDocument document_;
  std::deque<SchemaPlace> places_;
  std::unordered_map<std::string, int> by_pointer_;
  std::map<std::string, std::string, std::less<>> named_;  // absolute URI, with an anchor's fragment -> pointer
};
