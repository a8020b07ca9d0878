// classify: spans from labels, places of tokens, windows; and the tiny token classifier against Hugging Face's implementation.
#include "engine/classify.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include "core/json.h"
#include "core/mapped_file.h"
#include "file/file.h"

namespace {

namespace fs = std::filesystem;

// Tokens are the texts of a list, in order.
class ListTokenizer final : public Tokenizer {
 public:
  explicit ListTokenizer(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  std::vector<TokenId> encode(std::string_view, EncodeOptions) const override { return {}; }
  std::string_view bytes(TokenId id, bool) const override { return pieces_.at(static_cast<size_t>(id)); }
  bool is_special(TokenId) const override { return false; }
  std::optional<TokenId> find(std::string_view) const override { return std::nullopt; }
  int size() const override { return static_cast<int>(pieces_.size()); }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::optional<TokenId> eos() const override { return std::nullopt; }

 private:
  std::vector<std::string> pieces_;
};

using Places = std::vector<std::pair<size_t, size_t>>;

Places places_of(const std::vector<std::string>& pieces, std::string_view text) {
  std::vector<TokenId> ids(pieces.size());
  for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<TokenId>(i);
  return token_places(ListTokenizer(pieces), ids, text);
}

TEST(TokenPlaces, FollowTheText) { EXPECT_EQ(places_of({"ab", " c", "d"}, "ab cd"), (Places{{0, 2}, {2, 4}, {4, 5}})); }

TEST(TokenPlaces, AChangedStretchIsSharedByItsTokens) {
  // "e" and a combining acute (3 bytes) were composed to two bytes, which the tokenizer cut in two
  EXPECT_EQ(places_of({"caf", "\xC3", "\xA9", " x"}, "cafe\xCC\x81 x"), (Places{{0, 3}, {3, 6}, {3, 6}, {6, 8}}));
  EXPECT_EQ(places_of({"a", "?"}, "a\xE2\x80\x8B"), (Places{{0, 1}, {1, 4}}));
}

std::vector<LabelledSpan> merged(const std::vector<std::string>& names, const std::vector<int>& labels, const Places& places, std::string_view text) {
  std::vector<TokenLabel> rows;
  for (const int label : labels) rows.push_back({label, 0.5f});
  return merge_labels(names, rows, places, text);
}

TEST(MergeLabels, BeginInsideOutside) {
  const std::vector<std::string> names = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"};
  const std::string text = "Jane Roe, Bern Jo";
  const Places places = {{0, 4}, {4, 8}, {8, 9}, {9, 14}, {14, 17}};
  const auto spans = merged(names, {1, 2, 0, 3, 1}, places, text);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].label, "PER");
  EXPECT_EQ(text.substr(spans[0].begin, spans[0].end - spans[0].begin), "Jane Roe");
  EXPECT_EQ(text.substr(spans[1].begin, spans[1].end - spans[1].begin), "Bern");  // without the space in front
  EXPECT_EQ(text.substr(spans[2].begin, spans[2].end - spans[2].begin), "Jo");
  EXPECT_FLOAT_EQ(spans[0].score, 0.5f);
  EXPECT_EQ(merged(names, {2, 4, 0, 0, 0}, places, text).size(), 2u);  // an I- without a B- begins a span; another kind begins another
  EXPECT_EQ(merged(names, {1, 1, 0, 0, 0}, places, text).size(), 2u);
}

TEST(MergeLabels, OtherSchemes) {
  const Places places = {{0, 1}, {1, 2}, {2, 3}};
  EXPECT_EQ(merged({"O", "B-X", "I-X", "E-X", "S-X"}, {1, 2, 3}, places, "abc").size(), 1u);
  EXPECT_EQ(merged({"O", "B-X", "I-X", "E-X", "S-X"}, {4, 4, 0}, places, "abc").size(), 2u);
  EXPECT_EQ(merged({"O", "X", "Y"}, {1, 1, 2}, places, "abc").size(), 2u);
}

TEST(MergeLabels, WholeCharacters) {
  const auto spans = merged({"O", "B-X", "I-X"}, {1, 0}, {{0, 1}, {1, 2}}, "\xC3\xA9");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].end, 2u);
}

std::optional<fs::path> reference() {
  const char* stated = std::getenv("CALLA_SHARED");
  const fs::path folder = (stated ? fs::path(stated) : fs::path(CALLA_SOURCE_DIR) / ".." / "shared") / "oracles" / "data" / "qwen3_bidirectional_tokcls";
  return fs::exists(folder / "expected.json") ? std::optional(folder) : std::nullopt;
}

