// names: parsing what a person typed and what repositories call their files.
#include "store/names.h"

#include <algorithm>
#include <regex>

namespace store {
namespace {

bool is_repo_part(std::string_view part) {
  if (part.empty() || part.size() > 96 || part.front() == '.' || part.front() == '-' || part.back() == '.' || part.back() == '-') return false;
  if (part.find("--") != part.npos || part.find("..") != part.npos) return false;
  return std::ranges::all_of(part, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; });
}

bool ends_with_no_case(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && lower(text.substr(text.size() - tail.size())) == lower(tail);
}

int digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

const Alias* find_alias(std::string_view name) {
  for (const Alias& alias : aliases())
    if (lower(name) == alias.name) return &alias;
  return nullptr;
}

std::optional<ModelName> parse_name(const std::string& name, bool bare) {
  if (const Alias* alias = find_alias(name)) return ModelName{alias->repo, "", alias};
  const size_t colon = name.find(':');
  const std::string repo = name.substr(0, colon), quant = colon == name.npos ? "" : name.substr(colon + 1);
  if (colon != name.npos && (quant.empty() || !is_safe_relative(quant))) return std::nullopt;
  const size_t slash = repo.find('/');
  if (slash == repo.npos ? !(bare && is_repo_part(repo)) : !is_repo_part(repo.substr(0, slash)) || !is_repo_part(repo.substr(slash + 1)))
    return std::nullopt;
  return ModelName{repo, quant, nullptr};
}

std::string spelled(const ModelName& name) {
  if (name.alias) return name.alias->name;
  return name.quant.empty() ? name.repo : name.repo + ":" + name.quant;
}

bool is_safe_relative(std::string_view path) {
  if (path.empty() || path.size() > 1024) return false;
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") return false;
    start = end + 1;
  }
  return std::ranges::none_of(path, [](unsigned char c) { return c < 32 || c == 127 || c == '\\'; });
}

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits && std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

ShardName parse_shard(std::string_view file) {
  const size_t dot = file.rfind('.');
  const std::string_view stem = file.substr(0, dot);
  constexpr size_t kTail = 15;  // "-00001-of-00003"
  if (stem.size() > kTail) {
    const std::string_view tail = stem.substr(stem.size() - kTail);
    const int shard = digits(tail.substr(1, 5)), of = digits(tail.substr(10));
    if (tail[0] == '-' && tail.substr(6, 4) == "-of-" && shard >= 1 && of >= shard)
      return {std::string(stem.substr(0, stem.size() - kTail)), shard, of};
  }
  return {std::string(stem), 1, 1};
}

std::string quant_of(std::string_view file) {
  static const std::regex pattern("(?:^|[-._/])((?:IQ|TQ|Q)[1-8](?:_[0-9A-Z]+)*|BF16|F16|FP16|F32|MXFP4(?:_MOE)?)(?=$|[-./])");
  std::string stem = parse_shard(file).stem;
  if (stem.size() > 512) return "";
  for (char& c : stem) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string found;
  for (std::sregex_iterator it(stem.begin(), stem.end(), pattern), end; it != end; ++it) found = (*it)[1].str();
  return found;
}

std::vector<std::string> near_misses(std::string_view name, const std::vector<std::string>& candidates) {
  std::vector<std::pair<size_t, std::string>> scored;
  const std::string typed = lower(name.substr(0, 200));
  for (const std::string& candidate : candidates) {
    const std::string other = lower(candidate);
    size_t score = edit_distance(typed, other);
    if (typed.size() >= 3 && (other.find(typed) != other.npos || ends_with_no_case(typed, other))) score = std::min<size_t>(score, 1);
    if (const size_t slash = other.rfind('/'); slash != other.npos) score = std::min(score, edit_distance(typed, other.substr(slash + 1)) + 1);
    if (score <= std::max<size_t>(2, typed.size() / 4)) scored.emplace_back(score, candidate);
  }
  std::ranges::sort(scored);
  std::vector<std::string> out;
  for (const auto& [score, candidate] : scored)
    if (out.size() < 3 && std::ranges::find(out, candidate) == out.end()) out.push_back(candidate);
  return out;
}

}  // namespace store
