// view_derive: what a page holds in other writing: numbers in words, escaped characters, encoded blobs. A view of them is a page of excerpts: each
// part, rewritten, between the words around it, so that their labels still count.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include "privacy/view.h"

// Stretches of the page and what stands there in the view, apart from each other. There may be one for every few bytes, so they are small.
class Rewrites {
 public:
  struct One { uint32_t begin, end, text, text_size; };  // bytes of the page; `text` is where in the pool
  void add(size_t begin, size_t end, std::string_view text) {
    all_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end), static_cast<uint32_t>(pool_.size()), static_cast<uint32_t>(text.size())});
    pool_ += text;
  }
  void sort();  // and drops those that overlap an earlier one
  void clear() { all_.clear(), pool_.clear(); }
  bool empty() const { return all_.empty(); }
  std::vector<One>& all() { return all_; }
  const std::vector<One>& all() const { return all_; }
  std::string_view text(const One& one) const { return std::string_view(pool_).substr(one.text, one.text_size); }

 private:
  std::vector<One> all_;
  std::string pool_;
};

// What could be rewritten, in order.
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
