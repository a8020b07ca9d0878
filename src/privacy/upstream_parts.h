// upstream_parts: an upstream whose key is not read: for showing what would be sent, where nothing is.
#pragma once
#include "privacy/upstream.h"

Result<std::unique_ptr<Upstream>> keyless_upstream(UpstreamOptions options);
