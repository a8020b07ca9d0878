// errors: what went wrong, as an API words it; the one table from Code to HTTP status.
#pragma once
#include <string>
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
};
Json to_json(const ApiError& error);           // {"error":{…}}
using ErrorShape = Json (*)(const ApiError&);  // how a dialect words an error
ApiError to_api_error(const Error& error);
