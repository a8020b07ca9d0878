// dry_run: what the gate would do with a request or a text, without sending anything.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include "core/core.h"
#include "core/json_writer.h"
#include "privacy/privacy.h"

// The configuration of `path`; "": the default policy in front of one imagined cloud. One without any upstream is given that cloud too.
Result<GateConfig> dry_configuration(const std::string& path);
// A gate that sends nothing, with the model tier of its configuration.
Result<std::unique_ptr<Gate>> dry_gate(GateConfig config);
// A chat completion of one user message.
ChatRequest request_of_text(std::string_view text, const std::string& model, const std::string& system = "");
// "X-Calla-Privacy: local" and the like; an error for headers that the gate does not read.
Status add_header(ChatRequest& request, std::string_view line);
// The text of the last user message in an upstream body, in either wire format; nullopt when there is none.
std::optional<std::string> text_that_leaves(const Json& upstream_body);
