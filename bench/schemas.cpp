// schemas: random answers under the token masks of JSON Schemas, with compile and mask times. schemas CASES.json TOKENIZER.json|- ANSWERS [SEED]
// CASES.json is a list of {"name", "schema"}; "-" is a small vocabulary of bytes. Prints a line of JSON per answer, and one per refused schema,
// for tools/verify_schemas.py; the times go to stderr.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include "core/json.h"
#include "core/json_writer.h"
#include "core/mapped_file.h"
#include "text/grammar.h"
#include "text/text.h"

namespace {
// Time of this thread on its processor, so that a busy machine does not show.
double now_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

constexpr size_t kMostTokens = 600;  // an answer that is longer is cut and says nothing

// Every byte, and some pieces of JSON.
class Bytes final : public Tokenizer {
 public:
  Bytes() {
    for (int byte = 0; byte < 256; ++byte) tokens_.emplace_back(1, static_cast<char>(byte));
    for (const char* piece : {"\",\"", "\":", "\": \"", "{\"", "\"}", "}}", "[[", "]]", "],[", ", ", "\n  ", "true", "false", "null", "12", "00", "-1", "0.", "the", "\xc3\xa9", "\\u", "\\n", "://", "@", ".com"}) tokens_.emplace_back(piece);
    tokens_.emplace_back();  // the end
  }
  std::vector<TokenId> encode(std::string_view, EncodeOptions) const override { return {}; }
  std::string_view bytes(TokenId id, bool) const override { return id >= 0 && id < size() ? std::string_view(tokens_[static_cast<size_t>(id)]) : ""; }
  bool is_special(TokenId id) const override { return id + 1 == size(); }
  std::optional<TokenId> find(std::string_view) const override { return std::nullopt; }
  int size() const override { return static_cast<int>(tokens_.size()); }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::optional<TokenId> eos() const override { return size() - 1; }

 private:
  std::vector<std::string> tokens_;
};

struct Times {
  std::vector<double> compile_us, mask_us;
  static void print(const char* what, std::vector<double>& times) {
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    double sum = 0;
    for (const double time : times) sum += time;
    const auto at = [&](double share) { return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))]; };
    std::fprintf(stderr, "%s: %zu, mean %.1f us, median %.1f, 95%% %.1f, 99%% %.1f, most %.1f\n", what, times.size(), sum / static_cast<double>(times.size()), at(0.5), at(0.95), at(0.99), at(1));
  }
};

// What a hot model does: mostly anything, now and then what closes a string or a list, and the end when it may.
class Walk {
 public:
  Walk(const Tokenizer& tokenizer, TokenId end, uint64_t seed) : tokenizer_(tokenizer), end_(end), random_(seed) {}
  TokenId pick(std::span<const uint64_t> mask) {
    allowed_.clear(), closing_.clear();
    for (size_t word = 0; word < mask.size(); ++word)
      for (uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) allowed_.push_back(static_cast<TokenId>(word * 64 + static_cast<size_t>(std::countr_zero(bits))));
    if (allowed_.empty()) return -1;
    for (const TokenId id : allowed_) {
      if (id == end_ && random_() % 3 == 0) return id;
      const std::string_view bytes = tokenizer_.bytes(id, true);
      if (!bytes.empty() && std::string_view("\"}],:").find(bytes[0]) != std::string_view::npos) closing_.push_back(id);
    }
    const auto& from = !closing_.empty() && random_() % 4 == 0 ? closing_ : allowed_;
    return from[random_() % from.size()];
  }

 private:
  const Tokenizer& tokenizer_;
  TokenId end_;
  std::mt19937_64 random_;
  std::vector<TokenId> allowed_, closing_;
};

void print(const Json& line) { std::printf("%s\n", line.dump(-1, ' ', true, Json::error_handler_t::replace).c_str()); }

// False: the matcher contradicts itself.
bool answer(const std::shared_ptr<const Grammar>& grammar, const std::shared_ptr<const TokenTrie>& trie, const Tokenizer& tokenizer, TokenId end, size_t index, Walk& walk, Times& times) {
  const auto matcher = GrammarMatcher::make(grammar, trie);
  std::string text;
  for (size_t n = 0; n < kMostTokens; ++n) {
    const double begin = now_us();
    const auto mask = matcher->mask();
    times.mask_us.push_back(now_us() - begin);
    const TokenId id = walk.pick(mask);
    if (id < 0 || (id == end) != (id == end && matcher->may_end())) return std::fprintf(stderr, "case %zu: no token is allowed, or an end that is none\n", index), false;
    if (id == end) {
      print({{"case", index}, {"text", text}});
      return true;
    }
    text += tokenizer.bytes(id, true);
    if (!matcher->accept(id)) return std::fprintf(stderr, "case %zu: an allowed token is not accepted\n", index), false;
  }
  print({{"case", index}, {"cut", true}});
  return true;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "schemas CASES.json TOKENIZER.json|- ANSWERS [SEED]\n"), 2;
  const auto cases = JsonDocument::read(argv[1]);
  if (!cases) return std::fprintf(stderr, "%s\n", cases.error().message.c_str()), 1;
  std::shared_ptr<const Tokenizer> tokenizer = std::make_shared<Bytes>();
  if (std::string_view(argv[2]) != "-") {
    const auto text = read_file(argv[2], size_t{256} << 20);
    auto read = text ? tokenizer_from_json(*text, "") : Result<std::shared_ptr<const Tokenizer>>(text.error());
    if (!read) return std::fprintf(stderr, "%s\n", read.error().message.c_str()), 1;
    tokenizer = *read;
  }
  const TokenId end = tokenizer->eos().value_or(tokenizer->find("<|im_end|>").value_or(tokenizer->find("<|endoftext|>").value_or(-1)));
  if (end < 0) return std::fprintf(stderr, "the tokenizer has no token that ends\n"), 1;
  const auto trie = TokenTrie::make(*tokenizer, std::array{end});
  const int answers = std::atoi(argv[3]);
  Walk walk(*tokenizer, end, argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1);
  Times times;
  size_t index = 0;
  bool sound = true;
  for (const JsonView item : simdjson::dom::array(cases->root())) {
    JsonView schema;
    if (item.at_key("schema").get(schema) != simdjson::SUCCESS) return std::fprintf(stderr, "case %zu has no schema\n", index), 1;
    const std::string text = simdjson::minify(schema);
    const double begin = now_us();
    GrammarBuilder builder;
    const auto root = builder.json_schema(text);
    const auto grammar = root ? std::move(builder).build(*root) : Result<std::shared_ptr<const Grammar>>(root.error());
    times.compile_us.push_back(now_us() - begin);
    if (!grammar) print({{"case", index}, {"error", grammar.error().message}});
    for (int i = 0; grammar && sound && i < answers; ++i) sound = answer(*grammar, trie, *tokenizer, end, index, walk, times);
    ++index;
  }
  Times::print("schemas compiled", times.compile_us);
  Times::print("masks", times.mask_us);
  return sound ? 0 : 1;
}
