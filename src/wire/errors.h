// errors: what went wrong, as an API words it; the one table from Code, or from what a privacy gate says, to HTTP status.
#pragma once
#include <optional>
#include <string>
#include "chat/chat.h"
#include "core/core.h"
#include "core/json_writer.h"

// A failure as the OpenAI dialect words it.
struct ApiError {
  int status = 400;
  std::string message;
  std::string type = "invalid_request_error";
  std::string param;        // "": null
  std::string code;         // "": null
  Json more;                // further members of the error object, or null
  bool by_gate = false;     // said by a privacy gate: every dialect carries code, param and further members
};
Json to_json(const ApiError& error);           // {"error":{…}}
using ErrorShape = Json (*)(const ApiError&);  // how a dialect words an error
ApiError to_api_error(const Error& error);
// What failed by a decision of a privacy gate or by its upstream; nothing when the report names no failure.
std::optional<ApiError> to_api_error(const RouteReport& report, const Error& error);
