// routes: the table of methods, paths and handlers; every dialect adds its rows to it.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "wire/exchange.h"

// One row. A dialect offers `void add_routes(Routes& routes)`; the first row that matches is used, and 404, 405 and Allow come from the table.
//   routes.push_back({"POST", "/api/chat", [this](Exchange& exchange) { chat(exchange); }, ollama_error});
struct Route {
  std::string method;                       // GET answers HEAD too, unless HEAD has a row of its own
  std::string pattern;                      // {name} stands for one segment, {name...} at the end for all that is left, slashes too: exchange.part("name")
  std::function<void(Exchange&)> handler;   // may block; runs on a thread of its own
  ErrorShape errors = to_json;              // how this dialect words errors, also those found before the handler runs
  bool open = false;                        // asks for no API key
  Json (*schema)() = nullptr;               // of the request's body, for /openapi.json
  bool infers = false;                      // a model reads what it is sent: each request is one decision of a privacy gate, or is turned away
};
using Routes = std::vector<Route>;

struct RouteMatch {
  const Route* route = nullptr;             // null: no row has this path
  bool method_allowed = false;              // false: `route` is one of the path's rows, and `allowed` says which methods it has
  std::string allowed;                      // "GET, HEAD, OPTIONS"
  Headers parts;                            // the named parts of the path
};
RouteMatch find_route(const Routes& routes, std::string_view method, std::string_view path);
