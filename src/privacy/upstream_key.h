// upstream_key: the key of one upstream, read from where it may lie into locked memory.
#pragma once
#include "privacy/policy.h"
#include "privacy/secure_memory.h"

inline constexpr size_t most_key_bytes = 4000;
// From the variable or the file that the options name; empty when they name none. A file must be ours, and nobody else's to read.
Result<Secret> read_upstream_key(const UpstreamOptions& options);
