// grammar: what an answer may look like, byte by byte, and which tokens that leaves. Knows no model and no device.
#pragma once
#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"

class Tokenizer;
using ByteSet = std::bitset<256>;

// A constraint, compiled: a pushdown automaton over bytes. Immutable, shared between sequences.
class Grammar {
 public:
  virtual ~Grammar() = default;
};

// Builds grammars out of nodes; a node is a set of byte strings. Nodes belong to their builder. Text is UTF-8: sets of characters are
// spelt as the byte sequences that encode them (`characters`), so a finished answer is always valid UTF-8 where its parts are.
class GrammarBuilder {
 public:
  using Node = int32_t;
  GrammarBuilder();
  ~GrammarBuilder();
  GrammarBuilder(GrammarBuilder&&) noexcept;

  Node empty();                                              // the empty string only
  Node literal(std::string_view bytes);
  Node bytes(const ByteSet& set);                            // one byte of the set
  struct Range { char32_t first, last; };
  Node characters(std::span<const Range> ranges, bool negated = false);  // one Unicode character (never a surrogate)
  Node sequence(std::span<const Node> nodes);
  Node choice(std::span<const Node> nodes);                  // no nodes: nothing matches
  Node repeat(Node node, int64_t least, int64_t most);       // most < 0: no limit
  Node optional(Node node) { return repeat(node, 0, 1); }
  Node declare(std::string_view name = {});                  // a rule to be defined later; rules may recurse (also on the left)
  void define(Node rule, Node body);
  Node until(std::string_view stop);                         // any UTF-8 text that does not contain `stop`, which is not included

  // Frontends, one file each. A construct that cannot be enforced fails with unsupported and its name and place; bad input with invalid_request.
  Result<Node> regex(std::string_view pattern, bool anchored);            // ECMA-262 as JSON Schema uses it; not anchored: found anywhere in a text
  Result<Node> json_schema(std::string_view schema);                      // draft 2020-12; a JSON text
  Node json_value();                                                      // any JSON value
  Node json_object();
  Node json_string();                                                     // with its quotes
  Result<Node> json_string_of(std::string_view pattern);                  // a JSON string whose value has a match of the pattern
  Result<Node> gbnf(std::string_view grammar);                            // llama.cpp's notation; rule "root"
  Result<Node> lark(std::string_view grammar);                            // a subset of Lark's; rule "start"

  // Fails when `root` matches nothing, refers to an undefined rule, or is larger than the limits.
  Result<std::shared_ptr<const Grammar>> build(Node root) &&;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  friend struct GrammarParts;  // grammar_parts.h: what the compiler and the reference recogniser read
};

// Everything a constraint needs to know about a vocabulary: its tokens as a trie of bytes. Built once per tokenizer, shared.
class TokenTrie {
 public:
  // Tokens whose bytes are empty (control tokens) are never allowed, except `ends`, which are allowed exactly where the text may end, and
  // those of the texts `spelt`, which stand for these texts.
  static std::shared_ptr<const TokenTrie> make(const Tokenizer& tokenizer, std::span<const TokenId> ends, std::span<const std::string_view> spelt = {});
  virtual ~TokenTrie() = default;
};

// One answer on its way through a grammar. Not shared between threads; several matchers may use one grammar at once.
class GrammarMatcher {
 public:
  static std::unique_ptr<GrammarMatcher> make(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> tokens);
  virtual ~GrammarMatcher() = default;
  // Bit i of word i / 64: token i may come next. Valid until the next call of anything here.
  virtual std::span<const uint64_t> mask() = 0;
  virtual bool accept(TokenId id) = 0;               // false: not allowed, nothing changes
  virtual bool accept_bytes(std::string_view bytes) = 0;  // counts as one token for rewind
  virtual bool may_end() const = 0;                  // what was accepted is a whole match
  virtual bool must_end() const = 0;                 // and nothing can follow
  virtual std::string forced() const = 0;            // bytes that any continuation begins with; "" when there is a choice or an end
  virtual void rewind(int tokens) = 0;               // takes the last accepted tokens back
  virtual size_t bytes_accepted() const = 0;
};
