// ollama_answer: an answer in Ollama's shape, whole or line by line.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "wire/reply.h"

class OllamaAnswer final : public ReplyShape {
 public:
  enum class Kind : uint8_t { chat, generate };
  // `load_s`: what bringing the model in took. `context` makes the number list of /api/generate from what was answered; may be empty.
  OllamaAnswer(Kind kind, std::string model, bool logprobs, Clock::time_point began, double load_s, std::function<Json(const std::string& text)> context);
  void push(const Delta& delta, std::vector<Json>& out) override;
  void finish(const Finish& finish, std::vector<Json>& out) override;
  Json whole() const override { return whole_; }
  Json error(const ApiError& error) const override { return ollama_error(error); }
  void answered_by(const std::string& model) override { model_ = model; }

 private:
  struct Call { int index = 0; std::string id, name, arguments; };
  Json line(const std::string& text, const std::string& thinking, Json calls) const;  // not done
  void end_call(std::vector<Json>& out);
  const Kind kind_;
  std::string model_;
  const bool logprobs_;
  const Clock::time_point began_;
  const double load_s_;
  const std::function<Json(const std::string&)> context_;
  std::string text_, thinking_;
  std::optional<Call> call_;         // being written; it goes out as a whole
  Json calls_ = Json::array(), all_logprobs_ = Json::array(), whole_;
};

std::string iso_time_now();          // 2026-11-30T13:20:11.123456789Z
Json ollama_loaded(OllamaAnswer::Kind kind, const std::string& model, const char* reason);  // the answer to an empty request
