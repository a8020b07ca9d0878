// grammar: CPU time to build a vocabulary's trie, to compile grammars, and to make the masks of a generated JSON text, cold and warm.
// grammar [TOKENIZER.json [TEXT.json]]: without a file the vocabulary is 248,320 made-up words. Prints a line per measurement.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>
#include <sstream>

#include "text/grammar.h"
#include "text/list_tokenizer.h"

namespace {
using Node = GrammarBuilder::Node;
// Of this process, in us: other work on the machine does not count.
struct Clock {
  static double now() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
  }
};
double us_since(double begin) { return Clock::now() - begin; }

std::string read_file(const char* path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// Bytes, punctuation runs as JSON has them, and words of letters, with and without a space in front.
std::shared_ptr<const Tokenizer> made_up_tokenizer() {
  std::mt19937 random(1);
  std::vector<std::string> tokens;
  for (int b = 0; b < 256; b++) tokens.emplace_back(1, static_cast<char>(b));
  for (const char* s : {"\",", "\":", "\": ", "\": \"", "\", \"", "\",\"", "\"}", "\"},", "\"},{\"", "{\"", "[{\"", "\"]", "\"],", "},", "}]", "}}", "],", "\\n", "\\\"", "\":{\"", "\":[", "\":\"", ", \"", ":\"", " \"", "[\"", "  ", "    ", "\n\n", "\n  "}) tokens.emplace_back(s);
  static constexpr std::string_view kLetters = "eeeeettttaaaooiinnsshhrrdlucmwfgypbvkjxqzES-_.'/";
  while (tokens.size() < 248'319) {
    std::string word = random() % 2 ? " " : "";
    for (size_t n = 2 + random() % 4 + random() % 5; n > 0; n--) word += random() % 40 == 0 ? std::string("\xc3\xa9") : random() % 60 == 0 ? "\xe4\xb8\xad" : std::string(1, kLetters[random() % kLetters.size()]);
    if (random() % 60 == 0) word += "\"";
    tokens.push_back(word);
  }
  return std::make_shared<ListTokenizer>(std::move(tokens));
}

struct Json {
  GrammarBuilder& b;
  Node space, string, integer, number, value;
  explicit Json(GrammarBuilder& builder) : b(builder) {
    ByteSet blank, digit, escape, hex;
    for (const char c : std::string_view(" \n\t")) blank.set(static_cast<uint8_t>(c));
    for (const char c : std::string_view("\"\\/bfnrt")) escape.set(static_cast<uint8_t>(c));
    for (const char c : std::string_view("0123456789abcdefABCDEF")) hex.set(static_cast<uint8_t>(c));
    for (uint8_t c = '0'; c <= '9'; c++) digit.set(c);
    space = b.repeat(b.bytes(blank), 0, 8);
    string = text(0, -1);
    ByteSet first = digit;
    first.reset('0');
    const Node digits = b.repeat(b.bytes(digit), 0, -1);
    integer = b.sequence(std::array{b.optional(b.literal("-")), b.choice(std::array{b.literal("0"), b.sequence(std::array{b.bytes(first), digits})})});
    number = b.sequence(std::array{integer, b.optional(b.sequence(std::array{b.literal("."), b.bytes(digit), digits}))});
    value = b.declare("value");
    const Node pair = b.sequence(std::array{string, space, b.literal(":"), space, value, space});
    b.define(value, b.choice(std::array{string, number, b.literal("true"), b.literal("false"), b.literal("null"), list("{", pair, "}"), list("[", b.sequence(std::array{value, space}), "]")}));
  }
  Node text(int64_t least, int64_t most) {
    ByteSet escape, hex;
    for (const char c : std::string_view("\"\\/bfnrt")) escape.set(static_cast<uint8_t>(c));
    for (const char c : std::string_view("0123456789abcdefABCDEF")) hex.set(static_cast<uint8_t>(c));
    const Node plain = b.characters(std::array{GrammarBuilder::Range{0x20, 0x21}, GrammarBuilder::Range{0x23, 0x5b}, GrammarBuilder::Range{0x5d, 0x10ffff}});
    const Node code = b.sequence(std::array{b.literal("u"), b.repeat(b.bytes(hex), 4, 4)});
    const Node character = b.choice(std::array{plain, b.sequence(std::array{b.literal("\\"), b.choice(std::array{b.bytes(escape), code})})});
    return b.sequence(std::array{b.literal("\""), b.repeat(character, least, most), b.literal("\"")});
  }
  Node list(const char* begin, Node item, const char* end) {
    const Node more = b.repeat(b.sequence(std::array{b.literal(","), space, item}), 0, -1);
    return b.sequence(std::array{b.literal(begin), space, b.optional(b.sequence(std::array{item, more})), b.literal(end)});
  }
  // An object with 20 properties of many kinds, in order; strings bounded by `most`.
  Node record(int64_t most) {
    std::vector<Node> parts{b.literal("{"), space};
    const Node kinds[] = {text(0, most), integer, number, b.choice(std::array{b.literal("\"red\""), b.literal("\"green\""), b.literal("\"blue\"")}), b.choice(std::array{b.literal("true"), b.literal("false")}),
                          list("[", b.sequence(std::array{text(0, most), space}), "]")};
    for (int i = 0; i < 20; i++) {
      if (i > 0) parts.insert(parts.end(), {b.literal(","), space});
      parts.insert(parts.end(), {b.literal("\"field_" + std::to_string(i) + "\""), space, b.literal(":"), space, kinds[i % 6], space});
    }
    parts.push_back(b.literal("}"));
    return b.sequence(parts);
  }
};

std::string record_text() {
  static const char* kValues[] = {"\"The quick brown fox jumps over the lazy dog, as every typist knows\"", "1234", "3.75", "\"green\"", "true", "[\"first of all\", \"and then another one\"]"};
  std::string out = "{";
  for (int i = 0; i < 20; i++) out += (i ? ", " : "") + std::string("\"field_") + std::to_string(i) + "\": " + kValues[i % 6];
  return out + "}";
}

// The longest token that the grammar allows and the text goes on with, again and again.
void run(const char* name, const std::shared_ptr<const Grammar>& grammar, const std::shared_ptr<const TokenTrie>& trie, const Tokenizer& tokenizer, const std::string& text) {
  std::vector<TokenId> ids;
  for (size_t at = 0; at < text.size();) {
    TokenId best = -1;
    size_t length = 0;
    for (TokenId id = 0; id < tokenizer.size(); id++)
      if (const auto bytes = tokenizer.bytes(id); bytes.size() > length && text.compare(at, bytes.size(), bytes) == 0) best = id, length = bytes.size();
    ids.push_back(best), at += length;
  }
  for (const char* pass : {"cold", "again", "warm"}) {
    const auto matcher = GrammarMatcher::make(grammar, trie);
    std::vector<double> masks;
    double accepting = 0;
    for (const TokenId id : ids) {
      auto begin = Clock::now();
      const auto mask = matcher->mask();
      masks.push_back(us_since(begin));
      if (!(mask[static_cast<size_t>(id) / 64] >> (id % 64) & 1)) return void(std::printf("%s: token %d at byte %zu is not allowed\n", name, id, matcher->bytes_accepted()));
      begin = Clock::now();
      matcher->accept(id);
      accepting += us_since(begin);
    }
    double sum = 0;
    for (const double m : masks) sum += m;
    std::sort(masks.begin(), masks.end());
    std::printf("%-28s %-5s %4zu tokens: mask mean %7.1f us, median %6.1f, p99 %7.1f, worst %8.1f; accept mean %5.2f us\n", name, pass, masks.size(), sum / static_cast<double>(masks.size()), masks[masks.size() / 2],
                masks[masks.size() * 99 / 100], masks.back(), accepting / static_cast<double>(masks.size()));
  }
}
}  // namespace

