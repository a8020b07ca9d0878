// regex: compiling and running translated patterns with PCRE2 (UTF, UCP, JIT, bounded).
#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/unicode.h"

static constexpr size_t kMaxPatternBytes = 64 << 10;
static constexpr uint32_t kMatchLimit = 20'000'000;  // steps of one search; a real tokenizer's pattern needs about one a byte
static constexpr uint32_t kHeapLimitKib = 64 << 10;
static constexpr size_t kJitStackBytes = 1 << 20;

// One search's working memory.
namespace {
struct Scratch {
  pcre2_match_data* data;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;
  explicit Scratch(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)), context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(32 << 10, kJitStackBytes, nullptr)) {
    CHECK(data && context);
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKib);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Scratch() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};
}  // namespace

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) return Error{Code::too_large, "tokenizer: a regular expression is longer than 64 KiB"};
  if (!is_utf8(pattern)) return Error{Code::corrupt_file, "tokenizer: a regular expression is not UTF-8"};
  TRY(const std::string translated, translate_regex(pattern));
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(pcre2_compile_context_create(nullptr),
                                                                                              &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  size_t offset = 0;
  // Ruby's ^ and $ match at every line.
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error,
                                   &offset, context.get());
  if (!code) {
    PCRE2_UCHAR text[160] = {};
    pcre2_get_error_message(error, text, sizeof text);
    return Error{Code::unsupported, "tokenizer: the regular expression does not compile: " + std::string(reinterpret_cast<const char*>(text))};
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without JIT the interpreter runs it
  Regex out;
  out.code_ = std::shared_ptr<const void>(code, [](const void* p) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(p))); });
  return out;
}

std::vector<TextRange> Regex::matches(std::string_view text) const {
  std::vector<TextRange> out;
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const Scratch scratch(code);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t from = 0, last_end = text.size() + 1;
  while (from <= text.size()) {
    int rc = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, scratch.data, scratch.context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
      rc = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scratch.data, scratch.context);
    if (rc < 0) break;
    const size_t* range = pcre2_get_ovector_pointer(scratch.data);
    if (range[0] == range[1] && range[1] == last_end) {  // an empty match right behind the last one does not count: step on
      if (from >= text.size()) break;
      from += utf8_step(text, from).length;
      last_end = text.size() + 1;
      continue;
    }
    out.push_back({range[0], range[1]});
    from = last_end = range[1];
  }
  return out;
}

std::string escape_regex(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    if (std::string_view("\\.+*?()|[]{}^$#&-~/").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}
