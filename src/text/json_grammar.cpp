// json grammar: values, strings and gaps.
#include "text/json_grammar.h"

#include "text/number_grammar.h"

using Node = GrammarBuilder::Node;

static Node byte_of(GrammarBuilder& builder, std::string_view members) {
  ByteSet set;
  for (const char c : members) set.set(static_cast<uint8_t>(c));
  return builder.bytes(set);
}

// Any character; \u escapes make one too, and surrogates only in pairs.
static Node string_character(GrammarBuilder& builder) {
  const std::array<GrammarBuilder::Range, 3> plain{{{' ', '!'}, {'#', '['}, {']', 0x10FFFF}}};
  const std::string hex = "0123456789abcdefABCDEF";
  const Node digit = byte_of(builder, hex), d = byte_of(builder, "dD");
  const Node low = in_order(builder, {builder.literal("\\u"), d, byte_of(builder, "cdefCDEF"), digit, digit});
  const Node code = one_of(builder, {in_order(builder, {byte_of(builder, "0123456789abcefABCEF"), digit, digit, digit}),
                                     in_order(builder, {d, byte_of(builder, "01234567"), digit, digit}),
                                     in_order(builder, {d, byte_of(builder, "89abAB"), digit, digit, low})});
  const Node escape = in_order(builder, {builder.literal("\\"), one_of(builder, {byte_of(builder, "\"\\/bfnrt"), in_order(builder, {builder.literal("u"), code})})});
  return one_of(builder, {builder.characters(plain), escape});
}

JsonParts::JsonParts(GrammarBuilder& builder) {
  const Node space = builder.literal(" "), quote = builder.literal("\"");
  gap = builder.optional(one_of(builder, {space, in_order(builder, {builder.literal("\n"), builder.repeat(space, 0, 32)})}));
  colon = in_order(builder, {builder.literal(":"), builder.optional(space)});
  comma = in_order(builder, {builder.literal(","), gap});
  character = string_character(builder);
  string = in_order(builder, {quote, builder.repeat(character, 0, -1), quote});
  number = **number_grammar(builder, {});
  value = builder.declare("value");
  const Node member = in_order(builder, {string, colon, value});
  const Node members = json_list(builder, *this, member, 0, -1), items = json_list(builder, *this, value, 0, -1);
  object = builder.declare("object");
  builder.define(object, in_order(builder, {builder.literal("{"), members, builder.literal("}")}));
  array = builder.declare("array");
  builder.define(array, in_order(builder, {builder.literal("["), items, builder.literal("]")}));
  builder.define(value, one_of(builder, {object, array, string, number, builder.literal("true"), builder.literal("false"), builder.literal("null")}));
}

Node json_list(GrammarBuilder& builder, const JsonParts& parts, Node item, int64_t least, int64_t most) {
  if (most == 0) return least > 0 ? builder.choice({}) : builder.empty();
  const Node more = builder.repeat(in_order(builder, {parts.comma, item}), std::max<int64_t>(least - 1, 0), most < 0 ? -1 : most - 1);
  const Node list = in_order(builder, {parts.gap, item, more, parts.gap});
  return least > 0 ? list : builder.optional(list);
}

std::string json_text(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    const std::string_view named = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    if (const size_t at = named.find(c); at != named.npos) out += '\\', out += letters[at];
    else if (const auto byte = static_cast<uint8_t>(c); byte < 0x20) out += std::string("\\u00") + (byte < 16 ? '0' : '1') + "0123456789abcdef"[byte % 16];
    else out += c;
  }
  return out += '"';
}

Node GrammarBuilder::json_value() { return JsonParts(*this).value; }
Node GrammarBuilder::json_object() { return JsonParts(*this).object; }
Node GrammarBuilder::json_string() { return JsonParts(*this).string; }
