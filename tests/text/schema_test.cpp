// schema tests: for every keyword what its grammar accepts and refuses, and what is refused by name.
#include "text/constraint_check.h"

namespace {

struct Row {
  std::string schema;
  std::vector<std::string> valid, invalid;
};

GrammarMaker of(const std::string& schema) {
  return [schema](GrammarBuilder& builder) { return builder.json_schema(schema); };
}

void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.schema);
    expect_language(of(row.schema), row.valid, row.invalid);
  }
}

}  // namespace

TEST(JsonGrammar, values_strings_and_gaps) {
  expect_language([](GrammarBuilder& b) { return Result(b.json_value()); },
                  {"{}", "[]", "null", "true", "-0.5e+10", "\"\"", R"("\u00e9\uD83D\uDE00\/\"")", "\"\xc3\xa9\xf0\x9f\x98\x80\"", R"({"a": [1, {"b":null}],"c":"d"})", "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}"},
                  {"", " 1", "01", "+1", "1.", ".5", "nul", "{\"a\":1,}", "[1,]", "{a:1}", "{ }", R"("\uD83D")", R"("\uDE00")", R"("\uD83Dx")", R"("\x41")", "\"\x01\"", "\"\xff\"", "\"\xed\xa0\x80\"", "[1,  2]", "[\n\n1]", "{\"a\" :1}", "\"a", "1 "});
  expect_language([](GrammarBuilder& b) { return Result(b.json_object()); }, {"{}", R"({"a":{}})"}, {"[]", "1", "{}{}"});
  expect_language([](GrammarBuilder& b) { return Result(b.json_string()); }, {R"("a\nb")"}, {"a", "'a'"});
}

TEST(Schema, types) {
  expect_rows({{"true", {"1", "{}", "\"x\""}, {"x"}},
               {"{}", {"1", "[null]"}, {}},
               {R"({"type":"string"})", {"\"\"", "\"x\""}, {"1", "x"}},
               {R"({"type":"integer"})", {"0", "-7", "1234567890123456"}, {"1.0", "1e3", "-0", "01", "12345678901234567"}},
               {R"({"type":"number"})", {"0", "-7", "1.25", "1e3", "-0.5E-12"}, {"\"1\"", "1e100", "NaN"}},
               {R"({"type":["null","boolean"]})", {"null", "true", "false"}, {"0"}},
               {R"({"type":"string","nullable":true})", {"\"a\""}, {"null"}},
               {R"({"type":"object"})", {"{}", R"({"x":[1]})"}, {"[]"}},
               {R"({"type":"array"})", {"[]", "[1,\"a\"]"}, {"{}"}}});
}

TEST(Schema, values) {
  expect_rows({{R"({"enum":["a",1,2.50,null,{"k":[true]},"\u00e9\"\n"]})", {"\"a\"", "1", "2.5", "null", R"({"k":[true]})", "\"\xc3\xa9\\\"\\n\""}, {"a", "2", "2.50", R"("\u00e9\"\n")", "false"}},
               {R"({"const":{"a":1}})", {R"({"a":1})"}, {"{}", R"({"a":2})"}},
               {R"({"enum":[1,"x",4,9],"type":"integer","minimum":2,"multipleOf":2})", {"4"}, {"1", "9", "\"x\""}},
               {R"({"enum":["ab","b","abc"],"minLength":2,"not":{"const":"abc"}})", {"\"ab\""}, {"\"b\"", "\"abc\""}},
               {R"({"enum":[{"a":1},{"a":"x"},[1],[1,1]],"properties":{"a":{"type":"integer"}},"uniqueItems":true})", {R"({"a":1})", "[1]"}, {R"({"a":"x"})", "[1,1]"}},
               {R"({"allOf":[{"enum":[1,2,3]},{"enum":[2.0,3,4]}]})", {"2", "3"}, {"1", "4"}}});
}

