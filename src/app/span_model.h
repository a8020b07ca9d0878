// span_model: a token classifier of the user's as the model tier of the privacy gate.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include "privacy/policy.h"

// Null when none is configured. Fails, naming the key of the configuration, when the checkpoint cannot be read, labels no tokens, or has a label
// whose class is not known. Threads of its own: the models that answer are not held up by it.
Result<std::shared_ptr<SpanModel>> open_span_model(const ModelTier& tier);
// "GIVENNAME", "private_person", "Phone-Number": letters count, in any case, and nothing else does.
std::optional<PrivacyClass> class_of_label(std::string_view label);
