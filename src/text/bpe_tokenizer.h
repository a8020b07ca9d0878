// bpe tokenizer: the pipeline that every supported tokenizer is an instance of; filled by tokenizer_json and tokenizer_table.
#pragma once
#include <memory>
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pretokenize.h"
#include "text/text.h"
#include "text/token_decoder.h"
#include "text/vocabulary.h"

struct TokenizerParts {
  std::shared_ptr<Vocabulary> vocabulary = std::make_shared<Vocabulary>();  // the model's; added tokens may lie outside
  std::vector<AddedToken> added;  // contents as given in the file
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  MergeTable merges;
  BpeOptions bpe;
  TokenDecoder decoder;
  std::vector<TokenId> before, after;  // what the post-processor puts around a text
  std::optional<TokenId> bos, eos;
};

// Fails when an added token's id belongs to another text.
Result<std::shared_ptr<const Tokenizer>> make_tokenizer(TokenizerParts parts);
