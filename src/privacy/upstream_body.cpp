// upstream_body: which fields of a request an upstream has no word for.
#include "privacy/upstream_body.h"

#include <charconv>
#include <cstdlib>

namespace {

using Limit = Constraint::Kind;

struct Optional { const char* name; bool given; };

std::string constraint_name(Limit kind) {
  switch (kind) {
    case Limit::regex: return "structured_outputs.regex";
    case Limit::choice: return "structured_outputs.choice";
    case Limit::gbnf:
    case Limit::lark: return "grammar";
    default: return "response_format";
  }
}

}  // namespace

double as_written(float value) {
  char text[64] = {};
  std::to_chars(text, text + sizeof text - 1, value);
  return std::strtod(text, nullptr);
}

std::optional<std::string> cannot_be_sent(const ChatRequest& request, Wire wire, int n) {
  const Limit limit = request.constraint.kind;
  const bool sayable = limit == Limit::none || (wire == Wire::openai && !request.prompt && (limit == Limit::json_object || limit == Limit::json_schema));
  if (!sayable) return constraint_name(limit);
  if (!request.prompt_ids.empty()) return "prompt";
  if (request.continue_final_message && wire == Wire::openai) return "continue_final_message";
  if (request.suffix && !request.prompt) return "suffix";
  if (request.prompt && wire == Wire::anthropic) return "prompt";
  if (n > 1 && wire == Wire::anthropic) return "n";
  return std::nullopt;
}

std::vector<std::string> left_out(const ChatRequest& request, Wire wire) {
  const bool anthropic = wire == Wire::anthropic;
  const Optional fields[] = {
      {"template_kwargs", !request.template_kwargs_json.empty()},
      {"top_k", request.top_k.has_value() && !anthropic},
      {"min_p", request.min_p.has_value()},
      {"typical_p", request.typical_p.has_value()},
      {"top_n_sigma", request.top_n_sigma.has_value()},
      {"xtc_probability", request.xtc_probability.has_value()},
      {"xtc_threshold", request.xtc_threshold.has_value()},
      {"repetition_penalty", request.repetition_penalty.has_value()},
      {"presence_penalty", request.presence_penalty.has_value() && anthropic},
      {"frequency_penalty", request.frequency_penalty.has_value() && anthropic},
      {"repeat_last_n", request.repeat_last_n.has_value()},
      {"dry_multiplier", request.dry_multiplier.has_value()},
      {"dry_base", request.dry_base.has_value()},
      {"dry_allowed_length", request.dry_allowed_length.has_value()},
      {"dry_penalty_last_n", request.dry_penalty_last_n.has_value()},
      {"dry_sequence_breakers", request.dry_breakers.has_value()},
      {"mirostat", request.mirostat.has_value()},
      {"mirostat_tau", request.mirostat_tau.has_value()},
      {"mirostat_eta", request.mirostat_eta.has_value()},
      {"logit_bias", !request.logit_bias.empty() || !request.text_bias.empty()},
      {"seed", request.seed.has_value() && anthropic},
      {"min_tokens", request.min_tokens > 0},
      {"stop_token_ids", !request.stop_ids.empty()},
      {"ignore_eos", request.ignore_eos},
      {"reasoning_budget_tokens", request.reasoning_budget_tokens.has_value()},
      {"logprobs", request.top_logprobs >= 0 && (anthropic || request.prompt)},
  };
  std::vector<std::string> out;
  for (const Optional& field : fields) {
    if (field.given) out.emplace_back(field.name);
  }
  return out;
}
