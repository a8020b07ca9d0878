// llama_native: tokens and their texts, rendered prompts, properties, slots and the cache.
#include "wire/llama_native.h"

#include <algorithm>
#include "wire/describe.h"
#include "wire/table.h"

namespace {

using Kind = Field::Kind;

struct Body {
  std::string model, content;
  std::vector<std::string> contents;
  std::vector<TokenId> tokens;
  bool strict = false, has_content = false, with_pieces = false, add_special = false, parse_special = true;
  std::vector<std::string> ignored, unknown;
};
using In = const FieldValue&;

Fault set_tokens(Body& out, In value) {
  return read_token_ids(value.json, out.tokens) ? std::nullopt : fault(value.name, value.name + " must be a list of token ids", "invalid_type");
}

constexpr Row<Body> common_rows[] = {
    {{"strict", Kind::boolean}, [](Body& out, In value) -> Fault { return out.strict = value.flag, std::nullopt; }},
    {{"model", Kind::text}, [](Body& out, In value) -> Fault { return out.model = value.text, std::nullopt; }},
};
constexpr Row<Body> tokenize_rows[] = {
    {{"content", Kind::text, 0, no_limit, "the text"}, [](Body& out, In value) -> Fault { return out.content = value.text, out.has_content = true, std::nullopt; }},
    {{"add_special", Kind::boolean, 0, 0, "with what the tokenizer begins texts with"}, [](Body& out, In value) -> Fault { return out.add_special = value.flag, std::nullopt; }},
    {{"parse_special", Kind::boolean, 0, 0, "false: markup is text"}, [](Body& out, In value) -> Fault { return out.parse_special = value.flag, std::nullopt; }},
    {{"with_pieces", Kind::boolean, 0, 0, "each token with its text"}, [](Body& out, In value) -> Fault { return out.with_pieces = value.flag, std::nullopt; }},
};
constexpr Row<Body> detokenize_rows[] = {{{"tokens", Kind::array, 0, no_limit, "token ids"}, set_tokens}};
constexpr Row<Body> embedding_rows[] = {
    {{"input", Kind::text_list, 0, 2048}, [](Body& out, In value) -> Fault { return out.contents = value.list, out.has_content = true, std::nullopt; }},
    {{"content", Kind::text_list, 0, 2048}, [](Body& out, In value) -> Fault { return out.contents = value.list, out.has_content = true, std::nullopt; }},
};

template <class Own> Fault read_body(std::string_view bytes, const Own& own, Body& out) {
  JsonDocument document;
  if (auto wrong = parse_body(bytes, document)) return wrong;
  FieldReader reader(document.root());
  if (auto wrong = reader.read(common_rows, out)) return wrong;
  if (auto wrong = reader.read(own, out)) return wrong;
  reader.list_unknown(out.ignored, out.unknown);
  return out.strict ? refuse_ignored(out.ignored) : std::nullopt;
}

// The model a body asks for; nullopt when the request was refused and is answered.
template <class Own> std::optional<ModelInfo> admit(const Backend& backend, Exchange& exchange, const Own& own, bool needs_content, Body& body) {
  auto wrong = read_body(exchange.request.body, own, body);
  if (!wrong && needs_content && !body.has_content) wrong = fault("content", "content is required", "missing_field");
  auto model = wrong ? std::nullopt : backend.resolve(exchange, body.model);
  if (!model) exchange.fail(wrong ? *wrong : backend.unknown_model(), ignored_header(body.ignored));
  return model;
}

// A token's text, or its bytes when they are no whole characters.
Json piece(const std::string& bytes) {
  if (simdjson::validate_utf8(bytes.data(), bytes.size())) return bytes;
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return list;
}

template <const auto& own> Json schema_with() {
  Json schema = object_schema(common_rows);
  add_schemas(own, schema["properties"]);
  return schema;
}
constexpr auto tokenize_schema = schema_with<tokenize_rows>, detokenize_schema = schema_with<detokenize_rows>, embedding_body_schema = schema_with<embedding_rows>;

bool asks(const std::string& query, std::string_view flag) { return ("&" + query + "&").find("&" + std::string(flag) + "&") != std::string::npos; }

}  // namespace

