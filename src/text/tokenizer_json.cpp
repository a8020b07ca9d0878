// tokenizer_json: a Hugging Face tokenizer.json (model, added tokens, special tokens) into a tokenizer.
#include <array>

#include "text/bpe_tokenizer.h"
#include "text/tokenizer_json_steps.h"

static constexpr size_t kMaxJsonBytes = 64 << 20;
static constexpr size_t kMaxMerges = 1 << 23;

static Error corrupt(std::string what) { return {Code::corrupt_file, "tokenizer.json: " + std::move(what)}; }

static Status read_vocabulary(JsonView model, Vocabulary& out) {
  const auto vocab = find(model, "vocab");
  simdjson::dom::object object;
  if (!vocab || vocab->get(object)) return corrupt("model.vocab is not an object");
  if (object.size() > static_cast<size_t>(Vocabulary::kMaxTokens)) return Error{Code::too_large, "tokenizer.json: model.vocab has too many tokens"};
  out.reserve(object.size(), object.size() * 8);
  for (const auto& [key, value] : object) {
    int64_t id = 0;
    if (value.get(id)) return corrupt("model.vocab has an id that is not an integer");
    TRY_STATUS(out.add(key, id));
  }
  return ok_status();
}

static Status read_added(JsonView root, const Vocabulary& vocabulary, std::vector<AddedToken>& out) {
  const auto list = find(root, "added_tokens");
  if (!list) return ok_status();
  simdjson::dom::array array;
  if (list->get(array)) return corrupt("added_tokens is not an array");
  for (const JsonView entry : array) {
    const auto content = find_string(entry, "content");
    const auto id = find_int(entry, "id");
    if (!content || !id || *id < 0 || *id >= Vocabulary::kMaxTokens) return corrupt("an added token has no content or no valid id");
    if (content->size() > Vocabulary::kMaxTokenBytes) return Error{Code::too_large, "tokenizer.json: an added token is longer than 64 KiB"};
    const auto flag = [&](const char* name, bool otherwise) { return find_bool(entry, name).value_or(otherwise); };
    const bool special = flag("special", false);
    AddedToken token{std::string(*content), static_cast<TokenId>(*id), flag("single_word", false), flag("lstrip", false), flag("rstrip", false),
                     flag("normalized", !special), special};
    if (const auto known = vocabulary.find(token.content)) token.id = *known;
    out.push_back(std::move(token));
  }
  return ok_status();
}

// "left right", or ["left", "right"].
static Status read_merge(JsonView entry, MergeBuilder& out) {
  std::string_view line;
  if (!entry.get(line)) {
    const size_t space = line.find(' ');
    if (line.starts_with("#version")) return ok_status();
    if (space == line.npos || line.find(' ', space + 1) != line.npos) return corrupt("a merge is not two tokens with one space between");
    return out.add(line.substr(0, space), line.substr(space + 1));
  }
  simdjson::dom::array pair;
  std::string_view left, right;
  if (entry.get(pair) || pair.size() != 2 || pair.at(0).get(left) || pair.at(1).get(right)) return corrupt("a merge is neither a text nor a pair of texts");
  return out.add(left, right);
}

static Status read_merges(JsonView model, TokenizerParts& parts) {
  MergeBuilder builder(parts.vocabulary.get());
  for (const AddedToken& token : parts.added)
    if (token.special && !token.normalized && !token.single_word && parts.vocabulary->has(token.id)) builder.never_make(token.id);
  const auto list = find(model, "merges");
  simdjson::dom::array array;
  if (!list || list->get(array)) return corrupt("model.merges is not an array");
  size_t count = 0;
  for ([[maybe_unused]] const JsonView entry : array) ++count;  // size() saturates
  if (count > kMaxMerges) return Error{Code::too_large, "tokenizer.json: model.merges has too many entries"};
  builder.reserve(count);
  for (const JsonView entry : array) TRY_STATUS(read_merge(entry, builder));
  parts.merges = builder.finish();
  return ok_status();
}

