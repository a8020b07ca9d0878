// tokenizer tests: equality with Hugging Face's goldens, detokenisation, stop strings, bounds and errors.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/mapped_file.h"
#include "text/gguf_vocabulary.h"
#include "text/text.h"

using TokenizerPointer = std::shared_ptr<const Tokenizer>;
static const std::string kGoldens = std::string(CALLA_SOURCE_DIR) + "/tests/golden/tokenizer/";

static std::string bytes_of_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return out;
}

static std::vector<TokenId> ids_of(JsonView row, const char* key) {
  std::vector<TokenId> out;
  for (const JsonView id : simdjson::dom::array(*find(row, key))) out.push_back(static_cast<TokenId>(int64_t(id)));
  return out;
}

static std::string stream(const TokenizerPointer& tokenizer, const std::vector<TokenId>& ids, bool skip_special) {
  Detokenizer detokenizer(tokenizer, skip_special);
  std::string out;
  for (const TokenId id : ids) detokenizer.push(id, out);
  detokenizer.flush(out);
  return out;
}

static void expect_decodes(const TokenizerPointer& tokenizer, JsonView row) {
  const auto ids = ids_of(row, "ids");
  const std::string decoded(*find_string(row, "decoded")), kept(find_string(row, "kept").value_or(decoded));
  EXPECT_EQ(tokenizer->decode(ids, true), decoded);
  EXPECT_EQ(tokenizer->decode(ids, false), kept);
  EXPECT_EQ(stream(tokenizer, ids, true), decoded);
  EXPECT_EQ(stream(tokenizer, ids, false), kept);
}

// Golden files are made by tools/golden_tokenizer.py.
static void expect_golden(const TokenizerPointer& tokenizer, const std::string& golden_path) {
  auto strings = JsonDocument::read(kGoldens + "strings.json");
  auto golden = JsonDocument::read(golden_path);
  ASSERT_TRUE(strings && golden);
  const simdjson::dom::array texts(strings->root()), rows(*find(golden->root(), "encoded"));
  ASSERT_EQ(texts.size(), rows.size());
  ASSERT_GE(texts.size(), 300u);
  auto row = rows.begin();
  for (const JsonView hex : texts) {
    SCOPED_TRACE(std::string(std::string_view(hex)));
    const std::string text = bytes_of_hex(std::string_view(hex));
    EXPECT_EQ(tokenizer->encode(text), ids_of(*row, "ids"));
    EXPECT_EQ(tokenizer->encode(text, {.special = true, .bos_eos = true}), ids_of(*row, find(*row, "wrapped") ? "wrapped" : "ids"));
    expect_decodes(tokenizer, *row);
    ++row;
  }
  for (const JsonView random : simdjson::dom::array(*find(golden->root(), "random"))) expect_decodes(tokenizer, random);
}

static TokenizerPointer load_json(const std::string& path) {
  auto text = read_file(path, size_t{128} << 20);
  if (!text) return nullptr;
  auto tokenizer = tokenizer_from_json(*text, "");
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? *tokenizer : nullptr;
}

static TokenizerPointer tiny() { return load_json(kGoldens + "qwen2-tiny.tokenizer.json"); }

TEST(Tokenizer, EqualsHuggingFaceOnQwen2Tiny) { expect_golden(tiny(), kGoldens + "qwen2-tiny.golden.json"); }
TEST(Tokenizer, EqualsHuggingFaceOnQwen35Tiny) { expect_golden(load_json(kGoldens + "qwen35-tiny.tokenizer.json"), kGoldens + "qwen35-tiny.golden.json"); }

// CALLA_TEST_MODELS names a folder of NAME.gguf or NAME.json with NAME.golden.json beside it (golden_tokenizer.py golden …).
TEST(Tokenizer, EqualsHuggingFaceOnRealModels) {
  const char* folder = std::getenv("CALLA_TEST_MODELS");
  if (!folder) GTEST_SKIP() << "CALLA_TEST_MODELS is not set: the vocabularies of real models were not checked";
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string(), golden = entry.path().parent_path() / (entry.path().stem().string() + ".golden.json");
    if (path.ends_with(".golden.json") || !std::filesystem::exists(golden)) continue;
    SCOPED_TRACE(path);
    TokenizerPointer tokenizer;
    if (path.ends_with(".gguf")) {
      const auto vocabulary = GgufVocabulary::open(path);
      ASSERT_TRUE(vocabulary);
      auto made = tokenizer_from_table(vocabulary->table);
      ASSERT_TRUE(made) << made.error().message;
      tokenizer = *made;
    } else if (path.ends_with(".json")) {
      tokenizer = load_json(path);
    } else {
      continue;
    }
    ASSERT_TRUE(tokenizer);
    expect_golden(tokenizer, golden);
    ++checked;
  }
  if (checked == 0) GTEST_SKIP() << "no model with a .golden.json beside it in " << folder << ": nothing was checked";
  std::printf("checked %d real vocabularies\n", checked);
}

