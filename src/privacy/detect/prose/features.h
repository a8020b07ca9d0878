// prose: how features become rows of the weight table.
#pragma once
#include "privacy/detect/prose/tagger.h"

class FeatureWriter {
 public:
  FeatureWriter(Features& out, size_t n_rows) : out_(out), mask_(static_cast<uint32_t>(n_rows - 1)) { out_.n = 0; }
  // The template's number keeps equal values of different templates apart.
  void add(uint32_t a, uint32_t b = 0, uint32_t c = 0) {
    number_ += 1;
    uint64_t h = (static_cast<uint64_t>(a) + 0x9e3779b97f4a7c15u * number_) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 32) ^ b) * 0xc4ceb9fe1a85ec53u;
    h = (h ^ (h >> 29) ^ c) * 0x9e3779b97f4a7c15u;
    out_.rows[out_.n++] = static_cast<uint32_t>(h >> 40) & mask_;
  }

 private:
  Features& out_;
  uint32_t mask_, number_ = 0;
};
