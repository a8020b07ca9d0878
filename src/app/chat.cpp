// chat: the conversation on a terminal: messages, slash commands, answers that Ctrl-C stops.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <csignal>
#include <cstring>
#include <mutex>
#include "app/chat_input.h"
#include "app/commands.h"
#include "app/console.h"
#include "app/conversation.h"
#include "app/gate_talk.h"
#include "app/gated.h"
#include "app/open.h"
#include "core/mapped_file.h"

namespace {

constexpr const char* kHelp =
    "/help            this list\n"
    "/system [TEXT]   show or set the system message\n"
    "/set [NAME X]    show or set temp, top_k, top_p, min_p, repeat_penalty, seed, max_tokens, …\n"
    "/save FILE       write the conversation as JSON\n"
    "/load FILE       go on with a saved one\n"
    "/clear           forget everything said\n"
    "/regen           answer the last message anew\n"
    "/exit            leave (also Ctrl-D)\n"
    "A backslash at the end of a line, or \"\"\" around them, makes a message of several lines. Ctrl-C stops an answer.\n";

// Ctrl-C stops the answer that is running; with none running, or when it does not stop, it ends the program.
class StopButton {
 public:
  void pressed(int signal) {
    const std::lock_guard lock(mutex_);
    if (signal != SIGINT || !running_ || !source_.request_stop()) _exit(128 + signal);
  }
  std::stop_token arm() {
    const std::lock_guard lock(mutex_);
    source_ = std::stop_source();
    running_ = true;
    return source_.get_token();
  }
  void disarm() {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }

 private:
  std::mutex mutex_;
  std::stop_source source_;
  bool running_ = false;
};

Status write_private(const std::string& path, const std::string& text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written = descriptor >= 0 && write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = descriptor >= 0 && close(descriptor) == 0;
  if (written && closed) return ok_status();
  return Error{Code::io, "cannot save the conversation: " + path + ": " + strerror(errno)};
}

// The answer to a question of the gate, typed at the terminal: Ctrl-C drops the request, not the conversation.
GateTalk::Ask consent_line(bool editing) {
  if (!editing) return [] { bool cancelled = false; return plain_lines()("", cancelled); };
  return []() -> std::optional<std::string> {
    const History none;
    bool cancelled = false;
    auto line = edited_lines(none)(std::string(kConsentPrompt), cancelled);
    if (cancelled) return "cancel";
    return line;
  };
}

class Chat {
 public:
  // `upstreams`: behind a privacy gate; what is typed there is not kept in a file.
  Chat(const Options& options, Completer& completer, StopButton& stop, const std::vector<UpstreamOptions>* upstreams = nullptr)
      : options_(options), completer_(completer), stop_(stop), conversation_(options.system), interactive_(is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO)) {
    if (!options.state_dir.empty() && upstreams == nullptr) history_path_ = options.state_dir + "/history";
    if (upstreams != nullptr) talk_.emplace("calla chat", hosts_of(*upstreams), interactive_ ? consent_line(options_.color) : GateTalk::Ask());
  }

  int loop() {
    const bool editing = interactive_ && options_.color;
    if (editing && !history_path_.empty()) history_.load(history_path_);
    const LineSource lines = editing ? edited_lines(history_) : plain_lines();
    if (interactive_) fmt::print("Type a message; /help lists commands.\n");
    while (!leaving_) {
      const auto message = read_message(lines);
      if (!message) break;
      if (message->find_first_not_of(" \t\n") == std::string::npos) continue;
      if (editing) remember(*message);
      handle(*message);
    }
    return status_;
  }

 private:
  void remember(const std::string& message) {
    history_.add(message);
    if (!history_path_.empty() && !history_.save(history_path_) && !std::exchange(history_warned_, true)) note("the history cannot be kept in " + history_path_);
  }

  void handle(const std::string& message) {
    if (!message.starts_with('/')) {
      conversation_.say(message);
      answer();
      return;
    }
    const size_t space = std::min(message.find(' '), message.size());
    const size_t rest = std::min(message.find_first_not_of(' ', space), message.size());
    command(message.substr(0, space), message.substr(rest));
  }

  void command(const std::string& name, const std::string& rest) {
    if (name == "/help" || name == "/?") return say(kHelp);
    if (name == "/exit" || name == "/quit" || name == "/bye") return void(leaving_ = true);
    if (name == "/clear") return conversation_.clear(), say("forgotten\n");
    if (name == "/system") return system(rest);
    if (name == "/set") return set(rest);
    if (name == "/save") return report(save(rest));
    if (name == "/load") return report(load(rest));
    if (name == "/regen") return regenerate();
    const std::vector<std::string> known{"/help", "/system", "/set", "/save", "/load", "/clear", "/regen", "/exit"};
    const std::string near = nearest(name, known);
    report(Error{Code::invalid_request, "cannot do " + name + ": no such command, " + (near.empty() ? "/help lists them" : "did you mean " + near + "?")});
  }

