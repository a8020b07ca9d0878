// mask: a walked request with placeholders in the place of what may not leave, and nothing else of the request beside it.
#include <algorithm>
#include <fmt/format.h>
#include "privacy/mask_spans.h"
#include "privacy/walk_parts.h"

namespace {

// Constant, so that an upstream's cached prompts stay good; the example is no placeholder of ours.
constexpr std::string_view system_note =
    "Words made of a type, an underscore and a short code, such as PERSON_xxxxxx or EMAIL_xxxxxx, stand for real values that are withheld here: "
    "use them as if they were the values, copy them unchanged, and never explain, translate, split or encode them.";

// How a finding was written decides what its value is: in an encoded blob every byte counts.
bool is_encoded(std::string_view view) { return view != "plain" && view != "folded" && view != "numerals" && view != "squeezed"; }

Error undecided(const std::string& path, std::string_view why) { return {Code::denied, fmt::format("{}: {}", path, why)}; }

// Every member by name: a string that ChatRequest gets one day is not copied, whatever it holds.
ChatRequest settings_of(const ChatRequest& request, const ToolChoice& tool_choice) {
  ChatRequest out;
  out.continue_final_message = request.continue_final_message;
  out.tool_choice = tool_choice;
  out.temperature = request.temperature;
  out.top_p = request.top_p;
  out.min_p = request.min_p;
  out.typical_p = request.typical_p;
  out.top_n_sigma = request.top_n_sigma;
  out.xtc_probability = request.xtc_probability;
  out.xtc_threshold = request.xtc_threshold;
  out.repetition_penalty = request.repetition_penalty;
  out.presence_penalty = request.presence_penalty;
  out.frequency_penalty = request.frequency_penalty;
  out.dry_multiplier = request.dry_multiplier;
  out.dry_base = request.dry_base;
  out.mirostat_tau = request.mirostat_tau;
  out.mirostat_eta = request.mirostat_eta;
  out.top_k = request.top_k;
  out.repeat_last_n = request.repeat_last_n;
  out.dry_allowed_length = request.dry_allowed_length;
  out.dry_penalty_last_n = request.dry_penalty_last_n;
  out.mirostat = request.mirostat;
  out.seed = request.seed;
  out.max_tokens = request.max_tokens;
  out.min_tokens = request.min_tokens;
  out.ignore_eos = request.ignore_eos;
  out.top_logprobs = request.top_logprobs;
  out.reasoning_budget_tokens = request.reasoning_budget_tokens;
  out.priority = request.priority;
  out.deadline = request.deadline;
  return out;
}

void add_system_note(Json& messages) {
  if (messages.empty() || (messages[0]["role"] != "system" && messages[0]["role"] != "developer")) {
    messages.insert(messages.begin(), Json{{"role", "system"}, {"content", system_note}});
    return;
  }
  Json& content = messages[0]["content"];
  if (content.is_array()) content.insert(content.begin(), Json{{"type", "text"}, {"text", system_note}});
  else content = fmt::format("{}\n\n{}", system_note, content.get_ref<const std::string&>());
}

// The spans of each field, and their replacement.
class Replacer {
 public:
  Replacer(Vault& vault, const std::vector<TextField>& fields) : vault_(vault), fields_(fields), spans_(fields.size()), decided_(fields.size()) {}

  void add(const FieldFinding& found, Action action) {
    const Finding& finding = found.finding;
    if (action == Action::mask) spans_[found.place].push_back({finding.begin, finding.end, finding.cls, is_encoded(finding.view), finding.detector == "vault", false});
    else if (finding.detector == "vault") decided_[found.place].push_back({finding.begin, finding.end, finding.cls, false, true, false});
  }

  Status run(Masked& out) {
    for (size_t i = 0; i < fields_.size(); ++i) {
      spans_[i] = settle(i);
      for (const MaskSpan& span : spans_[i]) vault_.placeholder(span.cls, value(i, span), span.exact);
    }
    add_recurrences();
    if (std::all_of(spans_.begin(), spans_.end(), [](const auto& spans) { return spans.empty(); })) return ok_status();
    add_look_alikes();
    for (size_t i = 0; i < fields_.size(); ++i) TRY_STATUS(replace(i, settle(i), out));
    return ok_status();
  }

 private:
  std::string_view value(size_t field, const MaskSpan& span) const { return std::string_view(*fields_[field].text).substr(span.begin, span.end - span.begin); }

  std::vector<MaskSpan> settle(size_t field) const {
    std::vector<MaskSpan> out = settled(*fields_[field].text, spans_[field]);
    if (out.empty() || fields_[field].kind != TextField::Kind::number) return out;
    return {MaskSpan{0, fields_[field].text->size(), out.front().cls, false, out.front().known, false}};
  }

  // What the vault knows is masked wherever it stands, unless this very recurrence was decided to stay.
  void add_recurrences() {
    if (vault_.size() == 0) return;
    for (size_t i = 0; i < fields_.size(); ++i) {
      for (const Finding& finding : vault_.recurrences(*fields_[i].text)) {
        const bool stays = std::any_of(decided_[i].begin(), decided_[i].end(), [&](const MaskSpan& span) { return span.begin <= finding.begin && finding.end <= span.end; });
        if (!stays) spans_[i].push_back({finding.begin, finding.end, finding.cls, false, true, false});
      }
    }
  }

