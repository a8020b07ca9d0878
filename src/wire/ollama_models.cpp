// ollama: the models that are there, come and go, and their embeddings.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include "wire/ollama.h"
#include "wire/table.h"

namespace {

using Kind = Field::Kind;
constexpr const char* api_version = "0.13.0";       // of Ollama's API, as followed here: clients ask for what they need by it
constexpr const char* never = "2999-12-31T00:00:00Z";  // for a model that stays

// The bodies of everything but answers.
struct Body {
  std::string model, source, destination;
  std::vector<std::string> inputs;
  bool stream = true, strict = false, truncate = true;
  int dimensions = 0;
  std::optional<std::chrono::seconds> keep_alive;
  std::vector<std::string> ignored, unknown;
};
using In = const FieldValue&;

Fault set_keep_alive(Body& out, In value) {
  out.keep_alive = read_keep_alive(value.json);
  return out.keep_alive ? std::nullopt : keep_alive_fault(value.name);
}

Fault set_options(Body& out, In value) {
  for (const auto [key, option] : simdjson::dom::object(value.json)) out.ignored.push_back("options." + std::string(key));
  return std::nullopt;
}

constexpr Row<Body> model_rows[] = {
    {{"strict", Kind::boolean}, [](Body& out, In value) -> Fault { return out.strict = value.flag, std::nullopt; }},
    {{"name", Kind::text}, [](Body& out, In value) -> Fault { return out.model = value.text, std::nullopt; }},  // its old name
    {{"model", Kind::text}, [](Body& out, In value) -> Fault { return out.model = value.text, std::nullopt; }},
    {{"stream", Kind::boolean}, [](Body& out, In value) -> Fault { return out.stream = value.flag, std::nullopt; }},
};
constexpr Row<Body> copy_rows[] = {
    {{"strict", Kind::boolean}, [](Body& out, In value) -> Fault { return out.strict = value.flag, std::nullopt; }},
    {{"source", Kind::text, 1}, [](Body& out, In value) -> Fault { return out.source = value.text, std::nullopt; }},
    {{"destination", Kind::text, 1}, [](Body& out, In value) -> Fault { return out.destination = value.text, std::nullopt; }},
};
constexpr Row<Body> embed_rows[] = {
    {{"strict", Kind::boolean}, [](Body& out, In value) -> Fault { return out.strict = value.flag, std::nullopt; }},
    {{"model", Kind::text}, [](Body& out, In value) -> Fault { return out.model = value.text, std::nullopt; }},
    {{"input", Kind::text_list, 0, 2048}, [](Body& out, In value) -> Fault { return out.inputs = value.list, std::nullopt; }},
    {{"prompt", Kind::text}, [](Body& out, In value) -> Fault { return out.inputs = {value.text}, std::nullopt; }},
    {{"truncate", Kind::boolean, 0, 0, "texts beyond the context are cut; the default"}, [](Body& out, In value) -> Fault { return out.truncate = value.flag, std::nullopt; }},
    {{"dimensions", Kind::integer, 1, int_max, "the first so many, of length 1 again"}, [](Body& out, In value) -> Fault { return out.dimensions = value.small(), std::nullopt; }},
    {{"keep_alive", Kind::any}, set_keep_alive},
    {{"options", Kind::object}, set_options},
};

template <class Rows> Fault read_body(std::string_view bytes, const Rows& rows, Body& out) {
  JsonDocument document;
  if (auto wrong = parse_body(bytes, document)) return wrong;
  FieldReader reader(document.root());
  if (auto wrong = reader.read(rows, out)) return wrong;
  reader.list_unknown(out.ignored, out.unknown);
  return out.strict ? refuse_ignored(out.ignored) : std::nullopt;
}

int64_t nanoseconds_since(Clock::time_point then) { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - then).count(); }

Json details(const ModelInfo& info) {
  return {{"parent_model", ""}, {"format", info.format}, {"family", info.architecture}, {"families", {info.architecture}},
          {"parameter_size", info.parameters}, {"quantization_level", info.quantization}};
}

Json entry(const ModelInfo& info) { return {{"name", ollama_name(info)}, {"model", ollama_name(info)}, {"modified_at", iso_time(info.modified_unix_s)}, {"size", info.bytes}, {"digest", info.digest}, {"details", details(info)}}; }

Json capabilities(const ModelInfo& info) {
  Json out = {"completion"};
  if (!info.tool_syntax.empty()) out.push_back("tools");
  if (info.thinks) out.push_back("thinking");
  if (info.fills_in) out.push_back("insert");
  return out;
}

void shorten(std::vector<float>& vector, int dimensions) {
  if (static_cast<size_t>(dimensions) >= vector.size()) return;
  vector.resize(static_cast<size_t>(dimensions));
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * static_cast<double>(x);
  if (sum > 0) {
    for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / std::sqrt(sum));
  }
}