TEST(Schema, integers_within_bounds) {
  for (const auto& [low, high] : std::vector<std::pair<int, int>>{{0, 0}, {-5, 5}, {7, 7}, {10, 99}, {95, 105}, {-120, -7}, {1, 1000}, {199, 2001}, {-1, 0}}) {
    GrammarBuilder builder;
    const auto root = builder.json_schema(R"({"type":"integer","minimum":)" + std::to_string(low) + R"(,"maximum":)" + std::to_string(high) + "}");
    ASSERT_TRUE(root);
    for (int value = low - 130; value <= high + 130; value += value > low + 20 && value < high - 20 ? 37 : 1)
      EXPECT_EQ(reference_match(builder, *root, std::to_string(value)), value >= low && value <= high) << value << " in " << low << " ... " << high;
  }
  expect_rows({{R"({"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":3})", {"1", "2"}, {"0", "3", "-1", "1.0", "01"}},
               {R"({"type":"integer","minimum":0.5,"maximum":2.5})", {"1", "2"}, {"0", "3"}},
               {R"({"type":"integer","minimum":3,"exclusiveMinimum":true})", {"4"}, {"3"}},
               {R"({"type":"integer","minimum":-9223372036854775808,"maximum":18446744073709551615})", {"-9223372036854775808", "18446744073709551615"}, {"-9223372036854775809", "18446744073709551616"}},
               {R"({"type":"integer","format":"int32"})", {"2147483647", "123456789012"}, {"1.5"}}});
}

TEST(Schema, numbers_within_bounds) {
  expect_rows({{R"({"type":"number","minimum":0,"maximum":1})", {"0", "1", "0.5", "1.0", "0.0", "0.9999999999999999"}, {"-0.1", "1.1", "2", "1.0000001", "-0", "1e0", "0.", "00"}},
               {R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1})", {"0.1", "0.0001", "0.99"}, {"0", "0.0", "1", "1.0", "1.5"}},
               {R"({"type":"number","minimum":-1.5,"maximum":2.25})", {"-1.5", "-1.50", "0", "2.25", "2.2499"}, {"-1.51", "2.251", "3", "-2"}},
               {R"({"type":"number","minimum":99.99,"maximum":100.01})", {"99.99", "100", "100.01", "99.995", "100.005"}, {"99.98", "100.011", "99", "101"}},
               {R"({"type":"number","maximum":-0.001})", {"-0.001", "-1", "-12.5"}, {"0", "-0.0009", "-0"}},
               {R"({"type":"number","minimum":1e3})", {"1000", "1000.5", "99999"}, {"999.99", "1e4"}},
               {R"({"type":"number","maximum":1.7976931348623157e308})", {"1", "-5"}, {}}});
}

TEST(Schema, multiples) {
  for (const int step : {2, 3, 7, 12, 25, 60, 100}) {
    GrammarBuilder builder;
    const auto root = builder.json_schema(R"({"type":"integer","multipleOf":)" + std::to_string(step) + R"(,"minimum":-50,"maximum":1205})");
    ASSERT_TRUE(root);
    for (int value = -60; value <= 1210; value += value % step == 0 ? 1 : 7)
      EXPECT_EQ(reference_match(builder, *root, std::to_string(value)), value % step == 0 && value >= -50 && value <= 1205) << value << " of " << step;
  }
  expect_rows({{R"({"type":"number","multipleOf":0.01})", {"0", "12.34", "5", "-0.01", "0.10"}, {"0.001", "1.234", "1e2"}},
               {R"({"type":"number","multipleOf":0.25,"maximum":2})", {"0.25", "0.5", "1.75", "2", "-0.50"}, {"0.3", "2.25", "0.24"}},
               {R"({"type":"integer","multipleOf":2.5})", {"5", "0", "-10"}, {"2.5", "7", "2"}},
               {R"({"type":"integer","allOf":[{"multipleOf":4},{"multipleOf":6}]})", {"12", "0", "120"}, {"4", "6", "8"}},
               {R"({"type":"number","multipleOf":1})", {"3"}, {"3.5"}},
               {R"({"type":"integer","multipleOf":1000000})", {"0", "3000000", "-1000000"}, {"300000", "1000001"}}});
}

