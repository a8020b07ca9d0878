// llama_completion: bodies and answers of llama-server's own /completion and /infill.
#pragma once
#include <string>
#include <vector>
#include "wire/fields.h"
#include "wire/reply.h"

struct LlamaRequest : ParsedRequest {
  bool return_tokens = false;
  int n_probs = 0;
  // /infill alone
  std::string before, prefix, middle;  // what other files say, what stands ahead of the gap, and how the filling begins
  // One for every prompt.
  std::vector<ChatRequest> requests() const;
};
Fault read_llama_completion(std::string_view body, LlamaRequest& out);
Fault read_llama_infill(std::string_view body, LlamaRequest& out);
Json llama_completion_schema();  // of bodies, for /openapi.json
Json llama_infill_schema();

class LlamaAnswer final : public ReplyShape {
 public:
  LlamaAnswer(const LlamaRequest& request, std::string model) : request_(request), model_(std::move(model)) {}
  void push(const Delta& delta, std::vector<Json>& out) override;
  void finish(const Finish& finish, std::vector<Json>& out) override;
  Json whole() const override { return wholes_.size() == 1 ? wholes_.front() : wholes_; }
  Json error(const ApiError& error) const override { return to_json(error); }
  void answered_by(const std::string& model) override { model_ = model; }

 private:
  Json settings() const;
  const LlamaRequest& request_;
  std::string model_;
  int cached_tokens_ = -1;             // of the prompt being read; -1: not known yet
  Clock::time_point began_ = Clock::now();
  std::string text_;
  Json tokens_ = Json::array(), probabilities_ = Json::array(), wholes_ = Json::array();
};
