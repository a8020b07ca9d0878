// text_parts test: built-in chat templates, chosen by the turn tokens of a vocabulary.
#include "app/text_parts.h"
#include <gtest/gtest.h>

namespace {

constexpr int32_t kNormal = 1, kControl = 3;

std::shared_ptr<const Tokenizer> vocabulary(const std::vector<std::string_view>& more, int32_t type) {
  VocabularyTable table;
  table.model = "gpt2";
  table.pre = "qwen2";
  table.tokens = {"a", "b", "<bos>"};
  table.types = {kNormal, kNormal, kControl};
  for (const std::string_view token : more) {
    table.tokens.push_back(token);
    table.types.push_back(type);
  }
  auto tokenizer = tokenizer_from_table(table);
  return tokenizer ? *tokenizer : nullptr;
}

std::string rendered(const BuiltInTemplate& built_in, const std::string& messages, bool prompt = true) {
  TemplateInput input;
  input.messages_json = messages;
  input.add_generation_prompt = prompt;
  input.bos_token = "<bos>";
  const auto text = built_in.compiled->render(input);
  return text ? *text : text.error().message;
}

constexpr const char* kTalk = R"([{"role":"system","content":"Be brief."},{"role":"user","content":" Hi\n"},{"role":"assistant","content":"Ho"},
  {"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}])";

TEST(TextParts, GemmaTurns) {
  const auto tokenizer = vocabulary({"<start_of_turn>", "<end_of_turn>"}, kControl);
  ASSERT_TRUE(tokenizer);
  const auto built_in = built_in_chat_template(*tokenizer);
  ASSERT_TRUE(built_in.has_value()) << built_in.error().message;
  ASSERT_TRUE(built_in->compiled);
  EXPECT_EQ(built_in->token, "<start_of_turn>");
  EXPECT_EQ(rendered(*built_in, kTalk),
            "<bos><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHo<end_of_turn>\n<start_of_turn>user\nxy<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(rendered(*built_in, R"([{"role":"user","content":"a"}])", false), "<bos><start_of_turn>user\na<end_of_turn>\n");
}

TEST(TextParts, ChatmlTurns) {
  const auto tokenizer = vocabulary({"<|im_start|>", "<|im_end|>"}, kControl);
  ASSERT_TRUE(tokenizer);
  const auto built_in = built_in_chat_template(*tokenizer);
  ASSERT_TRUE(built_in.has_value()) << built_in.error().message;
  ASSERT_TRUE(built_in->compiled);
  EXPECT_EQ(rendered(*built_in, kTalk),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n<|im_start|>user\nxy<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(rendered(*built_in, R"([{"role":"user","content":null}])", false), "<|im_start|>user\n<|im_end|>\n");
  EXPECT_NE(rendered(*built_in, R"([{"role":"user","content":[{"type":"image"}]}])").find("Only text is understood."), std::string::npos);
}

TEST(TextParts, NoTurnTokensNoTemplate) {
  for (const auto& tokenizer : {vocabulary({}, kNormal), vocabulary({"<|im_start|>"}, kControl), vocabulary({"<|im_start|>", "<|im_end|>"}, kNormal)}) {
    ASSERT_TRUE(tokenizer);
    const auto built_in = built_in_chat_template(*tokenizer);
    ASSERT_TRUE(built_in.has_value());
    EXPECT_FALSE(built_in->compiled);
  }
}

}  // namespace