TEST(Schema, strings) {
  expect_rows({{R"({"type":"string","minLength":2,"maxLength":3})", {"\"ab\"", "\"\xf0\x9f\x98\x80\xc3\xa9x\"", R"("\uD83D\uDE00\n")"}, {"\"\"", "\"a\"", "\"abcd\"", R"("\uD83D\uDE00")"}},
               {R"({"type":"string","pattern":"^[a-c]+$"})", {"\"abc\""}, {"\"\"", "\"abd\"", "\"aB\""}},
               {R"({"type":"string","pattern":"b"})", {"\"abc\"", "\"b\"", "\"\xc3\xa9" "b\\n\""}, {"\"ac\"", "\"\""}},
               {R"({"type":"string","pattern":"^\\S+$","minLength":2,"maxLength":3})", {"\"ab\"", "\"\xc3\xa9\\\"\\\\\""}, {"\"a\"", "\"abcd\"", "\"a b\"", "\"a\\n\""}},
               {R"({"type":"string","allOf":[{"pattern":"^a"},{"pattern":"z$"}]})", {"\"az\"", "\"a-z\""}, {"\"a\"", "\"z\"", "\"za\""}},
               {R"({"type":"string","not":{"pattern":"^a"}})", {"\"\"", "\"ba\""}, {"\"a\"", "\"ab\""}},
               {R"({"type":"string","not":{"enum":["a","bc"]}})", {"\"\"", "\"ab\"", "\"b\"", "\"bcd\""}, {"\"a\"", "\"bc\"", R"("\u0061")"}},
               {R"({"type":"string","not":{"minLength":2}})", {"\"\"", "\"a\""}, {"\"ab\""}}});
}

TEST(Schema, formats) {
  const auto text = [](const std::string& format) { return R"({"type":"string","format":")" + format + "\"}"; };
  expect_rows({{text("date"), {"\"2024-02-29\"", "\"1999-12-31\"", "\"2000-02-29\""}, {"\"2023-02-29\"", "\"1900-02-29\"", "\"2024-04-31\"", "\"2024-13-01\"", "\"0000-01-01\"", "\"2024-1-1\""}},
               {text("time"), {"\"23:59:59Z\"", "\"00:00:00.5+01:00\""}, {"\"24:00:00Z\"", "\"12:00:60Z\"", "\"12:00:00\""}},
               {text("date-time"), {"\"2024-02-29T12:00:00Z\""}, {"\"2024-02-30T12:00:00Z\"", "\"2024-02-29 12:00:00Z\"", "\"2024-02-29T12:00:00\""}},
               {text("duration"), {"\"P1Y2M3DT4H5M6S\"", "\"PT1H\"", "\"P3W\""}, {"\"P\"", "\"PT\"", "\"1Y\"", "\"P1YT\""}},
               {text("email"), {"\"a.b+c@example.org\""}, {"\"a\"", "\"a@\"", "\".a@b.c\""}},
               {text("hostname"), {"\"a.example.com\"", "\"localhost\""}, {"\"-a.com\"", "\"a..b\"", "\"\""}},
               {text("ipv4"), {"\"255.0.10.199\""}, {"\"256.1.1.1\"", "\"1.1.1\"", "\"01.1.1.1\""}},
               {text("ipv6"), {"\"::\"", "\"2001:db8::1\"", "\"1:2:3:4:5:6:7:8\""}, {"\"1:2\"", "\"1::2::3\"", "\"12345::\""}},
               {text("uuid"), {"\"123e4567-e89b-12d3-a456-426614174000\""}, {"\"123e4567e89b12d3a456426614174000\"", "\"123e4567-e89b-12d3-a456-42661417400g\""}},
               {text("uri"), {"\"https://example.com/a?b=c#d\"", "\"urn:isbn:1\""}, {"\"/a\"", "\"https://exa mple.com\""}},
               {text("json-pointer"), {"\"\"", "\"/a/0/~1\""}, {"\"a\"", "\"/~2\""}},
               {text("of-our-own"), {"\"anything\""}, {"1"}}});
}

