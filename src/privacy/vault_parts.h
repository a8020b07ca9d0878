// vault_parts: what a vault remembers: digests under its key, never a value.
#pragma once
#include <array>
#include <bitset>
#include <cstring>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include "privacy/secure_memory.h"
#include "privacy/vault.h"
#include "privacy/vault_forms.h"

using Digest = std::array<uint8_t, 16>;
struct DigestHash {
  size_t operator()(const Digest& digest) const {
    uint64_t out;
    std::memcpy(&out, digest.data(), sizeof out);
    return out;
  }
};

inline constexpr size_t max_form_letters = 128;  // longer values are recognised by the detectors that found them, or not at all
inline constexpr size_t min_bare_digits = 7;     // of a number without its letters

// Two polynomials modulo 2^61 - 1 under the vault's key, read letter by letter.
struct FormHash {
  uint64_t base1 = 0, base2 = 0, value1 = 0, value2 = 0;
  void add(char32_t c);
};

struct Vault::Parts {
  struct Entity { PrivacyClass cls; std::string placeholder; };
  // A spelling: all letters and digits of a value; or what stands for it: a part of a name, the digits alone.
  struct Form {
    enum class Kind : uint8_t { whole, part, digits };
    uint64_t check;
    uint32_t entity;
    uint8_t letters;
    Kind kind;
  };
  struct Hit { PrivacyClass cls; size_t last; };

  Status set_key(std::string_view key32);
  Digest digest(std::string_view purpose, PrivacyClass cls, std::string_view text) const;
  const std::string& placeholder(PrivacyClass cls, std::string_view value, bool exact);
  std::optional<uint32_t> entity_of(PrivacyClass cls, std::string_view value) const;
  void recurrences_in(std::string_view text, size_t offset, char32_t before, size_t accept, std::vector<Finding>& out) const;

  mutable std::shared_mutex mutex;
  Secret key, hash_bases;
  std::vector<Entity> entities;
  std::unordered_map<Digest, uint32_t, DigestHash> values;
  std::unordered_multimap<uint64_t, Form> forms;
  std::unordered_set<std::string> placeholders;
  std::bitset<1 << 16> filter;                   // of the first two letters of forms
  std::unordered_set<uint64_t> beginnings;       // hashes of the first 4, 8, 16, … letters of longer forms: who reads on has a reason to
  uint64_t revision = 0;

 private:
  FormHash hash_begin() const;
  void add_form(const std::vector<Letter>& letters, LetterRange range, Form::Kind kind, uint32_t entity);
  void add_forms(PrivacyClass cls, std::string_view value, uint32_t entity);
  void add_national_forms(std::vector<Letter> digits, uint32_t entity);
  std::string issue(PrivacyClass cls, std::string_view text);
  std::optional<Hit> longest_at(std::string_view text, const std::vector<Letter>& letters, size_t at) const;
  friend class Vault;
};
