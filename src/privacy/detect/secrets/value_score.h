// value_score: how likely a value beside a key word is a secret.
#pragma once
#include <string_view>
#include "privacy/detect/secrets/key_words.h"
#include "privacy/detect/secrets/value_reader.h"

namespace credential {

// 0: it is none. `value` is what the candidate spans in `text`, `name` the identifier in front of it.
float password_score(std::string_view value, const Candidate& candidate, std::string_view name);
float token_score(std::string_view value, const Candidate& candidate, std::string_view name);
float code_score(std::string_view value, const Candidate& candidate);
// A sentence's or code's words that cannot be a secret, whatever the key.
bool is_no_secret(std::string_view value, const Candidate& candidate);

}  // namespace credential
