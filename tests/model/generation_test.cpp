// generation: stop ids from every place they live, sampling defaults, absurd values refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "fakes.h"

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(Generation, StopIdsAreMerged) {
  MemoryFile f;
  f.json = {{"model_type", "x"}, {"eos_token_id", 5}, {"text_config", {{"eos_token_id", Json::array({6, 5})}}}};
  f.sidecars["generation_config.json"] =
      R"({"eos_token_id": [7, 5], "temperature": 0.6, "top_k": 20, "top_p": 0.95, "do_sample": true, "min_p": null})";
  const auto d = generation_defaults(f);
  ASSERT_TRUE(d);
  EXPECT_THAT(d->stop_ids, ElementsAre(7, 5, 6));
  EXPECT_FLOAT_EQ(d->temperature, 0.6f);
  EXPECT_EQ(d->top_k, 20);
  EXPECT_FLOAT_EQ(d->top_p, 0.95f);
  EXPECT_TRUE(d->do_sample);
  EXPECT_TRUE(d->from_file);
}

TEST(Generation, NothingStored) {
  MemoryFile f;
  f.json = {{"model_type", "x"}, {"eos_token_id", nullptr}};
  const auto d = generation_defaults(f);
  ASSERT_TRUE(d);
  EXPECT_TRUE(d->stop_ids.empty());
  EXPECT_FALSE(d->from_file);
}

TEST(Generation, GgufKeys) {
  MemoryFile f;
  f.kind = Container::gguf;
  f.metadata["tokenizer.ggml.eos_token_id"] = {int64_t{3}};
  f.metadata["tokenizer.ggml.eot_token_id"] = {int64_t{4}};
  f.metadata["general.sampling.temp"] = {0.7};
  f.metadata["general.sampling.top_k"] = {int64_t{20}};
  const auto d = generation_defaults(f);
  ASSERT_TRUE(d);
  EXPECT_THAT(d->stop_ids, ElementsAre(3, 4));
  EXPECT_FLOAT_EQ(d->temperature, 0.7f);
  EXPECT_EQ(d->top_k, 20);
  EXPECT_TRUE(d->do_sample);
}

TEST(Generation, AbsurdValuesAreRefused) {
  for (const char* text : {R"({"temperature": -1})", R"({"top_p": 1.5})", R"({"repetition_penalty": 0})", R"({"top_k": -7})", "not json"}) {
    MemoryFile f;
    f.json = {{"model_type", "x"}};
    f.sidecars["generation_config.json"] = text;
    EXPECT_FALSE(generation_defaults(f)) << text;
  }
}

}  // namespace