void LlamaNative::add_routes(Routes& routes) const {
  const auto add = [&](const char* method, const char* path, std::function<void(Exchange&)> handler, Json (*schema)() = nullptr, bool infers = false) {
    routes.push_back({method, path, std::move(handler), to_json, false, schema, infers});
  };
  for (const char* path : {"/completion", "/completions"}) add("POST", path, [this](Exchange& exchange) { complete(exchange, false); }, llama_completion_schema, true);
  add("POST", "/infill", [this](Exchange& exchange) { complete(exchange, true); }, llama_infill_schema, true);
  add("POST", "/tokenize", [this](Exchange& exchange) { tokenize(exchange); }, tokenize_schema);
  add("POST", "/detokenize", [this](Exchange& exchange) { detokenize(exchange); }, detokenize_schema);
  add("POST", "/apply-template", [this](Exchange& exchange) { apply_template(exchange); }, chat_schema);
  for (const char* path : {"/embedding", "/embeddings"}) add("POST", path, [this](Exchange& exchange) { embedding(exchange); }, embedding_body_schema, true);
  add("GET", "/props", [this](Exchange& exchange) { props(exchange); });
  add("POST", "/props", [](Exchange& exchange) { exchange.fail(to_api_error({Code::unsupported, "cannot change properties: they are fixed when the server starts"})); });
  add("GET", "/slots", [this](Exchange& exchange) { slots(exchange); });
  add("GET", "/v1/cache", [this](Exchange& exchange) { cache(exchange); });
}

void LlamaNative::complete(Exchange& exchange, bool infill) const {
  LlamaRequest request;
  request.gated = exchange.options.gated;
  const std::string& body = exchange.request.body;
  if (const auto wrong = infill ? read_llama_infill(body, request) : read_llama_completion(body, request)) return exchange.fail(*wrong, ignored_header(request.ignored));
  const auto model = backend_.admit(exchange, request);
  if (!model) return;
  LlamaAnswer answer(request, model->name);
  const auto requests = request.requests();
  reply(exchange, backend_, {requests, *model, request.stream ? ReplyForm::events : ReplyForm::whole, ignored_header(request.ignored)}, answer);
}

void LlamaNative::tokenize(Exchange& exchange) const {
  Body body;
  const auto model = admit(backend_, exchange, tokenize_rows, true, body);
  if (!model) return;
  Json tokens = Json::array();
  const Status done = backend_.guarded([&](Completer& completer) -> Status {
    TRY(const auto ids, completer.tokenize(model->name, body.content, body.parse_special, body.add_special));
    if (!body.with_pieces) return tokens = ids, ok_status();
    for (const TokenId id : ids) {
      TRY(const std::string text, completer.detokenize(model->name, {&id, 1}));
      tokens.push_back({{"id", id}, {"piece", piece(text)}});
    }
    return ok_status();
  });
  if (!done) return exchange.fail(backend_.describe(exchange, done.error(), *model), ignored_header(body.ignored));
  exchange.respond(200, {{"tokens", std::move(tokens)}}, ignored_header(body.ignored));
}

void LlamaNative::detokenize(Exchange& exchange) const {
  Body body;
  const auto model = admit(backend_, exchange, detokenize_rows, false, body);
  if (!model) return;
  const auto text = backend_.guarded([&](Completer& completer) { return completer.detokenize(model->name, body.tokens); });
  if (!text) return exchange.fail(backend_.describe(exchange, text.error(), *model), ignored_header(body.ignored));
  exchange.respond(200, {{"content", *text}}, ignored_header(body.ignored));
}