  void add_look_alikes() {
    for (size_t i = 0; i < fields_.size(); ++i) {
      for (const auto& [begin, end] : find_placeholders(*fields_[i].text)) spans_[i].push_back({begin, end, PrivacyClass::opaque, true, false, true});
    }
  }

  Status replace(size_t field, const std::vector<MaskSpan>& spans, Masked& out) {
    const std::string& text = *fields_[field].text;
    std::string masked;
    size_t done = 0;
    for (const MaskSpan& span : spans) {
      TRY(const std::string placeholder, placeholder_for(field, span, out.ledger));
      masked.append(text, done, span.begin - done).append(placeholder);
      done = span.end;
      if (!span.look_alike) ++out.counts[span.cls];
    }
    if (spans.empty()) return ok_status();
    masked.append(text, done);
    *fields_[field].text = std::move(masked);
    return ok_status();
  }

  // Two spellings share a placeholder, and come back as the first one; a name that was spelled otherwise before needs one of its own.
  Result<std::string> placeholder_for(size_t field, const MaskSpan& span, Ledger& ledger) {
    const std::string_view spelling = value(field, span);
    std::string placeholder = vault_.placeholder(span.cls, spelling, span.exact);
    const auto before = ledger.original(placeholder);
    if (before && *before != spelling && (span.exact || fields_[field].kind == TextField::Kind::name)) placeholder = vault_.placeholder(span.cls, spelling, true);
    TRY_STATUS(ledger.add(placeholder, span.cls, spelling));
    return placeholder;
  }

  Vault& vault_;
  const std::vector<TextField>& fields_;
  std::vector<std::vector<MaskSpan>> spans_, decided_;
};

// Images and the like: withheld, unless the decision lets them pass.
Status withhold(const Walk::Parts::Opaque& opaque, std::span<const FieldFinding> findings, std::span<const Action> actions, Masked& out) {
  std::optional<Action> action;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].field == opaque.path) action = std::max(actions[i], action.value_or(Action::allow));
  }
  if (!action) return undecided(opaque.path, "what cannot be read was not decided about");
  if (opaque.part == nullptr) return undecided(opaque.path, "token ids cannot be sent");
  if (*action == Action::allow) return ok_status();
  *opaque.part = Json{{"type", "text"}, {"text", "[withheld]"}};
  ++out.counts[PrivacyClass::opaque];
  return ok_status();
}

}  // namespace

Status Masker::replace(Walk& walk, std::span<const FieldFinding> findings, std::span<const Action> actions, Masked& out) {
  if (findings.size() != actions.size()) return Error{Code::internal, fmt::format("cannot mask: {} findings, {} actions", findings.size(), actions.size())};
  Replacer replacer(vault_, walk.fields());
  const auto is_opaque = [&](const std::string& path) { return std::find(walk.opaque().begin(), walk.opaque().end(), path) != walk.opaque().end(); };
  for (size_t i = 0; i < findings.size(); ++i) {
    const auto& [finding, field, role, place] = findings[i];
    if (actions[i] != Action::allow && actions[i] != Action::mask) return undecided(field, "what is neither allowed nor masked cannot be sent");
    if (is_opaque(field)) continue;
    const bool fits = place < walk.fields().size() && walk.fields()[place].path == field && finding.begin <= finding.end && finding.end <= walk.fields()[place].text->size();
    if (!fits) return Error{Code::internal, field + ": a finding outside its text"};
    replacer.add(findings[i], actions[i]);
  }
  TRY_STATUS(replacer.run(out));
  for (const auto& opaque : walk.parts_->opaque) TRY_STATUS(withhold(opaque, findings, actions, out));
  for (auto& [texts, target] : walk.parts_->nested) {  // also those unchanged: of two members with one name the first was not read
    if (target.text != nullptr) *target.text = text_of(texts.put_together());
    if (target.node != nullptr) *target.node = texts.put_together();
  }
  return ok_status();
}

Result<Masked> Masker::mask(const ChatRequest& request, Walk walk, std::span<const FieldFinding> findings, std::span<const Action> actions, int n) {
  Masked out{CleanRequest(), {}, {}, {}};
  TRY_STATUS(replace(walk, findings, actions, out));
  Walk::Parts& parts = *walk.parts_;
  CleanRequest& clean = out.clean;
  clean.messages_ = std::move(parts.messages);
  clean.tools_ = std::move(parts.tools);
  clean.prompt_ = std::move(parts.prompt);
  clean.suffix_ = std::move(parts.suffix);
  clean.stop_ = std::move(parts.stop);
  clean.constraint_ = std::move(parts.constraint);
  clean.settings_ = settings_of(request, parts.tool_choice);
  clean.n_ = n;
  if (out.ledger.size() == 0) return out;
  if (clean.settings_.top_logprobs >= 0) {
    clean.settings_.top_logprobs = -1;
    out.dropped.push_back("logprobs");
  }
  if (policy_.restore.system_note && clean.messages_.is_array()) add_system_note(clean.messages_);
  return out;
}
