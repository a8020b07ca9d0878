// choices: several answers to one request, made at once.
#pragma once
#include <functional>
#include <vector>
#include "wire/backend.h"

// One finish per request. The first failure stops the others and is returned.
Result<std::vector<Finish>> complete_all(const Backend& backend, Exchange& exchange, std::span<const ChatRequest> requests, const ChoiceSink& sink,
                                         const std::stop_token& stop);
