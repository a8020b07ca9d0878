// safetensors: reading one file of a set; folder.cpp puts sets together.
#pragma once
#include "file/catalogue.h"

namespace file_room {

// Its tensors, in the header's order; they point into the mapping.
Result<std::vector<StoredTensor>> read_safetensors(const MappedFile& file);

}  // namespace file_room
