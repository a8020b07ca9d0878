// aho_corasick: finds all of many words in one pass over a text.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// A trie of bytes in a double array with links to the longest proper suffix. Once built it is immutable and safe from many threads.
class AhoCorasick {
 public:
  // How a byte of words and texts is read; 0..255 to themselves unless told otherwise.
  using ByteMap = std::array<uint8_t, 256>;
  static const ByteMap& same_bytes();
  static const ByteMap& lower_case();  // ASCII

  explicit AhoCorasick(const ByteMap& map = same_bytes(), bool runs_of_spaces_as_one = false) : map_(map), squeeze_(runs_of_spaces_as_one) {}
  void add(std::string_view word, uint32_t id) { if (!word.empty()) words_.push_back({std::string(word), id}); }
  void build();  // once, after all words
  bool empty() const { return words_.empty(); }

  // hit(id, end) for every place where a word ends, longest first. Takes time in the order of the text and of the hits.
  template <class Hit> void scan(std::string_view text, Hit&& hit) const {
    if (nodes_.empty()) return;
    uint32_t state = 0;
    uint8_t last = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const uint8_t byte = map_[static_cast<uint8_t>(text[i])];
      if (squeeze_ && byte == ' ' && last == ' ') continue;
      last = byte;
      state = next(state, byte);
      for (uint32_t out = nodes_[state].out; out != 0; out = outs_[out].next) hit(outs_[out].id, i + 1);
    }
  }

 private:
  struct Node { uint32_t base, parent, fail, out; };  // parent: none for a free slot
  struct Out { uint32_t id, next; };                  // next: that of a shorter word; 0 ends
  struct Word { std::string bytes; uint32_t id; };
  struct Trie;
  static constexpr uint32_t none = UINT32_MAX;

  uint32_t next(uint32_t state, uint8_t byte) const {
    for (; state != 0; state = nodes_[state].fail) {
      const uint32_t to = nodes_[state].base + byte;
      if (nodes_[to].parent == state) return to;
    }
    return root_[byte];
  }
  void place(const Trie& trie);

  ByteMap map_;
  bool squeeze_;
  std::vector<Word> words_;
  std::vector<Node> nodes_;  // 256 free ones at the end, so that base + byte is always inside
  std::array<uint32_t, 256> root_{};
  std::vector<Out> outs_;    // [0] is unused
};
