// choose: which files of a repository make the model that was asked for.
#pragma once
#include <string>
#include <vector>
#include "store/names.h"

namespace store {

struct Choice {
  std::vector<RepoFile> files;    // everything to have; small files first
  std::string main;               // the (first) .gguf, "" when the folder itself is the model
  std::string container;          // "gguf" or "safetensors"
  std::string quant, reason;
};

// A .gguf, or all shards of a split one.
struct GgufGroup { std::string stem, quant; std::vector<RepoFile> shards; int of = 1; };
std::vector<GgufGroup> gguf_groups(const std::vector<RepoFile>& files);  // without mmproj and imatrix files
std::vector<RepoFile> safetensors_files(const std::vector<RepoFile>& files);  // weights and what belongs beside them; empty if no weights

// not_found when the wanted quantisation is not there, unsupported when nothing loadable is, corrupt_file when shards are missing.
Result<Choice> choose_files(const std::vector<RepoFile>& files, const ModelName& wanted);

}  // namespace store
