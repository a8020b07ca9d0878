// entrance: who may call what, how many at once, and what is written down about it.
#include "wire/entrance.h"

#include <algorithm>
#include <chrono>
#include <fmt/chrono.h>
#include "wire/backend.h"

namespace {

// A web page from elsewhere must not use the local model: a browser names its origin.
bool origin_accepted(std::string_view origin, const std::vector<std::string>& allowed) {
  if (origin.empty()) return true;
  const auto listed = [&](const std::string& name) { return name == "*" || name == origin; };
  if (std::any_of(allowed.begin(), allowed.end(), listed)) return true;
  const size_t scheme_end = origin.find("://");
  if (scheme_end == std::string_view::npos) return false;  // "null"
  const std::string_view scheme = origin.substr(0, scheme_end);
  if (scheme != "http" && scheme != "https") return true;
  const std::string_view rest = origin.substr(scheme_end + 3);
  const std::string_view host = rest.starts_with('[') ? rest.substr(0, rest.find(']') + 1) : rest.substr(0, rest.find(':'));
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

constexpr const char* exposed_headers =
    "X-Request-Id, X-Ignored-Fields, X-Calla-Normalised, X-Calla-Warnings, X-Calla-Route, X-Calla-Model, X-Calla-Policy, X-Calla-Masked, X-Calla-Audit-Id";

void answer_preflight(Exchange& exchange) {
  std::string allowed = "Authorization, Content-Type, x-api-key, anthropic-version, X-Calla-Conversation, X-Calla-Privacy, X-Calla-Consent, X-Consent, x-request-id";
  const std::string asked = header_safe(exchange.request.header("access-control-request-headers"), 512);
  if (!asked.empty()) allowed += ", " + asked;
  exchange.respond_empty(204, {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"}, {"Access-Control-Allow-Headers", allowed}, {"Access-Control-Max-Age", "600"}});
}

// One of the places of running requests, where there is one left.
class Place {
 public:
  Place(std::atomic<int>& taken, int places) : taken_(taken), had_(++taken_ <= places) {}
  ~Place() { --taken_; }
  bool had() const { return had_; }

 private:
  std::atomic<int>& taken_;
  const bool had_;
};

std::string now_text() {
  using namespace std::chrono;
  const auto now = time_point_cast<milliseconds>(system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(system_clock::to_time_t(now)), now.time_since_epoch().count() % 1000);
}

}  // namespace

bool Entrance::answer(Peer& peer, const HttpRequest& request, const ApiError* failure, bool last) {
  std::string id = header_safe(request.header("x-request-id"), 128);
  if (id.empty()) id = random_id("req-");
  Exchange exchange(request, peer, options_, metrics_, {{"X-Request-Id", id}}, failure == nullptr && !last);
  RouteMatch match = find_route(routes_, request.method, request.path);
  if (match.route != nullptr) exchange.route(match.route->errors, match.parts);
  if (match.route != nullptr && match.route->infers && match.method_allowed) {
    exchange.on_turned_away([&, route = match.route](int status, const std::string& code) { return turned_away(exchange, *route, status, code); });
  }
  pass(exchange, match, failure);
  metrics_.answered(match.route != nullptr ? match.route->pattern : "none", exchange.status());
  if (options_.log) log(exchange, match.route, id);
  return exchange.keep_alive();
}

void Entrance::pass(Exchange& exchange, const RouteMatch& match, const ApiError* failure) {
  const std::string_view origin = exchange.request.header("origin");
  if (!origin_accepted(origin, options_.cors_origins)) {
    return exchange.fail({403, "requests from this web origin are not allowed", "permission_error", "", "origin_not_allowed", Json()});
  }
  if (!origin.empty()) {
    exchange.add_header("Access-Control-Allow-Origin", header_safe(origin, 256));
    exchange.add_header("Vary", "Origin");
    exchange.add_header("Access-Control-Expose-Headers", exposed_headers);
  }
  if (failure != nullptr) return exchange.fail(*failure);
  if (exchange.request.method == "OPTIONS") return answer_preflight(exchange);
  const bool open = match.route != nullptr && match.route->open;
  const auto tenant = keys_.empty() || open ? std::nullopt : keys_.find(exchange.request);
  if (tenant) exchange.tenant(*tenant);
  if (!keys_.empty() && !open && !tenant) {
    return exchange.fail({401, "a valid API key is needed: Authorization: Bearer KEY", "authentication_error", "", "invalid_api_key", Json()}, {{"WWW-Authenticate", "Bearer"}});
  }
  if (match.route == nullptr) return exchange.fail({404, "there is nothing at this path", "not_found_error", "", "unknown_path", Json()});
  if (!match.method_allowed) {
    return exchange.fail({405, "this path does not take that method", "invalid_request_error", "", "method_not_allowed", Json()}, {{"Allow", match.allowed}});
  }
  if (exchange.request.method != "POST") return handle(exchange, *match.route);
  const Place place(running_, options_.max_running);
  if (!place.had()) return exchange.fail({429, "too many requests are being answered; try again later", "rate_limit_error", "", "overloaded", Json()});
  handle(exchange, *match.route);
}

void Entrance::handle(Exchange& exchange, const Route& route) {
  try {
    route.handler(exchange);
  } catch (const std::exception&) {
    exchange.end_connection();  // a stream that has begun stays cut
  }
  if (exchange.status() == 0) exchange.fail({500, "cannot answer: an internal error", "server_error", "", "internal", Json()});
}

// A request without a decision of the completer's own still leaves a line in an audit log.
std::optional<RouteReport> Entrance::turned_away(const Exchange& exchange, const Route& route, int status, const std::string& code) {
  try {
    return completer_.turned_away({route.pattern, exchange.notes().requested, exchange.tenant(), code, status, exchange.request.body.size()});
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Behind a privacy gate nothing is written down as a client spelled it: a path, a method or an id may hold what must not be in a log.
void Entrance::log(const Exchange& exchange, const Route* route, const std::string& id) const {
  const RequestNotes notes = exchange.notes();
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - exchange.started()).count();
  const bool plain = !options_.gated;
  const std::string pattern = route != nullptr ? route->pattern : "unknown";
  Json line = {{"time", now_text()}, {"id", plain ? id : random_id("req-")}, {"method", plain || route != nullptr ? header_safe(exchange.request.method, 16) : "unknown"},
               {"path", plain ? header_safe(exchange.request.path, 256) : pattern}, {"status", exchange.status()}, {"ms", std::round(ms * 1000) / 1000}, {"tenant", exchange.tenant()}};
  if (!notes.model.empty()) {
    line.update({{"model", notes.model}, {"prompt_tokens", notes.prompt_tokens}, {"cached_tokens", notes.cached_tokens}, {"completion_tokens", notes.completion_tokens}});
  }
  if (const auto report = exchange.report()) line.update({{"route", report->route}, {"audit_id", report->audit_id}});
  if (exchange.left()) line["cancelled"] = true;
  options_.log(text_of(line));
}
