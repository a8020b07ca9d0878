// gate_explain: what would happen to a request, told instead of done.
#pragma once
#include "privacy/gate_parts.h"

Result<Json> explain_request(GateParts& parts, const ChatRequest& request);
