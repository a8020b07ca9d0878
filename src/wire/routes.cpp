// routes: matches a path against the patterns of the table.
#include "wire/routes.h"

#include <algorithm>

namespace {

// The named parts when `path` fits; a part is never empty.
std::optional<Headers> match(std::string_view pattern, std::string_view path) {
  Headers parts;
  while (!pattern.empty()) {
    const size_t open = pattern.find('{');
    if (open == std::string_view::npos) return pattern == path ? std::optional(std::move(parts)) : std::nullopt;
    if (!path.starts_with(pattern.substr(0, open))) return std::nullopt;
    path.remove_prefix(open);
    const size_t close = pattern.find('}', open);
    std::string_view name = pattern.substr(open + 1, close - open - 1);
    const bool rest = name.ends_with("...");
    if (rest) name.remove_suffix(3);
    const std::string_view value = rest ? path : path.substr(0, path.find('/'));
    if (value.empty()) return std::nullopt;
    parts.emplace_back(name, value);
    path.remove_prefix(value.size());
    pattern.remove_prefix(close + 1);
  }
  return path.empty() ? std::optional(std::move(parts)) : std::nullopt;
}

}  // namespace

RouteMatch find_route(const Routes& routes, std::string_view method, std::string_view path) {
  RouteMatch found;
  std::vector<std::string> methods;
  for (const Route& route : routes) {
    auto parts = match(route.pattern, path);
    if (!parts) continue;
    const bool exact = route.method == method;
    if (exact || (!found.method_allowed && method == "HEAD" && route.method == "GET")) {
      found = {&route, true, {}, std::move(*parts)};
      if (exact) return found;
    }
    if (found.route == nullptr) found.route = &route;
    methods.push_back(route.method);
    if (route.method == "GET") methods.push_back("HEAD");
  }
  if (found.route == nullptr || found.method_allowed) return found;
  methods.push_back("OPTIONS");
  for (size_t i = 0; i < methods.size(); ++i) {
    const bool again = std::find(methods.begin(), methods.begin() + static_cast<std::ptrdiff_t>(i), methods[i]) != methods.begin() + static_cast<std::ptrdiff_t>(i);
    if (!again) found.allowed += (found.allowed.empty() ? "" : ", ") + methods[i];
  }
  return found;
}
