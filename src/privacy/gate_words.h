// gate_words: small things a passage says and derives: labels, statuses, what a consent is about.
#pragma once
#include <span>
#include <string>
#include <vector>
#include "privacy/gate_parts.h"

std::string requested_label(const GateTarget& target);       // a name of models(); "other" for any other
int status_of(Code code);                                    // of HTTP, for the audit line
std::vector<Action> masking_what_was_asked(std::vector<Action> actions);
// The findings that the policy asks about; all, where it asks because of the request as a whole.
std::vector<FieldFinding> asked_about(std::span<const FieldFinding> findings, std::span<const Action> actions);
std::vector<PrivacyClass> classes_in(std::span<const FieldFinding> findings);
ConsentSubject subject_of(const Policy& policy, std::span<const ChatRequest> requests, std::span<const FieldFinding> findings, const GateTarget& target);
// The member "consent" of an error: with the messages as they would leave.
Json consent_member(const ConsentOffer& offer, const GateTarget& target, const std::vector<Masked>& masked);
Json fields_with(std::span<const FieldFinding> findings, std::span<const Action> actions);  // paths of what is not allowed, each once
