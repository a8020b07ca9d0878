// fuzz upstream_sse: arbitrary bytes, arbitrarily cut, as the answer of an upstream in both wire formats; nothing but what was understood may
// come out, and a choice that was not asked for never.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include "privacy/upstream_answer.h"

namespace {

void read(std::string_view bytes, size_t piece, bool anthropic) {
  size_t n = 0;
  const ChoiceSink sink{[&](size_t choice, const Delta& delta) {
                          if (choice > 1 || delta.tool_index < 0) std::abort();
                          return ++n < 4096;
                        },
                        [](size_t, const Finish&) { return true; }};
  AnswerBuilder answer(2, sink);
  const auto reader = anthropic ? anthropic_reader(answer) : openai_reader(answer);
  AnswerBytes into(*reader, answer);
  bool more = true;
  for (size_t at = 0; more && at < bytes.size(); at += piece) more = into.add(bytes.substr(at, piece));
  into.finish();
  if (answer.complete() && answer.fault_text()) std::abort();
  if (answer.finishes().size() != 2) std::abort();
}

}  // namespace

// The first byte says how the rest is cut, and in which format it is read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 65536) return 0;
  read({reinterpret_cast<const char*>(data) + 1, size - 1}, size_t{1} + data[0] / 2, (data[0] & 1) != 0);
  return 0;
}
