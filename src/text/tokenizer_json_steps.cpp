// tokenizer_json steps: JSON objects into normaliser, pre-tokeniser, post-processor and decoder steps.
#include "text/tokenizer_json_steps.h"

static constexpr int kMaxDepth = 8, kMaxSteps = 256;
static constexpr size_t kMaxContentBytes = 256;
static constexpr double kMaxGrowth = 64;  // " " to U+2581 is 3
static constexpr int64_t kMaxId = 1 << 22;

static Error unsupported(const std::string& what) { return {Code::unsupported, "tokenizer.json: " + what + " is not supported"}; }
static Error corrupt(const std::string& what) { return {Code::corrupt_file, "tokenizer.json: " + what}; }

static std::string type_of(JsonView step) { return std::string(find_string(step, "type").value_or("(no type)").substr(0, 64)); }

// Calls `read` for every member of the array `key`.
template <class F> static Status for_each(JsonView step, const char* key, int depth, F read) {
  if (depth >= kMaxDepth) return unsupported("a Sequence nested that deep");
  const auto list = find(step, key);
  simdjson::dom::array array;
  if (!list || list->get(array)) return corrupt(std::string("a Sequence has no array ") + key);
  int count = 0;
  for (const JsonView entry : array) {
    if (++count > kMaxSteps) return unsupported("a Sequence of that many steps");
    TRY_STATUS(read(entry));
  }
  return ok_status();
}

// {"String": …} or {"Regex": …}; a literal in a Replace stays a literal.
static Status read_replace(JsonView step, ReplaceStep& out) {
  const auto pattern = find(step, "pattern");
  const auto content = find_string(step, "content");
  if (!pattern || !content) return corrupt("a Replace has no pattern or no content");
  if (content->size() > kMaxContentBytes) return unsupported("a Replace with more than 256 bytes of content");
  out.content = *content;
  if (const auto literal = find_string(*pattern, "String"); literal && !literal->empty()) {
    out.literal = *literal;
    return ok_status();
  }
  const auto regex = find_string(*pattern, "Regex");
  if (!regex) return unsupported("a Replace whose pattern is neither a text nor a Regex");
  TRY(out.pattern, Regex::compile(*regex));
  return ok_status();
}

Status read_normalizer(JsonView step, Normalizer& out, int depth) {
  const std::string type = type_of(step);
  if (type == "Sequence") return for_each(step, "normalizers", depth, [&](JsonView entry) { return read_normalizer(entry, out, depth + 1); });
  if (type == "NFC") out.add(NormalForm::nfc);
  else if (type == "NFD") out.add(NormalForm::nfd);
  else if (type == "NFKC") out.add(NormalForm::nfkc);
  else if (type == "NFKD") out.add(NormalForm::nfkd);
  else if (type == "Lowercase") out.add(LowercaseStep{});
  else if (type == "Strip") out.add(StripStep{find_bool(step, "strip_left").value_or(true), find_bool(step, "strip_right").value_or(true)});
  else if (type == "Prepend") {
    const auto prefix = find_string(step, "prepend");
    if (!prefix || prefix->size() > kMaxContentBytes) return corrupt("a Prepend has no text, or too long a one");
    out.add(PrependStep{std::string(*prefix)});
  } else if (type == "Replace") {
    ReplaceStep replace;
    TRY_STATUS(read_replace(step, replace));
    out.add(std::move(replace));
    if (out.growth() > kMaxGrowth) return unsupported("a normalizer whose replacements make a text that much longer");
  } else {
    return unsupported("the normalizer " + type);
  }
  return ok_status();
}

static Status read_behavior(JsonView step, SplitBehavior& out) {
  const std::string name(find_string(step, "behavior").value_or("Isolated"));
  if (name == "Removed") out = SplitBehavior::removed;
  else if (name == "Isolated") out = SplitBehavior::isolated;
  else if (name == "MergedWithPrevious") out = SplitBehavior::merged_with_previous;
  else if (name == "MergedWithNext") out = SplitBehavior::merged_with_next;
  else if (name == "Contiguous") out = SplitBehavior::contiguous;
  else return unsupported("the split behavior " + name);
  return ok_status();
}

