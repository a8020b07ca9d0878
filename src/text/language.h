// language: regular sets of UTF-8 texts as deterministic automata over bytes, for what grammars cannot do to their nodes: and, not, length.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>
#include "text/grammar.h"

class Language {
 public:
  static Language text();                                      // every text
  static Language words(std::span<const std::string> words);   // these texts only
  // What a node without recursion matches. unsupported: it is larger than the limits.
  static Result<Language> of(const GrammarBuilder& builder, GrammarBuilder::Node node);

  enum class Keep { both, either, first_only };
  static Result<Language> combine(const Language& a, const Language& b, Keep keep);
  Result<Language> of_length(int64_t least, int64_t most) const;  // in characters; most < 0: no limit

  bool contains(std::string_view text) const;
  bool empty() const { return states_.empty(); }
  size_t size() const { return states_.size(); }  // states
  static constexpr size_t kMostStates = 12'000;   // of one automaton, at 1 KB each
  // These texts as JSON strings with their quotes, each in one spelling: escapes only where JSON demands them.
  GrammarBuilder::Node json_string(GrammarBuilder& builder) const;

 private:
  struct State {
    std::array<int32_t, 256> next;  // -1: nowhere
    bool accepts = false;
  };
  void trim();      // only states that lead to an accepting one are kept, none when there is none
  std::vector<uint8_t> different_bytes() const;
  void minimise();  // states that accept the same are one
  friend class LanguageSpelling;
  std::vector<State> states_;  // the first is the start; every text is whole UTF-8
};