int main(int argc, char** argv) {
  std::shared_ptr<const Tokenizer> tokenizer;
  if (argc > 1) {
    auto loaded = tokenizer_from_json(read_file(argv[1]), "");
    if (!loaded) return std::fprintf(stderr, "%s\n", loaded.error().message.c_str()), 1;
    tokenizer = *loaded;
  } else {
    tokenizer = made_up_tokenizer();
  }
  auto begin = Clock::now();
  const auto trie = TokenTrie::make(*tokenizer, std::array{TokenId{tokenizer->size() - 1}});
  std::printf("trie of %d tokens: %.1f ms\n", tokenizer->size(), us_since(begin) / 1000);
  const std::string text = argc > 2 ? read_file(argv[2]) : record_text();
  for (const auto& [name, make] : std::vector<std::pair<const char*, Node (*)(Json&)>>{{"any JSON value", [](Json& j) { return j.value; }},
                                                                                      {"20 properties", [](Json& j) { return j.record(-1); }},
                                                                                      {"20 properties, 80 characters", [](Json& j) { return j.record(80); }},
                                                                                      {"20 properties, 10000", [](Json& j) { return j.record(10'000); }}}) {
    begin = Clock::now();
    GrammarBuilder builder;
    Json json(builder);
    const Node root = make(json);
    const auto grammar = std::move(builder).build(root);
    if (!grammar) return std::fprintf(stderr, "%s\n", grammar.error().message.c_str()), 1;
    std::printf("%-28s compile %.2f ms\n", name, us_since(begin) / 1000);
    run(name, *grammar, trie, *tokenizer, text);
  }
  for (const char* pattern : {"^[A-Z][a-z]{1,30}( [A-Z][a-z]{1,30}){0,3}$", "\\p{L}+", "^(\\d{1,3}\\.){3}\\d{1,3}$"}) {
    begin = Clock::now();
    GrammarBuilder builder;
    const auto node = builder.json_string_of(pattern);
    const auto grammar = std::move(builder).build(*node);
    const double compiled = us_since(begin);
    const auto matcher = GrammarMatcher::make(*grammar, trie);
    matcher->accept_bytes("\"");
    begin = Clock::now();
    matcher->mask();
    std::printf("%-44s compile %.2f ms, first mask %.0f us\n", pattern, compiled / 1000, us_since(begin));
  }
  return 0;
}
