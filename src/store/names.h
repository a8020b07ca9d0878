// names: what a person typed, taken apart, and the file names that repositories use.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "store/store.h"

namespace store {

// One file of a repository, on the hub or in a snapshot. `etag` is 64 hex digits (sha256) or 40 (git's sha1); "" in a snapshot.
struct RepoFile { std::string name; size_t bytes = 0; std::string etag; };

struct ModelName { std::string repo, quant; const Alias* alias = nullptr; };

const Alias* find_alias(std::string_view name);
// An alias, or owner/repo[:QUANT]; with `bare`, also a repository without owner, as old caches have them. nullopt for anything else.
std::optional<ModelName> parse_name(const std::string& name, bool bare = false);
std::string spelled(const ModelName& name);                             // what to type: the alias, or owner/repo[:QUANT]
bool is_safe_relative(std::string_view path);                           // no "..", no empty part, no control character, not absolute
bool is_hex(std::string_view text, size_t digits);
std::string lower(std::string_view text);

// "x-Q4_K_M-00002-of-00003.gguf" -> stem "x-Q4_K_M", shard 2 of 3; one that is not split is shard 1 of 1.
struct ShardName { std::string stem; int shard = 1, of = 1; };
ShardName parse_shard(std::string_view file);
std::string quant_of(std::string_view file);                            // "Q4_K_M" from a file's name; "" when it tells none

// The candidates nearest to `name`, best first, at most three; empty when nothing is near.
std::vector<std::string> near_misses(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace store
