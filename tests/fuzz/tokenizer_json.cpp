// fuzz: tokenizer.json texts; an accepted one also encodes and decodes a little.
#include <cstddef>
#include <cstdint>

#include "text/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = tokenizer_from_json(json, "");
  if (!tokenizer) return 0;
  for (const std::string_view text : {std::string_view("a b  c\n\xff 12 ab<s>"), json.substr(0, 256)}) {
    const auto ids = (*tokenizer)->encode(text, {.special = true, .bos_eos = true});
    (void)(*tokenizer)->decode(ids, false);
  }
  return 0;
}
