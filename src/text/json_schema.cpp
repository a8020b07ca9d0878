// json schema: the front door of the schema compiler; values, strings and numbers.
#include <algorithm>

#include "text/schema_compiler.h"

static constexpr size_t kMostSchemaBytes = 2 << 20;
static constexpr size_t kMostStates = 20'000;  // combinations of subschemas
static constexpr int kMostDepth = 100;         // of subschemas within each other

using Node = GrammarBuilder::Node;
using Texts = SchemaCompiler::Texts;

void write_json(JsonView value, std::string& out) {
  switch (type_of(value)) {
    case null_type: out += "null"; return;
    case boolean_type: out += bool(value) ? "true" : "false"; return;
    case string_type: out += json_text(std::string_view(value)); return;
    case object_type: {
      char before = '{';
      for (const auto& [name, member] : simdjson::dom::object(value)) out += before, out += json_text(name) + ":", write_json(member, out), before = ',';
      out += before == '{' ? "{}" : "}";
      return;
    }
    case array_type: {
      char before = '[';
      for (const JsonView item : simdjson::dom::array(value)) out += before, write_json(item, out), before = ',';
      out += before == '[' ? "[]" : "]";
      return;
    }
    default: out += Decimal::of(value).spelling();
  }
}

Result<Texts> SchemaCompiler::texts(const SchemaTerms& terms) {
  State& state = states_[terms];
  if (state.done) return state.texts;
  if (state.rule >= 0) {
    state.referred = true;
    return Texts(state.rule);
  }
  const int place = terms.empty() ? places_.root() : terms[0].place;
  if (states_.size() > kMostStates) return places_.refuse(place, "more combinations of subschemas than a grammar should have");
  if (depth_ > kMostDepth) return places_.refuse(place, "more levels than a grammar should have");
  state.rule = builder_.declare(places_.shown(place));
  ++depth_;
  auto made = alternatives_of(terms);
  --depth_;
  if (!made) return made;
  if (!*made && first_empty_ < 0) first_empty_ = place;
  builder_.define(state.rule, *made ? **made : builder_.choice({}));
  state.done = true;
  state.texts = *made && state.referred ? Texts(state.rule) : *made;
  return state.texts;
}

Result<Texts> SchemaCompiler::alternatives_of(const SchemaTerms& terms) {
  TRY(const auto* all, meaning_.alternatives(terms));
  std::vector<Node> ways;
  for (const SchemaLimits& limits : *all) {
    TRY(const Texts one, texts(limits));
    if (one) ways.push_back(*one);
  }
  return either(ways);
}

Result<Texts> SchemaCompiler::texts(const SchemaLimits& limits) {
  if (limits.is_any()) return Texts(parts_.value);
  if (limits.values) return values(limits);
  std::vector<Node> ways;
  for (const JsonType type : {object_type, array_type, string_type, integer_type, boolean_type, null_type}) {
    if ((limits.types & (type == integer_type ? number_type : uint8_t{type})) == 0) continue;
    TRY(const Texts one, one_type(limits, type));
    if (one) ways.push_back(*one);
  }
  return either(ways);
}

Result<Texts> SchemaCompiler::one_type(const SchemaLimits& limits, JsonType type) {
  const auto excluded = [&](JsonType kind) { return std::ranges::any_of(limits.excluded, [&](JsonView value) { return type_of(value) == kind; }); };
  std::vector<Node> ways;
  switch (type) {
    case object_type:
    case array_type:
      if (excluded(type)) return places_.refuse(limits.place, "a \"not\" with an object or an array as its value");
      return type == object_type ? objects(limits) : arrays(limits);
    case string_type: return strings(limits);
    case boolean_type:
      for (const bool value : {true, false}) {
        const auto is_value = [&](JsonView other) { return other.is_bool() && bool(other) == value; };
        if (std::ranges::none_of(limits.excluded, is_value)) ways.push_back(builder_.literal(value ? "true" : "false"));
      }
      return either(ways);
    case null_type: return excluded(null_type) ? Texts() : Texts(builder_.literal("null"));
    default: return numbers(limits);
  }
}

Result<Texts> SchemaCompiler::values(const SchemaLimits& limits) {
  std::vector<Node> ways;
  for (const JsonView value : *limits.values) {
    TRY(const bool kept, meaning_.satisfies(value, limits));
    if (!kept) continue;
    std::string text;
    write_json(value, text);
    ways.push_back(builder_.literal(text));
  }
  return either(ways);
}

Result<Texts> SchemaCompiler::strings(const SchemaLimits& limits) {
  const bool excluded = std::ranges::any_of(limits.excluded, [](JsonView value) { return value.is_string(); });
  if (limits.patterns.empty() && limits.formats.empty() && !excluded) {
    const Node quote = builder_.literal("\"");
    return Texts(in_order(builder_, {quote, builder_.repeat(parts_.character, limits.min_length, limits.max_length), quote}));
  }
  const bool one_pattern = limits.patterns.size() == 1 && !limits.patterns[0].negated && limits.formats.empty() && !excluded && limits.min_length <= 0 && limits.max_length < 0;
  const auto language = meaning_.texts(limits);
  if (language) return language->empty() ? Texts() : Texts(language->json_string(builder_));
  if (!one_pattern) return language.error();
  const auto node = builder_.json_string_of(limits.patterns[0].pattern);  // too many states for an automaton; the grammar counts repetitions
  return node ? Result<Texts>(Texts(*node)) : language.error();
}

// Excluded numbers cut the line into pieces.
Result<Texts> SchemaCompiler::numbers(const SchemaLimits& limits) {
  std::vector<Decimal> cuts;
  for (const JsonView value : limits.excluded)
    if (value.is_number()) cuts.push_back(Decimal::of(value));
  std::sort(cuts.begin(), cuts.end());
  std::vector<Node> ways;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    NumberLimits piece = limits.numbers;
    piece.integers = (limits.types & integer_type) != 0, piece.fractions = (limits.types & fraction_type) != 0;
    if (i > 0) piece.raise(cuts[i - 1], true);
    if (i < cuts.size()) piece.drop(cuts[i], true);
    if (piece.lower && piece.upper && (*piece.lower > *piece.upper || (*piece.lower == *piece.upper && (piece.lower_open || piece.upper_open)))) continue;
    const auto one = number_grammar(builder_, piece);
    if (!one) return places_.refuse(limits.place, "limits on a number that need " + one.error().message);
    if (*one) ways.push_back(**one);
  }
  return either(ways);
}

Result<Node> GrammarBuilder::json_schema(std::string_view schema) {
  if (schema.size() > kMostSchemaBytes) return Error{Code::too_large, "cannot constrain to the schema: at most 2 MiB expected, " + std::to_string(schema.size()) + " bytes found"};
  auto document = JsonDocument::parse("the JSON schema", schema, std::max<size_t>(schema.size(), 64));  // the parser's buffers are as large as this limit
  if (!document) return Error{document.error().code == Code::corrupt_file ? Code::invalid_request : document.error().code, document.error().message};
  SchemaPlaces places(std::move(*document));
  SchemaCompiler compiler(*this, places);
  TRY(const auto texts, compiler.texts(SchemaTerms{{places.root(), false}}));
  if (!texts) return places.invalid(std::max(0, compiler.first_empty()), "allows no value");
  return *texts;
}
