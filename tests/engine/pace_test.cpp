// pace_test: rows of prompts beside decoding, against a device whose steps take a known time.
#include "engine/pace.h"
#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace {
// A step of `decoding` rows takes 2 ms, and `row_s` more for each row of a prompt.
double step_s(int prompt_rows, double row_s) { return 2e-3 + prompt_rows * row_s; }

std::vector<int> run(int n_steps, double row_s, int most = 512) {
  Pace pace;
  std::vector<int> rows;
  for (int i = 0; i < n_steps; ++i) {
    rows.push_back(pace.rows(8, most));
    pace.took(8, rows.back(), step_s(rows.back(), row_s));
  }
  return rows;
}
}  // namespace

TEST(Pace, StepsLastAtMostTwiceAsLongAndNotMuchLess) {
  for (const double row_s : {10e-6, 50e-6, 200e-6}) {
    const auto rows = run(200, row_s);
    for (const int n : rows) EXPECT_LE(step_s(n, row_s), 2 * step_s(0, row_s)) << n << " rows of " << row_s;
    EXPECT_GE(step_s(rows.back(), row_s), 1.5 * step_s(0, row_s)) << row_s;
  }
}

TEST(Pace, ShapesOfStepsRepeat) {
  const auto rows = run(400, 23e-6);
  EXPECT_LE(std::set(rows.begin() + 20, rows.end()).size(), 3u);
}

TEST(Pace, APromptGetsOnWhereEveryRowIsDear) {
  const auto rows = run(100, 5e-3);
  EXPECT_GE(*std::max_element(rows.begin() + 50, rows.end()), 1);
}
