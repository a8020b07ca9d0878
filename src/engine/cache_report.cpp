// cache_report: from a token's position to the message it lies in.
#include "engine/cache_report.h"
#include "engine/messages.h"

namespace {
size_t byte_of(const Tokenizer& tokenizer, const RenderedPrompt& prompt, int token) {
  size_t bytes = 0;
  for (int i = 0; i < token && i < static_cast<int>(prompt.ids.size()); ++i) bytes += tokenizer.bytes(prompt.ids[static_cast<size_t>(i)], false).size();
  return bytes;
}

// The message whose text holds byte `at` of the rendered prompt, or that follows it: contents are looked for one after another.
std::string source_of(const ChatRequest& request, const RenderedPrompt& prompt, size_t at) {
  if (request.messages_json.empty()) return "prompt";
  const auto messages = RequestMessages::read(request.messages_json);
  if (!messages) return "prompt";
  size_t from = 0, index = 0;
  for (const JsonView message : messages->list) {
    const auto content = find_string(message, "content");
    const size_t begin = content && !content->empty() ? prompt.text.find(*content, from) : std::string::npos;
    if (begin != std::string::npos) {
      from = begin + content->size();
      if (at < from) return at < begin && index == 0 ? "template" : "messages[" + std::to_string(index) + "]";
    }
    ++index;
  }
  return "template";
}
}  // namespace

CacheReport explain_cache(const Tokenizer& tokenizer, const ChatRequest& request, const RenderedPrompt& prompt, const Divergence& d) {
  CacheReport report;
  report.prompt_tokens = d.prompt_tokens;
  report.cached_tokens = d.cached_tokens;
  report.diverged_at = d.at;
  report.was = tokenizer.decode(d.was, false);
  report.now = tokenizer.decode(d.now, false);
  report.source = d.at >= d.prompt_tokens ? "nothing" : source_of(request, prompt, byte_of(tokenizer, prompt, d.at));
  report.recomputed_s = d.recomputed_s;
  return report;
}
