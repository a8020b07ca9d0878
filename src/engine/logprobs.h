// logprobs: natural logarithms of the probabilities that one row of logits gives, before penalties and temperature.
#pragma once
#include "chat/chat.h"
#include "text/text.h"

TokenLogprob token_logprob(const Tokenizer& tokenizer, TokenId id, std::span<const float> logits, int n_best);
