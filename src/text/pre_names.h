// pre names: what each value of tokenizer.ggml.pre stands for.
#pragma once
#include <array>
#include <string_view>
#include "text/pretokenize.h"

// The pre-tokeniser of one family of byte-level tokenizers.
struct PreTokenizerRecipe {
  std::array<const char*, 6> splits{};  // regular expressions, each applied to the pieces of the one before; matches are isolated
  bool digits = false;                  // single digits first
  bool gpt2 = false;                    // GPT-2's own expression last
  bool nfc = false, ignore_merges = false, adds_bos = false;
};

Result<PreTokenizerRecipe> find_recipe(std::string_view pre);  // `unsupported`, naming it, when unknown
Status add_steps(const PreTokenizerRecipe& recipe, PreTokenizer& out);
