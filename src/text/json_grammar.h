// json grammar: the parts that JSON texts are made of, made once per builder and shared.
#pragma once
#include "text/grammar.h"

// Between values a text may have one space, or a new line with up to 32 spaces; never more, so that no answer can run on in white space.
struct JsonParts {
  GrammarBuilder::Node value, object, array, string, number;
  GrammarBuilder::Node character;  // of a string, in any of its spellings
  GrammarBuilder::Node gap;        // after "{", "[" and ",", before "}" and "]"
  GrammarBuilder::Node colon, comma;

  explicit JsonParts(GrammarBuilder& builder);
};
std::string json_text(std::string_view value);  // a string with quotes and escapes, in its one canonical spelling

inline GrammarBuilder::Node in_order(GrammarBuilder& builder, std::initializer_list<GrammarBuilder::Node> nodes) {
  return builder.sequence(std::span<const GrammarBuilder::Node>(nodes.begin(), nodes.size()));
}
inline GrammarBuilder::Node one_of(GrammarBuilder& builder, std::initializer_list<GrammarBuilder::Node> nodes) {
  return builder.choice(std::span<const GrammarBuilder::Node>(nodes.begin(), nodes.size()));
}
// "a, b, c" between an opening and a closing mark, from `least` to `most` of them; most < 0: no limit.
GrammarBuilder::Node json_list(GrammarBuilder& builder, const JsonParts& parts, GrammarBuilder::Node item, int64_t least, int64_t most);
