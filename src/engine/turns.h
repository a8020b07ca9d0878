// turns: the tokens that past answers were sampled as. Text encoded anew may be cut differently, and then nothing of it is cached.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include "core/core.h"

class Turns {
 public:
  struct Turn {
    uint64_t space = 0;          // only requests of one space see each other's turns
    std::string text;            // a rendered prompt and the answer to it
    std::vector<TokenId> ids;    // what it was read and sampled as
  };
  explicit Turns(size_t max_bytes = size_t{32} << 20) : max_bytes_(max_bytes) {}
  void remember(Turn turn);
  // The longest remembered text that `text` begins with; null when there is none.
  std::shared_ptr<const Turn> find(uint64_t space, std::string_view text);

 private:
  static size_t size_of(const Turn& turn) { return turn.text.size() + turn.ids.size() * sizeof(TokenId); }
  const size_t max_bytes_;
  std::mutex mutex_;
  std::list<std::shared_ptr<const Turn>> turns_;  // last used first
  size_t bytes_ = 0;
};
