// openai: /v1/embeddings.
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include "wire/describe.h"
#include "wire/messages.h"
#include "wire/openai.h"

namespace {

using enum Field::Kind;

constexpr size_t max_inputs = 2048;

struct EmbeddingsRequest : ParsedRequest {
  std::vector<Prompt> inputs;
  bool base64 = false;
  std::optional<int> dimensions;
  EmbedRequest::Pooling pooling = EmbedRequest::Pooling::mean;
};
using Out = EmbeddingsRequest;

Fault set_strict(Out& out, const FieldValue& value) { return out.strict = value.flag, std::nullopt; }
Fault set_model(Out& out, const FieldValue& value) { return out.chat.model = value.text, std::nullopt; }
Fault set_input(Out& out, const FieldValue& value) { return read_prompts(value, max_inputs, out.inputs); }
Fault set_encoding(Out& out, const FieldValue& value) { return out.base64 = value.text == "base64", std::nullopt; }
Fault set_dimensions(Out& out, const FieldValue& value) { return out.dimensions = value.small(), std::nullopt; }
Fault set_pooling(Out& out, const FieldValue& value) {
  out.pooling = value.text == "last" ? EmbedRequest::Pooling::last : EmbedRequest::Pooling::mean;
  return std::nullopt;
}

Json input_schema() { return prompts_schema(max_inputs); }

constexpr Row<Out> rows[] = {
    {{"strict", boolean, 0, 0, "what would be ignored is a 400"}, set_strict},
    {{"model", text, 0, 1024, "a name of /v1/models or an alias; the first model when absent"}, set_model},
    {{"input", any, 0, 0, "one or several texts or lists of token ids", nullptr, input_schema}, set_input},
    {{"encoding_format", word, 0, 0, "base64: little-endian 32-bit floats", "float base64"}, set_encoding},
    {{"dimensions", integer, 1, 1 << 20, "the first so many, of length 1 again"}, set_dimensions},
    {{"pooling", word, 0, 0, "how tokens become one vector; mean when absent", "mean last"}, set_pooling},
};

Fault parse_embeddings(std::string_view body, Out& out) {
  JsonDocument document;
  if (auto wrong = parse_body(body, document)) return wrong;
  FieldReader reader(document.root());
  if (auto wrong = reader.read(rows, out)) return wrong;
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  if (out.inputs.empty()) return fault("input", "input is required", "missing_field");
  const bool ids = !out.inputs.front().ids.empty();
  for (const Prompt& input : out.inputs) {
    if (input.ids.empty() == ids) return fault("input", "input must hold texts or lists of token ids, not both", "invalid_type");
    if (!ids && input.text.empty()) return fault("input", "input must not hold an empty text");
  }
  return std::nullopt;
}

// The first `size` values, of length 1 again.
void shorten(std::vector<float>& vector, size_t size) {
  vector.resize(size);
  double squares = 0;
  for (const float value : vector) squares += static_cast<double>(value) * value;
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  for (float& value : vector) value = static_cast<float>(value * scale);
}

std::string base64_of(std::span<const float> vector) {
  static_assert(std::endian::native == std::endian::little);
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = reinterpret_cast<const unsigned char*>(vector.data());
  const size_t size = vector.size_bytes();
  std::string out;
  out.reserve((size + 2) / 3 * 4);
  for (size_t i = 0; i < size; i += 3) {
    const size_t n = std::min<size_t>(3, size - i);
    const uint32_t group = static_cast<uint32_t>(bytes[i] << 16 | (n > 1 ? bytes[i + 1] << 8 : 0) | (n > 2 ? bytes[i + 2] : 0));
    for (size_t digit = 0; digit < 4; ++digit) out += digit <= n ? digits[group >> (18 - 6 * digit) & 63] : '=';
  }
  return out;
}

}  // namespace

Json embedding_schema() {
  Json schema = object_schema(rows);
  schema["required"] = {"input"};
  return schema;
}

Json embedding_effects() {
  Json out = Json::object();
  add_effects(rows, out);
  return out;
}

void OpenAi::embed(Exchange& exchange) const {
  EmbeddingsRequest request;
  if (const auto wrong = parse_embeddings(exchange.request.body, request)) return exchange.fail(*wrong, ignored_header(request.ignored));
  const auto model = backend_.admit(exchange, request);
  if (!model) return;
  EmbedRequest asked;
  asked.model = model->name;
  asked.gate = request.chat.gate;
  asked.pooling = request.pooling;
  for (Prompt& input : request.inputs) input.ids.empty() ? asked.texts.push_back(std::move(input.text)) : asked.ids.push_back(std::move(input.ids));
  Result<Embeddings> made = answer_cancelled();
  bool left = false;
  exchange.watched([&](std::stop_token stop) {
    made = backend_.embed(exchange, asked, stop);
    left = stop.stop_requested();
  });
  if (left) return exchange.fail(client_left());
  if (!made) return exchange.fail(backend_.describe(exchange, made.error(), *model), ignored_header(request.ignored));
  Json data = Json::array();
  for (std::vector<float>& vector : made->vectors) {
    if (request.dimensions && static_cast<size_t>(*request.dimensions) > vector.size()) {
      return exchange.fail(*fault("dimensions", fmt::format("dimensions must be at most {}", vector.size())));
    }
    if (request.dimensions) shorten(vector, static_cast<size_t>(*request.dimensions));
    data.push_back({{"object", "embedding"}, {"index", data.size()}, {"embedding", request.base64 ? Json(base64_of(vector)) : Json(vector)}});
  }
  const Json usage = {{"prompt_tokens", made->prompt_tokens}, {"total_tokens", made->prompt_tokens}};
  exchange.respond(200, {{"object", "list"}, {"data", std::move(data)}, {"model", answered_by(exchange, model->name)}, {"usage", usage}}, ignored_header(request.ignored));
}
