// view_derive: further views of a page: numbers written otherwise, and what encoded parts hold. Each is a page of excerpts: the part, rewritten,
// between the words around it, so that their labels still count.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>
#include "privacy/view.h"

// A stretch of the page and what stands there in the view; `pieces` none: every byte of `text` stands for the whole stretch.
struct Rewrite {
  size_t begin = 0, end = 0;
  std::string text;
  std::vector<View::Piece> pieces;  // offsets in `text` to offsets of the page
};
// Rewrites in order, apart from each other. In what is copied around them `changed` is false.
View excerpts(std::string_view page, ViewKind kind, const std::vector<Rewrite>& rewrites);

View numerals_view(std::string_view page);   // 四一一一…, "four one double one"
View squeezed_view(std::string_view page);   // "1.2.3-4.5-6.7.8.9"
View reversed_view(std::string_view page);   // of long words

struct Decoded {
  std::vector<View> views;
  std::vector<View::Origin> opaque;          // long, random and of no known encoding
  bool over_limit = false;                   // more than could be looked at
};
// `bytes_left` is what all decoding of one text may still yield.
Decoded decode(std::string_view page, size_t& bytes_left);