static Status read_model(JsonView root, TokenizerParts& parts) {
  const auto model = find(root, "model");
  if (!model) return corrupt("there is no model");
  const auto type = find_string(*model, "type").value_or("BPE");
  if (type != "BPE") return Error{Code::unsupported, "tokenizer.json: a model of type " + std::string(type.substr(0, 64)) + " is not supported"};
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!find_string(*model, key).value_or("").empty()) return Error{Code::unsupported, std::string("tokenizer.json: model.") + key + " is not supported"};
  if (find_double(*model, "dropout").value_or(0) != 0) return Error{Code::unsupported, "tokenizer.json: model.dropout is not supported"};
  TRY_STATUS(read_vocabulary(*model, *parts.vocabulary));
  TRY_STATUS(read_added(root, *parts.vocabulary, parts.added));
  TRY_STATUS(read_merges(*model, parts));
  parts.bpe.byte_fallback = find_bool(*model, "byte_fallback").value_or(false);
  parts.bpe.ignore_merges = find_bool(*model, "ignore_merges").value_or(false);
  parts.bpe.fuse_unknown = find_bool(*model, "fuse_unk").value_or(false);
  if (const auto unknown = find_string(*model, "unk_token")) parts.bpe.unknown = parts.vocabulary->find(*unknown);
  return ok_status();
}

static std::optional<TokenId> find_token(const TokenizerParts& parts, std::string_view text) {
  for (const AddedToken& token : parts.added)
    if (token.content == text) return token.id;
  return parts.vocabulary->find(text);
}

// tokenizer_config.json names special tokens as a text or as {"content": text}.
static std::optional<TokenId> special_token(const TokenizerParts& parts, JsonView config, const char* key) {
  const auto value = find(config, key);
  if (!value) return std::nullopt;
  std::string_view text;
  if (value->get(text)) text = find_string(*value, "content").value_or("");
  return text.empty() ? std::nullopt : find_token(parts, text);
}

// Without a template in tokenizer.json, the configuration's add_bos_token and add_eos_token decide.
static Status read_config(std::string_view text, TokenizerParts& parts) {
  TRY(const JsonDocument document, JsonDocument::parse("tokenizer_config.json", text, kMaxJsonBytes));
  const JsonView config = document.root();
  parts.bos = special_token(parts, config, "bos_token");
  parts.eos = special_token(parts, config, "eos_token");
  if (!parts.before.empty() || !parts.after.empty()) return ok_status();
  if (find_bool(config, "add_bos_token").value_or(false) && parts.bos) parts.before = {*parts.bos};
  if (find_bool(config, "add_eos_token").value_or(false) && parts.eos) parts.after = {*parts.eos};
  return ok_status();
}

Result<std::shared_ptr<const Tokenizer>> tokenizer_from_json(std::string_view tokenizer_json, std::string_view tokenizer_config_json) {
  TRY(const JsonDocument document, JsonDocument::parse("tokenizer.json", tokenizer_json, kMaxJsonBytes));
  const JsonView root = document.root();
  if (!root.is_object()) return corrupt("the text is not an object");
  TokenizerParts parts;
  TRY_STATUS(read_model(root, parts));
  if (const auto normalizer = find(root, "normalizer")) TRY_STATUS(read_normalizer(*normalizer, parts.normalizer));
  if (const auto pre_tokenizer = find(root, "pre_tokenizer")) TRY_STATUS(read_pre_tokenizer(*pre_tokenizer, parts.pre_tokenizer));
  if (const auto processor = find(root, "post_processor")) TRY_STATUS(read_post_processor(*processor, parts.before, parts.after));
  if (const auto decoder = find(root, "decoder")) TRY_STATUS(read_decoder(*decoder, parts.decoder));
  if (!tokenizer_config_json.empty()) TRY_STATUS(read_config(tokenizer_config_json, parts));
  return make_tokenizer(std::move(parts));
}
