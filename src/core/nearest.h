// nearest: what somebody meant who wrote a word that is not known.
#pragma once
#include "core/core.h"

// The entry of `candidates` nearest to `word` when it is near enough to be a slip, else "".
std::string nearest(std::string_view word, std::span<const std::string> candidates);
