// tokenizer_table: a GGUF's vocabulary keys into a tokenizer, with the meaning Hugging Face gives the same model.
#include <algorithm>

#include "text/bpe_tokenizer.h"
#include "text/pre_names.h"

namespace {
enum TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
}  // namespace

static constexpr const char* kMetaspace = "\xe2\x96\x81";
static constexpr size_t kMaxMerges = 1 << 23;

static Error corrupt(std::string what) { return {Code::corrupt_file, "tokenizer.ggml: " + std::move(what)}; }

static int32_t type_of(const VocabularyTable& table, size_t id) { return table.types.empty() ? int32_t{kNormal} : table.types[id]; }

// The converter writes a SentencePiece run of U+2581 as spaces when it is user-defined.
static std::string token_text(const VocabularyTable& table, size_t id, bool sentencepiece) {
  const std::string_view text = table.tokens[id];
  if (!sentencepiece || text.empty() || text.find_first_not_of(' ') != text.npos) return std::string(text);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) out += kMetaspace;
  return out;
}

static Status check_sizes(const VocabularyTable& table) {
  const size_t n = table.tokens.size();
  if (n == 0) return corrupt("there are no tokens");
  if (n > static_cast<size_t>(Vocabulary::kMaxTokens)) return Error{Code::too_large, "tokenizer.ggml: too many tokens"};
  if (table.merges.size() > kMaxMerges) return Error{Code::too_large, "tokenizer.ggml: too many merges"};
  if (!table.scores.empty() && table.scores.size() != n) return corrupt("scores and tokens differ in number");
  if (!table.types.empty() && table.types.size() != n) return corrupt("token_type and tokens differ in number");
  for (const auto& id : {table.bos, table.eos, table.eot, table.unknown, table.padding})
    if (id && (*id < 0 || static_cast<size_t>(*id) >= n)) return corrupt("a special token's id is not a token");
  return ok_status();
}

// Tokens as vocabulary; control and user-defined ones also as added tokens. A padding row (unused) that repeats a text is no token.
static Status read_tokens(const VocabularyTable& table, bool sentencepiece, TokenizerParts& parts) {
  size_t bytes = 0;
  for (const std::string_view token : table.tokens) bytes += token.size();
  parts.vocabulary->reserve(table.tokens.size(), bytes);
  for (size_t id = 0; id < table.tokens.size(); ++id) {
    const int32_t type = type_of(table, id);
    const std::string text = token_text(table, id, sentencepiece);
    if ((type == kUnused || text.empty()) && parts.vocabulary->find(text)) continue;
    if (!is_utf8(text)) return corrupt("token " + std::to_string(id) + " is not UTF-8");
    TRY_STATUS(parts.vocabulary->add(text, static_cast<int64_t>(id)));
    if (type != kControl && type != kUserDefined && !(type == kUnknown && sentencepiece)) continue;
    AddedToken token{.content = text, .id = static_cast<TokenId>(id)};
    token.special = type != kUserDefined;
    parts.added.push_back(std::move(token));
  }
  return ok_status();
}

static Status read_merges(const VocabularyTable& table, TokenizerParts& parts) {
  MergeBuilder builder(parts.vocabulary.get());
  for (const AddedToken& token : parts.added)
    if (token.special) builder.never_make(token.id);
  builder.reserve(table.merges.size());
  for (const std::string_view line : table.merges) {
    const size_t space = line.find(' ', 1);
    if (space == line.npos) return corrupt("a merge is not two tokens with a space between");
    TRY_STATUS(builder.add(line.substr(0, space), line.substr(space + 1)));
  }
  parts.merges = builder.finish();
  return ok_status();
}

// SentencePiece matches user-defined pieces first; the converter overwrites their score 0, the best one, with -1000.
static void merges_of_scores(const VocabularyTable& table, TokenizerParts& parts) {
  std::vector<float> scores = table.scores;
  std::vector<bool> excluded(scores.size());
  for (size_t id = 0; id < scores.size(); ++id) {
    const int32_t type = type_of(table, id);
    if (type == kUserDefined) scores[id] = 0;
    if (!(scores[id] <= 0 || scores[id] > 0)) scores[id] = -1e30f;  // NaN has no place in an order
    excluded[id] = type == kControl || type == kUnknown || type == kUnused;
  }
  parts.merges = merges_from_scores(*parts.vocabulary, scores, excluded);
}

static Status byte_level_parts(const VocabularyTable& table, TokenizerParts& parts) {
  TRY(const PreTokenizerRecipe recipe, find_recipe(table.pre));
  TRY_STATUS(read_tokens(table, false, parts));
  TRY_STATUS(read_merges(table, parts));
  if (recipe.nfc) parts.normalizer.add(NormalForm::nfc);
  parts.bpe.ignore_merges = recipe.ignore_merges;
  TRY_STATUS(add_steps(recipe, parts.pre_tokenizer));
  TRY_STATUS(parts.decoder.add(DecodeByteLevel{}));
  if (table.add_bos.value_or(recipe.adds_bos) && table.bos) parts.before = {*table.bos};
  return ok_status();
}

// Spaces become U+2581, unknown characters become <0xXX> tokens.
static Status sentencepiece_parts(const VocabularyTable& table, TokenizerParts& parts) {
  TRY_STATUS(read_tokens(table, true, parts));
  if (!table.merges.empty()) {
    TRY_STATUS(read_merges(table, parts));
  } else {
    if (table.scores.empty()) return corrupt("there are neither merges nor scores");
    merges_of_scores(table, parts);
  }
  const bool prefix = table.model == "llama" && table.add_space_prefix.value_or(true);
  if (prefix) parts.normalizer.add(PrependStep{kMetaspace});
  ReplaceStep to_metaspace, to_space;
  to_metaspace.literal.assign(1, ' '), to_metaspace.content = kMetaspace;
  to_space.literal = kMetaspace, to_space.content.assign(1, ' ');
  parts.normalizer.add(std::move(to_metaspace));
  if (table.model == "gemma4") {
    SplitStep newlines;
    TRY(newlines.pattern, Regex::compile("\\n+"));
    parts.pre_tokenizer.add(std::move(newlines));
  }
  TRY_STATUS(parts.decoder.add(std::move(to_space)));
  TRY_STATUS(parts.decoder.add(DecodeByteFallback{}));
  TRY_STATUS(parts.decoder.add(DecodeFuse{}));
  if (prefix) TRY_STATUS(parts.decoder.add(DecodeStrip{std::string(1, ' '), 1, 0}));
  parts.bpe = {.byte_fallback = true, .ignore_merges = false, .fuse_unknown = true, .unknown = table.unknown};
  const bool forced = table.model == "gemma4";
  if (table.bos && (forced || table.add_bos.value_or(true))) parts.before = {*table.bos};
  return ok_status();
}

Result<std::shared_ptr<const Tokenizer>> tokenizer_from_table(const VocabularyTable& table) {
  TRY_STATUS(check_sizes(table));
  TokenizerParts parts;
  if (table.model == "gpt2") {
    TRY_STATUS(byte_level_parts(table, parts));
  } else if (table.model == "llama" || table.model == "gemma4") {
    TRY_STATUS(sentencepiece_parts(table, parts));
  } else {
    return Error{Code::unsupported, "tokenizer.ggml.model \"" + table.model.substr(0, 64) + "\" is not supported"};
  }
  if (table.add_eos.value_or(false) && table.eos) parts.after = {*table.eos};
  parts.bos = table.bos, parts.eos = table.eos;
  return make_tokenizer(std::move(parts));
}
