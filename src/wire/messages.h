// messages: messages, tools and prompts of a request in the one form that templates read.
#pragma once
#include <string>
#include "core/json_writer.h"
#include "wire/fields.h"

// Roles checked, developer and system merged into one leading system message, text parts joined, `reasoning` renamed. `given` is a list in
// the shape of chat completions; faults name places in `name`.
Fault normalise_messages(ParsedRequest& out, const std::string& name, Json given);
// Function tools are kept, {"type":"function","function":{…}}; others are named in `ignored`.
Fault normalise_tools(ParsedRequest& out, const std::string& name, const Json& given);

// ---- rows of the tables ----
Fault set_messages(ParsedRequest& out, const FieldValue& value);
Fault set_tools(ParsedRequest& out, const FieldValue& value);
Fault set_tool_choice(ParsedRequest& out, const FieldValue& value);  // the shapes of chat completions and of Responses
Fault set_prompt(ParsedRequest& out, const FieldValue& value);       // one or several texts or lists of ids
Json messages_schema();
Json tools_schema();
Json tool_choice_schema();
Json prompt_schema();