static Status read_split(JsonView step, PreTokenizer& out) {
  SplitStep split;
  const auto pattern = find(step, "pattern");
  if (!pattern) return corrupt("a Split has no pattern");
  const auto regex = find_string(*pattern, "Regex"), literal = find_string(*pattern, "String");
  if (!regex && !literal) return unsupported("a Split whose pattern is neither a text nor a Regex");
  TRY(split.pattern, Regex::compile(regex ? std::string(*regex) : escape_regex(*literal)));
  TRY_STATUS(read_behavior(step, split.behavior));
  split.invert = find_bool(step, "invert").value_or(false);
  out.add(std::move(split));
  return ok_status();
}

// A single character.
static Status read_replacement(JsonView step, std::string& out) {
  out = std::string(find_string(step, "replacement").value_or("\xe2\x96\x81"));
  if (out.empty() || utf8_step(out, 0).length != out.size()) return corrupt("a Metaspace replacement is not one character");
  return ok_status();
}

static Status read_prepend_scheme(JsonView step, MetaspaceStep::Prepend& out) {
  const auto scheme = find_string(step, "prepend_scheme").value_or("always");
  if (scheme == "always") out = MetaspaceStep::Prepend::always;
  else if (scheme == "first") out = MetaspaceStep::Prepend::first;
  else if (scheme == "never") out = MetaspaceStep::Prepend::never;
  else return unsupported("the prepend_scheme " + std::string(scheme));
  if (!find_bool(step, "add_prefix_space").value_or(true)) out = MetaspaceStep::Prepend::never;
  return ok_status();
}

static Status read_byte_level(JsonView step, PreTokenizer& out) {
  ByteLevelStep byte_level;
  byte_level.add_prefix_space = find_bool(step, "add_prefix_space").value_or(true);
  byte_level.use_pattern = find_bool(step, "use_regex").value_or(true);
  TRY(byte_level.pattern, Regex::compile(kGpt2Pattern));
  out.add(std::move(byte_level));
  return ok_status();
}

Status read_pre_tokenizer(JsonView step, PreTokenizer& out, int depth) {
  const std::string type = type_of(step);
  if (type == "Sequence") return for_each(step, "pretokenizers", depth, [&](JsonView entry) { return read_pre_tokenizer(entry, out, depth + 1); });
  if (type == "Split") return read_split(step, out);
  if (type == "ByteLevel") return read_byte_level(step, out);
  if (type == "Digits") {
    const bool individual = find_bool(step, "individual_digits").value_or(false);
    out.add(CharacterStep{is_numeric, individual ? SplitBehavior::isolated : SplitBehavior::contiguous});
  } else if (type == "Punctuation") {
    CharacterStep punctuation{is_punctuation};
    TRY_STATUS(read_behavior(step, punctuation.behavior));
    out.add(punctuation);
  } else if (type == "WhitespaceSplit") {
    out.add(CharacterStep{is_white_space, SplitBehavior::removed});
  } else if (type == "Whitespace") {
    SplitStep words;
    words.behavior = SplitBehavior::removed, words.invert = true;
    // Rust's \w also holds the two joiners.
    TRY(words.pattern, Regex::compile(R"([\w\x{200c}\x{200d}]+|[^\w\s\x{200c}\x{200d}]+)"));
    out.add(std::move(words));
  } else if (type == "Metaspace") {
    MetaspaceStep metaspace;
    TRY_STATUS(read_replacement(step, metaspace.replacement));
    TRY_STATUS(read_prepend_scheme(step, metaspace.prepend));
    metaspace.split = find_bool(step, "split").value_or(true);
    out.add(std::move(metaspace));
  } else {
    return unsupported("the pre_tokenizer " + type);
  }
  return ok_status();
}

