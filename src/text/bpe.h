// bpe: byte-pair encoding of one piece by ranked merges.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>
#include "core/core.h"
#include "text/vocabulary.h"

// (left id, right id) -> rank and resulting id, in one flat table.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;
    TokenId result;
  };
  void reserve(size_t merges);
  void add(TokenId left, TokenId right, Merge merge);  // the last one given for a pair counts, as in Hugging Face
  const Merge* find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    uint64_t key = kFree;
    Merge merge{};
  };
  static constexpr uint64_t kFree = ~uint64_t{0};
  size_t home(uint64_t key) const { return static_cast<size_t>(key * 0x9e3779b97f4a7c15u >> shift_); }
  std::vector<Slot> slots_;
  size_t used_ = 0;
  int shift_ = 63;
};

struct BpeOptions {
  bool byte_fallback = false, ignore_merges = false, fuse_unknown = false;
  std::optional<TokenId> unknown;
};

class Bpe {
 public:
  // `vocabulary` is the model's own (no added tokens beyond it) and outlives this.
  Bpe(const Vocabulary* vocabulary, MergeTable merges, BpeOptions options);
  // Appends the ids of one pre-token (valid UTF-8). n log n in its length.
  void encode(std::string_view piece, std::vector<TokenId>& out) const;
  // `whole` says which ids ignore_merges may give for a whole piece; empty: all.
  void set_never_whole(std::vector<bool> never_whole) { never_whole_ = std::move(never_whole); }

 private:
  void symbols(std::string_view piece, std::vector<TokenId>& out) const;
  bool fall_back(std::string_view character, std::vector<TokenId>& out) const;
  void merge_short(std::vector<TokenId>& symbols) const;
  void merge_long(std::vector<TokenId>& symbols) const;

  const Vocabulary* vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::vector<bool> never_whole_;
  std::vector<TokenId> ascii_;       // by ASCII character, -1 absent
  std::vector<TokenId> byte_tokens_; // <0x00> … <0xFF>, -1 absent
};

// Hugging Face's "left right" lines or pairs, by rank. An unknown part or result is an error.
class MergeBuilder {
 public:
  explicit MergeBuilder(const Vocabulary* vocabulary) : vocabulary_(vocabulary) {}
  Status add(std::string_view left, std::string_view right);
  // Tokens that merging must not make: their text always matches as an added token first.
  void never_make(TokenId id);
  MergeTable finish() { return std::move(table_); }
  void reserve(size_t merges) { table_.reserve(merges); }

 private:
  const Vocabulary* vocabulary_;
  MergeTable table_;
  std::vector<bool> never_;
  uint32_t rank_ = 0;
  std::string joined_;
};

// The merges a score-based (SentencePiece) vocabulary implies, in the order of transformers' generate_merges.
MergeTable merges_from_scores(const Vocabulary& vocabulary, std::span<const float> scores, const std::vector<bool>& excluded);
