// text_parts: where each container keeps what belongs to text.
#include "app/text_parts.h"

#include <algorithm>
#include "core/json.h"

namespace {

constexpr size_t kMaxTokenizerBytes = size_t{64} << 20, kMaxTextBytes = size_t{16} << 20;

// A sidecar's text; "" when there is none.
Result<std::string> optional_sidecar(const WeightFile& file, std::string_view name, size_t max_bytes) {
  auto text = file.sidecar(name, max_bytes);
  if (!text && text.error().code == Code::not_found) return std::string();
  return text;
}

template <class T>
const T* meta_list(const WeightFile& file, std::string_view key) {
  const MetaValue* value = file.meta(key);
  return value == nullptr ? nullptr : std::get_if<T>(&value->value);
}

std::optional<TokenId> meta_id(const WeightFile& file, std::string_view key, size_t n_tokens) {
  const auto id = meta_int(file, key);
  if (!id || *id < 0 || static_cast<size_t>(*id) >= n_tokens) return std::nullopt;
  return static_cast<TokenId>(*id);
}

Result<VocabularyTable> vocabulary_table(const WeightFile& file) {
  VocabularyTable table;
  const auto* tokens = meta_list<std::vector<std::string_view>>(file, "tokenizer.ggml.tokens");
  if (tokens == nullptr) return Error{Code::unsupported, "cannot read the tokenizer: " + file.path() + ": metadata tokenizer.ggml.tokens expected, none found"};
  table.model = meta_string(file, "tokenizer.ggml.model").value_or("");
  table.pre = meta_string(file, "tokenizer.ggml.pre").value_or("");
  table.tokens = *tokens;
  if (const auto* merges = meta_list<std::vector<std::string_view>>(file, "tokenizer.ggml.merges")) table.merges = *merges;
  if (const auto* scores = meta_list<std::vector<double>>(file, "tokenizer.ggml.scores")) table.scores.assign(scores->begin(), scores->end());
  if (const auto* types = meta_list<std::vector<int64_t>>(file, "tokenizer.ggml.token_type"))
    for (const int64_t type : *types) table.types.push_back(static_cast<int32_t>(std::clamp<int64_t>(type, 0, 100)));
  const size_t n = tokens->size();
  table.bos = meta_id(file, "tokenizer.ggml.bos_token_id", n);
  table.eos = meta_id(file, "tokenizer.ggml.eos_token_id", n);
  table.eot = meta_id(file, "tokenizer.ggml.eot_token_id", n);
  table.unknown = meta_id(file, "tokenizer.ggml.unknown_token_id", n);
  table.padding = meta_id(file, "tokenizer.ggml.padding_token_id", n);
  table.add_bos = meta_bool(file, "tokenizer.ggml.add_bos_token");
  table.add_eos = meta_bool(file, "tokenizer.ggml.add_eos_token");
  table.add_space_prefix = meta_bool(file, "tokenizer.ggml.add_space_prefix");
  return table;
}

// The text room knows no paths: its errors get one.
Result<std::shared_ptr<const Tokenizer>> named(const WeightFile& file, Result<std::shared_ptr<const Tokenizer>> tokenizer) {
  if (tokenizer) return tokenizer;
  std::string_view seen = tokenizer.error().message;
  constexpr std::string_view attempt = "cannot parse ";
  if (seen.starts_with(attempt)) seen.remove_prefix(attempt.size());
  return Error{tokenizer.error().code, "cannot read the tokenizer: " + file.path() + ": " + std::string(seen)};
}

// "chat_template": a text, or a list of {"name", "template"}.
std::string template_of_config(JsonView root) {
  if (const auto text = find_string(root, "chat_template")) return std::string(*text);
  const auto list = find(root, "chat_template");
  std::string first;
  if (!list || !list->is_array()) return first;
  for (const JsonView entry : simdjson::dom::array(*list)) {
    const auto source = find_string(entry, "template");
    if (!source) continue;
    if (find_string(entry, "name") == "default") return std::string(*source);
    if (first.empty()) first = *source;
  }
  return first;
}

// A message's text, from a string or from a list of parts.
#define WORDS                                                                                                            \
  "{%- macro words(content) -%}{%- if content is string -%}{{- content -}}{%- elif content -%}{%- for part in content -%}" \
  "{%- if part.text is string -%}{{- part.text -}}{%- else -%}{{- raise_exception('Only text is understood.') -}}"        \
  "{%- endif -%}{%- endfor -%}{%- endif -%}{%- endmacro -%}"

struct TurnStyle { const char *begin, *end, *source; };
constexpr TurnStyle kTurnStyles[] = {
    // Gemma: the roles are user and model; a system message stands before the first turn's text.
    {"<start_of_turn>", "<end_of_turn>",
     WORDS "{{- bos_token -}}{%- set held = namespace(system='') -%}{%- for message in messages -%}{%- set text = words(message.content) | trim -%}"
     "{%- if message.role == 'system' -%}{%- set held.system = held.system + text + '\n\n' -%}{%- else -%}"
     "{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' + held.system + text + '<end_of_turn>\n' -}}"
     "{%- set held.system = '' -%}{%- endif -%}{%- endfor -%}{%- if add_generation_prompt -%}{{- '<start_of_turn>model\n' -}}{%- endif -%}"},
    {"<|im_start|>", "<|im_end|>",
     WORDS "{%- for message in messages -%}{{- '<|im_start|>' + message.role + '\n' + words(message.content) + '<|im_end|>\n' -}}{%- endfor -%}"
     "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}"},
};
#undef WORDS

}  // namespace

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const WeightFile& file) {
  if (file.container() == Container::gguf) {
    TRY(const VocabularyTable table, vocabulary_table(file));
    return named(file, tokenizer_from_table(table));
  }
  auto json = file.sidecar("tokenizer.json", kMaxTokenizerBytes);
  if (!json && json.error().code == Code::not_found)
    return Error{Code::unsupported, "cannot read the tokenizer: " + file.path() + ": tokenizer.json expected, no such file"};
  if (!json) return json.error();
  TRY(const std::string config, optional_sidecar(file, "tokenizer_config.json", kMaxTextBytes));
  return named(file, tokenizer_from_json(*json, config));
}

