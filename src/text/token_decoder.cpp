// token decoder: running the decoder's steps on one token.
#include "text/token_decoder.h"

#include "text/pretokenize.h"

static constexpr double kMaxGrowth = 16;

Status TokenDecoder::add(DecodeStep step) {
  const auto unsupported = [](const char* what) { return Error{Code::unsupported, std::string("tokenizer: the decoder has ") + what}; };
  if (fused_ && !std::holds_alternative<DecodeStrip>(step) && !std::holds_alternative<DecodeFuse>(step)) return unsupported("a step other than Strip after Fuse");
  if (const auto* strip = std::get_if<DecodeStrip>(&step)) {
    if (fused_ && strip->stop != 0) return unsupported("a Strip at the end of the text");
    if (strip->start < 0 || strip->stop < 0 || strip->start > 64 || strip->stop > 64 || (fused_ && strip->start > 1)) return unsupported("a Strip of more characters than supported");
  }
  if (const auto* replace = std::get_if<ReplaceStep>(&step)) growth_ *= replace->growth();
  if (growth_ > kMaxGrowth) return unsupported("replacements that make a token that much longer");
  if (std::holds_alternative<DecodeFuse>(step)) fused_ = true;
  steps_.push_back(std::move(step));
  return ok_status();
}

// All letters of the alphabet, or the token stays as it is.
static std::string byte_level(const std::string& token) {
  std::string out;
  for (size_t at = 0; at < token.size();) {
    const Utf8Step c = utf8_step(token, at);
    const int byte = c.kind == Utf8Step::Kind::valid ? letter_byte(c.code_point) : -1;
    if (byte < 0) return token;
    out.push_back(static_cast<char>(byte));
    at += c.length;
  }
  return out;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 32);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static std::string byte_fallback(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return token;
  const int high = hex_digit(token[3]), low = hex_digit(token[4]);
  return high < 0 || low < 0 ? token : std::string(1, static_cast<char>(high * 16 + low));
}

static std::string strip(std::string text, const DecodeStrip& step) {
  for (int i = 0; i < step.start && text.starts_with(step.content); ++i) text.erase(0, step.content.size());
  for (int i = 0; i < step.stop && text.ends_with(step.content); ++i) text.resize(text.size() - step.content.size());
  return text;
}

namespace {
struct Decode {
  std::string& text;
  bool at_start;
  bool& fused;
  void operator()(const DecodeByteLevel&) const { text = byte_level(text); }
  void operator()(const DecodeByteFallback&) const { text = byte_fallback(text); }
  void operator()(const DecodeFuse&) const { fused = true; }
  void operator()(const ReplaceStep& step) const { text = step.apply(text); }
  void operator()(const DecodeStrip& step) const {
    if (!fused || at_start) text = strip(text, step);
  }
  // In the first token every replacement character goes, as in Hugging Face, not only the first one.
  void operator()(const DecodeMetaspace& step) const {
    ReplaceStep replace;
    replace.literal = step.replacement;
    replace.content.assign(at_start && step.drop_at_start ? 0 : 1, ' ');
    text = replace.apply(text);
  }
};
}  // namespace

std::string TokenDecoder::decode(std::string_view token, bool at_start) const {
  std::string text(token);
  if (steps_.empty()) return at_start ? text : std::string(1, ' ').append(token);
  bool fused = false;
  for (const DecodeStep& step : steps_) std::visit(Decode{text, at_start, fused}, step);
  return text;
}
