// turns: a short list in order of use, bounded in bytes.
#include "engine/turns.h"

void Turns::remember(Turn turn) {
  const std::lock_guard lock(mutex_);
  for (auto it = turns_.begin(); it != turns_.end();) {
    const bool same = (*it)->space == turn.space && (*it)->text == turn.text;
    if (same) bytes_ -= size_of(**it);
    it = same ? turns_.erase(it) : std::next(it);
  }
  bytes_ += size_of(turn);
  turns_.push_front(std::make_shared<const Turn>(std::move(turn)));
  while (bytes_ > max_bytes_) {
    bytes_ -= size_of(*turns_.back());
    turns_.pop_back();
  }
}

std::shared_ptr<const Turns::Turn> Turns::find(uint64_t space, std::string_view text) {
  const std::lock_guard lock(mutex_);
  auto best = turns_.end();
  for (auto it = turns_.begin(); it != turns_.end(); ++it) {
    const Turn& turn = **it;
    if (turn.space != space || (best != turns_.end() && turn.text.size() <= (*best)->text.size()) || !text.starts_with(turn.text)) continue;
    best = it;
  }
  if (best == turns_.end()) return nullptr;
  turns_.splice(turns_.begin(), turns_, best);
  return turns_.front();
}
