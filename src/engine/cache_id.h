// cache_id: names of cached state: a chain of SHA-256 over all that it depends on, so that equal names mean equal state.
#pragma once
#include <array>
#include <compare>
#include <cstring>
#include <string>
#include "core/core.h"

struct CacheId {
  std::array<uint8_t, 32> bytes{};
  auto operator<=>(const CacheId&) const = default;
};
struct CacheIdHash {
  size_t operator()(const CacheId& id) const {
    size_t word;
    std::memcpy(&word, id.bytes.data(), sizeof word);
    return word;
  }
};
std::string hex(const CacheId& id);

// The space of requests that agree on both; 0 when both are empty. Nobody can choose a salt that leads into another's space, where the
// explainer would show them another's text.
uint64_t space_id(std::string_view tenant, std::string_view salt);
// Where the chain of one space begins. Nothing is shared between spaces or between keys.
CacheId root_id(std::string_view key, uint64_t space);
CacheId page_id(const CacheId& parent, std::span<const TokenId> tokens);      // a whole page behind `parent`
CacheId snapshot_id(const CacheId& parent, std::span<const TokenId> tokens);  // recurrent state behind `parent` and less than a page more
