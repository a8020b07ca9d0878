// nearest: the edit distance between a word and those that are known.
#include "core/nearest.h"

#include <algorithm>

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {  // insert, delete, replace, swap neighbours
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); i++) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); j++) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); i++)
    for (size_t j = 1; j <= b.size(); j++) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 64) return "";
  std::string best;
  size_t best_distance = 1 + std::min<size_t>(2, (word.size() + 1) / 3);
  for (const std::string& candidate : candidates) {
    const bool starts = word.size() >= 3 && candidate.starts_with(word) && word != "--";
    const size_t distance = starts ? 1 : edit_distance(word, candidate);
    if (distance < best_distance) best_distance = distance, best = candidate;
  }
  return best;
}
