// json: reading JSON through simdjson's DOM (depth <= 1024, size bounded by the caller). Writing is core/json_writer.h.
#pragma once
#include <memory>
#include <optional>
#include <simdjson.h>
#include "core/core.h"

using JsonView = simdjson::dom::element;  // a look into a JsonDocument; valid as long as it lives

// A parsed document. Moving it keeps the views into it valid.
class JsonDocument {
 public:
  // `what` names the text in errors ("config.json of …"). Refuses more than max_bytes, 8 million values, depth beyond 1024, bad UTF-8, trailing bytes.
  static Result<JsonDocument> parse(std::string_view what, std::string_view text, size_t max_bytes = size_t{64} << 20);
  static Result<JsonDocument> read(const std::string& path, size_t max_bytes = size_t{64} << 20);
  JsonView root() const { return root_; }

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;
  JsonView root_;
};

// Lookups that never throw: nullopt when the key is absent, null, or of another type.
std::optional<JsonView> find(JsonView object, std::string_view key);  // absent or null -> nullopt
std::optional<int64_t> find_int(JsonView object, std::string_view key);       // accepts 4 and 4.0
std::optional<double> find_double(JsonView object, std::string_view key);     // accepts any number
std::optional<bool> find_bool(JsonView object, std::string_view key);
std::optional<std::string_view> find_string(JsonView object, std::string_view key);
