// resolve: what of a name lies in the cache, and the sentence for when nothing does.
#pragma once
#include "store/cache.h"

namespace store {

struct Found { Snapshot snapshot; Choice choice; };
Result<Found> find_cached(const ModelName& wanted, const StoreOptions& options);
Error unknown_name(const std::string& name, const StoreOptions& options);  // with near misses

}  // namespace store
