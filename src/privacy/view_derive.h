// view_derive: what a page holds in other writing: numbers in words, escaped characters, encoded blobs. A view of them is a page of excerpts: each
// part, rewritten, between the words around it, so that their labels still count.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>
#include "privacy/view.h"

// A stretch of the page and what stands there in the view.
struct Rewrite {
  size_t begin = 0, end = 0;
  std::string text;
  std::vector<View::Piece> pieces;  // `text`'s bytes to bytes of the page; none: every byte stands for the whole stretch
};
// What could be rewritten, in order and apart.
using Rewrites = std::vector<Rewrite>;
Rewrites find_numerals(std::string_view page);          // 四一一一…, "four one double one"
Rewrites find_digits_apart(std::string_view page);      // "1.2.3-4.5-6.7.8.9"
Rewrites find_escapes(std::string_view page);           // %34, \u0034, \x34, &#52;: one view for all, as they may be mixed
Rewrites find_quoted_printable(std::string_view page);
ViewKind escape_kind(char first);                       // by the first byte of an escape

struct Blobs {
  Rewrites base64, hex, gzip;
  std::vector<View::Origin> opaque;                     // long, random and of no known encoding
  bool over_limit = false;                              // unpacked it would be more than four times as long, or more than `max_unpacked`
};
Blobs find_blobs(std::string_view page, size_t max_unpacked);

View reversed_view(std::string_view page);              // of long words

// In what is copied around the rewrites `changed` is false.
View excerpts(std::string_view page, ViewKind kind, const Rewrites& rewrites);
