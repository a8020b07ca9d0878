// value_score: how likely a value beside a key word is a secret. Sentences and people's passwords are not judged by entropy.
#include "privacy/detect/secrets/value_score.h"
#include <algorithm>
#include <array>
#include "privacy/detect/secrets/shape.h"

namespace credential {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

bool identifier_like(std::string_view value) {
  return !digit(value[0]) && std::all_of(value.begin(), value.end(), [](char c) { return is_alnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; });
}

// "arg1", "password2", "input_str2": a variable's name rather than a value, where values are unquoted.
bool is_variable_name(std::string_view value, const Shape& shape, const Candidate& candidate) {
  if (!identifier_like(value) || looks_random(value)) return false;
  size_t head = value.size();
  while (head > 0 && digit(value[head - 1])) --head;
  const size_t trailing = value.size() - head;
  if (shape.digits != trailing || trailing >= 3) return false;
  const bool code =
      candidate.next != 0 || (candidate.spaced && candidate.cue == Cue::assigned) || head < 5 || value.find_first_of("_.") != std::string_view::npos;
  return is_plain_word(value.substr(0, head)) || (trailing < 2 && code);
}

// Letters, hyphens and apostrophes: "case-sensitive".
bool is_words(std::string_view value, const Shape& shape) {
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return is_alnum(static_cast<unsigned char>(c)) || c == '-' || c == '\'' || c == '_' || c == '/' || c == '.' || c == ',' || c == '!' || c == '?' ||
           c == ':';
  });
  return plain && shape.digits == 0 && !looks_random(value);
}

// "cache_key", "key": a key that nobody calls secret.
bool name_is_bare_key(std::string_view name) {
  while (!name.empty() && (digit(name.back()) || name.back() == '.' || to_lower(name.back()) == 's')) name.remove_suffix(1);
  if (name.size() < 3 || !equal_folded(name.substr(name.size() - 3), "key")) return false;
  name.remove_suffix(3);
  while (!name.empty() && (name.back() == '_' || name.back() == '-' || name.back() == '.' || name.back() == ' ')) name.remove_suffix(1);
  for (const std::string_view secret :
       {"api",     "access",       "secret",   "private",         "auth",    "encryption", "signing",  "authentication", "master", "account",
        "shared",  "license",      "licence",  "activation",      "session", "service",    "deploy",   "hmac",           "app",    "aes",
        "storage", "subscription", "consumer", "instrumentation", "db",      "ssh",        "recovery", "product"}) {
    if (name.size() >= secret.size() && equal_folded(name.substr(name.size() - secret.size()), secret)) return false;
  }
  return true;
}

float letters_only_score(std::string_view value, const Candidate& candidate, const Shape& shape) {
  if (is_plain_word(value) || shape.spaces > 0) return 0;
  if (looks_random(value) && shape.size >= 8) return 0.75F;
  if (!shape.letters_only() || candidate.listed) return 0;
  // Joined words: longer than those of the language; in quotes one word is enough.
  const bool one_case = shape.upper == 0;
  if (one_case && shape.size >= 16) return 0.65F;
  const bool quoted = candidate.quote != 0;
  return quoted && one_case && shape.size >= 8 && candidate.cue != Cue::adjacent ? 0.6F : 0;
}

bool is_wordy(std::string_view value, const Shape& shape) { return shape.digits <= 2 && shape.inner_symbols == 0 && !looks_random(value); }

}  // namespace

