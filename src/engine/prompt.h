// prompt: from a request to the tokens that the model reads.
#pragma once
#include "engine/engine.h"
#include "engine/turns.h"

struct RenderedPrompt {
  std::string text;                // "" when it was given as ids
  std::vector<TokenId> ids;
  std::vector<int> branch_points;  // where later prompts are likely to leave this one, in tokens
  bool may_think = false;          // a chat, whose answer may hold a think block
  bool inside_think = false;       // the prompt ends within an open one
  bool may_open_think = false;     // the answer may open one itself
};

struct PromptMaker {
  const CompleterParts& parts;
  bool plain_tools = false;        // the template knows no tools (see plain_tools.h)
  bool borders = true;             // branch_points are worth their renderings

  Result<RenderedPrompt> make(const ChatRequest& request, uint64_t space, Turns& turns) const;
  Result<std::string> text(const ChatRequest& request) const;  // what make would encode
};

// The names under which vocabularies know the three marks of filling in, or nullopt.
struct FillIn { TokenId prefix, suffix, middle; };
std::optional<FillIn> find_fill_in(const Tokenizer& tokenizer);
bool template_thinks(const CompleterParts& parts);
