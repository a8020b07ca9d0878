// fuzz template: compiles arbitrary bytes and renders them over a small conversation; must never crash, hang or leak.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include "text/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  const auto compiled = ChatTemplate::compile(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!compiled) return 0;
  TemplateInput input;
  input.messages_json = R"([{"role":"user","content":"Hé"},{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":[1,2.5]}"}}]}])";
  input.kwargs_json = R"({"x":{"a":1,"b":[true,null]}})";
  input.bos_token = "<s>";
  const auto rendered = (*compiled)->render(input);
  return rendered && rendered->size() > (size_t{16} << 20) ? -1 : 0;
}
