// view: a text as detectors read it, folded or decoded, with the way back to the original.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

enum class ViewKind : uint8_t { folded, numerals, squeezed, base64, hex, percent, escapes, entities, quoted_printable, gzip, reversed };
std::string_view name_of(ViewKind kind);

// UTF-8 text and, for each of its bytes, the bytes of the original it stands for.
class View {
 public:
  ViewKind kind = ViewKind::folded;
  std::string text;
  struct Origin { size_t begin, end; };
  // The original span behind [begin, end) of `text`. In a decoded view it is the whole encoded blob.
  Origin origin(size_t begin, size_t end) const;
  bool changed(size_t begin, size_t end) const;         // whether folding altered anything there: it is "folded" rather than "plain"
  bool is_near_change(size_t begin, size_t end, size_t before) const;  // whether there, at its edges or within `before` bytes in front of it anything was rewritten
  size_t first_change(size_t begin, size_t end) const;  // where in the original the first altered part of [begin, end) comes from

  // `text` grows by bytes of the original as they are, or by others that each stand for all of [begin, end) of it.
  void append_copy(std::string_view bytes, size_t begin);
  void append(std::string_view bytes, size_t begin, size_t end);
  void extend_last(size_t end);                         // the last character stands for the original up to `end` as well

 private:
  // From `at` on, byte k of the text stands for `width` bytes from source + (k - at) * stride on. Small: hostile texts have millions.
  struct Piece { uint32_t at, source, width; uint16_t stride; bool copied; };
  const Piece& piece_at(size_t at) const;
  Origin of_byte(size_t at) const;
  std::vector<Piece> pieces_;                           // by `at`; none: the text is the original
};

// privacy.md 2.1: NFKC, decimal digits of all scripts, dashes, look-alikes beside Latin letters; invisible characters gone. `text` is UTF-8.
View folded(std::string_view text);
