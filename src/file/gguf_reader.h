// gguf_reader: reading one GGUF file; gguf.cpp puts split sets together.
#pragma once
#include "file/catalogue.h"

namespace file_room {

struct GgufContents {
  std::vector<std::string_view> keys;                          // in the file's order; views into the mapping
  std::unordered_map<std::string_view, MetaValue> meta;
  std::vector<StoredTensor> tensors;
};

// Everything in one file, validated; views and spans point into the mapping.
Result<GgufContents> read_gguf(const MappedFile& file);

}  // namespace file_room