void LlamaNative::apply_template(Exchange& exchange) const {
  ParsedRequest request;
  request.gated = exchange.options.gated;
  if (const auto wrong = parse_request(Dialect::chat, exchange.request.body, request)) return exchange.fail(*wrong, ignored_header(request.ignored));
  const auto model = backend_.admit(exchange, request);
  if (!model) return;
  const auto text = backend_.guarded([&](Completer& completer) { return completer.render(request.chat); });
  if (!text) return exchange.fail(backend_.describe(exchange, text.error(), *model), ignored_header(request.ignored));
  exchange.respond(200, {{"prompt", *text}}, ignored_header(request.ignored));
}

void LlamaNative::embedding(Exchange& exchange) const {
  Body body;
  const auto model = admit(backend_, exchange, embedding_rows, true, body);
  if (!model) return;
  EmbedRequest request;
  request.model = model->name;
  request.texts = body.contents;
  request.gate = gate_notes(exchange, body.unknown);
  Result<Embeddings> made = Embeddings{};
  exchange.watched([&](std::stop_token stop) { made = backend_.embed(exchange, request, stop); });
  if (!made) return exchange.fail(backend_.describe(exchange, made.error(), *model), ignored_header(body.ignored));
  Json out = Json::array();
  for (size_t i = 0; i < made->vectors.size(); ++i) out.push_back({{"index", i}, {"embedding", Json::array({made->vectors[i]})}});
  exchange.respond(200, out, ignored_header(body.ignored));
}

ModelStats LlamaNative::stats_of(const ModelInfo& model) const {
  const auto all = backend_.completer().stats();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ModelStats& one) { return one.model == model.name; });
  return found == all.end() ? ModelStats{.model = model.name} : *found;
}

void LlamaNative::props(Exchange& exchange) const {
  const auto model = backend_.resolve("");
  if (!model) return exchange.fail(backend_.unknown_model());
  exchange.respond(200, {{"default_generation_settings", {{"n_ctx", model->context_tokens}, {"params", Json::object()}}},
                         {"total_slots", stats_of(*model).max_sequences},
                         {"model_alias", model->name},
                         {"chat_template", model->chat_template},
                         {"modalities", {{"vision", false}, {"audio", false}}},
                         {"device", model->device.empty() ? Json() : Json(model->device)},
                         {"build_info", "calla"}});
}

void LlamaNative::slots(Exchange& exchange) const {
  const auto model = backend_.resolve("");
  if (!model) return exchange.fail(backend_.unknown_model());
  const ModelStats stats = stats_of(*model);
  if (asks(exchange.request.query, "fail_on_no_slot=1") && stats.running >= stats.max_sequences) return exchange.fail(to_api_error({Code::overloaded, "no slot is free"}));
  Json slots = Json::array();  // sequences have no fixed places: the running ones stand first
  for (int i = 0; i < stats.max_sequences; ++i) slots.push_back({{"id", i}, {"n_ctx", model->context_tokens}, {"speculative", false}, {"is_processing", i < stats.running}});
  exchange.respond(200, slots);
}

void LlamaNative::cache(Exchange& exchange) const {
  Json models = Json::array();
  for (const ModelStats& one : backend_.completer().stats()) {
    models.push_back({{"model", one.model}, {"prefilled_tokens", one.prefill_tokens}, {"cached_tokens", one.cached_tokens}, {"bytes", one.cache_bytes}, {"disk_bytes", one.cache_disk_bytes},
                      {"snapshots", one.snapshots}, {"pages_total", one.pages_total}, {"pages_free", one.pages_free}});
    Json prompts = Json::array();
    for (const CachedPrompt& prompt : one.recent_prompts)
      prompts.push_back({{"prompt_tokens", prompt.prompt_tokens}, {"cached_tokens", prompt.cached_tokens}, {"disk_tokens", prompt.disk_tokens}, {"diverged_at", prompt.diverged_at}});
    models.back()["recent_prompts"] = std::move(prompts);
  }
  exchange.respond(200, {{"models", std::move(models)}});
}