static Status append_special(JsonView step, std::string_view name, std::vector<TokenId>& out) {
  const auto tokens = find(step, "special_tokens");
  const auto token = tokens ? find(*tokens, name) : std::nullopt;
  const auto ids = token ? find(*token, "ids") : std::nullopt;
  simdjson::dom::array array;
  if (!ids || ids->get(array)) return corrupt("the post-processor's template names a token without ids");
  for (const JsonView entry : array) {
    int64_t id = 0;
    if (entry.get(id) || id < 0 || id >= kMaxId || out.size() >= kMaxSteps) return corrupt("the post-processor has a bad token id");
    out.push_back(static_cast<TokenId>(id));
  }
  return ok_status();
}

// What stands before and behind sequence A in the template for one text.
static Status read_template(JsonView step, std::vector<TokenId>& before, std::vector<TokenId>& after) {
  std::vector<TokenId> left, right;
  bool behind = false;
  TRY_STATUS(for_each(step, "single", 0, [&](JsonView piece) -> Status {
    if (const auto special = find(piece, "SpecialToken")) return append_special(step, find_string(*special, "id").value_or(""), behind ? right : left);
    if (behind || !find(piece, "Sequence")) return unsupported("a post-processor template with other pieces than one Sequence and SpecialToken");
    behind = true;
    return ok_status();
  }));
  before.insert(before.begin(), left.begin(), left.end());
  after.insert(after.end(), right.begin(), right.end());
  return ok_status();
}

// ["text", id]
static Status append_pair(JsonView step, const char* key, std::vector<TokenId>& out) {
  const auto pair = find(step, key);
  simdjson::dom::array array;
  int64_t id = 0;
  if (!pair || pair->get(array) || array.at(1).get(id) || id < 0 || id >= kMaxId) return corrupt(std::string("the post-processor's ") + key + " is not a token");
  out.push_back(static_cast<TokenId>(id));
  return ok_status();
}

Status read_post_processor(JsonView step, std::vector<TokenId>& before, std::vector<TokenId>& after, int depth) {
  const std::string type = type_of(step);
  if (type == "Sequence") return for_each(step, "processors", depth, [&](JsonView entry) { return read_post_processor(entry, before, after, depth + 1); });
  if (type == "TemplateProcessing") return read_template(step, before, after);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    TRY_STATUS(append_pair(step, "cls", before));
    return append_pair(step, "sep", after);
  }
  if (type != "ByteLevel") return unsupported("the post_processor " + type);
  return ok_status();  // it only trims offsets
}

Status read_decoder(JsonView step, TokenDecoder& out, int depth) {
  const std::string type = type_of(step);
  if (type == "Sequence") return for_each(step, "decoders", depth, [&](JsonView entry) { return read_decoder(entry, out, depth + 1); });
  if (type == "ByteLevel") return out.add(DecodeByteLevel{});
  if (type == "ByteFallback") return out.add(DecodeByteFallback{});
  if (type == "Fuse") return out.add(DecodeFuse{});
  if (type == "Replace") {
    ReplaceStep replace;
    TRY_STATUS(read_replace(step, replace));
    return out.add(std::move(replace));
  }
  if (type == "Strip") {
    const std::string content(find_string(step, "content").value_or(""));
    if (content.empty() || utf8_step(content, 0).length != content.size()) return corrupt("a decoder's Strip content is not one character");
    const int64_t start = find_int(step, "start").value_or(0), stop = find_int(step, "stop").value_or(0);
    if (start < 0 || start > 64 || stop < 0 || stop > 64) return unsupported("a decoder's Strip of that many characters");
    return out.add(DecodeStrip{content, static_cast<int>(start), static_cast<int>(stop)});
  }
  if (type == "Metaspace") {
    DecodeMetaspace metaspace;
    TRY_STATUS(read_replacement(step, metaspace.replacement));
    MetaspaceStep::Prepend prepend = MetaspaceStep::Prepend::always;
    TRY_STATUS(read_prepend_scheme(step, prepend));
    metaspace.drop_at_start = prepend != MetaspaceStep::Prepend::never;
    return out.add(std::move(metaspace));
  }
  return unsupported("the decoder " + type);
}
