// wire: every field of every served schema with every JSON type that the schema leaves out: a 400 that names the field.
#include "wire/harness.h"

namespace {

struct Sample {
  const char* type;  // JSON Schema's name; 1.5 is a number and no integer
  const char* json;
};
constexpr Sample samples[] = {{"boolean", "true"}, {"string", "\"x\""}, {"number", "1.5"}, {"array", "[]"}, {"object", "{}"}};

bool allows(const Json& schema, const Sample& sample) {
  if (schema.contains("anyOf")) return std::any_of(schema["anyOf"].begin(), schema["anyOf"].end(), [&](const Json& one) { return allows(one, sample); });
  if (schema.contains("enum")) {
    return std::any_of(schema["enum"].begin(), schema["enum"].end(), [&](const Json& value) { return value.is_string() ? std::string_view(sample.type) == "string" : false; });
  }
  if (!schema.contains("type")) return true;
  const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  return std::find(types.begin(), types.end(), sample.type) != types.end();
}

TEST_F(WireTest, EveryFieldRefusesEveryWrongType) {
  const std::pair<std::string, std::string> bodies[] = {{chat_path, R"("messages":[{"role":"user","content":"hi"}])"},
                                                        {text_path, R"("prompt":"hi")"},
                                                        {"/v1/responses", R"("input":"hi")"},
                                                        {"/completion", R"("prompt":"hi")"},
                                                        {"/v1/embeddings", R"("input":"hi")"}};
  Client client(port());
  const Json paths = client.get("/openapi.json").json()["paths"];
  int checks = 0;
  for (const auto& [path, required] : bodies) {
    const Json properties = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"];
    ASSERT_GT(properties.size(), 5u) << path;
    for (const auto& [name, schema] : properties.items()) {
      for (const Sample& sample : samples) {
        if (allows(schema, sample)) continue;
        const bool replaces = required.starts_with("\"" + name + "\"");
        const Reply reply = client.post(path, "{" + (replaces ? "" : required + ",") + "\"" + name + "\":" + sample.json + "}");
        EXPECT_EQ(reply.status, 400) << path << " " << name << " " << sample.json << " " << reply.body;
        const Json param = reply.json()["error"]["param"];
        EXPECT_TRUE(param.is_string() && param.get<std::string>().starts_with(name)) << path << " " << name << " " << sample.json << " " << reply.body;
        ++checks;
      }
    }
  }
  EXPECT_GT(checks, 500);
  EXPECT_EQ(completer.calls, 0);
}

}  // namespace
