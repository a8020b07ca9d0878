// bounds: how far from double precision a precision may be, as a share of the size of a row.
#pragma once
#include "device/device.h"

struct Bounds {
  double product;  // one matrix: float32 sums; fast: activations and weights rounded to half precision
  double chain;    // two products and what lies between: experts, attention, the delta rule
  double plain;    // float32 arithmetic row by row
};
inline Bounds bounds(Precision p) { return p == Precision::exact ? Bounds{2e-5, 5e-5, 2e-5} : Bounds{2e-3, 3e-3, 2e-5}; }
inline constexpr Precision kPrecisions[] = {Precision::exact, Precision::fast};
inline const char* word(Precision p) { return p == Precision::exact ? "exact" : "fast"; }
