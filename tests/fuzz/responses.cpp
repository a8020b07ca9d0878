// fuzz responses: arbitrary bytes as bodies of the Responses API, over a stored conversation; must never crash, throw or leak.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include "wire/responses_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 65536) return 0;
  ResponsesRequest request;
  const ItemSource stored = {[](const std::string&) { return std::optional(Json::array({Json{{"type", "message"}, {"role", "user"}, {"content", "x"}}})); },
                             [](const std::string& id) { return id.empty() ? std::nullopt : std::optional(Json{{"type", "reasoning"}, {"id", id}}); }};
  if (!parse_responses(std::string_view(reinterpret_cast<const char*>(data), size), stored, request)) static_cast<void>(settle_for(ModelInfo(), request));
  return 0;
}