TEST(Schema, objects) {
  expect_rows({{R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"}},"required":["b","a"],"additionalProperties":false})", {R"({"a":1,"b":true})", R"({"a": 1, "b": false})", "{\n  \"a\": 1,\n  \"b\": true\n}", R"({ "a":1,"b":true })"},
                {"{}", R"({"a":1})", R"({"a":1,"b":1})", R"({"a":1,"b":true,"c":1})", R"({"a":1,"a":1,"b":true})", R"({"b":true,"a":1})"}},
               {R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}},"required":["b"]})", {R"({"b":2})", R"({"a":1,"b":2})", R"({"b":2,"c":3})", R"({"a":1,"b":2,"c":3})"}, {R"({"a":1,"c":3})", R"({"b":2,"d":4})", "{}"}},
               {R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2}}})", {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"}, {R"({,"b":2})", R"({"a":1,})"}},
               {R"({"type":"object","properties":{"ab":{"const":1}},"additionalProperties":{"type":"boolean"}})", {"{}", R"({"ab":1,"abc":true,"a":false})", R"({"":true})"}, {R"({"ab":true})", R"({"ab":1,"ab":true})", R"({"ab":1,"\u0061b":true})", R"({"x":1})"}},
               {R"({"type":"object","required":["x"]})", {R"({"x":1})", R"({"x":1,"y":2})"}, {"{}", R"({"y":1})"}},
               {R"({"type":"object","properties":{"a":false,"b":{"const":1}}})", {R"({"b":1})"}, {R"({"a":1})"}},
               {R"({"type":"object","properties":{"q\"\n":{"const":1}},"required":["q\"\n"]})", {R"({"q\"\n":1})"}, {}},
               {R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"a":1})"}}});
}

TEST(Schema, counts_of_properties) {
  expect_rows({{R"({"type":"object","minProperties":1,"additionalProperties":{"const":1}})", {R"({"a":1})", R"({"a":1,"b":1})"}, {"{}"}},
               {R"({"type":"object","maxProperties":1,"additionalProperties":{"const":1}})", {"{}", R"({"a":1})"}, {R"({"a":1,"b":1})"}},
               {R"({"type":"object","properties":{"a":{"const":1},"b":{"const":1},"c":{"const":1}},"minProperties":2,"maxProperties":2})", {R"({"a":1,"b":1})", R"({"a":1,"c":1})", R"({"b":1,"c":1})"}, {"{}", R"({"a":1})", R"({"a":1,"b":1,"c":1})"}},
               {R"({"type":"object","maxProperties":0})", {"{}"}, {R"({"a":1})"}},
               {R"({"type":"object","properties":{"a":{"const":1}},"required":["a"],"minProperties":2})", {R"({"a":1,"b":0})"}, {R"({"a":1})"}}});
}

TEST(Schema, names_by_pattern) {
  expect_rows({{R"({"type":"object","patternProperties":{"^s":{"type":"string"},"^i":{"type":"integer"}},"additionalProperties":false})", {"{}", R"({"s1":"x","i":2})"}, {R"({"s1":1})", R"({"x":1})"}},
               {R"({"type":"object","properties":{"ab":{"type":"integer"}},"patternProperties":{"^a":{"minimum":7}},"required":["ab"],"additionalProperties":false})", {R"({"ab":7})", R"({"ab":9,"ac":8})", R"({"ab":9,"ac":"x"})"}, {R"({"ab":6})", R"({"ab":"x"})", R"({"ab":9,"ac":6})", R"({"ab":9,"ab":"x"})"}},
               {R"({"type":"object","patternProperties":{"a":{"minimum":3},"b":{"maximum":9}},"additionalProperties":{"const":0}})", {R"({"ab":5,"a":10,"b":2,"c":0})"}, {R"({"ab":10})", R"({"ba":2})", R"({"c":1})"}},
               {R"({"type":"object","propertyNames":{"pattern":"^[a-z]+$","maxLength":2},"additionalProperties":{"const":1}})", {R"({"ab":1})", "{}"}, {R"({"A":1})", R"({"abc":1})"}},
               {R"({"type":"object","propertyNames":{"enum":["x","y"]}})", {R"({"x":1})"}, {R"({"z":1})"}}});
}

