// errors: the tables from Code, and from the codes of a privacy gate, to HTTP status, type and code.
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
    {Code::device, 503, "unavailable_error", "device"},
    {Code::io, 500, "server_error", "io"},
    {Code::internal, 500, "server_error", "internal"},
};

struct RouteRow {
  const char* code;
  int status;
  const char* type;
};
constexpr RouteRow route_rows[] = {
    {"privacy_refused", 403, "policy_violation"},
    {"consent_required", 428, "consent_required"},
    {"consent_invalid", 400, "invalid_request_error"},
    {"unsupported_for_cloud", 400, "invalid_request_error"},
    {"invalid_privacy_header", 400, "invalid_request_error"},
    {"upstream_failed", 502, "upstream_error"},
    {"upstream_timeout", 504, "upstream_error"},
};

// "messages[1].content[0].type: …": an engine that cannot read a message says which; "" when the text names no place.
std::string place_in(const std::string& message) {
  const size_t end = message.find(": ");
  return message.starts_with("messages[") && end != std::string::npos && message.find(' ') > end ? message.substr(0, end) : "";
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

Json to_json(const ApiError& error) {
  Json inner = {{"message", error.message}, {"type", error.type}, {"param", or_null(error.param)}, {"code", or_null(error.code)}};
  if (error.more.is_object()) inner.update(error.more);
  return {{"error", std::move(inner)}};
}

ApiError to_api_error(const Error& error) {
  for (const CodeRow& row : code_rows) {
    if (row.code == error.code) return {row.status, error.message, row.type, place_in(error.message), row.name, Json()};
  }
  return {500, error.message, "server_error", "", "", Json()};
}

std::optional<ApiError> to_api_error(const RouteReport& report, const Error& error) {
  if (report.code.empty()) return std::nullopt;
  Json more = Json::object();
  if (report.upstream_status != 0) more["upstream_status"] = report.upstream_status;
  if (!report.privacy_json.empty()) {
    Json privacy = Json::parse(report.privacy_json, nullptr, false);
    if (privacy.is_object()) more["privacy"] = std::move(privacy);
  }
  for (const RouteRow& row : route_rows) {
    if (report.code == row.code) return ApiError{row.status, error.message, row.type, report.param, report.code, std::move(more), true};
  }
  ApiError other = to_api_error(error);
  other.more = std::move(more);
  other.by_gate = true;
  return other;
}