// Tokens of every text, no more than the context holds. A token has at least one byte: short texts need not be looked at.
Status cut(Completer& completer, const ModelInfo& model, EmbedRequest& request) {
  const auto context = static_cast<size_t>(std::max(0, model.context_tokens));
  if (std::all_of(request.texts.begin(), request.texts.end(), [&](const std::string& text) { return text.size() < context; })) return ok_status();
  for (const std::string& text : request.texts) {
    TRY(auto ids, completer.tokenize(model.name, text, false, true));
    if (ids.size() > context) ids.resize(context);
    request.ids.push_back(std::move(ids));
  }
  request.texts.clear();
  return ok_status();
}

Json model_schema() { return object_schema(model_rows); }
Json copy_schema() { return object_schema(copy_rows); }
Json embed_schema() { return object_schema(embed_rows); }

}  // namespace

std::string ollama_name(const ModelInfo& model) { return model.name.find(':') == std::string::npos ? model.name + ":latest" : model.name; }

void Ollama::add_model_routes(Routes& routes) const {
  const auto add = [&](const char* method, const char* path, std::function<void(Exchange&)> handler, Json (*schema)() = nullptr, bool infers = false) {
    routes.push_back({method, path, std::move(handler), ollama_error, false, schema, infers});
  };
  add("GET", "/api/version", [](Exchange& exchange) { exchange.respond(200, {{"version", api_version}}); });
  add("GET", "/api/tags", [this](Exchange& exchange) { tags(exchange); });
  add("POST", "/api/show", [this](Exchange& exchange) { show(exchange); }, model_schema);
  add("GET", "/api/ps", [this](Exchange& exchange) { running(exchange); });
  add("POST", "/api/embed", [this](Exchange& exchange) { embed(exchange, false); }, embed_schema, true);
  add("POST", "/api/embeddings", [this](Exchange& exchange) { embed(exchange, true); }, embed_schema, true);
  add("POST", "/api/pull", [this](Exchange& exchange) { pull(exchange); }, model_schema);
  add("DELETE", "/api/delete", [this](Exchange& exchange) { remove(exchange); }, model_schema);
  add("POST", "/api/copy", [this](Exchange& exchange) { copy_model(exchange); }, copy_schema);
  for (const char* path : {"/api/create", "/api/push", "/api/blobs/{digest}"}) {
    add("POST", path, [](Exchange& exchange) { exchange.fail(to_api_error({Code::unsupported, "cannot make or publish models here: pull one, or give its file to calla"})); });
  }
  add("HEAD", "/api/blobs/{digest}", [](Exchange& exchange) { exchange.fail(to_api_error({Code::not_found, "cannot look up a blob: none are kept here"})); });
}

void Ollama::tags(Exchange& exchange) const {
  Json models = Json::array();
  for (const ModelInfo& info : backend_.completer().models()) models.push_back(entry(info));
  exchange.respond(200, {{"models", std::move(models)}});
}

void Ollama::running(Exchange& exchange) const {
  const auto stats = backend_.completer().stats();
  Json models = Json::array();
  for (const ModelInfo& info : backend_.completer().models()) {
    if (!info.loaded) continue;
    const auto found = std::find_if(stats.begin(), stats.end(), [&](const ModelStats& one) { return one.model == info.name; });
    Json one = entry(info);
    one.erase("modified_at");
    one["size"] = found == stats.end() ? info.bytes : std::max(info.bytes, found->weight_bytes) + found->state_bytes;
    one["size_vram"] = 0;
    one["context_length"] = info.context_tokens;
    one["expires_at"] = info.expires_unix_s ? iso_time(*info.expires_unix_s) : never;
    models.push_back(std::move(one));
  }
  exchange.respond(200, {{"models", std::move(models)}});
}

void Ollama::show(Exchange& exchange) const {
  Body body;
  if (const auto wrong = read_body(exchange.request.body, model_rows, body)) return exchange.fail(*wrong, ignored_header(body.ignored));
  const auto info = backend_.resolve(body.model);
  if (!info) return exchange.fail(backend_.unknown_model(), ignored_header(body.ignored));
  const std::string& family = info->architecture;
  const Json model_info = {{"general.architecture", family}, {family + ".context_length", info->context_tokens}};
  exchange.respond(200,
                   {{"modelfile", "FROM " + info->name + "\n"}, {"parameters", ""}, {"template", info->chat_template}, {"details", details(*info)},
                    {"model_info", model_info}, {"capabilities", capabilities(*info)}, {"modified_at", iso_time(info->modified_unix_s)}},
                   ignored_header(body.ignored));
}

