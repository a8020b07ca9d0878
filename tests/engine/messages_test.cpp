// messages_test: what no template can read is refused by the place where it stands.
#include <gtest/gtest.h>
#include "engine/messages.h"

TEST(CheckReadable, NamesThePlace) {
  const auto refusal = [](const char* messages) {
    const Status checked = check_readable(messages);
    return checked ? std::string() : checked.error().message.substr(0, checked.error().message.find(": "));
  };
  EXPECT_EQ(refusal(R"([{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","content":""}])"), "");
  EXPECT_EQ(refusal(R"([{"role":"user","content":[{"type":"text","text":"x"},{"type":"input_text","text":"y"}]}])"), "");
  EXPECT_EQ(refusal(R"([{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"x"}}]}])"), "messages[0].content[1].type");
  EXPECT_EQ(refusal(R"([{"role":"user","content":[{"type":"text","text":null}]}])"), "messages[0].content[0].text");
  EXPECT_EQ(refusal(R"([{"role":"user","content":"x"},{"role":"wizard","content":"x"}])"), "messages[1].role");
  EXPECT_EQ(refusal(R"([{"role":"user","content":null}])"), "messages[0].content");
  EXPECT_EQ(refusal(R"([{"role":"user","content":7}])"), "messages[0].content");
  EXPECT_EQ(check_readable(R"([{"role":"user","content":[{"type":"file"}]}])").error().code, Code::unsupported);
}
