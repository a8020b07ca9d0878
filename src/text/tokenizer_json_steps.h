// tokenizer_json steps: the four step lists of a tokenizer.json; anything unknown is `unsupported` and named.
#pragma once
#include "core/json.h"
#include "text/normalizer.h"
#include "text/pretokenize.h"
#include "text/token_decoder.h"

Status read_normalizer(JsonView step, Normalizer& out, int depth = 0);
Status read_pre_tokenizer(JsonView step, PreTokenizer& out, int depth = 0);
Status read_post_processor(JsonView step, std::vector<TokenId>& before, std::vector<TokenId>& after, int depth = 0);
Status read_decoder(JsonView step, TokenDecoder& out, int depth = 0);
