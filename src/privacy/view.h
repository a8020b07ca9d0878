// view: a text as detectors read it, folded or decoded, with the way back to the original.
#pragma once
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
  bool changed(size_t begin, size_t end) const;  // whether folding altered anything there: it is "folded" rather than "plain"

  size_t first_change(size_t begin, size_t end) const;    // where in the original the first altered part of [begin, end) comes from

  // Runs of bytes: from `at` on, byte k of the text stands for source + (k - at) when `copied`, else for [source, source_end).
  struct Piece { size_t at, source, source_end; bool copied; };
  std::vector<Piece> pieces;                     // by `at`; the first at 0
};

// privacy.md 2.1: NFKC, decimal digits of all scripts, dashes, look-alikes beside Latin letters; invisible characters gone. `text` is UTF-8.
View folded(std::string_view text);
