// plain_tools: tools for models whose chat template knows none: what others' templates would say is said in messages.
#pragma once
#include <string>
#include "core/core.h"

// The syntax that the written instructions ask for: find it in tool_syntaxes().
inline constexpr std::string_view plain_tool_syntax = "hermes";

// The same conversation for a template without tools: the system message describes them, past calls and their results become text.
Result<std::string> with_plain_tools(const std::string& messages_json, const std::string& tools_json);
