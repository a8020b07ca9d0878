// core: the few out-of-line functions of core.h.
#include "core/core.h"

std::string to_string(const Shape& shape) {
  if (shape.rank == 0) return "scalar";
  std::string text;
  for (int i = 0; i < shape.rank; i++) text += (i ? " x " : "") + std::to_string(shape[i]);
  return text;
}
