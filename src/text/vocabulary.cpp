// vocabulary: the tables behind token texts and ids.
#include "text/vocabulary.h"

#include <algorithm>
#include <bit>
#include <functional>

static Error bad(Code code, std::string message) { return {code, "tokenizer: " + std::move(message)}; }

bool Vocabulary::has(TokenId id) const { return id >= 0 && id < size() && entries_[static_cast<size_t>(id)].present; }

std::string_view Vocabulary::text(TokenId id) const {
  if (!has(id)) return {};
  const Entry& entry = entries_[static_cast<size_t>(id)];
  return std::string_view(arena_).substr(entry.begin, entry.length);
}

void Vocabulary::reserve(size_t tokens, size_t bytes) {
  tokens = std::min(tokens, static_cast<size_t>(kMaxTokens));
  entries_.reserve(tokens);
  arena_.reserve(std::min(bytes, size_t{256} << 20));
  grow(tokens);
}

void Vocabulary::grow(size_t tokens) {
  const size_t wanted = std::bit_ceil(std::max<size_t>(tokens * 2, 64));
  if (wanted <= slots_.size()) return;
  slots_.assign(wanted, -1);
  for (TokenId id = 0; id < size(); ++id) {
    if (!has(id)) continue;
    size_t slot = std::hash<std::string_view>()(text(id));
    while (slots_[slot & (wanted - 1)] >= 0) ++slot;
    slots_[slot & (wanted - 1)] = id;
  }
}

std::optional<TokenId> Vocabulary::find(std::string_view wanted) const {
  if (slots_.empty()) return std::nullopt;
  for (size_t slot = std::hash<std::string_view>()(wanted);; ++slot) {
    const TokenId id = slots_[slot & (slots_.size() - 1)];
    if (id < 0) return std::nullopt;
    if (text(id) == wanted) return id;
  }
}

Status Vocabulary::add(std::string_view text, int64_t id) {
  if (id < 0 || id >= kMaxTokens) return bad(Code::corrupt_file, "token id " + std::to_string(id) + " is out of range");
  if (text.size() > kMaxTokenBytes) return bad(Code::too_large, "token " + std::to_string(id) + " is longer than 64 KiB");
  const auto token = static_cast<TokenId>(id);
  if (const auto old = find(text)) {
    if (*old == token) return ok_status();
    return bad(Code::corrupt_file, "tokens " + std::to_string(*old) + " and " + std::to_string(id) + " have the same text");
  }
  if (has(token)) return bad(Code::corrupt_file, "token id " + std::to_string(id) + " is given twice");
  if (token >= size()) entries_.resize(static_cast<size_t>(token) + 1);
  entries_[static_cast<size_t>(token)] = {arena_.size(), static_cast<uint32_t>(text.size()), true};
  arena_ += text;
  const size_t before = slots_.size();
  grow(++used_);
  if (slots_.size() != before) return ok_status();  // growing entered it
  size_t slot = std::hash<std::string_view>()(text);
  while (slots_[slot & (slots_.size() - 1)] >= 0) ++slot;
  slots_[slot & (slots_.size() - 1)] = token;
  return ok_status();
}