bool is_no_secret(std::string_view value, const Candidate& candidate) {
  if (value.empty() || value.size() > 4096 || is_stand_in(value) || is_path_or_url(value) || is_uuid(value) || is_algorithm(value)) return true;
  // "hello.kitty88" is a member of an object in code and a password in a sentence.
  const bool sentence = (candidate.cue == Cue::said || candidate.cue == Cue::adjacent) && value.find_first_of("([-:&|=") == std::string_view::npos &&
                        value.find_first_of("0123456789") != std::string_view::npos;
  if (candidate.quote == 0 && is_expression(value) && !sentence) return true;
  if (candidate.quote == '`' && value.find_first_of("(){};") != std::string_view::npos) return true;
  for (const std::string_view pattern : {"(?:", "[0-9", "[a-z", "[A-Z", "[^", "[:"}) {
    if (value.find(pattern) != std::string_view::npos) return true;
  }
  if (value.size() <= 10 && starts_folded(value, "0x")) return true;
  // Rules of forms: "required|min:8", "min:8,max:20".
  if (value.find("|min:") != std::string_view::npos || value.find("required|") != std::string_view::npos || value.find("min:") == 0) return true;
  return value.find("\n") != std::string_view::npos && candidate.markup && value.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

float password_score(std::string_view value, const Candidate& candidate, std::string_view name) {
  const Shape shape = shape_of(value);
  const bool said = candidate.cue == Cue::said, quoted = candidate.quote != 0, adjacent = candidate.cue == Cue::adjacent;
  if (is_no_secret(value, candidate) || is_plain_word(value)) return 0;
  if (shape.spaces > 0) return 0;
  if (shape.size < (said || quoted ? 4u : 5u) || shape.size > 128) return 0;
  if (shape.digits == shape.size) {
    if (equal_folded(name, "pass") || adjacent) return 0;
    return shape.size >= (candidate.cue == Cue::assigned && !quoted ? 6u : 4u) && shape.size <= 20 ? 0.65F : 0;
  }
  if (quoted && candidate.cue == Cue::assigned && value.back() == '!' && shape.lower + 1 == shape.size && shape.size >= 6) return 0.6F;
  if (is_words(value, shape)) return adjacent && !candidate.flag && !looks_random(value) ? 0 : letters_only_score(value, candidate, shape);
  if (adjacent) {
    const bool strong = (shape.digits > 0 && shape.lower > 0 && (shape.upper > 0 || shape.inner_symbols > 0)) ||
                        (shape.digits >= 2 && shape.lower >= 4 && shape.symbols <= 1 && shape.size >= 7) ||
                        (quoted && shape.digits > 0 && shape.lower >= 3 && shape.spaces == 0) || (candidate.flag && shape.mixed());
    return strong && shape.size >= 6 && !is_variable_name(value, shape, candidate) ? 0.65F : 0;
  }
  if (shape.other > 0 && shape.digits == 0 && shape.inner_symbols == 0) return quoted && said ? 0.5F : 0;
  if (!quoted && !said) {
    if (is_variable_name(value, shape, candidate)) return 0;
    if (candidate.spaced && candidate.cue == Cue::assigned && identifier_like(value) && !looks_random(value) && shape.digits < 2) return 0;
    if (shape.digits == 0 && !looks_random(value)) {
      const bool punctuation = shape.inner_symbols == 0 || value.find_first_of("(){}[];,+*|<>") != std::string_view::npos;
      if (punctuation || shape.size < 6) return value.back() == '!' && shape.size >= 6 && candidate.cue == Cue::assigned ? 0.6F : 0;
    }
  }
  return shape.size >= 6 ? (said ? 0.85F : 0.8F) : 0.6F;
}

float token_score(std::string_view value, const Candidate& candidate, std::string_view name) {
  const Shape shape = shape_of(value);
  // Salts of 64 characters of the whole keyboard, spaces among them.
  if (candidate.quote != 0 && shape.size >= 32 && shape.size <= 256 && shape.inner_symbols >= 6 && shape.digits >= 2 && shape.spaces <= 4 &&
      shape.entropy >= 4.6F)
    return 0.85F;
  if (is_no_secret(value, candidate) || is_plain_word(value)) return 0;
  const bool adjacent = candidate.cue == Cue::adjacent, said = candidate.cue == Cue::said;
  if (shape.size < (said ? 6u : 8u) || shape.spaces > 0 || shape.other > 0) return 0;
  if (shape.digits == shape.size || is_words(value, shape)) return looks_random(value) && shape.size >= 12 && !adjacent ? 0.6F : 0;
  if (shape.digits == 0 && !(looks_random(value) && shape.size >= 12))
    return said && shape.inner_symbols > 0 && value.find_first_of("(){}[];:<>") == std::string_view::npos ? 0.6F : 0;
  if (said && shape.size < 10 && shape.digits < 2 && shape.inner_symbols == 0) return 0;
  if (is_wordy(value, shape) && !(said && shape.mixed() && !identifier_like(value))) return 0;
  const bool weak_name = equal_folded(name, "auth") || equal_folded(name, "salt") || equal_folded(name, "nonce") ||
                         equal_folded(name, "credential") || equal_folded(name, "jwt") || equal_folded(name, "pat") || equal_folded(name, "oauth") ||
                         equal_folded(name, "bearer") || equal_folded(name, "secrets") || equal_folded(name, "authorization");
  if (name_is_bare_key(name) &&
      (shape.size < 16 || shape.entropy < 3.4F || shape.digits == 0 || shape.upper == 0 || shape.lower == 0 || !looks_random(value) || adjacent))
    return 0;
  if ((weak_name || adjacent) && (shape.size < 14 || shape.entropy < 3.0F || !looks_random(value))) return 0;
  if (!candidate.quote && is_variable_name(value, shape, candidate)) return 0;
  if (shape.size < 10 && !(said || (shape.digits > 0 && shape.lower + shape.upper > 0 && looks_random(value)) || shape.inner_symbols > 0)) return 0;
  if (!said && shape.entropy < (shape.size >= 14 ? 2.8F : 2.5F)) return 0;
  if (shape.size >= 16 && shape.entropy >= 3.3F) return 0.85F;
  return 0.7F;
}

float code_score(std::string_view value, const Candidate& candidate) {
  size_t digits = 0, others = 0;
  for (const char c : value) {
    if (digit(c)) ++digits;
    else if (c != '-' && c != ' ') ++others;
  }
  if (others == 0 && digits >= 4 && digits <= 8 && value.size() <= digits + 1) return candidate.cue == Cue::adjacent ? 0.6F : 0.75F;
  const Shape shape = shape_of(value);
  return candidate.cue != Cue::adjacent && shape.size >= 5 && shape.size <= 12 && shape.digits >= 2 && shape.upper >= 1 && shape.lower == 0 &&
                 shape.inner_symbols == 0 && !is_stand_in(value) && !is_algorithm(value)
             ? 0.6F
             : 0;
}

}  // namespace credential
