// errors: the table from Code to HTTP status, type and code.
#include "wire/errors.h"

namespace {

struct CodeRow {
  Code code;
  int status;
  const char* type;
  const char* name;  // the answer's `code`; "": null
};
constexpr CodeRow code_rows[] = {
    {Code::invalid_request, 400, "invalid_request_error", ""},
    {Code::not_found, 404, "not_found_error", "not_found"},
    {Code::too_large, 400, "invalid_request_error", "context_length_exceeded"},
    {Code::overloaded, 429, "rate_limit_error", "overloaded"},
    {Code::cancelled, 503, "unavailable_error", "cancelled"},
    {Code::denied, 403, "permission_error", "denied"},
    {Code::unsupported, 400, "invalid_request_error", "unsupported"},
    {Code::corrupt_file, 500, "server_error", "corrupt_file"},
    {Code::device, 500, "server_error", "device"},
    {Code::io, 500, "server_error", "io"},
    {Code::internal, 500, "server_error", "internal"},
};

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

Json to_json(const ApiError& error) {
  Json inner = {{"message", error.message}, {"type", error.type}, {"param", or_null(error.param)}, {"code", or_null(error.code)}};
  if (error.more.is_object()) inner.update(error.more);
  return {{"error", std::move(inner)}};
}

ApiError to_api_error(const Error& error) {
  for (const CodeRow& row : code_rows) {
    if (row.code == error.code) return {row.status, error.message, row.type, "", row.name, Json()};
  }
  return {500, error.message, "server_error", "", "", Json()};
}
