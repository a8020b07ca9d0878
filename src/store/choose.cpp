// choose: the rules that pick one model out of a repository's files, and the sentence that says why.
#include "store/choose.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace store {
namespace {

// Best first: small without a loss most people would notice, then ever larger; anything else is taken smallest first.
constexpr const char* kPreferred[] = {"Q4_K_M", "Q4_0", "Q4_1", "Q8_0", "Q4_K_S", "Q5_K_M", "Q6_K", "MXFP4_MOE", "MXFP4", "BF16", "F16", "F32"};

bool ends_with(const std::string& name, std::string_view tail) { return lower(name).ends_with(tail); }

bool is_sidecar(const std::string& name) {
  static const std::set<std::string> kNames = {"config.json",
                                               "generation_config.json",
                                               "tokenizer.json",
                                               "tokenizer_config.json",
                                               "tokenizer.model",
                                               "special_tokens_map.json",
                                               "added_tokens.json",
                                               "vocab.json",
                                               "merges.txt",
                                               "chat_template.jinja",
                                               "chat_template.json",
                                               "model.safetensors.index.json",
                                               "preprocessor_config.json"};
  return kNames.contains(name) || name.ends_with(".safetensors.index.json");
}

std::string label(const GgufGroup& group) { return group.quant.empty() ? group.stem : group.quant; }

std::string labels(const std::vector<GgufGroup>& groups) {
  std::string out;
  for (const GgufGroup& group : groups) out += (out.empty() ? "" : ", ") + label(group);
  return out;
}

size_t total(const GgufGroup& group) {
  size_t bytes = 0;
  for (const RepoFile& file : group.shards) bytes += file.bytes;
  return bytes;
}

bool matches(const GgufGroup& group, const std::string& quant) {
  const std::string wanted = lower(quant), stem = lower(group.stem);
  return wanted == lower(group.quant) || wanted == stem || wanted == stem + ".gguf" || stem.ends_with("-" + wanted) || stem.ends_with("." + wanted);
}

const GgufGroup* preferred(const std::vector<GgufGroup>& groups) {
  for (const char* quant : kPreferred)
    for (const GgufGroup& group : groups)
      if (group.quant == quant) return &group;
  return &*std::ranges::min_element(groups, {}, total);
}

Result<Choice> take(const GgufGroup& group, const std::string& repo, std::string reason) {
  if (static_cast<int>(group.shards.size()) != group.of)
    return Error{Code::corrupt_file, fmt::format("{} of {}: {} of {} shards are there", label(group), repo, group.shards.size(), group.of)};
  return Choice{group.shards, group.shards.front().name, "gguf", group.quant, std::move(reason)};
}

Result<Choice> choose_pinned(const std::vector<RepoFile>& files, const ModelName& wanted) {
  for (const RepoFile& file : files)
    if (file.name == wanted.alias->file)
      return Choice{{file}, file.name, "gguf", quant_of(file.name), fmt::format("{} stands for this file", wanted.alias->name)};
  return Error{Code::not_found, fmt::format("{} has no file {}", wanted.repo, wanted.alias->file)};
}

Result<Choice> choose_gguf(const std::vector<GgufGroup>& groups, const ModelName& wanted) {
  if (!wanted.quant.empty()) {
    for (const GgufGroup& group : groups)
      if (matches(group, wanted.quant)) return take(group, wanted.repo, fmt::format("{} was asked for", wanted.quant));
    return Error{Code::not_found, fmt::format("{} has no {}; it has {}", wanted.repo, wanted.quant, labels(groups))};
  }
  if (groups.size() == 1) return take(groups.front(), wanted.repo, "the only GGUF of the repository");
  const GgufGroup* best = preferred(groups);
  const bool listed = std::ranges::find(kPreferred, best->quant) != std::end(kPreferred);
  return take(*best, wanted.repo,
              fmt::format("{} of {}: {}; add :QUANT to the name for another", label(*best), labels(groups),
                          listed ? "the first of our order of preference that is there" : "the smallest"));
}

std::string extensions(const std::vector<RepoFile>& files) {
  std::set<std::string> seen;
  for (const RepoFile& file : files)
    if (const size_t dot = file.name.rfind('.'); dot != file.name.npos && file.name.find('/', dot) == file.name.npos)
      seen.insert(file.name.substr(dot));
  std::string out;
  for (const std::string& extension : seen)
    if (out.size() < 80) out += (out.empty() ? "" : " ") + extension;
  return out.empty() ? "no files" : out;
}

}  // namespace

std::vector<GgufGroup> gguf_groups(const std::vector<RepoFile>& files) {
  std::map<std::pair<std::string, int>, GgufGroup> groups;
  for (const RepoFile& file : files) {
    const std::string base = lower(file.name.substr(file.name.rfind('/') + 1));
    if (!ends_with(file.name, ".gguf") || base.find("mmproj") != base.npos || base.find("imatrix") != base.npos) continue;
    const ShardName shard = parse_shard(file.name);
    GgufGroup& group = groups[{shard.stem, shard.of}];
    group.stem = shard.stem.substr(shard.stem.rfind('/') + 1);
    group.quant = quant_of(file.name);
    group.of = shard.of;
    group.shards.push_back(file);
  }
  std::vector<GgufGroup> out;
  for (auto& [key, group] : groups) {
    std::ranges::sort(group.shards, {}, [](const RepoFile& file) { return parse_shard(file.name).shard; });
    out.push_back(std::move(group));
  }
  return out;
}

std::vector<RepoFile> safetensors_files(const std::vector<RepoFile>& files) {
  std::vector<RepoFile> small, weights, consolidated;
  for (const RepoFile& file : files) {
    if (file.name.find('/') != file.name.npos) continue;
    if (is_sidecar(file.name))
      small.push_back(file);
    else if (ends_with(file.name, ".safetensors"))
      (file.name.starts_with("consolidated") ? consolidated : weights).push_back(file);
  }
  if (weights.empty()) weights = std::move(consolidated);  // the same weights twice otherwise
  if (weights.empty()) return {};
  small.insert(small.end(), weights.begin(), weights.end());
  return small;
}

Result<Choice> choose_files(const std::vector<RepoFile>& files, const ModelName& wanted) {
  if (wanted.alias && *wanted.alias->file) return choose_pinned(files, wanted);
  const std::vector<GgufGroup> groups = gguf_groups(files);
  const std::vector<RepoFile> tensors = safetensors_files(files);
  if (!tensors.empty() && (wanted.quant.empty() || groups.empty())) {
    if (!wanted.quant.empty())
      return Error{Code::not_found, fmt::format("{0} holds safetensors of one quantisation, not {1}; type {0}", wanted.repo, wanted.quant)};
    std::map<std::pair<std::string, int>, int> shards;
    for (const RepoFile& file : tensors)
      if (ends_with(file.name, ".safetensors")) shards[{parse_shard(file.name).stem, parse_shard(file.name).of}]++;
    for (const auto& [key, count] : shards)
      if (count != key.second) return Error{Code::corrupt_file, fmt::format("{}: {} of {} shards are there", wanted.repo, count, key.second)};
    return Choice{tensors, "", "safetensors", "", "the repository's safetensors"};
  }
  if (!groups.empty()) return choose_gguf(groups, wanted);
  return Error{Code::unsupported, fmt::format("{} holds neither safetensors nor GGUF ({})", wanted.repo, extensions(files))};
}

}  // namespace store
