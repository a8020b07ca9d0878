// classify: texts through a model that labels tokens, and its labels as spans of the text.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "device/device.h"
#include "model/model.h"
#include "text/text.h"

// Labels in the BIO or BIOES way: "B-PER", "I-PER" is the span PER; a label without a prefix is a span of its own. "O" is none.
struct LabelledSpan { std::string label; size_t begin = 0, end = 0; float score = 0; };  // bytes of the text; score: mean probability of its tokens

// Long texts are read in windows that overlap; a token's label is taken from the window in which it stands furthest from an edge. Callers on
// several threads share steps. Safe from many threads.
class TokenClassifier {
 public:
  struct Windows { int tokens = 512, overlap = 128, per_step = 8; };
  // Fails with unsupported when the model has no labels.
  static Result<std::unique_ptr<TokenClassifier>> make(std::unique_ptr<Device> device, std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer, Windows windows);
  virtual ~TokenClassifier() = default;
  virtual std::span<const std::string> labels() const = 0;
  virtual Result<std::vector<LabelledSpan>> classify(std::string_view text) = 0;
  // Logits of every token, [ids, labels]: what classify decides by. At most Windows::tokens ids.
  virtual Result<std::vector<float>> logits(std::span<const TokenId> ids) = 0;
};

// What a token's label calls its span: PER for "B-PER"; "" for "O".
std::string_view span_label(std::string_view label);

// ---- the parts, for their tests ----
// Where each token stands in the text: tokens that a normaliser changed share the stretch between their neighbours.
std::vector<std::pair<size_t, size_t>> token_places(const Tokenizer& tokenizer, std::span<const TokenId> ids, std::string_view text);
struct TokenLabel { int label = 0; float probability = 0; };
std::vector<LabelledSpan> merge_labels(std::span<const std::string> names, std::span<const TokenLabel> labels, std::span<const std::pair<size_t, size_t>> places, std::string_view text);
