// call grammar: objects and lists of calls.
#include "text/tools/call_grammar.h"
#include "text/tools/json_scanner.h"

Result<Json> parameters_schema(const ToolSpec& tool) {
  if (tool.parameters_json.empty()) return Json::object();
  Json schema = Json::parse(tool.parameters_json, nullptr, false);
  if (schema.is_discarded() || !(schema.is_object() || schema.is_boolean()))
    return Error{Code::invalid_request, "cannot read the parameters of a tool: a JSON Schema was expected"};
  return schema.is_object() ? schema : Json(Json::object());
}

Json standalone(const Json& part, const Json& root) {
  Json schema = part;
  if (!schema.is_object() || !root.is_object()) return schema;
  for (const char* key : {"$defs", "definitions"})
    if (root.contains(key) && !schema.contains(key)) schema[key] = root[key];
  return schema;
}

const Json* follow_references(const Json& schema, const Json& root) {
  const Json* at = &schema;
  for (int steps = 0; at->is_object() && at->contains("$ref"); ++steps) {
    const Json& reference = (*at)["$ref"];
    if (steps > 32 || !reference.is_string() || !reference.get_ref<const std::string&>().starts_with('#')) return nullptr;
    try {
      at = &root.at(Json::json_pointer(reference.get_ref<const std::string&>().substr(1)));
    } catch (const Json::exception&) {
      return nullptr;
    }
  }
  return at;
}

Result<NodeId> arguments_object(GrammarBuilder& builder, const ToolSpec& tool) {
  if (!tool.strict) return builder.json_object();
  TRY(Json schema, parameters_schema(tool));
  if (schema.empty()) return builder.json_object();
  const Json* root = follow_references(schema, schema);
  if (root && root->is_object() && !root->contains("type")) schema["type"] = "object";  // arguments are an object whatever a schema leaves open
  return builder.json_schema(schema.dump());
}

Result<NodeId> json_call(GrammarBuilder& builder, const ToolSpec& tool, std::string_view arguments_key) {
  TRY(const NodeId arguments, arguments_object(builder, tool));
  const NodeId parts[] = {builder.literal("{\"name\": " + json_quoted(tool.name) + ", " + json_quoted(arguments_key) + ": "), arguments, builder.literal("}")};
  return builder.sequence(parts);
}

Result<NodeId> one_of_tools(GrammarBuilder& builder, std::span<const ToolSpec> tools, const std::function<Result<NodeId>(const ToolSpec&)>& call) {
  if (tools.empty()) return Error{Code::invalid_request, "cannot force a call: there are no tools"};
  std::vector<NodeId> calls;
  for (const ToolSpec& tool : tools) {
    auto node = call(tool);
    if (!node) return Error{node.error().code, "cannot constrain a call of tool " + std::to_string(&tool - tools.data()) + ": " + node.error().message};
    calls.push_back(*node);
  }
  return builder.choice(calls);
}

NodeId repeated(GrammarBuilder& builder, NodeId call, std::string_view separator, bool parallel) {
  if (!parallel) return call;
  const NodeId next[] = {builder.literal(separator), call};
  const NodeId all[] = {call, builder.repeat(builder.sequence(next), 0, -1)};
  return builder.sequence(all);
}
