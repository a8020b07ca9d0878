// cache_id: the bytes that are hashed.
#include "engine/cache_id.h"
#include <openssl/sha.h>

namespace {
CacheId sha256(const std::string& bytes) {
  CacheId id;
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), id.bytes.data());
  return id;
}
CacheId link(char kind, const CacheId& parent, std::span<const TokenId> tokens) {
  std::string bytes(1, kind);
  bytes.append(reinterpret_cast<const char*>(parent.bytes.data()), parent.bytes.size());
  bytes.append(reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes());
  return sha256(bytes);
}
}  // namespace

std::string hex(const CacheId& id) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : id.bytes) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

uint64_t space_id(std::string_view tenant, std::string_view salt) {
  if (tenant.empty() && salt.empty()) return 0;
  const CacheId id = sha256("t" + std::to_string(tenant.size()) + ":" + std::string(tenant) + std::string(salt));
  uint64_t space;
  std::memcpy(&space, id.bytes.data(), sizeof space);
  return space;
}

CacheId root_id(std::string_view key, uint64_t space) {
  std::string bytes = "r";
  bytes.append(reinterpret_cast<const char*>(&space), sizeof space).append(key);
  return sha256(bytes);
}
CacheId page_id(const CacheId& parent, std::span<const TokenId> tokens) { return link('p', parent, tokens); }
CacheId snapshot_id(const CacheId& parent, std::span<const TokenId> tokens) { return link('s', parent, tokens); }