Result<std::string> chat_template_source(const WeightFile& file) {
  if (file.container() == Container::gguf) return std::string(meta_string(file, "tokenizer.chat_template").value_or(""));
  TRY(std::string source, optional_sidecar(file, "chat_template.jinja", kMaxTextBytes));
  if (!source.empty()) return source;
  TRY(const std::string config, optional_sidecar(file, "tokenizer_config.json", kMaxTextBytes));
  if (config.empty()) return source;
  TRY(const JsonDocument document, JsonDocument::parse("tokenizer_config.json of " + file.path(), config));
  return template_of_config(document.root());
}

Result<std::shared_ptr<const ChatTemplate>> open_chat_template(const WeightFile& file) {
  TRY(const std::string source, chat_template_source(file));
  if (source.empty()) return std::shared_ptr<const ChatTemplate>();
  return ChatTemplate::compile(source);
}

Result<BuiltInTemplate> built_in_chat_template(const Tokenizer& tokenizer) {
  BuiltInTemplate found;
  for (const TurnStyle& style : kTurnStyles) {
    const auto begin = tokenizer.find(style.begin), end = tokenizer.find(style.end);
    if (!begin || !end || !tokenizer.is_special(*begin) || !tokenizer.is_special(*end)) continue;
    TRY(found.compiled, ChatTemplate::compile(style.source));
    found.token = style.begin;
    break;
  }
  return found;
}

void add_stop_ids(const Tokenizer& tokenizer, GenerationDefaults& defaults) {
  const auto add = [&](std::optional<TokenId> id) {
    if (id && std::ranges::count(defaults.stop_ids, *id) == 0) defaults.stop_ids.push_back(*id);
  };
  add(tokenizer.eos());
  for (const char* name : {"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "<end_of_turn>", "<turn|>"})
    if (const auto id = tokenizer.find(name); id && tokenizer.is_special(*id)) add(id);
}

std::string token_text(const Tokenizer& tokenizer, std::optional<TokenId> id) { return id ? std::string(tokenizer.bytes(*id, false)) : ""; }
