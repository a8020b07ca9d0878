// responses: create, retrieve, delete, cancel, and the items that went in.
#include "wire/responses.h"

#include <algorithm>
#include <charconv>

namespace {

ApiError unknown_response() { return {404, "there is no response of that id", "invalid_request_error", "", "not_found", Json()}; }

// The value of one parameter of a query; "" when absent.
std::string query_value(const std::string& query, const std::string& name) {
  for (size_t at = 0; at < query.size();) {
    const size_t end = std::min(query.find('&', at), query.size());
    const std::string_view pair = std::string_view(query).substr(at, end - at);
    if (pair.starts_with(name + "=")) return percent_decode(pair.substr(name.size() + 1));
    at = end + 1;
  }
  return "";
}

constexpr int default_page = 20, max_page = 100;

}  // namespace

void Responses::add_routes(Routes& routes) {
  routes.push_back({"POST", "/v1/responses", [this](Exchange& exchange) { create(exchange); }, to_json, false, responses_schema, true});
  routes.push_back({"POST", "/v1/responses/input_tokens", [this](Exchange& exchange) { count_tokens(exchange); }, to_json, false, responses_schema});
  routes.push_back({"GET", "/v1/responses/{id}", [this](Exchange& exchange) { retrieve(exchange); }});
  routes.push_back({"DELETE", "/v1/responses/{id}", [this](Exchange& exchange) { remove(exchange); }});
  routes.push_back({"POST", "/v1/responses/{id}/cancel", [this](Exchange& exchange) { cancel(exchange); }});
  routes.push_back({"GET", "/v1/responses/{id}/input_items", [this](Exchange& exchange) { input_items(exchange); }});
}

bool Responses::parse(Exchange& exchange, ResponsesRequest& request) const {
  const std::string& tenant = exchange.tenant();
  const ItemSource stored = {[&](const std::string& id) { return store_.context(tenant, id); }, [&](const std::string& id) { return store_.item(tenant, id); }};
  request.gated = exchange.options.gated;
  const auto wrong = parse_responses(exchange.request.body, stored, request);
  if (wrong) exchange.fail(*wrong, ignored_header(request.ignored));
  return !wrong;
}

void Responses::create(Exchange& exchange) {
  ResponsesRequest request;
  if (!parse(exchange, request)) return;
  const auto model = backend_.admit(exchange, request);
  if (!model) return;
  exchange.on_routed([&](const RouteReport& report) { request.chat.model = report.model.empty() ? request.chat.model : report.model; });
  Headers headers = ignored_header(request.ignored);
  return request.stream ? answer_streamed(exchange, request, *model, std::move(headers)) : answer_whole(exchange, request, *model, std::move(headers));
}

std::optional<Error> Responses::make(Exchange& exchange, const ResponsesRequest& request, ResponseWriter& writer, const std::stop_token& stop) {
  std::stop_source source;
  const std::stop_callback chain(stop, [&] { source.request_stop(); });
  {
    const std::lock_guard lock(mutex_);
    running_[writer.id()] = {exchange.tenant(), source, writer.response()};
  }
  const auto finish = backend_.complete(exchange, request.chat, [&](const Delta& delta) { return !source.stop_requested() && writer.add(delta); }, source.get_token());
  const bool cancelled = !finish && source.stop_requested() && !stop.stop_requested();
  if (finish) {
    writer.finish(*finish);
  } else if (cancelled) {
    writer.cancel();
  }
  const std::lock_guard lock(mutex_);
  running_.erase(writer.id());
  return finish || cancelled ? std::nullopt : std::optional(finish.error());
}

ResponseWriter::Keep Responses::keep(const Exchange& exchange, const ResponsesRequest& request) const {
  return [this, &exchange, &request](const Json& response) { return store_.save(exchange.tenant(), response, request.input).has_value(); };
}

void Responses::answer_whole(Exchange& exchange, const ResponsesRequest& request, const ModelInfo& model, Headers headers) {
  ResponseWriter writer(request, [](const Json&) { return true; }, keep(exchange, request));
  std::optional<Error> error;
  bool left = false;
  exchange.watched([&](std::stop_token stop) {
    error = make(exchange, request, writer, stop);
    left = stop.stop_requested();
  });
  if (left) return exchange.fail(client_left());
  if (error) return exchange.fail(backend_.describe(exchange, *error, model), std::move(headers));
  exchange.respond(200, writer.response(), std::move(headers));
}

