// call grammar: the parts of grammars for calls that all syntaxes share.
#pragma once
#include <functional>
#include "core/json_writer.h"
#include "text/tools.h"

using NodeId = GrammarBuilder::Node;

// The arguments as a JSON object: by the schema of a strict tool, any object of another.
Result<NodeId> arguments_object(GrammarBuilder& builder, const ToolSpec& tool);
// {"name": "f", ARGUMENTS_KEY: {…}}
Result<NodeId> json_call(GrammarBuilder& builder, const ToolSpec& tool, std::string_view arguments_key);
// A choice of one node for each tool; fails with invalid_request when there is none.
Result<NodeId> one_of_tools(GrammarBuilder& builder, std::span<const ToolSpec> tools, const std::function<Result<NodeId>(const ToolSpec&)>& call);
// `call`, or with `parallel` more of them with `separator` between.
NodeId repeated(GrammarBuilder& builder, NodeId call, std::string_view separator, bool parallel);

// The schema of a tool's arguments with the reference at its root followed; an empty object for "".
Result<Json> parameters_schema(const ToolSpec& tool);
// `part` of the schema `root` as a schema of its own: what its references point at comes along.
Json standalone(const Json& part, const Json& root);
const Json* follow_references(const Json& schema, const Json& root);  // null: it leads nowhere, or in a circle
