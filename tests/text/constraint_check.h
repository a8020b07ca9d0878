// constraint check: whole texts against a grammar, through the reference recogniser.
#pragma once
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "text/grammar.h"
#include "text/grammar_reference.h"

using GrammarMaker = std::function<Result<GrammarBuilder::Node>(GrammarBuilder&)>;

// Every text of `valid` is in the language, and none of `invalid`.
inline void expect_language(const GrammarMaker& make, const std::vector<std::string>& valid, const std::vector<std::string>& invalid) {
  GrammarBuilder builder;
  const auto root = make(builder);
  ASSERT_TRUE(root) << root.error().message;
  for (const std::string& text : valid) EXPECT_TRUE(reference_match(builder, *root, text)) << "refuses " << text;
  for (const std::string& text : invalid) EXPECT_FALSE(reference_match(builder, *root, text)) << "accepts " << text;
}

inline void expect_refusal(const GrammarMaker& make, Code code, const std::string& message) {
  GrammarBuilder builder;
  const auto root = make(builder);
  ASSERT_FALSE(root) << "accepted";
  EXPECT_EQ(root.error().code, code) << root.error().message;
  EXPECT_EQ(root.error().message, message);
}
