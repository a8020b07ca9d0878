// gate_case: what a request is, seen by the gate: its texts, what was found in them, and what the policy decides about a destination.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "privacy/gate_inspect.h"
#include "privacy/gate_parts.h"

// Choices with the same text go upstream as one request.
struct GateGroup {
  std::vector<size_t> choices;         // of the client's request
  Walk walk;
  size_t begin = 0, end = 0;           // its findings among those of the case
};

struct GateCase {
  VaultBook::Conversation conversation;
  std::vector<GateGroup> groups;
  std::vector<FieldFinding> findings;
  Decision decision;
  std::vector<size_t> as_is;           // findings that a person let pass, even if the conversation has a placeholder for them
  std::optional<std::string> unknown_shape;  // the field that cannot be read; nothing was found then, because nothing was seen
  int64_t scan_us = 0;
};
// `stricter`: X-Calla-Privacy. Without a book of vaults (a dry gate) the conversation is a new one.
Result<GateCase> look(GateParts& parts, std::span<const ChatRequest> requests, const GateTarget& target, std::optional<Action> stricter);
// The first field that keeps the request from being sent to a cloud in the form it has.
std::optional<std::string> cannot_leave(const GateCase& seen, std::span<const ChatRequest> requests, std::span<const Action> actions, const GateTarget& target);
// The requests that would be sent, masked; one for each group. Uses the groups' walks up.
Result<std::vector<Masked>> mask_all(GateParts& parts, GateCase& seen, std::span<const ChatRequest> requests, std::span<const Action> actions, const GateTarget& target);
// Found and not allowed, by class in order of names.
std::vector<std::pair<std::string, int>> classes_of(std::span<const FieldFinding> findings, std::span<const Action> actions);
std::vector<std::pair<std::string, int>> classes_of(const std::vector<Masked>& masked);
std::vector<std::string> dropped_of(const std::vector<Masked>& masked, const ChatRequest& request, Wire wire);
