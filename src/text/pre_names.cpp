// pre names: the table from tokenizer.ggml.pre to regular expressions (those of the models' own tokenizer.json files).
#include "text/pre_names.h"

#include "text/unicode.h"

// Llama 3 and its kin differ in how digits group.
#define CALLA_LLAMA3_SPLIT(digits) \
  R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)" digits R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
static constexpr const char* kLlama3 = CALLA_LLAMA3_SPLIT(R"(\p{N}{1,3})");
static constexpr const char* kQwen2 = CALLA_LLAMA3_SPLIT(R"(\p{N})");
#undef CALLA_LLAMA3_SPLIT
static constexpr const char* kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr const char* kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr const char* kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
static constexpr const char* kDeepseekHan = "[\xe4\xb8\x80-\xe9\xbe\xa5\xe0\xa0\x80-\xe4\xb8\x80\xea\xb0\x80-\xed\x9f\xbf]+";  // U+4E00-9FA5, 0800-4E00, AC00-D7FF

namespace {
struct NamedRecipe {
  std::string_view names;  // between spaces
  PreTokenizerRecipe recipe;
};
}  // namespace

static const NamedRecipe kRecipes[] = {
    {" default gpt-2 gpt2 phi-2 mpt olmo jina-en jina-es jina-de ", {.gpt2 = true}},
    {" smollm starcoder refact command-r codeshell ", {.digits = true, .gpt2 = true}},
    {" llama3 llama-v3 llama-bpe falcon3 ", {.splits = {kLlama3}, .ignore_merges = true, .adds_bos = true}},
    {" dbrx smaug-bpe ", {.splits = {kLlama3}}},
    {" qwen2 deepseek-r1-qwen ", {.splits = {kQwen2}, .nfc = true}},
    {" qwen35 ", {.splits = {kQwen35}, .nfc = true}},
    {" tekken ", {.splits = {kTekken}, .ignore_merges = true, .adds_bos = true}},
    {" gpt-4o llama4 ", {.splits = {kGpt4o}}},
    {" deepseek-v3 deepseek-r1 ", {.splits = {R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)", kDeepseek3}}},
    {" deepseek-coder ", {.splits = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepseekHan, R"(\p{N})"}}},
};

Result<PreTokenizerRecipe> find_recipe(std::string_view pre) {
  const std::string wanted = std::string(1, ' ').append(pre.empty() ? "default" : pre).append(1, ' ');
  for (const NamedRecipe& named : kRecipes)
    if (pre.find(' ') == pre.npos && named.names.find(wanted) != named.names.npos) return named.recipe;
  return Error{Code::unsupported, "tokenizer.ggml.pre \"" + std::string(pre.substr(0, 64)) + "\" is not supported"};
}

Status add_steps(const PreTokenizerRecipe& recipe, PreTokenizer& out) {
  if (recipe.digits) out.add(CharacterStep{is_numeric, SplitBehavior::isolated});
  for (const char* pattern : recipe.splits) {
    if (!pattern) break;
    SplitStep split;
    TRY(split.pattern, Regex::compile(pattern));
    out.add(std::move(split));
  }
  ByteLevelStep letters;
  letters.use_pattern = recipe.gpt2;
  TRY(letters.pattern, Regex::compile(kGpt2Pattern));
  out.add(std::move(letters));
  return ok_status();
}