void Responses::answer_streamed(Exchange& exchange, const ResponsesRequest& request, const ModelInfo& model, Headers headers) {
  std::optional<ApiError> unsent;  // a failure before anything was sent is a plain answer
  exchange.streamed(headers, [&](EventStream& events, std::stop_token stop) {
    const auto emit = [&](const Json& event) { return events.send_event(event["type"].get_ref<const std::string&>(), text_of(event)); };
    ResponseWriter writer(request, emit, keep(exchange, request));
    const auto error = make(exchange, request, writer, stop);
    if (!error) return;
    const ApiError described = backend_.describe(exchange, *error, model);
    if (events.started()) {
      writer.fail(described);
    } else {
      unsent = described;
    }
  });
  if (unsent) exchange.fail(*unsent, std::move(headers));
}

void Responses::count_tokens(Exchange& exchange) const {
  ResponsesRequest request;
  if (!parse(exchange, request)) return;
  const auto model = backend_.admit(exchange, request);
  if (!model) return;
  const auto ids = backend_.guarded([&](Completer& completer) -> Result<std::vector<TokenId>> {
    TRY(const std::string prompt, completer.render(request.chat));
    return completer.tokenize(model->name, prompt, true, false);
  });
  if (!ids) return exchange.fail(backend_.describe(exchange, ids.error(), *model));
  exchange.respond(200, {{"object", "response.input_tokens"}, {"input_tokens", ids->size()}}, ignored_header(request.ignored));
}

void Responses::retrieve(Exchange& exchange) {
  const std::string id(exchange.part("id"));
  if (auto stored = store_.response(exchange.tenant(), id)) return exchange.respond(200, *stored);
  Json response;
  {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(id);
    if (found != running_.end() && found->second.tenant == exchange.tenant()) response = found->second.response;
  }
  return response.is_null() ? exchange.fail(unknown_response()) : exchange.respond(200, response);
}

void Responses::remove(Exchange& exchange) {
  const std::string id(exchange.part("id"));
  if (!store_.remove(exchange.tenant(), id)) return exchange.fail(unknown_response());
  exchange.respond(200, {{"id", id}, {"object", "response"}, {"deleted", true}});
}

void Responses::cancel(Exchange& exchange) {
  const std::string id(exchange.part("id"));
  std::stop_source stop(std::nostopstate);
  Json response;
  {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(id);
    if (found != running_.end() && found->second.tenant == exchange.tenant()) stop = found->second.stop, response = found->second.response;
  }
  if (stop.stop_possible()) {
    stop.request_stop();
    response["status"] = "cancelled";
    return exchange.respond(200, response);
  }
  if (store_.response(exchange.tenant(), id)) return exchange.fail({400, "this response has ended: there is nothing to cancel", "invalid_request_error", "", "not_running", Json()});
  exchange.fail(unknown_response());
}

void Responses::input_items(Exchange& exchange) {
  const auto all = store_.input(exchange.tenant(), std::string(exchange.part("id")));
  if (!all) return exchange.fail(unknown_response());
  const std::string& query = exchange.request.query;
  const std::string limit_text = query_value(query, "limit"), order = query_value(query, "order"), after = query_value(query, "after");
  int limit = default_page;
  const auto [end, bad] = std::from_chars(limit_text.data(), limit_text.data() + limit_text.size(), limit);
  const bool is_number = limit_text.empty() || (bad == std::errc() && end == limit_text.data() + limit_text.size());
  if (!is_number || limit < 1 || limit > max_page) return exchange.fail(*fault("limit", "limit must be an integer from 1 to 100"));
  if (!order.empty() && order != "asc" && order != "desc") return exchange.fail(*fault("order", "order must be asc or desc"));
  Json items = *all, page = Json::array();
  if (order != "asc") std::reverse(items.begin(), items.end());
  size_t at = 0;
  if (!after.empty()) {
    while (at < items.size() && items[at]["id"] != after) ++at;
    at = std::min(at + 1, items.size());
  }
  for (; at < items.size() && page.size() < static_cast<size_t>(limit); ++at) page.push_back(items[at]);
  const Json first = page.empty() ? Json() : page.front()["id"], last = page.empty() ? Json() : page.back()["id"];
  exchange.respond(200, {{"object", "list"}, {"data", page}, {"first_id", first}, {"last_id", last}, {"has_more", at < items.size()}});
}