void Ollama::embed(Exchange& exchange, bool one) const {
  const auto began = Clock::now();
  Body body;
  if (const auto wrong = read_body(exchange.request.body, embed_rows, body)) return exchange.fail(*wrong, ignored_header(body.ignored));
  const auto model = backend_.resolve(exchange, body.model);
  if (!model) return exchange.fail(backend_.unknown_model(), ignored_header(body.ignored));
  EmbedRequest request;
  request.model = model->name;
  request.gate = gate_notes(exchange, body.unknown);
  std::copy_if(body.inputs.begin(), body.inputs.end(), std::back_inserter(request.texts), [](const std::string& text) { return !text.empty(); });
  if (body.keep_alive) {
    const Status stays = backend_.guarded([&](Completer& completer) { return completer.load(model->name, body.keep_alive); });
    if (!stays) body.ignored.emplace_back("keep_alive");
  }
  Result<Embeddings> made = Embeddings{};
  if (!request.texts.empty()) {
    exchange.watched([&](std::stop_token stop) {
      const bool cuts = body.truncate && !exchange.options.gated;  // a privacy gate reads texts, not ids
      const Status fits = cuts ? backend_.guarded([&](Completer& completer) { return cut(completer, *model, request); }) : ok_status();
      made = fits ? backend_.embed(exchange, request, stop) : Result<Embeddings>(fits.error());
    });
  }
  if (!made) return exchange.fail(backend_.describe(exchange, made.error(), *model), ignored_header(body.ignored));
  if (body.dimensions > 0) {
    for (auto& vector : made->vectors) shorten(vector, body.dimensions);
  }
  if (one) return exchange.respond(200, {{"embedding", made->vectors.empty() ? Json::array() : Json(made->vectors.front())}}, ignored_header(body.ignored));
  exchange.respond(200,
                   {{"model", answered_by(exchange, body.model.empty() ? ollama_name(*model) : body.model)}, {"embeddings", made->vectors}, {"total_duration", nanoseconds_since(began)},
                    {"load_duration", 0}, {"prompt_eval_count", made->prompt_tokens}},
                   ignored_header(body.ignored));
}

void Ollama::pull(Exchange& exchange) const {
  Body body;
  if (const auto wrong = read_body(exchange.request.body, model_rows, body)) return exchange.fail(*wrong, ignored_header(body.ignored));
  if (body.model.empty()) return exchange.fail(*fault("model", "model is required", "missing_field"), ignored_header(body.ignored));
  const Json success = {{"status", "success"}};
  const auto fetch = [&](const Completer::PullProgress& progress, const std::stop_token& stop) {
    return backend_.guarded([&](Completer& completer) { return completer.pull(body.model, progress, stop); });
  };
  Status done = ok_status();
  if (!body.stream) {
    exchange.watched([&](std::stop_token stop) { done = fetch([&](const std::string&, size_t, size_t) { return !stop.stop_requested(); }, stop); });
    if (!done) return exchange.fail(to_api_error(done.error()), ignored_header(body.ignored));
    return exchange.respond(200, success, ignored_header(body.ignored));
  }
  bool unsent = false;
  const auto stream = [&](EventStream& events, std::stop_token stop) {
    done = fetch(
        [&](const std::string& status, size_t got, size_t total) {
          Json line = {{"status", status}};
          if (total > 0) line.update({{"digest", ""}, {"total", total}, {"completed", got}});
          return !stop.stop_requested() && events.send(text_of(line));
        },
        stop);
    unsent = !done && !events.started();
    if (!unsent) events.send(text_of(done ? success : ollama_error(to_api_error(done.error()))));
  };
  exchange.streamed(ignored_header(body.ignored), stream, Framing::ndjson);
  if (unsent) exchange.fail(to_api_error(done.error()), ignored_header(body.ignored));
}

void Ollama::remove(Exchange& exchange) const {
  Body body;
  if (const auto wrong = read_body(exchange.request.body, model_rows, body)) return exchange.fail(*wrong, ignored_header(body.ignored));
  const auto model = body.model.empty() ? std::nullopt : backend_.resolve(body.model);
  const bool by_own_name = model && (body.model == model->name || body.model == ollama_name(*model));  // an alias must not delete what it stands for
  if (!by_own_name) return exchange.fail(backend_.unknown_model(), ignored_header(body.ignored));
  const Status done = backend_.guarded([&](Completer& completer) { return completer.remove(model->name); });
  if (!done) return exchange.fail(to_api_error(done.error()), ignored_header(body.ignored));
  exchange.respond(200, Json::object(), ignored_header(body.ignored));
}

void Ollama::copy_model(Exchange& exchange) const {
  Body body;
  if (const auto wrong = read_body(exchange.request.body, copy_rows, body)) return exchange.fail(*wrong, ignored_header(body.ignored));
  if (body.source.empty()) return exchange.fail(*fault("source", "source is required", "missing_field"), ignored_header(body.ignored));
  if (body.destination.empty()) return exchange.fail(*fault("destination", "destination is required", "missing_field"), ignored_header(body.ignored));
  const auto model = backend_.resolve(body.source);
  if (!model) return exchange.fail(backend_.unknown_model(), ignored_header(body.ignored));
  const Status done = backend_.guarded([&](Completer& completer) { return completer.copy(model->name, body.destination); });
  if (!done) return exchange.fail(to_api_error(done.error()), ignored_header(body.ignored));
  exchange.respond(200, Json::object(), ignored_header(body.ignored));
}
