// token decoder: what bytes one token stands for, in running text and at the start of a text.
#pragma once
#include <string>
#include <variant>
#include <vector>
#include "text/normalizer.h"

struct DecodeByteLevel {};
struct DecodeByteFallback {};
struct DecodeFuse {};
struct DecodeStrip {
  std::string content;  // one character
  int start = 0, stop = 0;
};
struct DecodeMetaspace {
  std::string replacement;
  bool drop_at_start = true;
};
using DecodeStep = std::variant<DecodeByteLevel, ReplaceStep, DecodeByteFallback, DecodeFuse, DecodeStrip, DecodeMetaspace>;

class TokenDecoder {
 public:
  // After Fuse only a Strip of the text's start can follow: anything else would need the whole text.
  Status add(DecodeStep step);
  // Without a decoder Hugging Face joins tokens with spaces.
  std::string decode(std::string_view token, bool at_start) const;

 private:
  std::vector<DecodeStep> steps_;
  bool fused_ = false;
  double growth_ = 1;  // how many times longer the replacements may make a token
};
