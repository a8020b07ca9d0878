// messages: messages, tools and prompts of a request in the one form that templates read.
#pragma once
#include <string>
#include "core/json_writer.h"
#include "wire/fields.h"

// Roles checked, developer and system merged into one leading system message, text parts joined, `reasoning` renamed. `given` is a list in
// the shape of chat completions; faults name places in `name`. In front of a privacy gate (`gated`) what is not text, unknown roles and nulls
// stay as they are, for the gate to judge and for a local engine to refuse.
Fault normalise_messages(ParsedRequest& out, const std::string& name, Json given);
// The two halves of that: one message checked and normalised in place, and a list of such stored.
Fault normalise_message(ParsedRequest& out, const std::string& at, Json& message);
void store_messages(ParsedRequest& out, Json checked);
// Names the members of `object` that are not among `known`, separated by spaces, as unknown to a privacy gate. Empty ones say nothing.
void note_unknown(ParsedRequest& out, const std::string& at, const Json& object, std::string_view known);
void note_unknown(ParsedRequest& out, const std::string& at, JsonView object, std::string_view known);
// Function tools are kept, {"type":"function","function":{…}} (also from the flat form of Responses); others are named in `ignored`.
Fault normalise_tools(ParsedRequest& out, const std::string& name, const Json& given);

// ---- rows of the tables ----
Fault set_messages(ParsedRequest& out, const FieldValue& value);
Fault set_tools(ParsedRequest& out, const FieldValue& value);
Fault set_tool_choice(ParsedRequest& out, const FieldValue& value);  // the shapes of chat completions and of Responses
Fault set_prompt(ParsedRequest& out, const FieldValue& value);       // one or several texts or lists of ids
Fault read_prompts(const FieldValue& value, size_t most, std::vector<Prompt>& prompts);
Json messages_schema();
Json tools_schema();
Json tool_choice_schema();
Json prompt_schema();
Json prompts_schema(size_t most);
