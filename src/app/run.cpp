// run: one prompt, one answer; standard output gets the answer and nothing else.
#include <fmt/format.h>
#include <unistd.h>
#include "app/commands.h"
#include "app/console.h"
#include "app/conversation.h"
#include "app/chat_input.h"
#include "app/gate_talk.h"
#include "app/gated.h"
#include "app/open.h"

namespace {

// The document in front of the prompt; either may be missing.
Result<std::string> whole_prompt(const Options& options) {
  std::string prompt = options.prompt.value_or(options.arguments.empty() ? "" : options.arguments[0]);
  TRY(std::string document, read_piped_input(prompt.empty() ? "the prompt" : "the document"));
  while (document.ends_with('\n')) document.pop_back();
  if (document.empty()) return prompt;
  return prompt.empty() ? document : document + "\n\n" + prompt;
}

Json answer_json(const WholeAnswer& answer) {
  const Finish& f = answer.finish;
  Json out = {{"text", answer.text}};
  if (!answer.reasoning.empty()) out["reasoning"] = answer.reasoning;
  out["finish_reason"] = reason_word(f.reason);
  out["usage"] = {{"prompt_tokens", f.prompt_tokens}, {"cached_tokens", f.cached_tokens}, {"completion_tokens", f.completion_tokens}};
  out["timings"] = {{"prefill_s", f.prefill_s}, {"decode_s", f.decode_s}};
  return out;
}

AnswerOutput output_for(const Options& options) {
  AnswerOutput output;
  output.text_is_terminal = is_terminal(STDOUT_FILENO);
  output.color = options.color && is_terminal(STDERR_FILENO);
  if (!options.json) output.text = stdout;
  if (is_terminal(STDERR_FILENO) || options.verbose) output.thinking = stderr;
  return output;
}

int print_answer(const Options& options, const WholeAnswer& answer) {
  if (options.json) {
    print_json(answer_json(answer));
  } else if (!answer.text.ends_with('\n')) {
    std::fputc('\n', stdout);
  }
  if (options.verbose) note(speed_line(answer.finish));
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? 0 : fail({Code::io, "cannot write the answer: standard output: it was not taken"});
}

// Through a privacy gate; somebody is asked only where both ends are a terminal.
int gated_run(const Options& options, const Conversation& conversation) {
  const auto models = open_gated(options);
  if (!models) return usage_error(models.error());
  Options asked = options;
  const auto name = gated_name(*models->gate, options.model);
  if (!name) return fail(name.error());
  asked.model = *name;
  GateTalk::Ask ask;
  if (is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO) && !options.json) {
    ask = [] {
      bool cancelled = false;
      return plain_lines()("", cancelled);
    };
  }
  GateTalk talk("calla run", hosts_of(models->upstreams), ask);
  ChatRequest request = make_request(asked, conversation);
  talk.prepare(request);
  while (true) {
    const auto answer = stream_answer(*models->gate, request, output_for(options), {});
    if (!answer && talk.ask_again(request)) continue;
    if (!answer) return fail(with_reasons(answer.error(), talk.report()));
    const int status = print_answer(options, *answer);
    const bool dim = options.color && is_terminal(STDERR_FILENO);
    fmt::print(stderr, "{}{}{}\n", dim ? "\033[2m" : "", route_line(talk.report()), dim ? "\033[0m" : "");
    return status;
  }
}

}  // namespace

int run_command(const Options& options) {
  const auto prompt = whole_prompt(options);
  if (!prompt) return fail(prompt.error());
  if (prompt->empty())
    return usage_error({Code::invalid_request, "cannot run " + options.model + ": nothing to answer: a prompt as an argument or on standard input expected"});
  Conversation conversation(options.system);
  conversation.say(*prompt);
  if (options.gated) return gated_run(options, conversation);
  OpenTuning tuning{engine_options(options), false};
  tuning.engine.max_sequences = 1;
  const auto model = open_chat_model(options, tuning);
  if (!model) return fail(model.error());
  const auto answer = stream_answer(*model->completer, make_request(options, conversation), output_for(options), {});
  return answer ? print_answer(options, *answer) : fail(answer.error());
}
