// graphs: steps as they were recorded, most recently used first, by what tells them apart.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace cuda {

// Recording a step takes many times as long as launching it once, so one is recorded when it comes for the second time.
class Graphs {
 public:
  struct Entry { uint64_t key; cudaGraphExec_t graph; };  // graph: null until it is recorded
  Graphs() = default;
  Graphs(const Graphs&) = delete;
  ~Graphs() { clear(); }
  Entry* find(uint64_t key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &*found->second;
  }
  void add(uint64_t key) {
    entries_.push_front({key, nullptr});
    by_key_[key] = entries_.begin();
    if (entries_.size() <= most) return;
    destroy(entries_.back());
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  void clear() {
    for (const Entry& e : entries_) destroy(e);
    entries_.clear(), by_key_.clear();
  }

 private:
  static constexpr size_t most = 128;
  static void destroy(const Entry& e) {
    if (e.graph) cudaGraphExecDestroy(e.graph);
  }
  std::list<Entry> entries_;
  std::unordered_map<uint64_t, std::list<Entry>::iterator> by_key_;
};

}  // namespace cuda
