// numbers docs: the tables of docs/privacy-detectors.md say what the rules do.
#include <gtest/gtest.h>
#include <fstream>
#include <map>
#include <sstream>
#include "privacy/detect/numbers/id_rule.h"

namespace {

struct Row { std::string tier, bare, grouped; };

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, '|');) {
    const size_t begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
    out.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return out;
}

std::map<std::string, Row> documented() {
  std::map<std::string, Row> out;
  std::ifstream in(std::string(CALLA_SOURCE_DIR) + "/docs/privacy-detectors.md");
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> row = cells(line);  // the first is what stands before the first bar
    if (row.size() == 9 && row[1].starts_with('`')) out[row[1].substr(1, row[1].size() - 2)] = {row[4], row[5], row[6]};
  }
  return out;
}

std::string shown(float score) {
  if (score == 0) return "–";
  std::ostringstream out;
  out << score;
  return out.str();
}

TEST(NumberDocs, TablesAreTrue) {
  const std::map<std::string, Row> rows = documented();
  std::map<std::string, std::pair<float, float>> best;
  for (const numbers::IdRule& rule : numbers::all_id_rules()) {
    if (rule.kind.starts_with("vat_")) continue;
    const std::string kind(rule.kind);
    ASSERT_TRUE(rows.contains(kind)) << kind << " is not in docs/privacy-detectors.md";
    EXPECT_EQ(rows.at(kind).tier, std::string(1, rule.tier)) << kind;
    best[kind].first = std::max(best[kind].first, rule.bare);
    best[kind].second = std::max(best[kind].second, rule.grouped);
  }
  for (const auto& [kind, row] : rows) {
    ASSERT_TRUE(best.contains(kind)) << kind << " is documented and has no rule";
    EXPECT_EQ(row.bare, shown(best[kind].first)) << kind;
    EXPECT_EQ(row.grouped, shown(best[kind].second)) << kind;
  }
}

}  // namespace
