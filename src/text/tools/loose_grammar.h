// loose grammar: objects in Gemma's notation, {key:value} with strings between markers, any or by a schema.
#pragma once
#include "text/tools/raw_text.h"

class LooseGrammar {
 public:
  LooseGrammar(GrammarBuilder& builder, std::string_view quote);
  Result<NodeId> arguments(const ToolSpec& tool);  // with its braces

 private:
  Result<NodeId> value(const Json& schema, int depth);
  Result<NodeId> object(const Json& schema, int depth);
  Result<NodeId> array(const Json& schema, int depth);
  Result<NodeId> text(const Json& schema);
  Result<NodeId> scalar(const Json& schema, const Json& type);
  NodeId string(NodeId inside);
  NodeId member(NodeId key, NodeId value);
  NodeId list(NodeId item, char open, char close);  // any number of them

  GrammarBuilder& builder_;
  const std::string quote_;
  NodeId key_, any_, any_object_, any_array_, any_string_;
  const Json* root_ = nullptr;
};
