// reply: one answer on its way to the client, whole or in pieces, in the shape that a dialect gives it.
#pragma once
#include <span>
#include <vector>
#include "core/json_writer.h"
#include "wire/backend.h"
#include "wire/exchange.h"

// Gathers an answer. What a stream sends and what a whole answer says come from the same pieces, so that both say the same.
class ReplyShape {
 public:
  virtual ~ReplyShape() = default;
  virtual void push(const Delta& delta, std::vector<Json>& out) = 0;     // appends what a stream sends for it
  virtual void finish(const Finish& finish, std::vector<Json>& out) = 0;  // of one request; the next one follows
  virtual Json whole() const = 0;                                        // after the last finish
  virtual Json error(const ApiError& error) const = 0;                   // as the last piece of a stream
  virtual void answered_by(const std::string& model) = 0;                // before the first piece, where a privacy gate names it
};

enum class ReplyForm : uint8_t { whole, events, named_events, lines };  // an event's name is its "type"

struct ReplyTo {
  std::span<const ChatRequest> requests;  // answered in their order
  const ModelInfo& model;
  ReplyForm form = ReplyForm::whole;
  Headers headers;
};
void add_notes(Json& out, const Finish& finish);  // cache report and warnings, where there are any
// A failure before the first piece is a plain answer.
void reply(Exchange& exchange, const Backend& backend, const ReplyTo& to, ReplyShape& shape);
