// fuzz: request bodies of every dialect; the first byte says whose. What is accepted must be JSON again where templates read it.
#include <cstddef>
#include <cstdint>

#include "wire/anthropic_request.h"
#include "wire/llama_completion.h"
#include "wire/normalise.h"
#include "wire/ollama_request.h"

namespace {

void expect_json(const std::string& text) {
  if (!text.empty() && !JsonDocument::parse("a converted request", text)) __builtin_trap();
}

template <class Request, class Read> void read(const Read& reader, std::string_view body) {
  Request request;
  if (reader(body, request)) return;
  (void)take_volatile_prefix(request.chat);
  expect_json(request.chat.messages_json);
  expect_json(request.chat.tools_json);
  expect_json(request.chat.template_kwargs_json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 7) {
    case 0: read<ParsedRequest>([](auto text, auto& out) { return parse_request(Dialect::chat, text, out); }, body); break;
    case 1: read<ParsedRequest>([](auto text, auto& out) { return parse_request(Dialect::completions, text, out); }, body); break;
    case 2: read<AnthropicRequest>([](auto text, auto& out) { return read_anthropic(text, false, out); }, body); break;
    case 3: read<OllamaRequest>(read_ollama_chat, body); break;
    case 4: read<OllamaRequest>(read_ollama_generate, body); break;
    case 5: read<LlamaRequest>(read_llama_completion, body); break;
    default: read<LlamaRequest>(read_llama_infill, body);
  }
  return 0;
}
