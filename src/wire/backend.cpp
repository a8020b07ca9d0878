// backend: model names, failures in every dialect's shape, ids and times of answers.
#include "wire/backend.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <random>

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

}  // namespace

std::optional<ModelInfo> Backend::resolve(const std::string& name) const {
  const auto models = completer_.models();
  if (name.empty()) return models.empty() ? std::nullopt : std::optional(models.front());
  for (const std::string_view spelling : spellings(name)) {
    if (auto found = named(models, spelling)) return found;
  }
  for (const std::string_view spelling : spellings(name)) {
    for (const auto& [from, to] : options_.aliases) {
      if (from == spelling) return named(models, to);
    }
  }
  for (const auto& [from, to] : options_.aliases) {
    if (from == "*") return named(models, to);
  }
  return std::nullopt;
}

ApiError Backend::unknown_model() const {
  std::string names;
  for (const ModelInfo& info : completer_.models()) names += (names.empty() ? "" : ", ") + info.name;
  return {404, "there is no model of that name; there is: " + (names.empty() ? "none" : names), "not_found_error", "model", "model_not_found", Json()};
}

ApiError Backend::describe(const Error& error, const ModelInfo& model) const {
  ApiError described = to_api_error(error);
  if (error.code != Code::too_large) return described;
  described.more = {{"n_ctx", model.context_tokens}};
  if (const auto numbers = read_prompt_too_long(error)) described.more = {{"n_prompt_tokens", numbers->first}, {"n_ctx", numbers->second}};
  return described;
}

std::optional<ModelInfo> Backend::admit(Exchange& exchange, ParsedRequest& request) const {
  const auto model = resolve(request.chat.model);
  std::optional<ApiError> wrong = model ? settle_for(*model, request) : unknown_model();
  if (wrong) return exchange.fail(*wrong, ignored_header(request.ignored)), std::nullopt;
  request.chat.tenant = exchange.tenant();
  return model;
}

Result<Finish> Backend::complete(Exchange& exchange, const ChatRequest& request, const Sink& sink, const std::stop_token& stop) const {
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

Json anthropic_error(const ApiError& error) { return {{"type", "error"}, {"error", {{"type", anthropic_type(error.status)}, {"message", error.message}}}}; }

Json ollama_error(const ApiError& error) { return {{"error", error.message}}; }

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