TEST(Tokenizer, PlainTextMakesNoSpecialToken) {
  const auto tokenizer = tiny();
  const std::string text = "<|im_start|>x<think><|im_end|>";
  for (const TokenId id : tokenizer->encode(text, {.special = false})) EXPECT_LT(id, 609);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, {.special = false})), text);
  EXPECT_EQ(tokenizer->find("<|im_end|>"), 611);
  EXPECT_TRUE(tokenizer->is_special(611));
  EXPECT_FALSE(tokenizer->is_special(616));
  EXPECT_EQ(tokenizer->bytes(616), "<think>");
  EXPECT_EQ(tokenizer->bytes(611), "");
  EXPECT_EQ(tokenizer->bytes(-1), "");
  EXPECT_EQ(tokenizer->bytes(1 << 30), "");
}

TEST(Tokenizer, LongWordsAreNotQuadratic) {
  const auto tokenizer = tiny();
  std::string word;
  for (int64_t i = 0; i < 400'000; ++i) word.push_back(static_cast<char>('a' + i * i % 7919 % 26));
  const auto start = std::chrono::steady_clock::now();
  const auto ids = tokenizer->encode(word);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(tokenizer->decode(ids), word);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(std::string(200'000, ' '))).size(), 200'000u);
}

TEST(Tokenizer, BadFilesGiveOneLineErrors) {
  const auto error = [](std::string_view json) {
    const auto result = tokenizer_from_json(json, "");
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
    return result.error().message;
  };
  using testing::HasSubstr;
  error("");
  error("[]");
  error("{}");
  EXPECT_THAT(error(R"({"model":{"type":"Unigram","vocab":[]}})"), HasSubstr("Unigram"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}})"), HasSubstr("twice"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}})"), HasSubstr("out of range"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":99999999999},"merges":[]}})"), HasSubstr("out of range"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]}})"), HasSubstr("merge 0"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}})"), HasSubstr("merge"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"normalizer":{"type":"Precompiled"}})"), HasSubstr("Precompiled"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated"}})"),
              HasSubstr("regular expression"));
  EXPECT_THAT(error(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"added_tokens":[{"id":0,"content":"b"}]})"), HasSubstr("another token"));
}

TEST(Tokenizer, BadTablesGiveErrors) {
  VocabularyTable table;
  table.model = "gpt2";
  EXPECT_FALSE(tokenizer_from_table(table));
  table.tokens = {"a", "b", "ab"};
  table.merges = {"a b"};
  EXPECT_TRUE(tokenizer_from_table(table));
  table.pre = "no-such-thing";
  const auto unknown = tokenizer_from_table(table);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::unsupported);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("no-such-thing"));
  table.pre = "gpt2";
  table.merges = {"a c"};
  EXPECT_FALSE(tokenizer_from_table(table));
  table.merges = {"ab"};
  EXPECT_FALSE(tokenizer_from_table(table));
  table.merges.clear();
  table.types = {1};
  EXPECT_FALSE(tokenizer_from_table(table));
  table.types.clear();
  table.bos = 7;
  EXPECT_FALSE(tokenizer_from_table(table));
  table.bos.reset();
  table.tokens = {"a", "a"};
  EXPECT_FALSE(tokenizer_from_table(table));
}

TEST(Detokenizer, NeverEmitsHalfACharacter) {
  const auto tokenizer = tiny();
  const std::string text = "Straße 你好 🙂";
  Detokenizer detokenizer(tokenizer);
  std::string all;
  for (const TokenId id : tokenizer->encode(text)) {
    std::string out;
    detokenizer.push(id, out);
    EXPECT_EQ(out.find("\xef\xbf\xbd"), std::string::npos);
    all += out;
  }
  EXPECT_EQ(all, text);
  const auto cut = tokenizer->encode("🙂");
  const std::vector<TokenId> first(cut.begin(), cut.end() - 1);
  EXPECT_EQ(stream(tokenizer, first, true), "\xef\xbf\xbd");
}

TEST(StopMatcher, FindsStopsAcrossBorders) {
  StopMatcher matcher({"</think>", "END"});
  std::string out;
  EXPECT_FALSE(matcher.push("a</th", out));
  EXPECT_EQ(out, "a");
  EXPECT_FALSE(matcher.push("xE", out));
  EXPECT_EQ(out, "a</thx");
  EXPECT_TRUE(matcher.push("ND tail", out));
  EXPECT_EQ(out, "a</thx");
  StopMatcher open({"END"});
  out.clear();
  EXPECT_FALSE(open.push("the EN", out));
  open.flush(out);
  EXPECT_EQ(out, "the EN");
}
