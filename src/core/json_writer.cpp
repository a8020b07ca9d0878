// json_writer: the serializer, compiled once.
#include "core/json_writer.h"

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }
