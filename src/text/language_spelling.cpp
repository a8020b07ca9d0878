// language spelling: a set of texts as a grammar of JSON strings, character by character.
#include <algorithm>
#include <map>

#include "text/language.h"

using Node = GrammarBuilder::Node;

// States at the border of a character become nodes: a loop of one state a repetition, other circles rules, the rest plain nodes.
class LanguageSpelling {
 public:
  LanguageSpelling(const Language& language, GrammarBuilder& builder) : language_(language), builder_(builder), marks_(language.states_.size()) {}
  Node run();

 private:
  using Steps = std::map<int32_t, Node>;  // by the state at the next border: the characters that lead there
  struct Mark {
    int index = -1, low = 0;
    bool open = false, circular = false;
    Node rule = -1;
  };
  // A state whose characters are being followed: Tarjan's search for circles, without recursion.
  struct Visit {
    int32_t state;
    std::vector<int32_t> after;
    size_t next = 0;
  };
  Node spelled(const ByteSet& bytes);
  Steps steps_from(int32_t state, int depth);
  void order(int32_t start);
  Node body(int32_t state);

  const Language& language_;
  GrammarBuilder& builder_;
  std::vector<Mark> marks_;
  std::vector<int32_t> finished_;      // every state after those it leads to, circles aside
  std::map<int32_t, Steps> steps_;
  std::map<int32_t, Node> nodes_;
};

// Single bytes of a string's value: as they are, or as the escape that JSON demands.
Node LanguageSpelling::spelled(const ByteSet& bytes) {
  ByteSet plain = bytes;
  std::vector<Node> ways;
  for (size_t byte = 0; byte < 128; ++byte) {
    if (!bytes.test(byte) || (byte >= 0x20 && byte != '"' && byte != '\\')) continue;
    plain.reset(byte);
    const std::string_view named = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    const size_t at = named.find(static_cast<char>(byte));
    const char hex = "0123456789abcdef"[byte % 16];
    ways.push_back(builder_.literal(at != named.npos ? std::string("\\") + letters[at] : std::string("\\u00") + (byte < 16 ? '0' : '1') + hex));
  }
  if (plain.any()) ways.push_back(builder_.bytes(plain));
  return builder_.choice(ways);
}

LanguageSpelling::Steps LanguageSpelling::steps_from(int32_t state, int depth) {
  std::map<int32_t, ByteSet> ascii, tails;
  std::map<int32_t, std::vector<Node>> ways;
  const auto& next = language_.states_[static_cast<size_t>(state)].next;
  std::array<std::map<int32_t, ByteSet>, 3> leads;  // by the number of bytes that follow
  for (size_t byte = 0; byte < 256; ++byte) {
    const int32_t to = next[byte];
    if (to < 0) continue;
    if (depth == 0 && byte < 0x80) ascii[to].set(byte);
    else if (depth == 1) tails[to].set(byte);
    else if (depth > 1) leads[static_cast<size_t>(depth - 2)][to].set(byte);
    else leads[byte < 0xE0 ? 0 : byte < 0xF0 ? 1 : 2][to].set(byte);
  }
  for (const auto& [to, bytes] : ascii) ways[to].push_back(spelled(bytes));
  for (const auto& [to, bytes] : tails) ways[to].push_back(builder_.bytes(bytes));
  for (size_t more = 0; more < leads.size(); ++more)
    for (const auto& [to, bytes] : leads[more])
      for (const auto& [border, rest] : steps_from(to, static_cast<int>(more) + 1)) {
        const std::array<Node, 2> both{builder_.bytes(bytes), rest};
        ways[border].push_back(builder_.sequence(both));
      }
  Steps out;
  for (const auto& [border, list] : ways) out[border] = builder_.choice(list);
  return out;
}

void LanguageSpelling::order(int32_t start) {
  std::vector<Visit> visits;
  std::vector<int32_t> open;
  int count = 0;
  const auto enter = [&](int32_t state) {
    Mark& mark = marks_[static_cast<size_t>(state)];
    mark.index = mark.low = count++;
    mark.open = true;
    open.push_back(state);
    Visit visit{state, {}, 0};
    for (const auto& [to, characters] : steps_[state] = steps_from(state, 0))
      if (to != state) visit.after.push_back(to);
    visits.push_back(std::move(visit));
  };
  enter(start);
  while (!visits.empty()) {
    Visit& visit = visits.back();
    Mark& mark = marks_[static_cast<size_t>(visit.state)];
    if (visit.next < visit.after.size()) {
      const int32_t to = visit.after[visit.next++];
      const Mark& other = marks_[static_cast<size_t>(to)];
      if (other.index < 0) enter(to);
      else if (other.open) mark.low = std::min(mark.low, other.index);
      continue;
    }
    const int32_t state = visit.state;
    if (mark.low == mark.index) {
      const bool circular = open.back() != state;
      for (int32_t member = -1; member != state;) {
        member = open.back();
        open.pop_back();
        marks_[static_cast<size_t>(member)].open = false;
        marks_[static_cast<size_t>(member)].circular = circular;
      }
    }
    finished_.push_back(state);
    const int low = mark.low;
    visits.pop_back();
    if (!visits.empty()) {
      Mark& parent = marks_[static_cast<size_t>(visits.back().state)];
      parent.low = std::min(parent.low, low);
    }
  }
}

Node LanguageSpelling::body(int32_t state) {
  std::vector<Node> ways;
  if (language_.states_[static_cast<size_t>(state)].accepts) ways.push_back(builder_.literal("\""));
  std::optional<Node> loop;
  for (const auto& [to, characters] : steps_[state]) {
    if (to == state) {
      loop = builder_.repeat(characters, 0, -1);
      continue;
    }
    const std::array<Node, 2> both{characters, nodes_.at(to)};
    ways.push_back(builder_.sequence(both));
  }
  const Node rest = builder_.choice(ways);
  if (!loop) return rest;
  const std::array<Node, 2> both{*loop, rest};
  return builder_.sequence(both);
}

Node LanguageSpelling::run() {
  order(0);
  for (const int32_t state : finished_)
    if (marks_[static_cast<size_t>(state)].circular) nodes_[state] = builder_.declare();
  for (const int32_t state : finished_) {
    const Node node = body(state);
    if (marks_[static_cast<size_t>(state)].circular) builder_.define(nodes_[state], node);
    else nodes_[state] = node;
  }
  const std::array<Node, 2> both{builder_.literal("\""), nodes_.at(0)};
  return builder_.sequence(both);
}

Node Language::json_string(GrammarBuilder& builder) const { return empty() ? builder.choice({}) : LanguageSpelling(*this, builder).run(); }
