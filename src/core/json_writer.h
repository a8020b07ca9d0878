// json_writer: building JSON answers; keeps the order in which keys were added. Apart from json.h because it is slow to compile.
#pragma once
#include <nlohmann/json.hpp>

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json);  // one line; bad UTF-8 replaced