TEST(Schema, arrays) {
  expect_rows({{R"({"type":"array","items":{"type":"integer"}})", {"[]", "[1]", "[1, 2]", "[\n  1,\n  2\n]"}, {"[1,]", "[\"a\"]", "[ ]"}},
               {R"({"type":"array","items":{"const":1},"minItems":2,"maxItems":3})", {"[1,1]", "[1,1,1]"}, {"[]", "[1]", "[1,1,1,1]"}},
               {R"({"type":"array","prefixItems":[{"const":1},{"const":2}]})", {"[]", "[1]", "[1,2]"}, {"[2]", "[1,2,3]"}},
               {R"({"type":"array","prefixItems":[{"const":1}],"items":{"const":3},"minItems":2})", {"[1,3]", "[1,3,3]"}, {"[1]", "[3]", "[1,1]"}},
               {R"({"type":"array","items":[{"const":1},{"const":2}],"additionalItems":{"const":3}})", {"[1,2,3,3]", "[1]"}, {"[1,3]"}},
               {R"({"type":"array","items":false})", {"[]"}, {"[1]"}},
               {R"({"type":"array","prefixItems":[{"const":1},false]})", {"[]", "[1]"}, {"[1,1]"}},
               {R"({"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true,"minItems":2})", {R"(["a","b"])", R"(["c","a","b"])"}, {R"(["a"])", R"(["a","a"])", R"(["a","b","a"])"}},
               {R"({"type":"array","items":{"enum":[1,2,3,4,5,6,7,8]},"uniqueItems":true,"maxItems":2})", {"[]", "[3]", "[1,8]"}, {"[1,1]", "[1,2,3]"}},
               {R"({"type":"array","items":{"enum":[1,2,3]},"contains":{"const":2},"minContains":1,"maxContains":2})", {"[2]", "[1,2,2,3]"}, {"[]", "[1]", "[2,2,2]"}},
               {R"({"type":"array","contains":{"type":"string"},"items":{"type":["string","integer"]},"maxItems":2})", {R"(["a"])", R"([1,"a"])"}, {"[1]", "[]", R"([1,1,"a"])"}}});
}

