// conversation: messages so far, the request made of them, and an answer streamed to a terminal or a pipe.
#pragma once
#include <stop_token>
#include "app/options.h"
#include "core/json.h"
#include "core/json_writer.h"

// One turn's outcome.
struct WholeAnswer { std::string text, reasoning; Finish finish; };

class Conversation {
 public:
  explicit Conversation(std::string system) : system_(std::move(system)) {}
  void say(std::string text) { add("user", std::move(text)); }
  void answered(const WholeAnswer& answer);
  bool drop_answer();      // takes the last answer away; false when there is none to take
  void drop_question();    // takes the last user message away, after an error
  void clear() { messages_ = Json::array(); }
  void set_system(std::string text) { system_ = std::move(text); }
  const std::string& system() const { return system_; }
  const Json& messages() const { return messages_; }
  bool empty() const { return messages_.empty(); }
  Json all_messages() const;                   // the system message in front
  Json save(const Options& settings) const;    // what /save writes
  Status load(std::string_view what, std::string_view text, Options& settings);  // changes nothing when it fails

 private:
  void add(const char* role, std::string content) { messages_.push_back({{"role", role}, {"content", std::move(content)}}); }
  std::string system_;
  Json messages_ = Json::array();
};

ChatRequest make_request(const Options& options, const Conversation& conversation);

// Where an answer goes as it comes. Thinking is written dimmed to `thinking` (null: not at all); escapes are made visible on terminals.
struct AnswerOutput {
  FILE* text = nullptr;
  FILE* thinking = nullptr;
  bool text_is_terminal = false, color = false;
};
Result<WholeAnswer> stream_answer(Completer& completer, const ChatRequest& request, const AnswerOutput& output, std::stop_token stop);

std::string speed_line(const Finish& finish);  // "12 prompt tokens (8 cached) in 0.05 s, 40 tokens in 1.2 s: 33.3 tokens/s"
const char* reason_word(Finish::Reason reason);
