// responses: what a body of the Responses API asks for, with the conversation it continues.
#pragma once
#include <functional>
#include <string>
#include "wire/fields.h"

// A request of the Responses API, understood.
struct ResponsesRequest : ParsedRequest {
  std::string instructions, previous_response_id, effort, cache_key, user, safety_identifier;
  bool store = true;
  Json input = Json::array();             // this request's items, each with an id
  Json metadata = Json::object();
  Json format = {{"type", "text"}};       // the rest is echoed as it came
  Json tools = Json::array();
  Json tool_choice = "auto";
};

// Items that other responses left behind; nothing when there are none of that id.
struct ItemSource {
  std::function<std::optional<Json>(const std::string& response_id)> context;  // all items up to and including this response's
  std::function<std::optional<Json>(const std::string& item_id)> item;
};
// Fills `out`, or says what is wrong, naming the field.
Fault parse_responses(std::string_view body, const ItemSource& stored, ResponsesRequest& out);
Json responses_schema();
Json responses_effects();                 // {FIELD: "honoured" | "refused"}

// Items as messages of a chat: what one turn thought, said and called becomes one message. `at` names the list in faults.
Fault append_items(const std::string& at, const Json& items, ParsedRequest& out, Json& messages);
