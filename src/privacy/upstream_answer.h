// upstream_answer: an upstream's answer becomes deltas; whatever it says wrong becomes a fault of ours, never a text of its own.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "core/json.h"
#include "privacy/upstream.h"
#include "privacy/upstream_halves.h"

// Where readers of answers put what they understood. Checks what an upstream could lie about: numbers of choices and calls, names, lengths.
class AnswerBuilder {
 public:
  AnswerBuilder(size_t n_choices, const ChoiceSink& sink) : sink_(sink), choices_(n_choices) {}
  // Each is false when nothing more is wanted: a fault, or a reader who has gone away.
  bool text(size_t choice, Delta::Kind kind, std::string_view text, std::vector<TokenLogprob> logprobs = {});
  bool tool_call(size_t choice, size_t index, std::string_view id, std::string_view name, std::string_view arguments);
  bool end(size_t choice, Finish::Reason reason);
  void stopped_by(size_t choice, std::string_view stop_text);
  void warn(size_t choice, std::string warning);
  void usage(int prompt_tokens, int cached_tokens, int completion_tokens, int reasoning_tokens);
  bool fault(const char* what);        // always false
  void done() { done_ = true; }        // the upstream says that all has been said

  bool complete() const;               // every choice has ended, or done() was said after something came
  bool said_done() const { return done_; }
  bool began() const { return began_; }
  bool left() const { return left_; }  // the sink said so
  const char* fault_text() const { return fault_; }  // nullptr: none
  std::vector<Finish> finishes() const;
  size_t size() const { return choices_.size(); }

 private:
  struct Call { size_t argument_bytes = 0; HalfJoiner halves; };
  struct Choice {
    HalfJoiner text, reasoning;
    std::map<size_t, Call> calls;
    bool ended = false;
    Finish finish;
  };
  bool known(size_t choice);
  bool give(size_t choice, const Delta& delta);
  bool give_rest(size_t choice);       // halves that never found their other one

  const ChoiceSink& sink_;
  std::vector<Choice> choices_;
  bool began_ = false, left_ = false, done_ = false;
  const char* fault_ = nullptr;
  int completion_tokens_ = 0, reasoning_tokens_ = 0;
};

// One wire format.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  virtual bool event(const SseParser::Event& event) = 0;  // false: nothing more is wanted
  virtual bool whole(JsonView answer) = 0;                // not a stream, although one was asked for
};
std::unique_ptr<AnswerReader> openai_reader(AnswerBuilder& out);
std::unique_ptr<AnswerReader> anthropic_reader(AnswerBuilder& out);

// Bytes of a body, which may be a stream of events or one JSON document, into a reader.
class AnswerBytes {
 public:
  AnswerBytes(AnswerReader& reader, AnswerBuilder& out) : reader_(reader), out_(out) {}
  bool add(std::string_view bytes);    // false: nothing more is wanted
  void finish();                       // the bytes have ended

 private:
  static constexpr size_t most_whole_bytes = size_t{16} << 20;
  AnswerReader& reader_;
  AnswerBuilder& out_;
  enum class Form : uint8_t { unknown, events, document } form_ = Form::unknown;
  SseParser events_;
  std::string document_;
};

// One event's data as JSON; an Error when it is no object.
Result<JsonDocument> event_json(const std::string& data);
// Figures of an answer: absent, negative or absurd ones count as 0.
int count_in(JsonView object, std::string_view key);