struct Opened { std::unique_ptr<WeightFile> file; std::unique_ptr<TokenClassifier> classifier; };
Result<Opened> open_classifier(const fs::path& folder, TokenClassifier::Windows windows = {}) {
  Opened opened;
  TRY(opened.file, open_weights(folder.string()));
  DeviceOptions options;
  options.precision = Precision::exact;
  options.threads = 2;
  TRY(auto device, make_cpu_device(options));
  TRY(LoadedModel loaded, load_model(*opened.file, *device));
  TRY(const std::string json, read_file((folder / "tokenizer.json").string(), size_t{1} << 24));
  TRY(const std::string config, read_file((folder / "tokenizer_config.json").string(), size_t{1} << 20));
  TRY(auto tokenizer, tokenizer_from_json(json, config));
  TRY(opened.classifier, TokenClassifier::make(std::move(device), std::move(loaded.model), std::move(tokenizer), windows));
  return opened;
}

std::vector<double> numbers(JsonView list) {
  std::vector<double> out;
  const simdjson::dom::array all = list.get_array().value_unsafe();
  for (const auto item : all) out.push_back(double(item));
  return out;
}

TEST(TokenClassifier, EqualsTheReference) {
  const auto folder = reference();
  if (!folder) GTEST_SKIP() << "NOTICE: no reference checkpoint: set CALLA_SHARED to the folder that has oracles/data";
  auto opened = open_classifier(*folder);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->classifier->labels().size(), 7u);
  const auto expected = JsonDocument::read((*folder / "expected.json").string());
  ASSERT_TRUE(expected);
  double worst = 0;
  const simdjson::dom::array cases = find(expected->root(), "cases")->get_array().value_unsafe();
  for (const auto test : cases) {
    std::vector<TokenId> ids;
    for (const double id : numbers(*find(test, "ids"))) ids.push_back(static_cast<TokenId>(id));
    const auto logits = opened->classifier->logits(ids);
    ASSERT_TRUE(logits) << logits.error().message;
    size_t at = 0;
    const simdjson::dom::array rows = find(test, "logits")->get_array().value_unsafe();
    for (const auto row : rows)
      for (const double want : numbers(row)) worst = std::max(worst, std::abs(want - (*logits)[at++]));
    EXPECT_EQ(at, logits->size());
  }
  EXPECT_LT(worst, 1e-3);
  RecordProperty("largest_difference", std::to_string(worst));
}

TEST(TokenClassifier, WindowsAndNeighboursChangeNothingWithinReach) {
  const auto folder = reference();
  if (!folder) GTEST_SKIP() << "NOTICE: no reference checkpoint: set CALLA_SHARED to the folder that has oracles/data";
  auto opened = open_classifier(*folder, {.tokens = 64, .overlap = 16, .per_step = 3});
  ASSERT_TRUE(opened) << opened.error().message;
  TokenClassifier& classifier = *opened->classifier;
  std::string longer;
  for (int i = 0; i < 60; i++) longer += "The captain's list said 129. Straße 你好 🙂 ";
  const auto alone = classifier.classify("The captain's list said 129.");
  const auto whole = classifier.classify(longer);
  ASSERT_TRUE(alone && whole);
  for (const LabelledSpan& span : *whole) {
    EXPECT_LT(span.begin, span.end);
    EXPECT_LE(span.end, longer.size());
  }
  std::vector<std::jthread> threads;  // many callers share steps and still get what each gets alone
  std::vector<int> equal(8);
  for (size_t t = 0; t < equal.size(); t++)
    threads.emplace_back([&, t] {
      const auto again = classifier.classify(t % 2 ? longer : "The captain's list said 129.");
      const auto& want = t % 2 ? *whole : *alone;
      equal[t] = again && std::ranges::equal(*again, want, [](const LabelledSpan& a, const LabelledSpan& b) { return a.label == b.label && a.begin == b.begin && a.end == b.end && a.score == b.score; });
    });
  threads.clear();
  EXPECT_EQ(std::ranges::count(equal, 1), 8);
}

TEST(TokenClassifier, AModelThatWritesTextIsRefused) {
  const fs::path path = fs::path(CALLA_SOURCE_DIR) / "tests" / "golden" / "models" / "llama-Q6_K.gguf";
  auto file = open_weights(path.string());
  ASSERT_TRUE(file);
  auto device = make_cpu_device({});
  auto loaded = load_model(**file, **device);
  ASSERT_TRUE(loaded);
  const auto made = TokenClassifier::make(std::move(*device), std::move(loaded->model), std::make_shared<ListTokenizer>(std::vector<std::string>{}), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::unsupported);
}

}  // namespace