TEST(Schema, references) {
  expect_rows({{R"({"$defs":{"n":{"type":"object","properties":{"v":{"const":1},"next":{"$ref":"#/$defs/n"}},"required":["v"],"additionalProperties":false}},"$ref":"#/$defs/n"})", {R"({"v":1})", R"({"v":1,"next":{"v":1,"next":{"v":1}}})"}, {R"({"v":1,"next":{}})"}},
               {R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"}},
               {R"({"definitions":{"s":{"type":"string"}},"$ref":"#/definitions/s","maxLength":1})", {"\"a\""}, {"\"ab\"", "1"}},
               {R"({"$defs":{"a/b":{"const":1},"c~d":{"const":2},"e%f":{"const":3}},"type":"array","prefixItems":[{"$ref":"#/$defs/a~1b"},{"$ref":"#/$defs/c~0d"},{"$ref":"#/$defs/e%25f"}],"minItems":3})", {"[1,2,3]"}, {"[1,2]"}},
               {R"({"$defs":{"x":{"$anchor":"t","const":5}},"$ref":"#t"})", {"5"}, {"4"}},
               {R"({"$id":"https://example.com/r.json","$defs":{"i":{"$id":"i.json","$defs":{"v":{"const":7}},"$ref":"#/$defs/v"},"v":{"const":8}},"type":"array","prefixItems":[{"$ref":"i.json"},{"$ref":"r.json#/$defs/v"},{"$ref":"https://example.com/i.json"}],"minItems":3})", {"[7,8,7]"}, {"[8,8,8]"}}});
}

TEST(Schema, applicators) {
  expect_rows({{R"({"anyOf":[{"type":"string","maxLength":1},{"const":3}]})", {"\"a\"", "3"}, {"\"ab\"", "4"}},
               {R"({"allOf":[{"minimum":3},{"maximum":5}],"type":"integer"})", {"3", "5"}, {"2", "6"}},
               {R"({"allOf":[{"properties":{"a":{"minimum":5}}},{"properties":{"a":{"type":"integer","maximum":6}},"required":["a"]}],"type":"object"})", {R"({"a":5})"}, {R"({"a":4})", R"({"a":7})", "{}"}},
               {R"({"oneOf":[{"type":"integer","maximum":5},{"type":"integer","minimum":3}]})", {"2", "6"}, {"3", "5"}},
               {R"({"oneOf":[{"enum":["a","b"]},{"enum":["b","c"]}]})", {"\"a\"", "\"c\""}, {"\"b\""}},
               {R"({"oneOf":[{"type":"object","properties":{"k":{"const":"x"},"n":{"const":1}},"required":["k","n"]},{"type":"object","properties":{"k":{"const":"y"}},"required":["k"]}]})", {R"({"k":"x","n":1})", R"({"k":"y"})"}, {R"({"k":"x"})", R"({"k":"y","n":1})"}},
               {R"({"type":"object","properties":{"a":{"const":1},"b":{"const":1}},"oneOf":[{"required":["a"]},{"required":["b"]}],"additionalProperties":false})", {R"({"a":1})", R"({"b":1})"}, {"{}", R"({"a":1,"b":1})"}},
               {R"({"type":"integer","not":{"enum":[0,5]},"minimum":-1,"maximum":6})", {"-1", "1", "4", "6"}, {"0", "5", "7"}},
               {R"({"not":{"type":["string","object","array"]}})", {"1", "null"}, {"\"\"", "{}"}},
               {R"({"type":"number","not":{"type":"integer"}})", {"1.5", "0.1"}, {"1", "1.0"}},
               {R"({"type":"number","not":{"minimum":3}})", {"2.9", "-1"}, {"3", "3.1"}},
               {R"({"if":{"type":"string"},"then":{"minLength":2},"else":{"type":"integer"}})", {"\"ab\"", "1"}, {"\"a\"", "null"}},
               {R"({"type":"object","properties":{"c":{"enum":["US","CA"]},"z":{"type":"string"}},"required":["c","z"],"if":{"properties":{"c":{"const":"US"}}},"then":{"properties":{"z":{"pattern":"^[0-9]$"}}},"else":{"properties":{"z":{"pattern":"^[A-Z]$"}}}})", {R"({"c":"US","z":"1"})", R"({"c":"CA","z":"K"})"}, {R"({"c":"US","z":"K"})", R"({"c":"CA","z":"1"})"}},
               {R"({"type":"object","properties":{"a":{"const":1},"b":{"const":1}},"dependentRequired":{"a":["b"]},"additionalProperties":false})", {"{}", R"({"b":1})", R"({"a":1,"b":1})"}, {R"({"a":1})"}},
               {R"({"type":"object","properties":{"a":{"const":1}},"dependentSchemas":{"a":{"properties":{"b":{"const":2}},"required":["b"]}}})", {"{}", R"({"a":1,"b":2})"}, {R"({"a":1})"}},
               {R"({"allOf":[{"properties":{"a":{"const":1}}}],"type":"object","properties":{"b":{"const":2}},"unevaluatedProperties":false})", {"{}", R"({"b":2,"a":1})"}, {R"({"c":1})"}},
               {R"({"type":"array","prefixItems":[{"const":1}],"unevaluatedItems":{"const":2}})", {"[1,2,2]", "[]"}, {"[1,1]"}}});
}

TEST(Schema, many_properties_stay_linear) {
  std::string schema = R"({"type":"object","properties":{)", text = "{";
  for (int i = 0; i < 400; ++i) {
    schema += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"boolean"})";
    if (i % 100 == 7) text += (text.size() > 1 ? ",\"p" : "\"p") + std::to_string(i) + "\":true";
  }
  GrammarBuilder builder;
  const auto root = builder.json_schema(schema + "}}");
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_LT(GrammarParts::of(builder).nodes.size(), 4000u);
}

TEST(Schema, refusals_name_place_and_construct) {
  const std::string start = "cannot constrain to the schema: ";
  const std::vector<std::pair<std::string, std::string>> unsupported = {
      {R"({"properties":{"a":{"type":"object","not":{"additionalProperties":false}}}})", "/properties/a/not uses \"additionalProperties\" below a \"not\", \"if\" or overlapping \"oneOf\""},
      {R"({"type":"object","properties":{"a/b":{"$dynamicRef":"#x"}}})", "/properties/a~1b uses \"$dynamicRef\""},
      {R"({"items":{"type":"array","uniqueItems":true,"items":{"type":"string"}}})", "/items uses \"uniqueItems\" for items that are not one \"enum\""},
      {R"({"type":"string","format":"regex"})", "its root uses the \"format\" regex"},
      {R"({"$ref":"https://example.com/x.json"})", "its root uses a \"$ref\" to another document"},
      {R"({"type":"object","minProperties":2,"additionalProperties":true})", "its root uses \"minProperties\" above the number of required properties and one, where names are free"},
      {R"({"type":"array","contains":{"const":1},"allOf":[{"contains":{"const":2}}]})", "its root uses \"contains\" more than once"},
      {R"({"oneOf":[{"type":"integer","multipleOf":2},{"type":"integer","multipleOf":3}]})", "its root uses \"oneOf\" with alternatives that one value may satisfy together"},
      {R"({"type":"object","not":{"const":{"a":1}}})", "its root uses a \"not\" with an object or an array as its value"},
      {R"({"type":"integer","multipleOf":1234577})", "its root uses limits on a number that need multiples too coarse"},
      {R"({"if":{"format":"email"},"then":{"minLength":3}})", "its root uses an \"if\" whose opposite cannot be told"},
  };
  for (const auto& [schema, message] : unsupported) {
    SCOPED_TRACE(schema);
    expect_refusal(of(schema), Code::unsupported, start + message);
  }
  const std::vector<std::pair<std::string, std::string>> invalid = {
      {"1", "its root is neither an object nor a boolean"},
      {R"({"type":"strange"})", "its root has a \"type\" that is not a type"},
      {R"({"properties":{"a":{"minLength":-1}},"required":["a"]})", "/properties/a has a \"minLength\" that is not a count"},
      {R"({"anyOf":[]})", "its root has a \"anyOf\" that is not a list of schemas"},
      {R"({"$ref":"#/nowhere"})", "its root has a \"$ref\" to nothing"},
      {R"({"$ref":"#"})", "its root refers to itself without end"},
      {R"({"allOf":[{"type":"string"},{"type":"integer"}]})", "its root allows no value"},
      {R"({"type":"object","properties":{"a":{"type":"integer","minimum":3,"maximum":2}},"required":["a"]})", "/properties/a allows no value"},
      {"false", "its root allows no value"},
      {R"({"multipleOf":0})", "its root has a \"multipleOf\" that is not above zero"},
  };
  for (const auto& [schema, message] : invalid) {
    SCOPED_TRACE(schema);
    expect_refusal(of(schema), Code::invalid_request, start + message);
  }
  GrammarBuilder builder;
  const auto broken = builder.json_schema("{\"type\":");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Code::invalid_request);
}

TEST(Schema, limits_hold_against_blow_up) {
  std::string all, deep = R"({"type":"integer"})";
  for (int i = 0; i < 12; ++i) all += (i > 0 ? "," : "") + std::string(R"({"anyOf":[{"minimum":)") + std::to_string(i) + R"(},{"maximum":0},{"type":"string"}]})";
  for (int i = 0; i < 300; ++i) deep = R"({"anyOf":[)" + deep + "]}";
  for (const std::string& schema : {R"({"allOf":[)" + all + "]}", deep}) {
    GrammarBuilder builder;
    const auto root = builder.json_schema(schema);
    ASSERT_FALSE(root);
    EXPECT_EQ(root.error().code, Code::unsupported);
  }
}
