// normalise: lines that known clients put before their prompts and change with every call: taken out, visibly, so that what was cached is found.
#pragma once
#include <string>
#include <vector>
#include "chat/chat.h"
#include "wire/exchange.h"

// Takes such lines off the beginning of the system text. Returns their names.
std::vector<std::string> take_volatile_prefix(ChatRequest& request);
// X-Calla-Normalised in the answer, whatever it will be, when something was taken.
void announce_normalised(Exchange& exchange, const std::vector<std::string>& taken);
