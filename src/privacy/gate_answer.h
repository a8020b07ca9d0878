// gate_answer: what an upstream says on its way to the client: placeholders restored, lane by lane.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>
#include "privacy/restore.h"

class GateAnswer {
 public:
  // `choices`: which of the client's choices the upstream's first, second, … is.
  GateAnswer(const Ledger& ledger, const Policy::Restore& rules, const ChoiceSink& out, std::span<const size_t> choices);
  bool delta(size_t choice, const Delta& delta);
  bool end(size_t choice, const Finish& finish);
  RestoreCounts counts() const;

 private:
  // Text and thoughts of a choice are a lane each, and so are the arguments of each of its calls.
  struct LaneId {
    Delta::Kind kind;
    int tool;
    auto operator<=>(const LaneId&) const = default;
  };
  struct Lane { std::unique_ptr<Restorer> restorer; };  // none: passed on as it is
  bool restores_tool(const std::string& name) const;
  Lane& lane(size_t choice, const Delta& delta);
  std::string whole(std::string_view text);
  bool give(size_t choice, const LaneId& id, std::string text, const Delta* like);

  const Ledger& ledger_;
  const Policy::Restore& rules_;
  const ChoiceSink& out_;
  const std::vector<size_t> choices_;
  std::vector<std::map<LaneId, Lane>> lanes_;
  RestoreCounts names_;                // of names and stop texts
};
