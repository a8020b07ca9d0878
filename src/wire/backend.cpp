// backend: model names, failures in every dialect's shape, ids and times of answers.
#include "wire/backend.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <memory>
#include <random>
#include "wire/canonical.h"
#include "wire/normalise.h"

namespace {

const char* anthropic_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

// What these dialects have no words for, under OpenAI's: the code, the field, and further members such as "privacy".
void add_details(Json& out, const ApiError& error) {
  if (!error.by_gate && error.code != "invalid_json") return;
  if (!error.code.empty()) out["code"] = error.code;
  if (!error.param.empty()) out["param"] = error.param;
  if (error.more.is_object()) out.update(error.more);
}

std::optional<ModelInfo> named(const std::vector<ModelInfo>& models, std::string_view wanted) {
  const auto found = std::find_if(models.begin(), models.end(), [&](const ModelInfo& info) { return info.name == wanted; });
  return found == models.end() ? std::nullopt : std::optional(*found);
}

// The name itself, and without what clients put around it.
std::vector<std::string_view> spellings(std::string_view name) {
  constexpr std::string_view tag = ":latest", place = "local/";
  std::vector<std::string_view> out = {name};
  if (name.starts_with(place)) out.push_back(name.substr(place.size()));
  for (size_t i = 0, count = out.size(); i < count; ++i) {
    if (out[i].ends_with(tag)) out.push_back(out[i].substr(0, out[i].size() - tag.size()));
  }
  return out;
}

// A privacy gate's local models are all local/NAME.
std::optional<ModelInfo> named_anywhere(const std::vector<ModelInfo>& models, std::string_view wanted) {
  for (const std::string_view spelling : spellings(wanted)) {
    if (auto found = named(models, spelling)) return found;
    if (auto found = named(models, "local/" + std::string(spelling))) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ModelInfo> Backend::resolve(const std::string& name) const {
  const auto models = completer_.models();
  if (name.empty()) return models.empty() ? std::nullopt : std::optional(models.front());
  if (auto found = named_anywhere(models, name)) return found;
  for (const std::string_view spelling : spellings(name)) {
    for (const auto& [from, to] : options_.aliases) {
      if (from == spelling) return named_anywhere(models, to);
    }
  }
  for (const auto& [from, to] : options_.aliases) {
    if (from == "*") return named_anywhere(models, to);
  }
  return std::nullopt;
}

std::optional<ModelInfo> Backend::resolve(Exchange& exchange, const std::string& name) const {
  auto model = resolve(name);
  exchange.note_requested(model ? model->name : "unknown");
  return model;
}

ApiError Backend::unknown_model() const {
  std::string names;
  for (const ModelInfo& info : completer_.models()) names += (names.empty() ? "" : ", ") + info.name;
  return {404, "model not found; there is: " + (names.empty() ? "none" : names), "not_found_error", "model", "model_not_found", Json()};
}

ApiError Backend::describe(const Exchange& exchange, const Error& error, const ModelInfo& model) const {
  if (const auto report = exchange.report()) {
    if (auto described = to_api_error(*report, error)) return *described;
  }
  ApiError described = to_api_error(error);
  if (error.code != Code::too_large) return described;
  described.more = {{"n_ctx", model.context_tokens}};
  if (const auto numbers = read_prompt_too_long(error)) described.more = {{"n_prompt_tokens", numbers->first}, {"n_ctx", numbers->second}};
  return described;
}

std::optional<ModelInfo> Backend::admit(Exchange& exchange, ParsedRequest& request) const {
  const auto model = resolve(exchange, request.chat.model);
  std::optional<ApiError> wrong = model ? settle_for(*model, request) : unknown_model();
  if (wrong) return exchange.fail(*wrong, ignored_header(request.ignored)), std::nullopt;
  request.chat.tenant = exchange.tenant();
  request.chat.gate = gate_notes(exchange, std::move(request.chat.gate.unknown_fields));
  if (!options_.keep_volatile_prefix) announce_normalised(exchange, take_volatile_prefix(request.chat));
  return model;
}

Result<Finish> Backend::complete(Exchange& exchange, const ChatRequest& asked, const Sink& sink, const std::stop_token& stop) const {
  ChatRequest request = asked;
  request.gate.routed = [&exchange](const RouteReport& report) { exchange.routed(report); };
  exchange.handed_over();
  RequestMeter meter(exchange, request.model);
  const Sink metered = [&](const Delta& delta) {
    if (delta.kind != Delta::Kind::progress) meter.first_delta();
    return sink(delta);
  };
  auto finish = guarded([&](Completer& completer) { return completer.complete(request, metered, stop); });
  meter.finish(finish);
  if (finish && finish->reason == Finish::Reason::cancelled) return answer_cancelled();
  return finish;
}

Result<std::vector<Finish>> Backend::complete_all(Exchange& exchange, std::span<const ChatRequest> asked, const ChoiceSink& sink, const std::stop_token& stop) const {
  std::vector<ChatRequest> requests(asked.begin(), asked.end());
  std::vector<std::unique_ptr<RequestMeter>> meters;  // null once its answer has ended
  for (ChatRequest& request : requests) {
    request.gate.routed = [&exchange](const RouteReport& report) { exchange.routed(report); };
    meters.push_back(std::make_unique<RequestMeter>(exchange, request.model));
  }
  exchange.handed_over();
  const ChoiceSink metered = {[&](size_t choice, const Delta& delta) {
                                if (delta.kind != Delta::Kind::progress) meters[choice]->first_delta();
                                return sink.delta(choice, delta);
                              },
                              [&](size_t choice, const Finish& finish) {
                                meters[choice]->finish(finish);
                                meters[choice].reset();
                                return finish.reason != Finish::Reason::cancelled && sink.end(choice, finish);
                              }};
  auto finishes = guarded([&](Completer& completer) { return completer.complete_all(requests, metered, stop); });
  for (const auto& meter : meters) {
    if (meter && !finishes) meter->finish(finishes.error());
  }
  const auto was_cancelled = [](const Finish& finish) { return finish.reason == Finish::Reason::cancelled; };
  if (finishes && std::any_of(finishes->begin(), finishes->end(), was_cancelled)) return answer_cancelled();
  return finishes;
}

Result<Embeddings> Backend::embed(Exchange& exchange, const EmbedRequest& asked, const std::stop_token& stop) const {
  EmbedRequest request = asked;
  request.gate.routed = [&exchange](const RouteReport& report) { exchange.routed(report); };
  exchange.handed_over();
  return guarded([&](Completer& completer) { return completer.embed(request, stop); });
}

namespace {

// Said twice or left empty it is no word of the gate's, and refused there: which of two counts is nobody's guess.
std::string asked_stricter(const HttpRequest& request) {
  std::string out;
  bool said = false;
  for (const auto& [name, value] : request.headers) {
    if (name != "x-calla-privacy") continue;
    out += (said ? ", " : "") + value;
    said = true;
  }
  return said && out.empty() ? "\"\"" : out;
}

}  // namespace

GateNotes gate_notes(const Exchange& exchange, std::vector<std::string> unknown_fields) {
  const HttpRequest& request = exchange.request;
  GateNotes notes;
  notes.endpoint = request.path;
  notes.key = exchange.tenant();
  notes.conversation = request.header("x-calla-conversation");
  notes.stricter = asked_stricter(request);
  notes.consent = request.header("x-calla-consent");
  if (notes.consent.empty()) notes.consent = request.header("x-consent");
  notes.unknown_fields = std::move(unknown_fields);
  notes.body_bytes = request.body.size();
  if (exchange.options.gated) notes.body_sha256 = canonical_sha256(request.body);
  return notes;
}

std::string answered_by(const Exchange& exchange, std::string otherwise) {
  const auto report = exchange.report();
  return report && !report->model.empty() ? report->model : otherwise;
}

Error answer_cancelled() { return {Code::cancelled, "the answer was cancelled"}; }

Headers ignored_header(const std::vector<std::string>& ignored) {
  std::string names;
  for (const std::string& name : ignored) {
    if (names.size() > 2000) {
      names += ", ...";
      break;
    }
    names += (names.empty() ? "" : ", ") + header_safe(name, 64);
  }
  return names.empty() ? Headers{} : Headers{{"X-Ignored-Fields", names}};
}

Json anthropic_error(const ApiError& error) {
  Json inner = {{"type", anthropic_type(error.status)}, {"message", error.message}};
  add_details(inner, error);
  return {{"type", "error"}, {"error", std::move(inner)}};
}

Json ollama_error(const ApiError& error) {
  Json out = {{"error", error.message}};
  add_details(out, error);
  return out;
}

ApiError client_left() { return {499, "the answer was cancelled: the client left or the server is stopping", "unavailable_error", "", "cancelled", Json()}; }

std::string random_id(std::string_view prefix) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return fmt::format("{}{:016x}{:08x}", prefix, random(), static_cast<uint32_t>(random()));
}

int64_t unix_seconds() { return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string iso_time(int64_t unix_s) {
  const std::time_t time = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}
