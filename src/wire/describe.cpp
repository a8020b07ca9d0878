// describe: /v1/capabilities and /openapi.json.
#include "wire/describe.h"

#include <algorithm>
#include "wire/fields.h"
#include "wire/responses_request.h"

namespace {

Json body_schema(Dialect dialect, const char* required) {
  Json properties = Json::object();
  for (const Rows table : tables_of(dialect)) add_schemas(table, properties);
  for (const std::string_view name : tolerated_fields()) properties[std::string(name)] = {{"description", "accepted, without effect"}};
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", {required}}};
}

// Fields that this model ignores or refuses.
void apply_model(const ModelInfo& model, Json& fields) {
  const auto mark = [&](const char* effect, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (fields.contains(name)) fields[name] = effect;
    }
  };
  for (const std::string_view name : tolerated_fields()) {
    if (!fields.contains(name)) fields[std::string(name)] = "ignored";
  }
  if (!heeds_thinking(model, false)) {
    mark("ignored", {"enable_thinking", "thinking", "reasoning", "reasoning_budget_tokens", "thinking_budget_tokens", "thinking_token_budget"});
  }
  if (!heeds_thinking(model, true)) mark("ignored", {"reasoning_effort"});
  if (!can_call(model)) mark("refused", {"tools"});
  if (!model.fills_in) mark("refused", {"suffix"});
}

Json effects_of(Dialect dialect) {
  Json out = Json::object();
  for (const Rows table : tables_of(dialect)) add_effects(table, out);
  return out;
}

Json model_capabilities(const ModelInfo& model) {
  Json chat = effects_of(Dialect::chat), completions = effects_of(Dialect::completions), responses = responses_effects();
  for (Json* fields : {&chat, &completions, &responses}) apply_model(model, *fields);
  return {{"fields", std::move(chat)},
          {"endpoints", {{"/v1/completions", {{"fields", std::move(completions)}}}, {"/v1/responses", {{"fields", std::move(responses)}}}, {"/v1/embeddings", {{"fields", embedding_effects()}}}}},
          {"tools", can_call(model) ? Json{{"syntax", model.tool_syntax}, {"choice", {"none", "auto", "required", "named", "allowed_tools"}}, {"parallel", true}} : Json(false)},
          {"reasoning", heeds_thinking(model, false)},
          {"modalities", {"text"}},
          {"context_tokens", model.context_tokens},
          {"device", model.device.empty() ? Json() : Json(model.device)}};
}

constexpr std::pair<const char*, const char*> failures[] = {
    {"400", "the request is wrong; error.param names the field"},
    {"401", "a valid API key is needed"},
    {"403", "not from this origin, or not with this key"},
    {"404", "no such model, response or path"},
    {"405", "not with this method"},
    {"408", "the request did not arrive in time"},
    {"413", "the body is too large"},
    {"429", "too many requests; see Retry-After"},
    {"428", "a privacy gate needs consent; see error.privacy"},
    {"431", "the header is too large"},
    {"500", "the server is at fault"},
    {"501", "not in this server"},
    {"502", "the upstream failed"},
    {"503", "not now; see Retry-After"},
    {"504", "the upstream did not answer in time"},
};

struct Header { const char* name; const char* description; };
constexpr Header gate_request_headers[] = {
    {"X-Calla-Conversation", "of a privacy gate: the conversation in which a value keeps its placeholder"},
    {"X-Calla-Privacy", "of a privacy gate: local, mask or refuse, where that is stricter than its policy"},
    {"X-Calla-Consent", "of a privacy gate: ID; decision=CHOICE, or none"},
};
constexpr Header gate_answer_headers[] = {
    {"X-Calla-Route", "of a privacy gate: local, cloud, cloud-masked, refused or ask"}, {"X-Calla-Model", "what answered"}, {"X-Calla-Policy", "ID@HEX of the policy"},
    {"X-Calla-Masked", "card=1, person=2"}, {"X-Calla-Audit-Id", "the line of the audit log"},
};

Json text_schema() { return {{"type", "string"}}; }

void add_gate_parameters(Json& parameters) {
  for (const Header& header : gate_request_headers) {
    parameters.push_back({{"name", header.name}, {"in", "header"}, {"required", false}, {"description", header.description}, {"schema", text_schema()}});
  }
}

Json responses_of(bool infers) {
  const Json content = {{"application/json", {{"schema", Json::object()}}}};
  Json out = {{"200", {{"description", "the answer, whole or as a stream"}}}};
  for (const Header& header : gate_answer_headers) {
    if (infers) out["200"]["headers"][header.name] = {{"description", header.description}, {"schema", text_schema()}};
  }
  for (const auto& [status, description] : failures) out[status] = {{"description", description}, {"content", content}};
  return out;
}

// "/v1/models/{id...}" as "/v1/models/{id}", with its parameters.
std::string path_of(std::string pattern, Json& parameters) {
  for (size_t at = 0; (at = pattern.find('{', at)) != std::string::npos;) {
    size_t end = pattern.find('}', at);
    if (pattern.compare(end - 3, 3, "...") == 0) pattern.erase(end - 3, 3), end -= 3;
    parameters.push_back({{"name", pattern.substr(at + 1, end - at - 1)}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}, {"minLength", 1}}}});
    at = end;
  }
  return pattern;
}

// The name of an operation: "post_v1_chat_completions".
std::string operation_id(const Route& route) {
  std::string out = route.method + route.pattern;
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char byte) { return std::isalnum(byte) ? static_cast<char>(std::tolower(byte)) : '_'; });
  return out;
}

}  // namespace

Json chat_schema() { return body_schema(Dialect::chat, "messages"); }
Json completion_schema() { return body_schema(Dialect::completions, "prompt"); }

Json capabilities(const std::vector<ModelInfo>& models) {
  Json out = Json::object();
  for (const ModelInfo& model : models) out[model.name] = model_capabilities(model);
  return {{"models", std::move(out)}};
}

Json openapi(const Routes& routes) {
  Json paths = Json::object();
  for (const Route& route : routes) {
    Json parameters = Json::array(), operation = {{"operationId", operation_id(route)}};
    const std::string path = path_of(route.pattern, parameters);
    if (route.infers) add_gate_parameters(parameters);
    if (!parameters.empty()) operation["parameters"] = std::move(parameters);
    if (route.schema != nullptr) operation["requestBody"] = {{"required", true}, {"content", {{"application/json", {{"schema", route.schema()}}}}}};
    operation["responses"] = responses_of(route.infers);
    if (!route.open) operation["security"] = Json::array({Json::object(), Json{{"bearer", Json::array()}}, Json{{"key", Json::array()}}});
    std::string method = route.method;
    std::transform(method.begin(), method.end(), method.begin(), [](unsigned char byte) { return static_cast<char>(std::tolower(byte)); });
    if (!paths[path].contains(method)) paths[path][method] = std::move(operation);  // the first row that matches is used
  }
  const Json schemes = {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}, {"key", {{"type", "apiKey"}, {"in", "header"}, {"name", "x-api-key"}}}};
  return {{"openapi", "3.1.0"}, {"info", {{"title", "Calla"}, {"version", "1"}}}, {"paths", std::move(paths)}, {"components", {{"securitySchemes", schemes}}}};
}
