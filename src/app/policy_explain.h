// policy_explain: `calla policy explain`.
#pragma once
#include "app/options.h"

// Reads a chat completion's body on standard input and prints what the policy of `path` would do with it. The value is the exit status.
Result<int> explain_request(const Options& options, const std::string& path);
