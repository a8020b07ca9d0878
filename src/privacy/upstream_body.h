// upstream_body: what is said to an upstream, field by field from a clean request, and what of a request cannot be said to it.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "privacy/clean.h"

double as_written(float value);       // 0.7, where a widened float would be 0.699999988
std::string openai_body(const CleanRequest& request, const std::string& model, bool stream);
std::string anthropic_body(const CleanRequest& request, const std::string& model, bool stream);

// The first field that would be lost and changes what the answer means: constraints, token ids, an answer to go on with. Nothing: all can be said.
std::optional<std::string> cannot_be_sent(const ChatRequest& request, Wire wire, int n);
// Fields that no upstream of this kind knows and that are left out, in order.
std::vector<std::string> left_out(const ChatRequest& request, Wire wire);
