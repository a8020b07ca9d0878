// raw text: strings that a syntax writes without quotes, made to order by a schema.
#pragma once
#include "text/tools/call_grammar.h"

// One kind of value a schema allows, by how it is written: strings as they are, everything else as JSON.
class RawValues {
 public:
  // `free_text`: any string with what ends it; `end`: what ends a value of any other language.
  RawValues(GrammarBuilder& builder, const Json& root, NodeId free_text, std::string end)
      : builder_(builder), root_(root), free_text_(free_text), end_(std::move(end)) {}
  Result<NodeId> value(const Json& schema);  // with its end

 private:
  Status collect(const Json& schema, int depth);
  Status collect_values(const Json& values);
  Status collect_parts(const Json& schema, const char* keyword, int depth);
  Status collect_text(const Json& schema);
  Status collect_json(const Json& schema);
  NodeId ended(NodeId node);

  GrammarBuilder& builder_;
  const Json& root_;
  const NodeId free_text_;
  const std::string end_;
  std::vector<NodeId> found_;
};

bool is_schema_annotation(std::string_view keyword);  // says nothing about values
Error unsupported_keyword(std::string_view keyword);
