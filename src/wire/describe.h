// describe: what the server takes and what each model honours, read from the tables that parse requests.
#pragma once
#include <vector>
#include "chat/chat.h"
#include "core/json_writer.h"
#include "wire/routes.h"

Json chat_schema();         // of request bodies
Json completion_schema();
Json embedding_schema();
Json embedding_effects();
Json capabilities(const std::vector<ModelInfo>& models);  // of /v1/capabilities
Json openapi(const Routes& routes);                       // OpenAPI 3.1
