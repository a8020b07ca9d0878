// anthropic_answer: an answer in Anthropic's shape: content blocks, whole or event by event.
#pragma once
#include <string>
#include <vector>
#include "wire/reply.h"

class AnthropicAnswer final : public ReplyShape {
 public:
  // hide_thinking: thinking blocks come without their text.
  AnthropicAnswer(std::string model, bool hide_thinking);
  void push(const Delta& delta, std::vector<Json>& out) override;
  void finish(const Finish& finish, std::vector<Json>& out) override;
  Json whole() const override { return message_; }
  Json error(const ApiError& error) const override;
  void answered_by(const std::string& model) override { message_["model"] = model; }

 private:
  enum class Block : uint8_t { none, thinking, text, tool_use };
  void start(int prompt_tokens, std::vector<Json>& out);
  void open(Block block, const Delta& delta, std::vector<Json>& out);
  void close(std::vector<Json>& out);
  Json event(const char* type, const char* member, Json value) const;  // about the open block
  const bool hide_thinking_;
  Json message_;               // what has been said so far
  bool started_ = false;
  Block block_ = Block::none;
  int tool_index_ = 0;         // of the open tool_use block
  std::string arguments_;      // its JSON text
};
