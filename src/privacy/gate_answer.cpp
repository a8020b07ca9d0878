// gate_answer: one restorer for each lane of each choice; what it holds back comes at the end of the choice.
#include "privacy/gate_answer.h"

#include <algorithm>
#include "privacy/glob.h"

namespace {

void add(const RestoreCounts& from, RestoreCounts& to) {
  to.restored += from.restored;
  to.unresolved += from.unresolved;
  to.url_blocked += from.url_blocked;
}

}  // namespace

GateAnswer::GateAnswer(const Ledger& ledger, const Policy::Restore& rules, const ChoiceSink& out, std::span<const size_t> choices)
    : ledger_(ledger), rules_(rules), out_(out), choices_(choices.begin(), choices.end()), lanes_(choices.size()) {}

bool GateAnswer::restores_tool(const std::string& name) const {
  return std::any_of(rules_.tools.begin(), rules_.tools.end(), [&](const std::string& pattern) { return glob_matches(pattern, name); });
}

std::string GateAnswer::whole(std::string_view text) { return rules_.text ? restore_whole(ledger_, rules_, Restorer::Lane::text, text, names_) : std::string(text); }

GateAnswer::Lane& GateAnswer::lane(size_t choice, const Delta& delta) {
  const bool call = delta.kind == Delta::Kind::tool_call;
  const auto [found, is_new] = lanes_[choice].try_emplace(LaneId{delta.kind, call ? delta.tool_index : 0});
  const bool restores = call ? restores_tool(delta.tool_name) : rules_.text;  // a call's first delta has its name
  if (is_new && restores) found->second.restorer = std::make_unique<Restorer>(ledger_, rules_, call ? Restorer::Lane::arguments : Restorer::Lane::text);
  return found->second;
}

bool GateAnswer::give(size_t choice, const LaneId& id, std::string text, const Delta* like) {
  const bool opens = like && !like->tool_name.empty();
  const bool says = like && !like->logprobs.empty();
  if (text.empty() && !opens && !says) return true;
  Delta delta = like ? *like : Delta{};
  delta.kind = id.kind;
  delta.tool_index = id.tool;
  delta.text = std::move(text);
  return out_.delta(choices_[choice], delta);
}

bool GateAnswer::delta(size_t choice, const Delta& given) {
  if (choice >= lanes_.size()) return false;
  Delta delta = given;
  if (!delta.tool_name.empty()) delta.tool_name = whole(delta.tool_name);
  Lane& lane = this->lane(choice, delta);
  std::string text = lane.restorer ? lane.restorer->add(delta.text) : delta.text;
  return give(choice, {delta.kind, delta.kind == Delta::Kind::tool_call ? delta.tool_index : 0}, std::move(text), &delta);
}

bool GateAnswer::end(size_t choice, const Finish& finish) {
  if (choice >= lanes_.size()) return false;
  for (auto& [id, lane] : lanes_[choice]) {
    if (lane.restorer && !give(choice, id, lane.restorer->finish(), nullptr)) return false;
  }
  Finish restored = finish;
  restored.stop_text = whole(finish.stop_text);
  return out_.end(choices_[choice], restored);
}

RestoreCounts GateAnswer::counts() const {
  RestoreCounts out = names_;
  for (const auto& choice : lanes_) {
    for (const auto& [id, lane] : choice) {
      if (lane.restorer) add(lane.restorer->counts(), out);
    }
  }
  return out;
}
