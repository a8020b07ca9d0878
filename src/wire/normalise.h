// normalise: lines that known clients put before their prompts and change with every call: taken out, visibly, so that what was cached is found.
#pragma once
#include <string>
#include <vector>
#include "core/json_writer.h"
#include "wire/exchange.h"

// Takes such lines off the beginning of a system text and appends their names to `taken`.
void take_volatile_prefix(std::string& system_text, std::vector<std::string>& taken);
// The same for the system and developer messages of a list in OpenAI's shape; one that said nothing else is left out.
void take_volatile_prefix(Json& messages, std::vector<std::string>& taken);
// X-Calla-Normalised in the answer, whatever it will be, when something was taken.
void announce_normalised(Exchange& exchange, const std::vector<std::string>& taken);