  void system(const std::string& text) {
    if (!text.empty()) conversation_.set_system(text);
    say("system: " + (conversation_.system().empty() ? "none" : printable(conversation_.system())) + "\n");
  }

  void set(const std::string& text) {
    const size_t end = std::min(text.find_first_of(" ="), text.size());
    const size_t value = std::min(text.find_first_not_of(" =", end), text.size());
    if (value < text.size()) {
      const Status done = set_option(options_, kSampling, text.substr(0, end), text.substr(value));
      if (!done) return report(done);
    } else if (!text.empty()) {
      return report(Error{Code::invalid_request, "cannot set " + text + ": a value expected, none found"});
    }
    say(conversation_.save(options_)["settings"].dump() + "\n");
  }

  Status save(const std::string& path) {
    if (path.empty()) return Error{Code::invalid_request, "cannot save the conversation: a file name expected, none found"};
    TRY_STATUS(write_private(path, conversation_.save(options_).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
    say("saved\n");
    return ok_status();
  }

  Status load(const std::string& path) {
    if (path.empty()) return Error{Code::invalid_request, "cannot load a conversation: a file name expected, none found"};
    TRY(const std::string text, read_file(path, size_t{64} << 20));
    TRY_STATUS(conversation_.load(path, text, options_));
    say(fmt::format("{} messages loaded\n", conversation_.messages().size()));
    return ok_status();
  }

  void regenerate() {
    conversation_.drop_answer();
    if (conversation_.empty()) return report(Error{Code::invalid_request, "cannot answer anew: nothing was said yet"});
    answer();
  }

  void answer() {
    AnswerOutput output{.text = stdout, .text_is_terminal = is_terminal(STDOUT_FILENO)};
    if (output.text_is_terminal) output.thinking = stdout;
    output.color = options_.color && output.text_is_terminal;
    const auto answer = ask(output);
    if (!answer) {
      conversation_.drop_question();
      return report(talk_ ? with_reasons(answer.error(), talk_->report()) : answer.error());
    }
    conversation_.answered(*answer);
    std::fputs(answer->text.ends_with('\n') ? "" : "\n", stdout);
    if (answer->finish.reason == Finish::Reason::cancelled) std::fputs(interactive_ ? "[stopped]\n" : "", stdout);
    std::fflush(stdout);
    if (talk_) say_route();
    if (options_.verbose) note(speed_line(answer->finish));
  }

  Result<WholeAnswer> ask(const AnswerOutput& output) {
    ChatRequest request = make_request(options_, conversation_);
    if (talk_) talk_->prepare(request);
    while (true) {
      auto answer = stream_answer(completer_, request, output, stop_.arm());
      stop_.disarm();
      if (answer || !talk_ || !talk_->ask_again(request)) return answer;
    }
  }

  void say_route() {
    const std::string line = route_line(talk_->report());
    say(options_.color && interactive_ ? "\033[2m" + line + "\033[0m\n" : line + "\n");
  }

  void say(const std::string& text) {  // about the program, so not into a pipe that takes the answers
    FILE* out = interactive_ ? stdout : stderr;
    std::fputs(text.c_str(), out);
    std::fflush(out);
  }

  void report(const Status& done) {
    if (done) return;
    const int status = fail(done.error());
    if (!interactive_) status_ = status;
  }

  Options options_;
  Completer& completer_;
  StopButton& stop_;
  Conversation conversation_;
  std::optional<GateTalk> talk_;
  History history_;
  std::string history_path_;
  bool interactive_, leaving_ = false, history_warned_ = false;
  int status_ = 0;
};

int gated_chat(const Options& options, StopButton& stop) {
  const auto models = open_gated(options);
  if (!models) return usage_error(models.error());
  Options asked = options;
  const auto name = gated_name(*models->gate, options.model);
  if (!name) return fail(name.error());
  asked.model = *name;
  return Chat(asked, *models->gate, stop, &models->upstreams).loop();
}

}  // namespace

int chat_command(const Options& options) {
  StopButton stop;
  const Interrupts interrupts([&](int signal) { stop.pressed(signal); });
  if (options.gated) return gated_chat(options, stop);
  OpenTuning tuning{engine_options(options), false};
  tuning.engine.max_sequences = 1;
  const auto model = open_chat_model(options, tuning);
  if (!model) return fail(model.error());
  return Chat(options, *model->completer, stop).loop();
}
