// fuzz request: arbitrary bytes as bodies of chat completions, completions and Responses; must never crash, throw or leak.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include "wire/fields.h"
#include "wire/responses_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 65536) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const ModelInfo model;
  for (const Dialect dialect : {Dialect::chat, Dialect::completions}) {
    ParsedRequest request;
    if (!parse_request(dialect, body, request)) static_cast<void>(settle_for(model, request));
  }
  ResponsesRequest request;
  const ItemSource stored = {[](const std::string&) { return std::optional(Json::array({Json{{"type", "message"}, {"role", "user"}, {"content", "x"}}})); },
                             [](const std::string&) { return std::optional<Json>(); }};
  if (!parse_responses(body, stored, request)) static_cast<void>(settle_for(model, request));
  return 0;
}
