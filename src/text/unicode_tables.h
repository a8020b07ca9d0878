// unicode tables: character classes as ranges, of the Unicode versions that Hugging Face's tokenizers 0.23 uses.
#pragma once
#include <cstdint>
#include <span>

struct CodePointRange {
  uint32_t first, last;
};
// Sorted, from U+0080 on.
std::span<const CodePointRange> numeric_ranges();      // N*
std::span<const CodePointRange> punctuation_ranges();  // P*, of the older Unicode version that its Punctuation step uses
// Characters with a decomposition or a combining class that are newer than the tables of its normal forms, which leave them alone.
std::span<const CodePointRange> inert_ranges();
